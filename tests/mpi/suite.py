#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/mpi/suite.py with a suite of shell scripts.

usage: suite.py TOOL
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = ""

LIST = """# comment
good 2
bad 2 arg=-x
lonely 1
absent 3
vast 2 mem=99
fatal 2 resultTest=TestErrFatal
@word@noisy 1
"""
PROGRAMS = {
    "good": 'echo " No Errors"',
    "bad": 'echo "Found 1 errors of $1"; exit 1',
    "lonely": '[ $RANKS = 1 ] && echo "No Errors"',
    "fatal": "exit 3",
    "noisy": 'echo "No Errors"; echo more',
}


class Suite(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = pathlib.Path(folder.name)
        (self.at / "lists/part").mkdir(parents=True)
        (self.at / "lists/part/testlist.in").write_text(LIST, encoding="ascii")
        for built, programs in (("ours", PROGRAMS), ("theirs", PROGRAMS | {"bad": "echo No Errors"})):
            (self.at / built / "part").mkdir(parents=True)
            for name, text in programs.items():
                path = self.at / built / "part" / name
                path.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
                path.chmod(0o755)

    def run_tool(self, *options, status=0):
        result = subprocess.run([sys.executable, "-B", TOOL, self.at / "lists", self.at / "ours", "--launch",
                                 "env RANKS={n}", "--folders", "part", "--results", self.at / "rows.json", *options],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout, json.loads((self.at / "rows.json").read_text(encoding="ascii"))

    def test_verdicts(self):
        _, rows = self.run_tool("--times", "1")
        self.assertEqual({key: row["verdict"] for key, row in rows.items()}, {
            "part/good 2 x1": "pass", "part/bad 2 x1 arg=-x": "no verdict, status 1", "part/lonely 1 x1": "pass",
            "part/absent 3 x1": "not built", "part/vast 2 x1 mem=99": "not built",
            "part/fatal 2 x1 resultTest=TestErrFatal": "pass", "part/noisy 1 x1": "says: more"})
        self.assertIn("Found 1 errors of -x", rows["part/bad 2 x1 arg=-x"]["output"])

    def test_reference(self):
        said, rows = self.run_tool("--reference", "env RANKS={n}", "--reference-programs", self.at / "theirs", status=1)
        self.assertEqual(rows["part/bad 8 x4 arg=-x"]["reference"]["verdict"], "pass")
        self.assertIn("| part | 2 | 3 | 2 | 2 | 0 |", said)  # at 4x lonely fails, with the reference too
        self.assertIn("40.0 % of 5 pass; 66.7 % of those that the reference does not fail", said)
        self.run_tool("--ranks", "5", "--only", "lonely|noisy", "--reference", "env RANKS={n}", "--reference-programs",
                      self.at / "theirs", "--results", self.at / "both.json")  # the reference fails, too

    def test_a_number_of_ranks_for_each_line(self):
        said, rows = self.run_tool("--ranks", "6", "1")
        self.assertEqual(rows["part/lonely 1 =1"]["verdict"], "pass")
        self.assertEqual(rows["part/lonely 6 =6"]["verdict"], "no verdict, status 1")
        self.assertIn("| folder, at =6 |", said)
        self.assertNotIn("part/good 2 x1", rows)

    def test_what_is_there_is_not_run_again(self):
        self.run_tool("--times", "1")
        (self.at / "ours/part/good").unlink()
        said, rows = self.run_tool("--times", "1")
        self.assertEqual(rows["part/good 2 x1"]["verdict"], "pass")
        self.assertIn("| part | 3 | 2 | 0 | 2 | 0 |", said)

    def test_time_limit(self):
        (self.at / "ours/part/good").write_text("#!/bin/sh\nsleep 100\n", encoding="ascii")
        _, rows = self.run_tool("--times", "1", "--only", "good", "--limit", "-9")  # and GRACE
        self.assertEqual(rows["part/good 2 x1"]["verdict"], "not done in -9 s")


if __name__ == "__main__":
    TOOL = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
