# SPDX-License-Identifier: Apache-2.0
"""What the tests of the checkers share: a throw-away source tree."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/lint"), str(ROOT / "tools/man")]


class TreeTest(unittest.TestCase):
    """A test with an empty folder, self.tree."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def assert_errors(self, errors, *fragments):
        """Exactly one error for each fragment, in order."""
        self.assertEqual(len(errors), len(fragments), errors)
        for error, fragment in zip(errors, fragments):
            self.assertIn(fragment, error)
