# SPDX-License-Identifier: Apache-2.0
"""tools/needed.py names what a selection of tests runs, and nothing else of the build."""
import pathlib
import sys
import tempfile
import unittest

from tree import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import needed  # noqa: E402  (found through the line above)

TARGETS = {"bin/tmpirun", "tests/unit/lock", "tests/mpi/ring", "examples/echo", "all"}
TESTS = """\
add_test([=[lock.native-2]=] "/b/tests/unit/lock")
set_tests_properties([=[lock.native-2]=] PROPERTIES  ENVIRONMENT "MLTP_VPS=2" LABELS "unit;quick")
add_test([=[ring]=] "/b/bin/tmpirun" "--vps=2" "--out=/b/out/ring" "/b/tests/mpi/ring")
add_test([=[serve]=] "/usr/bin/python3" "serve.py" "/b/examples")
set_tests_properties([=[serve]=] PROPERTIES  REQUIRED_FILES "/b/examples/echo;/b/examples/data")
add_test([=[folder]=] "/usr/bin/python3" "serve.py" "/b/examples")
"""


class Needed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "tests").mkdir()
        (self.build / "CTestTestfile.cmake").write_text('subdirs("tests")\n')
        (self.build / "tests/CTestTestfile.cmake").write_text(TESTS)

    def needed(self, *selected):
        return needed.needed(needed.lines_of_tests(self.build), selected, "/b", TARGETS)

    def test_the_program_of_a_test(self):
        self.assertEqual(self.needed("lock.native-2"), ["tests/unit/lock"])

    def test_programs_among_the_arguments(self):
        self.assertEqual(self.needed("lock.native-2", "ring"), ["bin/tmpirun", "tests/mpi/ring", "tests/unit/lock"])

    def test_required_files(self):
        self.assertEqual(self.needed("serve"), ["examples/echo"])

    def test_a_test_that_names_no_target_needs_all(self):
        self.assertEqual(self.needed("lock.native-2", "folder"), ["all"])


if __name__ == "__main__":
    unittest.main()
