#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a coverage build, makes the report of its lines, and holds it to what is demanded.

usage: run.py BUILD [ARGUMENT of ctest ...]
An interrupted run continues where it was, with its counts and its failures, unless something was built
since. A failed test does not keep the report from being made; the command fails then all the same.
"""
import os
import pathlib
import re
import subprocess
import sys

import check

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "tests/coverage/uncovered.txt"
# What runs none of src/, or, as the report's tests, programs that others run.
LEFT_OUT = "^(mutations|models?|lint|report)$"
# A test that is disabled is not for this build.
VERDICT = re.compile(r"Test +#\d+: (\S+) \.*(\*\*\*\w+\b(?: Run)?(?! Run| \(Disabled)| +Passed)")


def goes_on(build):
    """Whether a run of this very build was interrupted: its counts are good, and its tests need not run again."""
    checkpoint = build / "Testing/Temporary/CTestCheckpoint.txt"
    if not checkpoint.exists():
        return False
    began = checkpoint.stat().st_mtime
    return all(notes.stat().st_mtime <= began for notes in build.rglob("*.gcno"))


def start_anew(build, log):
    """Counts of another build would spoil those of this one."""
    (build / "Testing/Temporary/CTestCheckpoint.txt").unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    for counts in build.rglob("*.gcda"):
        counts.unlink()


def run_tests(build, log, arguments):
    """Shows what ctest says, and keeps it behind what an interrupted run has said. Returns its status."""
    # A time-out is tried again: what is asked here is which lines run.
    command = ["ctest", "--preset", "coverage", "-F", "--repeat", "after-timeout:2", "-LE", LEFT_OUT,
               "-j", str(len(os.sched_getaffinity(0))), *arguments]
    # What libgcov has to complain of is not to be seen where tests look at what programs say.
    environment = {**os.environ, "GCOV_ERROR_FILE": str(build / "libgcov.log")}
    with log.open("a", encoding="utf-8") as kept, \
         subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True,
                          errors="replace") as ctest:
        for line in ctest.stdout:
            kept.write(line)
            kept.flush()
            print(line, end="", flush=True)
    return ctest.returncode


def failures(text):
    """The tests whose last verdict in ctest's words is a bad one."""
    last = dict(VERDICT.findall(text))
    return sorted(test for test, verdict in last.items() if verdict.strip() not in ("Passed", "***Skipped"))


def report(build):
    """Makes the pages and lines.json of the counts; returns gcovr's status."""
    (build / "html").mkdir(exist_ok=True)
    # counts of threads that end with the process may be torn: gcovr shall not stop at one
    return subprocess.run(["gcovr", "--gcov-ignore-parse-errors", "--root", ROOT, "--filter", "src/",
                           "--json", build / "lines.json", "--html-details", build / "html/index.html", build],
                          cwd=ROOT, check=False).returncode


def main(build, *arguments):
    build = pathlib.Path(build).resolve()
    log, complaints = build / "tests.log", build / "libgcov.log"
    if not goes_on(build):
        start_anew(build, log)
    complaints.unlink(missing_ok=True)
    status = run_tests(build, log, arguments)
    if status < 0:
        return 1  # it was ended from outside: the next run continues
    failed = failures(log.read_text(encoding="utf-8"))
    if complaints.exists() and complaints.stat().st_size:
        print(f"coverage: libgcov complains, of counts that are lost: see {complaints}")
    if report(build) != 0:
        return 1
    low = check.main(build / "lines.json", LIST)
    if failed:
        print(f"coverage: the lines are counted, but {len(failed)} tests failed: {' '.join(failed)} (see {log})")
    elif status != 0:
        print(f"coverage: ctest ended with status {status} (see {log})")
    return 1 if status != 0 or failed or low else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
