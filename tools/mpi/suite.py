#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a suite of MPI programs that is driven by files named testlist, as MPICH's test/mpi is.

A line of such a file is a program, a number of ranks, and words as arg=X, env=X=Y, timeLimit=SECONDS,
mem=GIB, resultTest=NAME. A program passes if it ends with status 0 and prints "No Errors" (or "Test Skipped")
and nothing else; with resultTest=TestErrFatal or TestStatus if it ends with another status, with TestBench
whatever it prints.

SOURCES has folders with these files, PROGRAMS the same folders with the programs, built by tmpicc. Each line
runs at its number of ranks times each of --times, or at each of --ranks. What fails is run by --reference, a launcher
of another MPI, at the same number of ranks, its programs being in --reference-programs: what fails there too most
likely cannot run so. The exit status is 1 if anything fails that the reference passes. Results are kept in --results,
and what is there is not run again, so an interrupted run continues.

Several nodes beside one: ./dev conformance PATH --nodes 4x4.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

GRACE = 10  # seconds in which a launcher that knows the limit may report
QUIET = re.compile(r"\s*(No [Ee]rrors|Test Skipped)\s*$")
WARNING = re.compile(r"(MPICH: |WARNING: |(Abort.*)?application called MPI_Abort)")


def entries(sources, folders):
    """Yields (folder, program, ranks, words) of each line that is run."""
    for folder in folders:
        for name in ("testlist", "testlist.in"):
            path = sources / folder / name
            if not path.exists():
                continue
            for line in path.read_text().splitlines():
                words = re.sub(r"@\w+@", " ", line).split()
                if len(words) >= 2 and not words[0].startswith("#") and words[1].isdecimal():
                    yield folder, words[0], int(words[1]), words[2:]


def values(words, key):
    return [word[len(key) + 1:] for word in words if word.startswith(key + "=")]


def judge(status, output, kind):
    """Returns "pass" or what is wrong."""
    if kind in ("TestErrFatal", "TestStatus"):
        return "pass" if status else "status 0"
    if kind == "TestBench":
        return "pass" if status == 0 else f"status {status}"
    lines = output.splitlines()
    if not any(QUIET.match(line) for line in lines):
        return f"no verdict, status {status}"
    strays = [line for line in lines if not QUIET.match(line)]
    if kind == "TestAllowWarnings":
        strays = [line for line in strays if not WARNING.match(line)]
    if strays:
        return f"says: {strays[0][:100]}"
    return "pass" if status == 0 else f"status {status}"


def run(launcher, program, ranks, words, limit):
    """Runs one program; returns its verdict, seconds, and the last lines it printed."""
    command = [word.replace("{n}", str(ranks)).replace("{s}", str(limit)) for word in shlex.split(launcher)]
    command += [str(program), *values(words, "arg")]
    environment = os.environ | dict(word.split("=", 1) for word in values(words, "env"))
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                   env=environment, cwd=program.parent, start_new_session=True)
        try:
            status = process.wait(limit + GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        seconds = time.monotonic() - begin
        out.seek(0)
        output = out.read(1 << 20).decode(errors="replace")
    kind = (values(words, "resultTest") or ["TestNormal"])[0]
    verdict = f"not done in {limit} s" if status is None else judge(status, output, kind)
    return {"verdict": verdict, "seconds": round(seconds, 1), "output": output[-1000:] if verdict != "pass" else ""}


class Results:
    """A file of JSON, written after each run."""

    def __init__(self, path):
        self.path = path
        self.rows = json.loads(path.read_text()) if path.exists() else {}
        self.lock = threading.Lock()

    def add(self, key, row):
        with self.lock:
            self.rows[key] = row
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self.rows, indent=1))
            new.replace(self.path)


def failed(row):
    return "seconds" in row and row["verdict"] != "pass"


def failed_here_only(row):
    return failed(row) and row.get("reference", {}).get("verdict") == "pass"


def perform(options, results, entry, times):
    folder, name, ranks, words = entry
    ranks = options.at[times](ranks)
    key = " ".join([f"{folder}/{name}", str(ranks), times, *words])
    limit = max([options.limit, *map(int, values(words, "timeLimit"))])
    row = results.rows.get(key)
    if row is None:
        row = {"folder": folder, "times": times}
        program = options.programs / folder / name
        big = max([0.0, *map(float, values(words, "mem"))])
        if not program.exists():
            row["verdict"] = "not built"
        elif big > options.memory:
            row["verdict"] = f"not run: wants {big} GiB"
        else:
            row |= run(options.launch, program, ranks, words, limit)
        results.add(key, row)
    if failed(row) and options.reference and "reference" not in row:
        program = options.reference_programs / folder / name
        there = {"verdict": "not built"}
        if program.exists():
            there = run(options.reference, program, ranks, words, options.reference_limit)
        results.add(key, row | {"reference": there})
    return key


def table(rows, times, folders):
    """Prints a table of each folder at one number of ranks, and its failures."""
    print(f"\n| folder, at {times} | pass | fail | of these the reference fails | not built | not run |")
    print("| --- | --- | --- | --- | --- | --- |")
    totals = [0] * 5
    for folder in folders:
        mine = [row for row in rows.values() if row["folder"] == folder and row["times"] == times]
        verdicts = [row["verdict"] for row in mine]
        skipped = [sum(v.startswith(start) for v in verdicts) for start in ("not built", "not run")]
        failures = [row for row in mine if failed(row)]
        alike = sum(row.get("reference", {}).get("verdict", "pass") not in ("pass", "not built")
                    for row in failures)
        counts = [verdicts.count("pass"), len(failures), alike, *skipped]
        totals = [a + b for a, b in zip(totals, counts)]
        print("| " + " | ".join([folder, *map(str, counts)]) + " |")
    print("| " + " | ".join(["all", *map(str, totals)]) + " |")
    passed, wrong, alike = totals[:3]
    if passed > 0:
        print(f"\n{100 * passed / (passed + wrong):.1f} % of {passed + wrong} pass;"
              f" {100 * passed / (passed + wrong - alike):.1f} % of those that the reference does not fail")
    for key, row in rows.items():
        if row["times"] == times and row["verdict"] != "pass":
            there = row.get("reference", {}).get("verdict")
            print(f"{key}: {row['verdict']}" + (f"; reference: {there}" if there else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--launch", default="tmpirun --timeout {s} -n {n}",
                        help="{n} stands for the number of ranks, {s} for the limit in seconds")
    parser.add_argument("--reference", help='as --launch: "mpiexec.mpich -n {n}"')
    parser.add_argument("--reference-programs", type=pathlib.Path)
    parser.add_argument("--reference-limit", type=int, default=90, help="seconds")
    parser.add_argument("--folders", nargs="+", required=True)
    parser.add_argument("--only", default="", help="FOLDER/NAME matches this regular expression")
    parser.add_argument("--times", nargs="+", type=int)
    parser.add_argument("--ranks", nargs="+", type=int, help="of each line, whatever it says")
    parser.add_argument("--limit", type=int, default=180, help="seconds, if the line allows no more")
    parser.add_argument("--memory", type=float, default=4, help="GiB: lines that want more are not run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("suite.json"))
    options = parser.parse_args()
    if options.reference and not options.reference_programs:
        parser.error("--reference wants --reference-programs")
    times = options.times or ([] if options.ranks else [1, 4])
    options.at = {f"x{factor}": lambda ranks, factor=factor: ranks * factor for factor in times}
    options.at |= {f"={number}": lambda _, number=number: number for number in options.ranks or []}
    options.programs = options.programs.resolve()
    if options.reference:
        options.reference_programs = options.reference_programs.resolve()
    results = Results(options.results)
    work = [(entry, times) for times in options.at for entry in entries(options.sources, options.folders)
            if re.search(options.only, "/".join(entry[:2]))]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for key in pool.map(lambda item: perform(options, results, *item), work):
            if results.rows[key]["verdict"] != "pass":
                print(f"{key}: {results.rows[key]['verdict']}", flush=True)
    for times in options.at:
        table(results.rows, times, options.folders)
    return 1 if any(map(failed_here_only, results.rows.values())) else 0


if __name__ == "__main__":
    sys.exit(main())
