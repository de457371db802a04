#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How jobs with spawned ranks end, and what is printed of these ranks.

usage: spawn.py TMPIRUN PROGRAM
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

TMPIRUN, PROGRAM = "", ""


def run(*words, options=(), space=None):
    limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (space, space))) if space else None
    return subprocess.run([TMPIRUN, "-n", "2", *options, PROGRAM, *words], capture_output=True, text=True, check=False,
                          preexec_fn=limit)


class Spawn(unittest.TestCase):
    def ends(self, how, status, *said, options=()):
        result = run(how, options=options)
        self.assertEqual(result.returncode, status, result)
        for pattern in said:
            self.assertRegex(result.stderr, pattern)
        return result

    def test_crash_names_the_rank(self):
        self.ends("crash", -11, "rank 3 crashed: SIGSEGV")

    def test_abort_names_the_rank(self):
        self.ends("mpi-abort", 5, r"rank 3 called MPI_Abort\(5\)")

    def test_status_is_that_of_the_job(self):
        self.ends("status", 3, r"rank 3 ended with status 3 \(1 of 4 ranks failed\)")

    def test_deadlock_names_both_worlds(self):
        self.ends("wait", 86, "deadlock of 4 ranks", "rank 1 waits in MPI_Barrier",
                  "ranks 2-3 wait in MPI_Recv: no message has come from rank 0, tag 9, .* on MPI_COMM_PARENT")

    def test_labels(self):
        result = self.ends("status", 3, options=["--label"])
        self.assertEqual(sorted(result.stdout.splitlines()), ["[2] child 0", "[3] child 1"])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            self.ends("status", 3, options=[f"--output={folder}/out"])
            texts = [pathlib.Path(folder, f"out.{i}").read_text(encoding="ascii") for i in range(4)]
        self.assertEqual(texts[2:], ["child 0\n", "child 1\n"])

    def test_file_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "out.3").mkdir()
            self.ends("status", 53, options=[f"--output={folder}/out"])
            said = pathlib.Path(folder, "out.0").read_text(encoding="ascii")
            self.assertIn("cannot write the output file of rank 3: Is a directory (another --output)", said)

    def test_no_room(self):
        self.ends("status", 53, r"2 ranks are too many: 1 can be added to 2 \(tmpirun --spare\)", options=["--spare=1"])
        self.ends("status", 53, r"no room for more ranks was kept", options=["--spare=0"])

    def test_limited_address_space(self):
        result = run("status", space=1 << 32)
        self.assertEqual(result.returncode, 53, result)
        self.assertIn("no room for more ranks was kept", result.stderr)
        result = run("status", options=["--spare=2"], space=1 << 32)
        self.assertEqual(result.returncode, 3, result)

    def universe(self, *options):
        """The size that a program sees of two ranks on one CPU."""
        cpu = min(os.sched_getaffinity(0))
        result = subprocess.run([TMPIRUN, "-n", "2", *options, PROGRAM, "universe"], capture_output=True, text=True, check=True,
                                preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        return int(result.stdout)

    def test_universe(self):
        """A program that spawns what is missing to it gets as many ranks as there are CPUs, but one at least."""
        self.assertEqual(self.universe(), 3)
        self.assertEqual(self.universe("--spare=7"), 9)
        self.assertEqual(self.universe("--spare=0"), 2)
        two = sorted(os.sched_getaffinity(0))[:2]
        if len(two) == 2:
            result = subprocess.run([TMPIRUN, PROGRAM, "universe"], capture_output=True, text=True, check=True,
                                    preexec_fn=lambda: os.sched_setaffinity(0, two))
            self.assertEqual(result.stdout, "2\n")

    def test_checks_find_nothing(self):
        result = run(options=["--check", "--report"])
        self.assertEqual(result.returncode, 0, result)
        self.assertNotIn("tmpirun: --check", result.stderr)
        self.assertRegex(result.stderr, "MPI_Comm_spawn")


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
