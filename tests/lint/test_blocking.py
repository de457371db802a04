#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of mltp-blocking(7) has the calls that the tests make, in their order."""
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]


class Blocking(unittest.TestCase):
    """The page and the tests."""

    def test_rows(self):
        """Each call of tests/support/blocking_calls.c is a row of the page, and no other is."""
        calls = (TOP / "tests/support/blocking_calls.c").read_text()
        tested = re.findall(r'^ +\{"(\w+)", ', calls[calls.index("blocking_calls[] ="):], re.M)
        page = (TOP / "docs/man/mltp-blocking.7").read_text()
        rows = re.findall(r"^(\w+)\t(\w+)\t(\w+)$", page[page.index(".TS"):page.index(".TE")], re.M)
        self.assertGreater(len(tested), 20)
        self.assertEqual(tested, [row[0] for row in rows])
        self.assertLessEqual({way for row in rows for way in row[1:]}, {"parks", "announced", "caught", "refused"})


if __name__ == "__main__":
    unittest.main()
