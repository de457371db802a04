#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev mutate: it finds what can change, tells killed, surviving and equivalent mutants apart, leaves the tree alone, and
continues where it was."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "mutate"
sys.path.insert(0, str(TOOL))

try:
    from clang import cindex
except ImportError as error:
    print(f"skipped: {error} (install python3-clang-19)")
    sys.exit(77)

import lab  # noqa: E402
import sites  # noqa: E402

TOY = """
int greatest(int a, int b);
int unseen(int a);
void idle(int *a);
#define TWICE(x) ((x) + (x))

int greatest(int a, int b) {
  if (a > b) return TWICE(a) - a;
  return b;
}

int unseen(int a) { return a * 7; }

void idle(int *a) {
  *a = *a;
}
"""
PROJECT = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(toy C)
enable_testing()
add_executable(toy src/toy.c tests/toy.c)
add_test(NAME toy.native-2 COMMAND toy)
set_tests_properties(toy.native-2 PROPERTIES LABELS "unit;quick")
""",
    "src/toy.c": TOY,
    "tests/toy.c": """int greatest(int, int); int unseen(int); void idle(int *);
int main(void) { int a = 1; idle(&a); unseen(a); return greatest(3, 2) != 3 || greatest(2, 3) != 3; }
""",
}


class Mutants(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name).resolve()
        for name, text in PROJECT.items():
            (cls.root / name).parent.mkdir(exist_ok=True)
            (cls.root / name).write_text(text, encoding="utf-8")
        for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm toy"):
            subprocess.run(["git", "-C", cls.root, *words.split()], check=True)
        cls.place = lab.Lab(cls.root, cls.root / "out", 2, 60)
        cls.path, cls.entry = next(iter(cls.place.commands().items()))
        cls.sites = sites.find(cls.path, cls.entry)

    def site(self, operator, was):
        source = pathlib.Path(self.path).read_bytes()
        return next(s for s in self.sites if s.operator == operator and source[s.first:s.last].decode().strip() == was)

    def test_places(self):
        source = pathlib.Path(self.path).read_bytes()
        found = {(s.operator, source[s.first:s.last].decode().strip(), s.text.strip()) for s in self.sites}
        self.assertEqual(found, {("negate", "a > b", "!(a > b)"), ("never", "a > b", "0 && (a > b)"), ("compare", ">", ">="),
                                 ("number", "7", "8"), ("drop", "*a = *a", "(void)0")})
        for site in self.sites:
            self.assertEqual(site.apply(source).count(b"\n"), source.count(b"\n"))

    def test_verdicts(self):
        for operator, was, verdict in (("negate", "a > b", ("killed", "toy.native-2")), ("number", "7", ("survived", "")),
                                       ("drop", "*a = *a", ("equivalent", ""))):
            self.assertEqual(self.place.judge(self.site(operator, was), self.entry), verdict)
        self.assertEqual(pathlib.Path(self.path).read_text(encoding="utf-8"), TOY)

    def test_continues(self):
        def run(count, *more):
            return subprocess.run([sys.executable, "-B", TOOL, str(count), "--root", self.root, "--out", self.root / "out", *more],
                                  capture_output=True, text=True, check=True).stdout
        file = self.root / "out" / "1.jsonl"
        file.unlink(missing_ok=True)
        run(2)
        first = file.read_text(encoding="utf-8")
        page = self.root / "page.md"
        said = run(3, "--table", page)
        self.assertTrue(file.read_text(encoding="utf-8").startswith(first))
        results = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(sorted((r["operator"], r["verdict"]) for r in results if r["verdict"] != "equivalent"),
                         [("negate", "killed"), ("never", "killed"), ("number", "survived")])
        self.assertIn("1 of 3 mutants survived: 33.3%, between 6.1% and 79.2%", said)
        self.assertIn("| src/toy.c:12 | number | `7` | `8` | survived |  |", page.read_text(encoding="utf-8"))
        self.assertEqual((self.root / "src" / "toy.c").read_text(encoding="utf-8"), TOY)


if __name__ == "__main__":
    if not all(shutil.which(program) for program in ("cmake", "ninja", "ctest", "git")):
        print("skipped: cmake, ninja, ctest and git are wanted")
        sys.exit(77)
    unittest.main(verbosity=2)
