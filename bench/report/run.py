#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the experiments of plan.py with mltp-bench and keeps their results in files.

Without names all planned experiments run, and an interrupted run continues where it was; named
ones run again, and show their tables. Results of another commit, machine or kernel are put
aside (to FOLDER.previous) unless --keep is given. Options this program does not know make it a
plain call of mltp-bench, which records nothing, as in: ./dev bench micro --impl mltp
"""
import argparse
import pathlib
import subprocess
import sys

import plan
import store
import work


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="dev bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT",
                        help="an experiment, or a step of one (--list shows them)")
    parser.add_argument("--quick", action="store_true",
                        help="small problems and few runs: at most 5 minutes instead of 60")
    parser.add_argument("--keep", action="store_true",
                        help="keep results of another commit or machine, and add to them")
    parser.add_argument("--list", action="store_true", help="list the steps and what is there")
    parser.add_argument("--bench", default="build/bin/mltp-bench", type=pathlib.Path,
                        metavar="PATH", help="the mltp-bench program (%(default)s)")
    parser.add_argument("--out", default="build/bench", type=pathlib.Path, metavar="FOLDER",
                        help="where results go (%(default)s)")
    known, unknown = parser.parse_known_args(arguments)
    if unknown:
        return known, True
    names = {step.name for step in plan.STEPS} | {step.experiment for step in plan.STEPS}
    for name in known.experiments:
        if name not in names:
            parser.error(f"{name}: no such experiment (--list shows them)")
    return known, False


def chosen_steps(experiments):
    """The steps that are named, or all planned ones."""
    if not experiments:
        return [step for step in plan.STEPS if step.planned]
    return [step for step in plan.STEPS
            if step.name in experiments or step.experiment in experiments]


def list_steps(results):
    for step in plan.STEPS:
        status = results.status(step.name) or ("not run yet" if step.planned else "when named")
        print(f"  {step.name:20} {step.about} [{status}]")


def main(arguments):
    options, plain = parse_arguments(arguments)
    try:
        if plain:
            return subprocess.run([options.bench, *arguments], check=False).returncode
        identity = store.identity(options.bench, options.quick)
    except OSError as error:
        sys.exit(f"bench: cannot run {options.bench}: {error.strerror} (build it first)")
    folder = options.out / ("quick" if options.quick else "full")
    results = store.Store(folder, identity, options.keep)
    if options.list:
        list_steps(results)
        return 0
    steps = chosen_steps(options.experiments)
    if not options.experiments:
        steps = [step for step in steps if results.status(step.name) != "done"]
    try:
        failed = work.run_steps(options.bench, steps, results, options.quick,
                                show=bool(options.experiments))
    except KeyboardInterrupt:
        sys.exit("bench: interrupted; the same command continues from here")
    print(f"bench: results are in {folder}; ./dev report makes a page of them")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
