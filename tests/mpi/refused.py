#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each piece of memory, each mapping, each read that tmpirun and its libraries ask for is refused in turn: the
program runs without, or ends with a message.

usage: refused.py TMPIRUN PROGRAM LIBRARY REPORTS; a library that refuses (refuse.c), reports.c built
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TMPIRUN, PROGRAM, LIBRARY, REPORTED = "", "", "", ""
DEADLOCK = 86
MOST = 5000


class Refused(unittest.TestCase):
    def each(self, *options, command=(), status=0):
        with tempfile.TemporaryDirectory() as folder:
            noted = pathlib.Path(folder, "noted")
            for number in range(1, MOST):
                noted.unlink(missing_ok=True)
                result = subprocess.run(
                    [TMPIRUN, "-n", "2", "--vps=1", *(option.format(folder=folder) for option in options),
                     *(command or [PROGRAM])],
                    capture_output=True, text=True, errors="replace", check=False,
                    env={**os.environ, "LD_PRELOAD": LIBRARY, "REFUSE": str(number), "REFUSED": str(noted)})
                if not noted.exists():
                    self.assertEqual(result.returncode, status, result)
                    self.assertGreater(number, 20)
                    return
                what = f"{number}, a {noted.read_text()}: {result}"
                self.assertGreaterEqual(result.returncode, 0, what)
                said = result.stderr + "".join(file.read_text() for file in pathlib.Path(folder).glob("out.*"))
                if result.returncode > 0:
                    self.assertRegex(said, r"(?m)^(\[\d\] )?(tmpirun|tmpi|mltp): .*", what)
                self.assertNotRegex(said, r"refusals\.c:\d+: rank", what)  # nothing is broken for the program
        self.fail(f"more than {MOST} calls")

    def test_plain(self):
        self.each()

    def test_checks_and_labels(self):
        self.each("--check", "--report={folder}/report.json", "--label")

    def test_files(self):
        self.each("--output={folder}/out")

    def test_report_of_a_deadlock(self):
        self.each(command=[REPORTED, "any-rank"], status=DEADLOCK)


if __name__ == "__main__":
    TMPIRUN, PROGRAM, LIBRARY, REPORTED = sys.argv[1:5]
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
