#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals from everywhere come to a rank in each state: the outcome is that of a process (states.c).

usage: states.py TMPIRUN PROGRAM PROCESSES [PART OF]: one of so many parts of all combinations; all without
"""
import concurrent.futures
import itertools
import os
import signal
import subprocess
import sys
import unittest

TMPIRUN, PROGRAM, PROCESSES = "", "", ""
PART, OF = 0, 1
SECONDS = 550  # until a job hangs; a busy machine may be slow
STATES = ["compute", "receive", "barrier", "read", "mutex", "sleep", "fork", "handler", "exit", "finalize"]
SOURCES = ["raise", "self", "kill", "pthread_kill", "outside", "timer", "child", "pipe"]
ACTIONS = ["handle", "ignore", "block", "default"]
BACKENDS = [(), ("--one-to-one",)]


def run(command, from_outside):
    """@return how it ended, and what it printed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as job:
        lines = []
        if from_outside:
            lines.append(job.stdout.readline())
            os.killpg(job.pid, signal.SIGUSR2)
        try:
            output, errors = job.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            job.kill()
            return "hangs", *job.communicate()
    return job.returncode, "".join(lines) + output, errors


def outcome(row, command):
    status, output, errors = run([*command, *row], row[1] == "outside")
    lines = [line for line in output.splitlines() if line != "ready"]
    return (status, lines if status == 0 else []), errors


def compare(row):
    """@return what differs, as text; nothing if ranks do what processes do."""
    expected, _ = outcome(row, [PROCESSES])
    text = []
    for options in BACKENDS:
        found, errors = outcome(row, [TMPIRUN, "-n", "2", *options, PROGRAM])
        if found != expected:
            text.append(f"{' '.join([*row, *options])}: {found}, as processes {expected}\n{errors}")
    return "".join(text)


class States(unittest.TestCase):
    def test_as_processes(self):
        rows = [row for index, row in enumerate(itertools.product(STATES, SOURCES, ACTIONS)) if index % OF == PART]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            different = [text for text in pool.map(compare, rows) if text]
        self.assertEqual(different, [], f"{len(different)} of {len(rows)}:\n" + "\n".join(different))


if __name__ == "__main__":
    TMPIRUN, PROGRAM, PROCESSES = sys.argv[1:4]
    if len(sys.argv) > 4:
        PART, OF = int(sys.argv[4]), int(sys.argv[5])
    unittest.main(argv=sys.argv[:1], verbosity=2)
