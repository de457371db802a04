#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of ranks: how large they are, under which limits, and what an overflow says.

usage: stacks.py TMPIRUN STACKS
"""
import os
import resource
import subprocess
import sys
import unittest

TMPIRUN, PROGRAM = "", ""
MIB = 1 << 20


def run(*words, ranks=2, options=(), **limits):
    """Runs the program; limits: names of resource.RLIMIT_, and bytes."""
    def limit():
        for name, size in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (size, resource.getrlimit(getattr(
                resource, f"RLIMIT_{name}"))[1]))
    return subprocess.run([TMPIRUN, "-n", str(ranks), *options, PROGRAM, *map(str, words)], capture_output=True,
                          text=True, check=False, preexec_fn=limit)


class Stacks(unittest.TestCase):
    def test_default_is_large(self):
        result = run("fill", 60, STACK=8 * MIB)
        self.assertEqual(result.returncode, 0, result)

    def test_default_is_the_limit_where_that_is_larger(self):
        result = run("fill", 200, STACK=256 * MIB)
        self.assertEqual(result.returncode, 0, result)

    @unittest.skipIf(os.environ.get("MLTP_GUARD") == "canary", "stacks have no guards")
    def test_overflow_names_rank_and_remedy(self):
        for options in [(), ("--stack=16384",)]:
            result = run("fill", 80, options=options)
            self.assertLess(result.returncode, 0, result)
            self.assertRegex(result.stderr, r"rank [01]: stack overflow: all [0-9]+ KiB of its stack are used \(larger --stack")
            self.assertRegex(result.stderr, r"#\d+ +stacks\.c:\d+ \((fill|main)\)")

    @unittest.skipIf(os.environ.get("MLTP_GUARD") == "canary", "stacks have no guards")
    def test_overflow_that_the_program_handles(self):
        """Its handler runs on another stack, and may leave: OCaml and Lisp make exceptions of overflows."""
        for options in [(), ("--stack=1024",), ("--one-to-one",), ("--vps=4",)]:
            result = run("handle", ranks=4, options=options)
            self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        result = run("without-stack")
        self.assertLess(result.returncode, 0, result)
        self.assertRegex(result.stderr, "rank [01]: stack overflow: all [0-9]+ KiB of its stack are used")

    @unittest.skipIf(os.environ.get("MLTP_GUARD") == "canary", "stacks have no guards")
    def test_large_frame_does_not_reach_a_neighbour(self):
        for options in [(), ("--stack=1024",), ("--one-to-one",)]:
            result = run("jump", options=options)
            self.assertLess(result.returncode, 0, result)
            self.assertRegex(result.stderr, "rank 1")

    def test_bounds_are_the_ranks_own(self):
        for options in [(), ("--stack=1024",), ("--one-to-one",), ("--vps=4",)]:
            result = run("bounds", ranks=8, options=options)
            self.assertEqual(result.returncode, 0, result)

    def test_stacks_fit_into_a_limit(self):
        result = run("none", ranks=1000, AS=16_000_000 * 1024)
        self.assertEqual(result.returncode, 0, result)

    def test_stacks_that_do_not_fit_are_refused_before_the_start(self):
        result = run("none", ranks=1000, options=("--stack=8192",), AS=16_000_000 * 1024)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"no address space for 1000 stacks of 8388608 bytes, only for [0-9]+ \(fewer ranks")
        self.assertEqual(result.stderr.count("\n"), 1)


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
