# SPDX-License-Identifier: Apache-2.0
"""stalls.py of this folder: a run that hangs, fails or is not there is wrong."""
import tempfile
import unittest

import stalls


class Stalls(unittest.TestCase):
    def cells(self, name, limit=60, **tests):
        with tempfile.TemporaryFile() as log:
            return stalls.cells(name, {test: (["sh", "-c", words], {"ANSWER": "42"}, None) for test, words in tests.items()},
                                limit, log)

    def test_right(self):
        shown, wrong, right = self.cells("a", a='test "$ANSWER" = 42 && test "$MLTP_VPS" -gt 0')
        self.assertEqual((len(shown), wrong, right), (3, 0, 3))

    def test_each_number_of_vps_has_its_test(self):
        shown, wrong, right = self.cells("a{vps}", a1="exit 0", a2="exit 3", a8="exit 77")
        self.assertEqual((shown[1:], wrong, right), (["status 3", "skipped"], 1, 1))

    def test_a_test_that_chooses_vps_runs_once(self):
        self.assertEqual(self.cells("interop.a.gcc", **{"interop.a.gcc": "exit 0"})[1:], (0, 1))
        self.assertEqual(self.cells("interop.a{vps}", **{"interop.a1": "exit 0"})[1:], (2, 1))

    def test_hangs(self):
        self.assertEqual(self.cells("a", limit=0.1, a="sleep 1000")[:2], (["hangs"] * 3, 3))

    def test_absent(self):
        self.assertEqual(self.cells("a", b="exit 0"), (["absent"] * 3, 3, 0))


if __name__ == "__main__":
    unittest.main()
