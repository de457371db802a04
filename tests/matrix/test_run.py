# SPDX-License-Identifier: Apache-2.0
"""run.py of this folder: which earlier verdicts stand for what is here now."""
import pathlib
import subprocess
import tempfile
import unittest

import run


class Verdicts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(setattr, run, "ROOT", run.ROOT)
        self.tree = run.ROOT = pathlib.Path(folder.name)
        self.git("init", "--quiet")
        self.first = self.commit("a.c", "int a;")

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments],
                       cwd=self.tree, check=True)

    def commit(self, name, text):
        (self.tree / name).write_text(text)
        self.git("add", name)
        self.git("commit", "--quiet", "--message", name)
        return run.identity([])

    def stands(self, seen, wanted):
        return run.counts({"of": seen}, wanted)

    def test_same_commit(self):
        self.assertTrue(self.stands(self.first, run.identity([])))

    def test_documents_only(self):
        self.assertTrue(self.stands(self.first, self.commit("README.md", "x")))

    def test_code_among_documents(self):
        self.commit("README.md", "x")
        self.assertFalse(self.stands(self.first, self.commit("a.c", "int b;")))

    def test_code_that_became_a_document(self):
        self.git("mv", "a.c", "a.md")
        self.assertFalse(self.stands(self.first, self.commit("README.md", "x")))

    def test_what_is_not_committed(self):
        (self.tree / "a.c").write_text("int b;")
        dirty = run.identity([])
        self.assertFalse(self.stands(self.first, dirty))
        self.assertFalse(self.stands(dirty, dirty))

    def test_other_tests_or_machine(self):
        for key, value in (("tests", ["-L", "quick"]), ("kernel", "1.0"), ("machine", "pdp11")):
            self.assertFalse(self.stands(self.first | {key: value}, self.first))

    def test_unknown_commit(self):
        self.assertFalse(self.stands(self.first | {"commit": "f" * 40}, self.first))

    def test_two_runs_keep_each_others_rows(self):
        path = self.tree / "results.json"
        for cell, verdict in (("one", "failed"), ("two", "passed"), ("one", "passed")):
            run.record(path, {"cell": cell, "verdict": verdict, "of": self.first})
        self.assertEqual({"one": "passed", "two": "passed"},
                         {name: row["verdict"] for name, row in run.earlier(path).items()})


if __name__ == "__main__":
    unittest.main()
