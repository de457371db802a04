# SPDX-License-Identifier: Apache-2.0
"""tools/lint/tidy.py checks each file of ours once, as its own program compiles it."""
import pathlib
import unittest

from tree import ROOT  # noqa: F401  (its import makes the next one possible)

import tidy

TREE = pathlib.Path("/tree")


def entry(file, output, *flags):
    return {"directory": "/tree/build", "file": str(TREE / file), "command": " ".join(["cc", *flags, "-o", output, "-c", file])}


class Choose(unittest.TestCase):
    def chosen(self, *entries):
        return [chosen["command"].split(" -o ")[1].split()[0] for chosen in tidy.choose(entries, TREE)]

    def test_the_command_of_a_test_gives_way(self):
        self.assertEqual(self.chosen(entry("src/a.c", "tests/landings/a.o", "-fcf-protection"), entry("src/a.c", "src/a.o")),
                         ["src/a.o"])

    def test_a_file_that_only_tests_compile_is_checked(self):
        self.assertEqual(self.chosen(entry("examples/hello.c", "tests/hello.o")), ["tests/hello.o"])

    def test_what_differs_between_two_programs_is_checked_twice(self):
        self.assertEqual(self.chosen(entry("src/a.c", "src/a.o"), entry("src/a.c", "tools/a.o", "-DOTHER")), ["src/a.o", "tools/a.o"])

    def test_what_does_not_differ_is_checked_once(self):
        self.assertEqual(len(self.chosen(entry("src/a.c", "src/a.o"), entry("src/a.c", "tools/a.o"))), 1)

    def test_tests_and_made_files_are_left_out(self):
        self.assertEqual(self.chosen(entry("tests/unit/lock.c", "tests/lock.o"), entry("build/made.c", "src/made.o"),
                                     entry("src/leap.S", "src/leap.o")), [])
        self.assertEqual(self.chosen({**entry("src/a.c", "src/a.o"), "file": "/elsewhere/a.c"}), [])


if __name__ == "__main__":
    unittest.main()
