#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with a sanitizer over a libmltp that was built without: right, or refused in one line.

usage: sanitized.py SOURCE_DIR LIBRARY_DIR COMPILER [FLAG ...]
SOURCE_DIR is the root of the tree, LIBRARY_DIR has libmltp.so. Exit status 77: the compiler cannot do it.
"""
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE, LIBRARY, COMPILER, FLAGS = "", "", "", []
PROGRAM = "tests/interop/sanitized.cpp"
FOLDER = tempfile.TemporaryDirectory()


@functools.cache
def build(sanitizer):
    """The program with that sanitizer; None: the compiler has none."""
    program = pathlib.Path(FOLDER.name) / sanitizer
    command = [COMPILER, *FLAGS, "-std=c++20", "-g", "-O1", f"-fsanitize={sanitizer}", f"-I{SOURCE}/include", f"{SOURCE}/{PROGRAM}",
               "-o", program, f"-L{LIBRARY}", "-lmltp", f"-Wl,-rpath,{LIBRARY}", "-pthread"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0 and "mltp" in result.stderr:
        raise AssertionError(result.stderr)
    return program if result.returncode == 0 else None


class Sanitized(unittest.TestCase):
    def run_all(self, sanitizer, error, **environment):
        """The results on 1, 2 and 8 VPs. A runtime without its symbolizer would warn in any program."""
        program = build(sanitizer)
        if program is None:
            self.skipTest(f"{COMPILER} has no -fsanitize={sanitizer}")
        plain = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":symbolize=0"}
        for vps in (1, 2, 8):
            with self.subTest(vps=vps, error=error):
                yield subprocess.run([program, error], capture_output=True, text=True, check=False, timeout=550,
                                     env={**os.environ, **plain, "MLTP_VPS": str(vps), "MLTP_OVERSUBSCRIBE": "1",
                                          **environment})

    def test_address_right_program(self):
        for error in ("none", "exit", "held"):
            for result in self.run_all("address", error):
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_address_finds_errors(self):
        for error, words in (("block", "heap-buffer-overflow"), ("frame", "stack-buffer-overflow"),
                             ("leak", "123 byte(s) leaked in 1 allocation")):
            for result in self.run_all("address", error):
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(words, result.stderr)
                self.assertNotIn("WARNING", result.stderr)

    def test_address_on_the_other_backends(self):
        for result in self.run_all("address", "none", MLTP_BACKEND="kernel"):
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_undefined(self):
        for result in self.run_all("undefined", "exit"):
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_leak(self):
        for result in self.run_all("leak", "leak", LSAN_OPTIONS="fast_unwind_on_malloc=0"):
            self.assertIn("123 byte(s) leaked in 1 allocation", result.stderr)
        for result in self.run_all("leak", "none"):
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stderr, r"\Amltp: .*fast_unwind_on_malloc=0.*\n\Z")

    def expect_refusal(self, sanitizer, words):
        for result in self.run_all(sanitizer, "none"):
            self.assertEqual(result.returncode, 3)
            self.assertRegex(result.stderr, rf"\Amltp: mltp_init: the program was built with {words}.*\n\Z")

    def test_thread_is_refused(self):
        self.expect_refusal("thread", "ThreadSanitizer")

    def test_memory_is_refused(self):
        self.expect_refusal("memory", "MemorySanitizer")

    def test_safe_stack_is_refused(self):
        self.expect_refusal("safe-stack", "-fsanitize=safe-stack")


if __name__ == "__main__":
    SOURCE, LIBRARY, COMPILER, *FLAGS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1], verbosity=2)
