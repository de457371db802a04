#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of programs in which one thread could stop another, and of programs of other compilers and C++ libraries:
on 1, 2 and 8 VPs, alone and beside a load.

The load is a number of processes that compute. A run is right if its test says so, and the table gives its seconds. A
test that has not ended after the time limit hangs. Tests that choose VPs themselves have one run. The exit status says
whether a run was wrong, or a test is not built here.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

VPS = ("1", "2", "8")
COMPILERS = ("gcc", "clang", "libcxx")  # the last one is clang with libc++
SKIPPED = 77
ROWS = (  # what happens in the program, and its test; a test without {vps} takes MLTP_VPS
    ("the VP of a sleeping thread blocks, announced; partners yield to each other", "fair.native-{vps}"),
    ("VPs block or compute while threads are ready", "handover.native-{vps}"),
    ("each blocking call, and the thread that ends it is ready", "calls.native-{vps}"),
    ("initialisers that wait: static variables, call_once, pthread_once", "initialise.native-{vps}"),
    ("a deadlock of bound threads", "deadlock.kernel"),
    ("ranks: flock, FIFO and each other blocking call", "mpi.calls.native-{vps}"),
    ("ranks: promise, future, condition_variable::wait_for", "mpi.futures.native-{vps}"),
    ("ranks: mutexes, also recursive ones, held over a wait", "mpi.locks.native-{vps}"),
    ("ranks: pthreads of their own", "mpi.pthreads.native-{vps}"),
    ("ranks: sleeps and timers", "mpi.timers.native-{vps}"),
    ("ranks poll a flag that the last one sets", "mpi.spinning.{vps}"),
    ("more ranks wait for pthreads than there can be VPs", "mpi.joins"),
    *((what, f"interop.{program}.{compiler}")
      for program, what in (("ordinary", "exceptions, coroutines, overflows"),
                            ("endings", "exit(), pthread_exit(), exceptions that leave a thread"),
                            ("statics", "static initialisers, by other settings"),
                            ("sanitized", "sanitizers over a library that was built without"))
      for compiler in COMPILERS),
    ("two copies of the library", "interop.copies.native-{vps}"),
    ("what belongs to a thread, to its VP, to the process", "interop.belongs"),
    ("programs in Python and Rust", "interop.languages"),
)


def chooses_itself(name):
    """Whether a test runs its programs on each number of VPs itself."""
    return name == "deadlock.kernel" or name.startswith("interop.") and "{vps}" not in name


def registered(build):
    """Returns of each test its command, its environment and its folder."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    tests = {}
    for test in json.loads(listed.stdout)["tests"]:
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", ())}
        environment = dict(word.split("=", 1) for word in properties.get("ENVIRONMENT", ()))
        tests[test["name"]] = (test.get("command"), environment, properties.get("WORKING_DIRECTORY"))
    return tests


@contextlib.contextmanager
def load(count):
    """That number of processes computes meanwhile."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def run(test, vps, limit, log):
    """Returns how the run ended, as a word, and whether it was right."""
    command, environment, folder = test
    begin = time.monotonic()
    with subprocess.Popen(command, cwd=folder, env={**os.environ, **environment, "MLTP_VPS": vps}, stdin=subprocess.DEVNULL,
                          stdout=log, stderr=log, start_new_session=True) as process:
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return "hangs", False
    if status == SKIPPED:
        return "skipped", True
    return f"{time.monotonic() - begin:.1f}" if status == 0 else f"status {status}", status == 0


def cells(name, tests, limit, log):
    """Runs a test on each number of VPs. Returns the cells of the table, and how many runs were wrong and right."""
    shown, wrong, right = [], 0, 0
    for vps in VPS[:1] if chooses_itself(name) else VPS:
        test = tests.get(name.format(vps=vps))
        word, good = run(test, vps, limit, log) if test and test[0] else ("absent", False)
        shown.append(word)
        wrong += not good
        right += good and word != "skipped"
    return shown, wrong, right


def main():
    parser = argparse.ArgumentParser(prog="dev check-stalls", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--load", type=int, default=2 * len(os.sched_getaffinity(0)), help="processes of the load (%(default)s)")
    parser.add_argument("--limit", type=int, default=600, help="seconds after which a run hangs (%(default)s)")
    parser.add_argument("--only", default="", help="tests whose names contain this word")
    options = parser.parse_args()
    tests = registered(options.build)
    wrong = right = 0
    rows = [row for row in ROWS if options.only in row[1]]
    with open(options.build / "check-stalls.log", "wb") as log:
        for count in (0, options.load):
            print(f"beside {count} processes, seconds on {', '.join(VPS)} VPs" if count else "alone, seconds", flush=True)
            with load(count):
                for what, name in rows:
                    shown, more_wrong, more_right = cells(name, tests, options.limit, log)
                    print(f"  {name.replace('.native-{vps}', '').replace('.{vps}', ''):24} "
                          f"{' '.join(f'{word:>10}' for word in shown):34} {what}", flush=True)
                    wrong, right = wrong + more_wrong, right + more_right
    print(f"{right} of {right + wrong} runs right (what they wrote: {log.name})")
    return wrong != 0 or right == 0


if __name__ == "__main__":
    sys.exit(main())
