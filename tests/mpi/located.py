#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports of a Fortran program name its own lines, not those of the subroutines that call C.

usage: located.py TMPIRUN PROGRAM SOURCE
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

DEADLOCK = 86
ERR_RANK = 6
TMPIRUN = PROGRAM = SOURCE = ""
LINES = []


def line_of(text):
    """Returns the number of the only line that has a text."""
    numbers = [number for number, line in enumerate(LINES, 1) if text in line]
    assert len(numbers) == 1, (text, numbers)
    return numbers[0]


class Located(unittest.TestCase):
    def report(self, status, *words):
        result = subprocess.run([TMPIRUN, *words[:-1], "-n", "2", PROGRAM, words[-1]], capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, status, result)
        return result.stderr

    def test_a_rank_that_waits(self):
        report = self.report(DEADLOCK, "hangs")
        self.assertIn(f"at located.f90:{line_of('call MPI_Recv')} (", report)
        self.assertIn(f"MPI_Finalize on MPI_COMM_WORLD, at located.f90:{line_of('call MPI_Finalize')} (", report)
        self.assertRegex(report, rf"(?m)^ *#0 .*_recv_\)\n *#1  located.f90:{line_of('call MPI_Recv')} \(")

    def test_a_leak(self):
        """The wrappers of --check note where a call returns to."""
        self.assertIn(f"MPI_Comm_dup() at located.f90:{line_of('call MPI_Comm_dup')} (", self.report(0, "--check", "leaks"))

    def test_an_error(self):
        self.assertIn(f"at located.f90:{line_of('call MPI_Send')} (", self.report(ERR_RANK, "fails"))

    def test_a_library_with_a_subroutine_that_is_written_by_hand(self):
        """Its note comes with each of them."""
        program, source = pathlib.Path(PROGRAM).with_name("located_part"), pathlib.Path(SOURCE).with_name("located_part.f90")
        lines = source.read_text(encoding="ascii").splitlines()
        line = 1 + next(i for i, text in enumerate(lines) if "call MPI_Init" in text)
        result = subprocess.run([TMPIRUN, program], capture_output=True, text=True, check=False)
        self.assertIn(f"at located_part.f90:{line} (", result.stderr, result)

    def test_without_tmpirun(self):
        """Then a report names an offset in the program, which addr2line takes."""
        result = subprocess.run([PROGRAM, "fails"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, ERR_RANK, result)
        offset = re.search(r"MPI_Send .*, at \S*located\+0x([0-9a-f]+)", result.stderr)
        self.assertTrue(offset, result)
        if not shutil.which("addr2line"):
            self.skipTest("no addr2line here (install binutils)")
        call = hex(int(offset[1], 16) - 1)  # the address is where the call returns to
        place = subprocess.run(["addr2line", "-e", PROGRAM, call], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"located.f90:{line_of('call MPI_Send')}\n", place)

    def test_a_rank_that_polls(self):
        """At the time limit a rank is anywhere in its loop. On a busy machine it has not come there after a second."""
        first = line_of("do while")
        for seconds in ("1", "4", "16", "64"):
            report = self.report(124, "--timeout", seconds, "polls")
            self.assertNotIn("fortran.c", report)
            if "MPI_Test" in report and re.search(rf"at located.f90:({first}|{first + 1}|{first + 2}) \(", report):
                return
        self.fail(report)


if __name__ == "__main__":
    TMPIRUN, PROGRAM, SOURCE = sys.argv[1:4]
    LINES = pathlib.Path(SOURCE).read_text().splitlines()
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
