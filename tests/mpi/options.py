#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The options of tmpirun that choose how ranks run, and wrong ones.

usage: options.py TMPIRUN INTERLEAVING
"""
import os
import re
import subprocess
import sys
import unittest

TMPIRUN, PROGRAM = "", ""


def run(*options, arguments=(), ranks=8, **environment):
    line = [TMPIRUN, "-n", str(ranks), *options, PROGRAM, *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


class Options(unittest.TestCase):
    def order(self, *options):
        result = run(*options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(len(result.stdout.split()), 7 * 5)
        return result.stdout

    def kernel_threads(self, *options, ranks=8):
        result = run(*options, arguments=["who"], ranks=ranks)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_same_seed_same_interleaving(self):
        orders = {seed: self.order(f"--seed={seed}") for seed in range(1, 7)}
        for seed, order in orders.items():
            self.assertEqual(self.order(f"--seed={seed}"), order)
        self.assertGreater(len(set(orders.values())), 1)

    def test_virtual_processors(self):
        self.assertEqual(len(set(self.kernel_threads("--vps=1"))), 1)
        self.assertLessEqual(len(set(self.kernel_threads("--vps=3", ranks=100))), 3)

    def test_one_to_one(self):
        self.assertEqual(len(set(self.kernel_threads("--one-to-one"))), 8)

    def test_stack(self):
        for size in (16384, 64):
            self.order(f"--stack={size}")
        self.assertIn("MLTP_STACK_SIZE", run("--stack=1").stderr)

    def test_np_behind_an_option_with_a_word(self):
        result = subprocess.run([TMPIRUN, "--vps", "2", "-np", "3", "--seed", "5", "/bin/true"], capture_output=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_wait(self):
        for how in ("conscious", "spin", "spin:2", "park"):
            self.order(f"--wait={how}")

    def test_help_and_version(self):
        text = subprocess.run([TMPIRUN, "--help"], capture_output=True, text=True, check=True).stdout
        for option in ("np", "vps", "one-to-one", "seed", "stack", "wait", "timeout", "label", "output", "check",
                       "report"):
            self.assertRegex(text, rf"--{option}\b")
        version = subprocess.run([TMPIRUN, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(version, r"^tmpirun \d+\.\d+")

    def test_wrong_numbers(self):
        for option in ("--wait=spin:0", "--wait=spin:", "--vps=0", "--seed=x", "--stack=-1", "--timeout=0", "--timeout=1s"):
            result = run(option)
            self.assertEqual(result.returncode, 2, option)
            self.assertRegex(result.stderr, re.escape(option.partition("=")[0]) + ": '.*' is no number from")


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
