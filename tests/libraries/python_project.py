#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pytest of a project with mpi4py (python_project/), each rank an interpreter: all ranks run and pass the same tests.

usage: python_project.py TMPIRUN ENVIRONMENT, which python_environment.py makes. Exit status 77: it has not been made
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TMPIRUN, ENVIRONMENT = "", ""
RANKS = 4
PASSED = r"passed(?:, \d+ warnings?)? in "  # pytest warns when it clears a folder that another rank clears, too
PROJECT = pathlib.Path(__file__).resolve().with_suffix("")


class Project(unittest.TestCase):
    def setUp(self):
        python = pathlib.Path(ENVIRONMENT, "bin", "python")
        if not pathlib.Path(ENVIRONMENT, "complete").exists():
            self.skipTest("no environment with mpi4py and pytest (./dev libraries makes it)")
        missing = re.search(r"\(install (libpython\S+)\)", self.run_words(TMPIRUN, "-n", 1, python, "-c", "").stderr)
        if missing:
            self.skipTest(f"no {missing[1]}")
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.project = shutil.copytree(PROJECT, self.folder / "project")  # pytest writes what it compiles there
        self.words = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", self.project]

    def run_words(self, *words, **variables):
        return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, **variables})

    def run_ranks(self, **variables):
        """Returns the result, and what each rank has printed."""
        result = self.run_words(TMPIRUN, "-n", RANKS, f"--output={self.folder}/out", *self.words, **variables)
        return result, [(self.folder / f"out.{rank}").read_text() for rank in range(RANKS)]

    def test_all_ranks_pass(self):
        number = len(re.findall(r"^def test_", "".join(file.read_text() for file in PROJECT.glob("test_*.py")), re.M))
        result, outputs = self.run_ranks()
        self.assertEqual(result.returncode, 0, (result, outputs))
        for output in outputs:
            passed = re.search(rf"^(\d+) {PASSED}", output, re.M)
            self.assertIsNotNone(passed, output)
            self.assertGreaterEqual(int(passed[1]), number, output)

    def test_output_to_one_terminal(self):
        """pytest captures what a test prints: it redirects the descriptors of its rank alone."""
        result = self.run_words(TMPIRUN, "-n", RANKS, *self.words)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(len(re.findall(rf"^\d+ {PASSED}", result.stdout, re.M)), RANKS, result)
        self.assertNotIn("printed by", result.stdout)

    def test_failure_of_one_rank(self):
        result, outputs = self.run_ranks(FAILING_RANK="2")
        self.assertEqual(result.returncode, 1, (result, outputs))
        self.assertEqual([len(re.findall(rf"^1 failed, \d+ {PASSED}", output, re.M)) for output in outputs], [0, 0, 1, 0])


if __name__ == "__main__":
    TMPIRUN, ENVIRONMENT = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    run = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2, exit=False).result
    sys.exit(1 if not run.wasSuccessful() else 77 if len(run.skipped) == run.testsRun else 0)
