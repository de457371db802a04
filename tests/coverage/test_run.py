# SPDX-License-Identifier: Apache-2.0
"""Which tests of a coverage run have failed, what an interruption leaves, and what becomes of the report."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import run

HERE = pathlib.Path(__file__).resolve().parent
LINES = {"files": [{"file": "src/base/options.c", "lines": [{"line_number": 1, "count": 1}]}]}

INTERRUPTED = """\
      Start   1: one.native-2
  1/812 Test   #1: one.native-2 ...............***Failed    0.10 sec
  2/812 Test   #2: two ........................   Passed    0.10 sec
        Test  #13: slow.kernel ................***Timeout 480.00 sec
        Start  14: lost
"""
GONE_ON = """\
  3/812 Test  #13: slow.kernel ................   Passed  300.00 sec
  4/812 Test  #14: lost .......................***Exception: SegFault  0.20 sec
  5/812 Test  #15: gdb ........................***Skipped   0.20 sec
  6/812 Test  #16: absent .....................***Not Run   0.00 sec
"""


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)

    def test_failures_by_the_last_verdict(self):
        self.assertEqual(run.failures(INTERRUPTED), ["one.native-2", "slow.kernel"])
        self.assertEqual(run.failures(INTERRUPTED + GONE_ON), ["absent", "lost", "one.native-2"])
        self.assertEqual(run.failures("100% tests passed"), [])

    def test_goes_on_unless_something_was_built(self):
        checkpoint = self.build / "Testing/Temporary/CTestCheckpoint.txt"
        checkpoint.parent.mkdir(parents=True)
        self.assertFalse(run.goes_on(self.build))
        checkpoint.write_text("1\n")
        notes = self.build / "one.gcno"
        notes.touch()
        os.utime(notes, (1, 1))
        self.assertTrue(run.goes_on(self.build))
        os.utime(checkpoint, (0, 0))
        self.assertFalse(run.goes_on(self.build))

    def as_one_command(self, says, status):
        """The whole command, with a ctest that says this in place of running tests."""
        for name, script in (("ctest", f"cat <<'END'\n{says}END\nexit {status}"),
                             ("gcovr", 'while [ "$1" != --json ]; do shift; done\n'
                                       f"echo '{json.dumps(LINES)}' >\"$2\"")):
            program = self.build / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
        return subprocess.run([sys.executable, "-B", HERE / "run.py", self.build], text=True, capture_output=True,
                              cwd=HERE.parents[1], check=False,
                              env={**os.environ, "PATH": f"{self.build}/bin:{os.environ['PATH']}"})

    def test_report_in_spite_of_failures(self):
        result = self.as_one_command(INTERRUPTED + GONE_ON, 8)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stdout, r"1 of 1 lines of src/ \(100\.0 %\)")
        self.assertIn("3 tests failed: absent lost one.native-2", result.stdout)

    def test_all_well(self):
        result = self.as_one_command(GONE_ON.splitlines(keepends=True)[0], 0)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_failures_of_before_an_interruption_count(self):
        (self.build / "Testing/Temporary").mkdir(parents=True)
        (self.build / "Testing/Temporary/CTestCheckpoint.txt").write_text("1\n2\n")
        (self.build / "tests.log").write_text(INTERRUPTED)
        result = self.as_one_command(GONE_ON.splitlines(keepends=True)[0], 0)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("1 tests failed: one.native-2", result.stdout)


if __name__ == "__main__":
    unittest.main()
