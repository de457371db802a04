#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures stock pthread programs as they are and by `mltp run --threads`, in turn.

Alone: CPU time of the gated run over that of the plain one, by minima; the bar is 1.03. Four copies at once: an mltpd of
the experiment's own divides the CPUs between gated copies; wall time of the plain copies over the gated ones', by minima.
Medians stand in brackets: of a program whose runs differ much, one lucky run is the minimum.
The most to gain there is the wall time of the plain copies over what four times the CPU time of one copy alone, plain or
gated, would take on all CPUs. It is large where threads spin for one another, or convoy. Where it is 1.3 or more, so is
the bar. Switches are waits, and losses of the CPU to another thread, in the run that used the least CPU time.
Every run must give the same answer, that of the first plain one. Exit status: 0; 1 if an answer was wrong or a run failed;
77 if no program is installed.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

import comparison
import programs
from comparison import ALONE, MANY

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import store  # noqa: E402  pylint: disable=wrong-import-position

MOST = 30  # turns of a program


@contextlib.contextmanager
def daemon(build, folder):
    """An mltpd of our own. Yields its socket."""
    path = folder / "mltpd.sock"
    with subprocess.Popen([build / "bin/mltpd", "--socket", path], stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(1000):
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                    if client.connect_ex(str(path)) == 0:
                        break
                time.sleep(0.01)
            yield path
        finally:
            process.send_signal(signal.SIGTERM)


def ways(build, coordinator):
    """How a run begins, and its environment, for each way."""
    environment = {**os.environ, "MLTP_COORDINATOR": str(coordinator) if coordinator else "off"}
    return {"plain": ([], environment), "gated": ([str(build / "bin/mltp"), "run", "--threads", "--"], environment)}


def turns(program, chosen, copies, folder, options):
    """Runs both ways in turn, for as many turns as are wanted or as there is time for. Returns {way: [(wall, use)]}."""
    samples = {way: [] for way in chosen}
    right, begin = None, time.monotonic()
    for turn in range(max(MOST, options.runs)):
        if turn >= options.runs and time.monotonic() - begin > options.seconds:
            break
        for way in (list(chosen), list(chosen)[::-1])[turn % 2]:
            prefix, environment = chosen[way]
            wall, use, answers = program.run(prefix, environment, folder, copies)
            right = right or min(answers)
            if answers != {right}:
                raise programs.Wrong(f"{program.name}: {way}: the answer is {answers}, not {right}")
            samples[way].append((wall, use))
    return samples


def parse_arguments():
    parser = argparse.ArgumentParser(prog="dev bench-gated", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [program.name for program in programs.PROGRAMS]
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--programs", default=",".join(names), help="of %(default)s")
    parser.add_argument("--copies", default=f"{ALONE},{MANY}", help="how many at once (%(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="turns of each way, at least (%(default)s)")
    parser.add_argument("--seconds", type=int, default=0, help=f"of each program: turns go on for so long, up to {MOST} (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--page", type=pathlib.Path, help="writes a page of Markdown to this file")
    parser.add_argument("--json", type=pathlib.Path, help="writes all figures to this file")
    options = parser.parse_args()
    chosen = options.programs.split(",")
    for name in chosen:
        if name not in names:
            parser.error(f"{name}: there is no such program")
    options.chosen = [program for program in programs.PROGRAMS if program.name in chosen]
    options.copies = [int(copies) for copies in options.copies.split(",")]
    return options


def measure(options, folder):
    """Yields a comparison of each program, or the line that says what went wrong. Prints both."""
    for program in options.chosen:
        why = program.missing()
        if why:
            print(f"{program.name:20} skipped: {why}")
            continue
        program.prepare(folder, options.quick)
        alone = None
        for copies in options.copies:
            if copies > ALONE and not program.has_threads:
                print(f"{program.name:20}{copies:3}  skipped: its workers are processes of one thread each")
                continue
            with daemon(options.build, folder) if copies > ALONE else contextlib.nullcontext() as coordinator:
                try:
                    samples = turns(program, ways(options.build, coordinator), copies, folder, options)
                except programs.Wrong as wrong:
                    print(f"FAILED: {wrong}", flush=True)
                    yield f"{copies} of {program.name}: {wrong}"
                    continue
            made = comparison.Comparison(program.name, copies, samples, alone)
            print(made.line(), flush=True)
            yield made
            if copies == ALONE and program.counts_all:
                alone = made


def main():
    options = parse_arguments()
    options.build = options.build.resolve()
    here = store.identity(options.build / "bin/mltp", options.quick)
    facts = {"processor": f"{here['cpu']}, {here['cpus']} CPUs", "kernel": f"Linux {here['kernel']}", "commit": here["commit"],
             "turns": f"at least {options.runs}, and {options.seconds} s of each program", "work": "a tenth" if options.quick else "whole",
             "load when it began": f"{os.getloadavg()[0]:.1f}"}
    print(f"program, copies, minima (medians): plain, gated. {facts['processor']}, load {facts['load when it began']}")
    with tempfile.TemporaryDirectory(prefix="mltp-gated-") as folder:
        kept = list(measure(options, pathlib.Path(folder)))
    facts |= {"load when it ended": f"{os.getloadavg()[0]:.1f}", "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}
    good, faults = [made for made in kept if not isinstance(made, str)], [made for made in kept if isinstance(made, str)]
    if options.page:
        options.page.write_text(comparison.page(good, faults, facts), encoding="utf-8")
    if options.json:
        rows = [row for made in good for row in made.rows()]
        options.json.write_text(json.dumps({"experiment": "gated", "env": facts, "faults": faults, "rows": rows}, indent=1) + "\n",
                                encoding="ascii")
    if not kept:
        return 77
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
