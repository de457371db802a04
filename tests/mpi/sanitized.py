#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user's program with AddressSanitizer or ThreadSanitizer, under a tmpirun that has it, too.

usage: sanitized.py TMPIRUN PROGRAM address|thread
"""
import subprocess
import sys
import unittest

TMPIRUN, PROGRAM, SANITIZER = "", "", ""


def run(*arguments, options=()):
    return subprocess.run([TMPIRUN, "-n", "8", *options, PROGRAM, *arguments], capture_output=True, text=True,
                          check=False)


class Sanitized(unittest.TestCase):
    def test_right_program(self):
        for options in ((), ("--vps=1",), ("--one-to-one",)):
            with self.subTest(options):
                result = run(options=options)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_overflow(self):
        if SANITIZER != "address":
            self.skipTest("another sanitizer")
        result = run("overflow")
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, "AddressSanitizer: heap-buffer-overflow")
        self.assertRegex(result.stderr, "0 bytes .*after|0 bytes to the right of 10-byte region")

    def test_race(self):
        if SANITIZER != "thread":
            self.skipTest("another sanitizer")
        result = run("race", options=["--one-to-one"])  # on one VP they follow each other
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, "ThreadSanitizer: data race")


if __name__ == "__main__":
    TMPIRUN, PROGRAM, SANITIZER = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
