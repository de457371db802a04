#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of the program that MPI calls, and that end the job: the status is right, and the message names the rank.

usage: callbacks.py TMPIRUN PROGRAM [SANITIZER]
"""
import pathlib
import re
import resource
import signal
import subprocess
import sys
import unittest

TMPIRUN, PROGRAM, SANITIZER = "", "", ""
PLACES = ("allreduce iallreduce scan comm-error win-error file-error attribute-copied attribute-deleted window-freed "
          "request-queried conversion").split()
SETTINGS = [["--vps", "1"], ["--vps", "2"], ["--one-to-one"]]
EVERY_RANK = {"allreduce", "iallreduce", "scan", "conversion"}  # calls it, others only rank 1
ENDS = {"abort": (-signal.SIGABRT, r"rank R called abort\(\)"), "mpi-abort": (7, r"rank R called MPI_Abort\(7\)"),
        "exit": (4, "rank R ended with status 4"), "_exit": (5, "rank R ended with status 5"),
        "crash": (-signal.SIGSEGV, "rank R crashed: SIGSEGV at address 0x8")}


class Callbacks(unittest.TestCase):
    def ends(self, how):
        status, said = ENDS[how]
        for number, place in enumerate(PLACES, start=list(ENDS).index(how)):
            options = SETTINGS[number % len(SETTINGS)]  # over all endings, each place has each setting
            with self.subTest(place=place, options=options):
                done = subprocess.run([TMPIRUN, "-n", "4", *options, PROGRAM, place, how], capture_output=True, text=True,
                                      check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
                self.assertIn("callback\n", done.stderr)
                self.assertEqual(done.returncode, status, done.stderr[:2000])
                self.assertRegex(done.stderr, said.replace("R", "[0-3]" if place in EVERY_RANK else "1", 1))

    def test_abort(self):
        self.ends("abort")

    def test_mpi_abort(self):
        self.ends("mpi-abort")

    def test_exit(self):
        self.ends("exit")

    def test_exit_at_once(self):
        self.ends("_exit")

    def test_crash(self):
        if SANITIZER:
            self.skipTest("sanitizers report a crash in their own way")
        self.ends("crash")

    def test_all_places_are_here(self):
        text = pathlib.Path(__file__).with_suffix(".c").read_text(encoding="ascii")
        self.assertEqual(re.findall(r'^    \{"([\w-]+)"', text, re.M), PLACES)


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    SANITIZER = sys.argv[3] if len(sys.argv) > 3 else ""
    unittest.main(argv=sys.argv[:1], verbosity=2)
