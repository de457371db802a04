#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures stock pthread programs as they are and by `mltp run --threads`, in turn.

Alone: CPU time of the gated run over that of the plain one, by minima; the bar is 1.03. Four copies at once: an mltpd of
the experiment's own divides the CPUs between gated copies; wall time of the plain copies over the gated ones', by minima.
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
import statistics
import subprocess
import sys
import tempfile
import time

import programs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import store  # noqa: E402  pylint: disable=wrong-import-position

ALONE, MANY = 1, 4
DEAR = 1.03  # CPU time of a program alone, gated over plain
FAST = 1.3  # wall time of four copies of a program whose threads waste CPU time, plain over gated


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


def turns(program, chosen, copies, folder, runs):
    """Runs both ways in turn. Returns {way: [(wall, use)]}."""
    samples = {way: [] for way in chosen}
    right = None
    for turn in range(runs):
        for way in (list(chosen), list(chosen)[::-1])[turn % 2]:
            prefix, environment = chosen[way]
            wall, use, answers = program.run(prefix, environment, folder, copies)
            right = right or min(answers)
            if answers != {right}:
                raise programs.Wrong(f"{program.name}: {way}: the answer is {answers}, not {right}")
            samples[way].append((wall, use))
    return samples


def rows(program, copies, samples):
    """Rows as mltp-bench writes them."""
    for way, values in samples.items():
        for metric, clock, figures in (("time", "wall", [wall for wall, _ in values]),
                                       ("time", "cpu", [use.cpu for _, use in values]),
                                       ("waits", None, [use.waits for _, use in values]),
                                       ("losses", None, [use.losses for _, use in values])):
            yield {"impl": way, "params": {"program": program.name, "copies": copies}, "metric": metric,
                   "unit": "s" if clock else "switches", "clock": clock, "runs": len(figures), "verified": True,
                   "min": min(figures), "median": statistics.median(figures), "max": max(figures)}


def most_to_gain(copies, wall, alone):
    """How much faster copies could be than in a wall time if they wasted nothing. alone: CPU time of one; None: unknown."""
    return None if alone is None else wall * len(os.sched_getaffinity(0)) / (copies * alone)


def show(program, copies, samples, alone):
    """Prints a line. alone: the least CPU time of one copy; None: unknown. Returns that of these runs."""
    wall = {way: min(wall for wall, _ in values) for way, values in samples.items()}
    use = {way: min(use for _, use in values) for way, values in samples.items()}
    ratio = use["gated"].cpu / use["plain"].cpu
    gain = wall["plain"] / wall["gated"]
    most = most_to_gain(copies, wall["plain"], alone)
    note = "" if most is None else f" of {most:.2f}"
    note += " above the bar" if copies == ALONE and ratio > DEAR else ""
    note += " below the bar" if copies == MANY and most and gain < FAST <= most else ""
    switches = "  ".join(f"{use[way].waits}+{use[way].losses}" for way in use)
    print(f"{program.name:20}{copies:3}  cpu {use['plain'].cpu:8.3f} {use['gated'].cpu:8.3f} s  gated/plain {ratio:6.3f}   wall "
          f"{wall['plain']:8.3f} {wall['gated']:8.3f} s  plain/gated {gain:6.2f}{note}   switches {switches}", flush=True)
    return min(use["plain"].cpu, use["gated"].cpu)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="dev bench-gated", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [program.name for program in programs.PROGRAMS]
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--programs", default=",".join(names), help="of %(default)s")
    parser.add_argument("--copies", default=f"{ALONE},{MANY}", help="how many at once (%(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="turns of each way (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
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
    """Yields rows of each program. Prints what goes wrong."""
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
                    samples = turns(program, ways(options.build, coordinator), copies, folder, options.runs)
                except programs.Wrong as wrong:
                    print(f"FAILED: {wrong}", flush=True)
                    yield {"impl": "gated", "params": {"program": program.name, "copies": copies}, "metric": "time",
                           "unit": "s", "clock": "wall", "runs": 0, "verified": False}
                    continue
            least = show(program, copies, samples, alone)
            if copies == ALONE and program.counts_all:
                alone = least
            yield from rows(program, copies, samples)


def main():
    options = parse_arguments()
    options.build = options.build.resolve()
    env = {"cpu": store.cpu_name(), "cpus": len(os.sched_getaffinity(0)), "kernel": os.uname().release,
           "load": os.getloadavg()[0]}
    print(f"program, copies, minima of {options.runs} turns: plain, gated. {env['cpu']}, {env['cpus']} CPUs, load {env['load']:.1f}")
    with tempfile.TemporaryDirectory(prefix="mltp-gated-") as folder:
        kept = list(measure(options, pathlib.Path(folder)))
    env["load_after"] = os.getloadavg()[0]
    if options.json:
        options.json.write_text(json.dumps({"experiment": "gated", "env": env, "rows": kept}, indent=1) + "\n", encoding="ascii")
    if not kept:
        return 77
    return 0 if all(row["verified"] for row in kept) else 1


if __name__ == "__main__":
    sys.exit(main())
