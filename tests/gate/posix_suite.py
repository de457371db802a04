#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the verdicts of the Open POSIX test suite without the gate and under it.

Usage: posix_suite.py MLTP SUITE [--vps N ...] [--only PREFIX ...] [--jobs J]

SUITE is the folder testcases/open_posix_testsuite of the LTP sources, which this tree does not
hold. Each test of the folders pthread_* and sem_* is compiled and run as it is, then by
`mltp run --threads` with each number of permits. A verdict is the exit status. Tests whose verdict
without the gate is not 0 are compared, too. Prints what differs; the exit status says whether any
does.
"""
import argparse
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

VERDICTS = {0: "pass", 1: "fail", 2: "unresolved", 4: "unsupported", 5: "untested"}
FOLDERS = ("pthread_", "sem_")


def run(words, environment, seconds):
    """Returns a verdict as a word. The test and its children are ended when its time is over."""
    with subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, cwd=tempfile.gettempdir(),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as process:
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "hangs"
    return VERDICTS.get(status, f"status {status}")


def compile_test(suite, source, program):
    """Returns whether the test could be built."""
    main = suite / "lib" / "common.c"
    words = ["gcc", "-std=gnu99", "-D_GNU_SOURCE", "-w", "-I", suite / "include", source,
             *([main] if main.exists() else []), "-o", program, "-pthread", "-lrt", "-lm"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def compare(arguments, source, directory):
    """Returns the test's name and its verdicts, first that without the gate; None: not built."""
    name = f"{source.parent.name}/{source.stem}"
    program = pathlib.Path(directory) / name.replace("/", "-")
    if not compile_test(arguments.suite, source, program):
        return name, None
    plain = {**os.environ, "MLTP_COORDINATOR": "off"}
    verdicts = [run([program], plain, arguments.seconds)]
    for vps in arguments.vps:
        verdicts.append(run([arguments.mltp, "run", "--threads", "--", program],
                            {**plain, "MLTP_VPS": str(vps)}, arguments.seconds))
    program.unlink()
    return name, verdicts


def sources(arguments):
    """The tests' files."""
    folder = arguments.suite / "conformance" / "interfaces"
    files = sorted(file for file in folder.glob("*/*.c") if file.parent.name.startswith(FOLDERS))
    prefixes = tuple(arguments.only)
    return [file for file in files if not prefixes or
            f"{file.parent.name}/{file.stem}".startswith(prefixes)]


def main():
    """Runs all tests."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("mltp", type=pathlib.Path)
    parser.add_argument("suite", type=pathlib.Path)
    parser.add_argument("--vps", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    arguments.mltp = arguments.mltp.resolve()
    same = built = 0
    with tempfile.TemporaryDirectory() as directory, \
            concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for name, verdicts in pool.map(lambda file: compare(arguments, file, directory),
                                       sources(arguments)):
            if verdicts is None:
                continue
            built += 1
            same += len(set(verdicts)) == 1
            if len(set(verdicts)) > 1:
                print(f"{name}: {verdicts[0]}; gated: {', '.join(verdicts[1:])}", flush=True)
    print(f"{same} of {built} tests have the same verdict")
    return same != built


if __name__ == "__main__":
    sys.exit(main())
