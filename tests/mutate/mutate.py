#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev mutate: it finds what can change, tells killed, surviving and equivalent mutants apart, leaves the tree alone,
continues where it was, and does not take a test that fails by chance for one that finds a mutant."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "mutate"
sys.path.insert(0, str(TOOL))

try:
    from clang import cindex
except ImportError as error:
    print(f"skipped: {error} (install python3-clang-19)")
    sys.exit(77)

import judge  # noqa: E402
import lab  # noqa: E402
import sites  # noqa: E402
import suite  # noqa: E402
import weave  # noqa: E402

TOY = """
int greatest(int a, int b);
int unseen(int a);
int unreached(int a);
int constant(void);
void idle(int *a);
int endless(volatile int *n);
#define TWICE(x) ((x) + (x))

int greatest(int a, int b) {
  if (a > b) return TWICE(a) - a;
  return b;
}

int unseen(int a) { return a * 7; }

int unreached(int a) { return a + 9; }

int constant(void) {
  static const int value = 3;
  return value;
}

void idle(int *a) {
  *a = *a;
}

static void step(volatile int *n) {
  *n = *n - 1;
}

int endless(volatile int *n) {
  while (*n > 0) {
    step(n);
  }
  return *n;
}
"""
PROJECT = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(toy C)
enable_testing()
add_executable(toy src/toy.c tests/toy.c)
add_test(NAME toy.native-1 COMMAND toy)
add_test(NAME toy.native-2 COMMAND toy)
add_test(NAME toy.words COMMAND toy words)
set_tests_properties(toy.words PROPERTIES PASS_REGULAR_EXPRESSION "3 and.3")
add_test(NAME toy.broken COMMAND false)
add_test(NAME toy.skipped COMMAND sh -c "exit 77")
set_tests_properties(toy.skipped PROPERTIES SKIP_RETURN_CODE 77)
""",
    "src/toy.c": TOY,
    "tests/toy.c": """#include <stdio.h>
int greatest(int, int); int unseen(int); void idle(int *); int constant(void); int endless(volatile int *);
int main(int argc, char **argv) {
  int a = 1;
  volatile int n = 4;
  (void)argv;
  if (argc > 1) return printf("%d and\\n%d\\n", greatest(3, 2), greatest(2, 3)) < 0;
  idle(&a);
  unseen(a);
  return constant() != 3 || endless(&n) != 0 || greatest(3, 2) != 3 || greatest(2, 3) != 3;
}
""",
}
# Operator, what was, and verdict. One survivor cannot be seen (steps of two), one is never reached.
VERDICTS = {
    ("negate", "a > b", "killed"), ("never", "a > b", "killed"), ("number", "7", "survived"),
    ("number", "9", "survived"), ("number", "3", "killed"), ("drop", "*n = *n - 1", "killed"), ("number", "1", "survived"),
    ("negate", "*n > 0", "killed"), ("compare", ">", "killed"), ("number", "0", "killed"), ("drop", "step(n)", "killed"),
}


def git(root, *words):
    subprocess.run(["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)


class Project(unittest.TestCase):
    """A small tree with all kinds of mutants."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name).resolve()
        for name, text in PROJECT.items():
            (cls.root / name).parent.mkdir(exist_ok=True)
            (cls.root / name).write_text(text, encoding="utf-8")
        git(cls.root, "init", "-q")
        git(cls.root, "add", "-A")
        git(cls.root, "commit", "-qm", "toy")
        costs = cls.root / "build" / "Testing" / "Temporary" / "CTestCostData.txt"
        costs.parent.mkdir(parents=True)
        costs.write_text("toy.native-2 3 0.1\ntoy.words 1 7.5\n---\ntoy.broken\n", encoding="utf-8")

    def run_tool(self, count, *more):
        return subprocess.run([sys.executable, "-B", TOOL, str(count), "--root", self.root, "--out", self.root / "out", *more],
                              capture_output=True, text=True, check=True).stdout

    def results(self):
        """The last result of each mutant."""
        lines = (self.root / "out" / "1.jsonl").read_text(encoding="utf-8").splitlines()
        return list({r["name"]: r for r in map(json.loads, lines)}.values())

    def test_verdicts(self):
        self.run_tool(3)
        self.assertEqual(suite.durations(self.root / "build"), {"toy.native-2": 0.1, "toy.words": 7.5})  # which is in a wave of its own
        first = (self.root / "out" / "1.jsonl").read_text(encoding="utf-8")
        said = self.run_tool(100, "--table", self.root / "page.md")
        self.assertTrue((self.root / "out" / "1.jsonl").read_text(encoding="utf-8").startswith(first))
        self.assertIn("3 of 11 mutants survived: 27.3%, between 9.7% and 56.6%", said)
        self.assertIn("toy.broken fails without a mutant: left out", said)
        self.assertNotIn("toy.words fails", said)
        self.assertEqual({(r["operator"], r["was"].strip(), r["verdict"]) for r in self.results() if r["verdict"] != "equivalent"}, VERDICTS)
        self.assertEqual({r["line"] for r in self.results() if r["verdict"] == "equivalent"}, {11, 25})
        left = {r["was"]: r["tests"] for r in self.results() if r["verdict"] == "survived"}
        self.assertEqual((left["7"], left["9"]), (2, 0))
        self.assertIn("| src/toy.c:15 | number | `7` | `8` | missed | 2 tests pass |", (self.root / "page.md").read_text(encoding="utf-8"))
        self.assertEqual((self.root / "src" / "toy.c").read_text(encoding="utf-8"), TOY)

        # a better test meets the survivors alone
        better = PROJECT["tests/toy.c"].replace("  unseen(a);", "  if (unseen(a) != 7) return 1;")
        (self.root / "tests" / "toy.c").write_text(better, encoding="utf-8")
        before = (self.root / "out" / "1.jsonl").read_text(encoding="utf-8")
        self.assertIn("2 of 11 mutants survived", self.run_tool(100))
        after = (self.root / "out" / "1.jsonl").read_text(encoding="utf-8").removeprefix(before)
        self.assertEqual({json.loads(line)["was"].strip() for line in after.splitlines()}, {"7", "1"})

        # as do survivors of another seed, which count by themselves
        worse = PROJECT["tests/toy.c"].replace("  unseen(a);", "  if (unseen(a) != 7 || unreached(a) != 10) return 1;")
        worse = worse.replace("int unseen(int);", "int unseen(int); int unreached(int);")
        (self.root / "tests" / "toy.c").write_text(worse, encoding="utf-8")
        said = self.run_tool(1, "--seed", "2", "--again", "1", "--table", self.root / "page.md")
        self.assertIn("of 1 mutants survived", said)
        self.assertIn("seed 1 again: 1 of 11 mutants survived", said)
        self.assertEqual(said.splitlines()[-2:], self.run_tool(1, "--seed", "2", "--again", "1", "--report").splitlines())
        self.assertIn("Seed 1, whose survivors met new tests", (self.root / "page.md").read_text(encoding="utf-8"))

    def test_chosen_tests(self):
        said = self.run_tool(100, "--seed", "3", "--tests", "words")
        self.assertNotIn("toy.broken", said)
        found = [json.loads(line) for line in (self.root / "out" / "3.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual({r["by"] for r in found if r["verdict"] == "killed"}, {"toy.words"})
        self.assertIn(("number", "3"), {(r["operator"], r["was"].strip()) for r in found if r["verdict"] == "survived"})


class Text(unittest.TestCase):
    """What is found in a text, and how it is put together."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name) / "toy.c"
        cls.source = TOY.encode()
        cls.path.write_bytes(cls.source)
        cls.entry = {"file": str(cls.path), "directory": folder.name, "command": f"cc -O1 -c {cls.path} -o {cls.path}.o"}
        cls.sites = sites.find(str(cls.path), cls.entry, cls.source)
        cls.place = lab.Lab(cls.path.parent, cls.path.parent, 1, [])
        cls.place.build = cls.path.parent

    def test_places(self):
        found = {(s.operator, self.source[s.first:s.last].decode().strip()) for s in self.sites}
        self.assertEqual(found, {verdict[:2] for verdict in VERDICTS} | {("drop", "*a = *a")})
        for site in self.sites:
            self.assertEqual(site.apply(self.source).count(b"\n"), self.source.count(b"\n"))
        self.assertEqual(len(set(sites.names(self.sites, self.source, "toy.c"))), len(self.sites))

    def test_what_the_compiler_must_know_is_no_place(self):
        source = b"""
            void *fixed(const int *at);
            void *fixed(const int *at) {
              enum { PLACE = 5 };
              return at[PLACE] ? __builtin_return_address(0) : __builtin_frame_address(0);
            }
            """
        self.assertEqual(sites.find(str(self.path), self.entry, source), [])

    def test_names_stay_when_lines_move(self):
        moved = b"int more;\n" + self.source
        found = sites.find(str(self.path), self.entry, moved)
        self.assertEqual(sites.names(found, moved, "toy.c"), sites.names(self.sites, self.source, "toy.c"))

    def test_all_in_one_text(self):
        items = list(enumerate(self.sites, start=1))
        text, alone = weave.fit(self.source, items, lambda made: self.place.object_of(self.entry, made) is not None)
        self.assertEqual([self.source[s.first:s.last] for _, s in alone], [b"3"])
        for number, _ in items:
            self.assertEqual(text.count(b"mutant_is(%d)" % number), 1)
        self.assertEqual(text.count(b"\n"), self.source.count(b"\n") + 2)


class Scripted:
    """A runner whose tests end as it is said: with a mutant and without."""

    def __init__(self, mutated, plain):
        self.verdicts = {True: iter(mutated), False: iter(plain)}

    def run(self, _test, _normal, active=()):
        return suite.Run(next(self.verdicts[len(active) > 0]), 0, 0)


class Finder:
    """A runner whose test finds some mutants, alone and among others."""

    def __init__(self, *finds):
        self.finds, self.runs = finds, 0

    def run(self, _test, _normal, active=()):
        self.runs += 1
        return suite.Run("failed" if set(self.finds) & set(active) else "passed", 0, 0)


class Chance(unittest.TestCase):
    """What fails by chance finds nothing."""

    TEST = suite.Test("toy", ("toy",), ".", (), (), (), None, False)

    def found(self, mutated, plain):
        judge._runner = Scripted(mutated, plain)
        return judge.try_tests(1, [(self.TEST, suite.Normal(0, 0))], 60)[0]

    def test_verdicts(self):
        self.assertEqual(self.found(["failed", "failed", "failed"], ["passed", "passed"]), "toy")
        self.assertEqual(self.found(["hangs", "passed", "hangs", "hangs"], ["passed", "passed"]), "toy")
        self.assertEqual(self.found(["failed"], ["failed"]), "")
        self.assertEqual(self.found(["failed"], ["passed", "failed"]), "")
        self.assertEqual(self.found(["failed", "passed", "passed"], ["passed", "passed"]), "")
        self.assertEqual(self.found(["failed", "passed", "failed", "passed"], ["passed", "passed"]), "")
        self.assertEqual(self.found(["passed"], []), "")
        self.assertEqual(self.found(["skipped"], []), "")

    def test_many_at_once(self):
        numbers = list(range(1, 33))
        for found, runs in (([], 1), ([7], 2 * 5 + 1 + 4), ([1, 32], 4 * 5 - 1 + 2 * 4)):
            judge._runner = Finder(*found)
            self.assertEqual(judge.found_by(self.TEST, suite.Normal(0, 0), numbers), found)
            self.assertEqual(judge._runner.runs, runs)

    def test_a_loaded_machine_is_no_hang(self):
        normal = suite.Normal(cpu=1, asleep=1)
        self.assertFalse(normal.over(cpu=8, idle=1, asleep=60))
        self.assertTrue(normal.over(cpu=14, idle=1, asleep=1))
        self.assertTrue(normal.over(cpu=1, idle=20, asleep=20))
        self.assertTrue(normal.over(cpu=1, idle=1, asleep=90))
        for command, runs in ((["sleep", "1000"], False), (["sh", "-c", "while :; do :; done"], True)):
            process = subprocess.Popen(command)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            while suite.any_runs([process.pid]) != runs:
                time.sleep(0.01)

    def test_waves(self):
        court = judge.Judge.__new__(judge.Judge)
        tests = [suite.Test(name, (), ".", (), (), (), None, False) for name in ("slow", "new", "slower", "quick", "slow too")]
        waves = court.waves(tests, {"slow": 6, "quick": 0.2, "slower": 300, "slow too": 5})
        self.assertEqual([[test.name for test in wave] for wave in waves], [["new", "quick"], ["slow too", "slow"], ["slower"]])

    def test_nearness(self):
        court = judge.Judge.__new__(judge.Judge)
        court.jobs = 2
        fact = {"cpu": 1, "asleep": 1, "reached": [1]}
        near, far = (suite.Test(name, (), ".", (), (), (), None, False) for name in ("rwlock.native-2", "mpi.io"))
        self.assertLess(court.promise(near, fact, "src/sync/rwlock_queue.c"), court.promise(far, fact, "src/sync/rwlock_queue.c"))
        self.assertEqual(court.promise(near, fact, "src/os/io.c"), court.promise(far, fact, "src/os/io.c"))


if __name__ == "__main__":
    if not all(shutil.which(program) for program in ("cmake", "ninja", "ctest", "git")):
        print("skipped: cmake, ninja, ctest and git are wanted")
        sys.exit(77)
    unittest.main(verbosity=2)
