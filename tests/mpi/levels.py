#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --check says of threads that call MPI although the program's level does not allow it.

usage: levels.py TMPIRUN PROGRAM
"""
import subprocess
import sys
import unittest

TMPIRUN, PROGRAM = "", ""


class Levels(unittest.TestCase):
    def said(self, how, status, *patterns, options=("--check=strict",)):
        result = subprocess.run([TMPIRUN, "-n", "4", *options, PROGRAM, how], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, status, result.stderr)
        for pattern in patterns:
            self.assertRegex(result.stderr, pattern)

    def test_thread_that_has_not_initialized_mpi(self):
        call = (r"rank 1: a thread that has not initialized MPI calls MPI_Send\(1 MPI_INT, rank 0, tag 6\)"
                r" at levels.c:\d+ \(send_to_first\), and the program has MPI_THREAD_")
        for options in (), ("--one-to-one",):
            for level in ("single", "funneled"):
                self.said(f"{level}-sends", 0, "^$", options=options)
                self.said(f"{level}-sends", 1, call + rf"{level.upper()} \(MPI_Init_thread", "has found 1 mistake\n",
                          options=("--check", *options))

    def test_two_threads_at_once(self):
        self.said("serialized-at-once", 1, r"rank 2: a thread calls MPI_(Ssend|Recv)\(.* at levels.c:\d+ \((receive|two_at_once)\) while another"
                  r" one is in MPI_(Ssend|Recv)\(.* MPI_THREAD_SERIALIZED \(MPI_Init_thread\(\) with MPI_THREAD_MULTIPLE\)",
                  "has found 1 mistake\n")

    def test_thread_that_ends_mpi(self):
        self.said("multiple-finalizes", 1, r"rank 3: a thread that has not initialized MPI calls MPI_Finalize\(\) at levels.c",
                  "has found 4 mistakes\n")

    def test_what_is_right(self):
        """Functions of the program that the library calls, on threads of its own as well; sessions, which have no such thread."""
        for options in (), ("--one-to-one",):
            for how in ("funneled-main", "serialized-in-turn", "multiple-at-once", "session"):
                self.said(how, 0, "^$", options=("--check=strict", *options))


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
