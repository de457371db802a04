#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/mpi/conformance.py: what it reads of the suite's lists and results, and the page it writes.

usage: conformance.py TOOL
"""
import argparse
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import unittest

TAP = """TAP version 13
# MPICH test suite results (TAP format)
ok 1 - ./attr/good 2 # time=0.01
not ok 2 - ./attr/bad 4 # time=1.5
  ---
  File: bad
  ...
## Test output (expected 'No Errors'):
## first
## Found 3 errors | all of them
##
not ok 3 - ./attr/known 2 # TODO issue4711 # time=2
## Test output (expected 'No Errors'):
not ok 4 - ./attr/unbuilt 1 # time=0
## Test output (expected 'No Errors'):
## Failed to build unbuilt; cc -c x.c
## /a/b/x.c:3:5: error: unknown name
## make: *** [Makefile:9: unbuilt] Error 1
ok 5 - ./attr/vast 2  # SKIP xfail due to memory requirement
not ok 6 - ./attr/slow 2 # time=180
## Test output (expected 'No Errors'):
## tmpirun: ended by its time limit
##
##   uptime:
##  10:00:00 up 1 day, load average: 1
1..6
"""


def load(path):
    spec = importlib.util.spec_from_file_location("tool", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["tool"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


class Reading(unittest.TestCase):
    def test_entries(self):
        entries, complete = TOOL.read_tap(TAP)
        self.assertTrue(complete)
        self.assertEqual([(entry.path, entry.ranks, entry.verdict, entry.why) for entry in entries], [
            ("attr/good", 2, "pass", ""), ("attr/bad", 4, "fail", ""), ("attr/known", 2, "fail", "issue4711"),
            ("attr/unbuilt", 1, "fail", ""), ("attr/vast", 2, "skip", "xfail due to memory requirement"),
            ("attr/slow", 2, "fail", "")])

    def test_last_lines(self):
        entries, _ = TOOL.read_tap(TAP)
        self.assertEqual([entry.last for entry in entries if entry.verdict == "fail"], [
            "Found 3 errors | all of them", "(printed nothing)", "not built: /a/b/x.c:3:5: error: unknown name",
            "tmpirun: ended by its time limit"])

    def test_interrupted(self):
        self.assertFalse(TOOL.read_tap(TAP.replace("1..6\n", ""))[1])
        self.assertFalse(TOOL.read_tap(TAP.replace("1..6", "1..7"))[1])

    def test_lists(self):
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            for name, text in (("", "attr\n#basic\nthreads\nperf\n"), ("attr", "good 2\n"), ("threads", "coll\npt2pt\n"),
                               ("threads/coll", "one 4\n"), ("threads/pt2pt", "two 4\n"), ("perf", "# three 1\ndeep\n four\n"),
                               ("perf/deep", "five 1\n"), ("basic", "six 1\n")):
                (at / "sources" / name).mkdir(parents=True, exist_ok=True)
                (at / "programs" / name).mkdir(parents=True, exist_ok=True)
                # a list that is made by configure lies beside the programs
                (at / ("programs" if name == "attr" else "sources") / name / "testlist").write_text(text, encoding="ascii")
            self.assertEqual(list(TOOL.listed(at / "programs", at / "sources")),
                             ["attr", "threads/coll", "threads/pt2pt", "perf"])

    def test_a_pass_without_spawning(self):
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            (at / "attr").mkdir()
            (at / "attr/good.c").write_text("errs += MTestSpawnPossible(&can_spawn);", encoding="ascii")
            (at / "attr/bad.c").write_text("errs += MTestSpawnPossible(&can_spawn);", encoding="ascii")
            (at / "attr/other.c").write_text("int main(void) {}", encoding="ascii")
            entries = [TOOL.Entry(f"attr/{name}", 1, verdict)
                       for name, verdict in (("good", "pass"), ("bad", "fail"), ("other", "pass"))]
            TOOL.without_spawning(at, entries)
            self.assertEqual([entry.verdict for entry in entries], ["skip", "fail", "pass"])


COMMANDS = {
    "mpirun.openmpi": 'while [ "$1" != tmpirun ]; do [ "$1" != -n ] || NODES=$2; shift; done; export NODES; exec "$@"',
    "tmpirun": '[ "$3" = -n ] && RANKS=$4 && export RANKS && shift 4 && exec "$@"'}
PROGRAMS = {"right": 'test "$RANKS" = 8 && echo "No Errors"', "alone": 'test -z "$NODES" && echo "No Errors"',
            "wrong": "echo $NODES $RANKS; exit 1", "slow": 'echo x >>"$0.runs"; test -z "$NODES" && echo "No Errors" || exit 124',
            "slow_once": 'test -e "$0.ran" && echo "No Errors" && exit 0; touch "$0.ran"; exit 124'}


class OverNodes(unittest.TestCase):
    def test_a_program_that_fails_on_several_nodes_only(self):
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            for name, texts in (("bin", COMMANDS), ("programs/pt2pt", PROGRAMS), ("results", {})):
                (at / name).mkdir(parents=True)
                for program, text in texts.items():
                    (at / name / program).write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
                    (at / name / program).chmod(0o755)
            environment = os.environ | {"PATH": f"{at}/bin:{os.environ['PATH']}"}
            options = argparse.Namespace(nodes=TOOL.nodes_and_ranks("2x4"), limit=None, memory=1, jobs=2, work=at, path=at,
                                         folders=["pt2pt"], page=None, report=False)
            for names, status in (("right wrong", 0), ("right wrong slow_once", 0), ("right wrong slow_once slow alone", 1)):
                (at / "programs/pt2pt/testlist").write_text("".join(f"{name} 2\n" for name in names.split()), encoding="ascii")
                self.assertEqual(TOOL.over_nodes(options, environment, at / "programs", at / "programs", ["pt2pt"]), status)
            rows = json.loads((at / "results/nodes-2x4.json").read_text(encoding="ascii"))
            page = (at / "conformance-nodes-2x4.md").read_text(encoding="ascii")
            self.assertEqual((at / "programs/pt2pt/slow.runs").read_text(encoding="ascii"), 4 * "x\n")  # twice on each number
        self.assertEqual({key: row["verdict"] for key, row in rows.items()}, {
            "pt2pt/right 8 =8": "pass", "pt2pt/slow_once 8 =8": "pass", **{f"pt2pt/{name} 8 =8": f"no verdict, status {status}" for
                                                                          name, status in (("wrong", 1), ("slow", 124), ("alone", 1))}})
        self.assertEqual(rows["pt2pt/wrong 8 =8"]["output"], "2 8\n")
        self.assertIn("| pt2pt | 2 | 1 | 2 | 0 |\n| all | 2 | 1 | 2 | 0 |", page)
        self.assertIn("| `pt2pt/alone 8 =8` | `` no verdict, status 1 `` | `` pass `` |", page)

    def test_programs_are_built_again_when_what_they_use_has_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            for name, text in (("suite/runtests", ""), ("programs/config.status", ""), ("build/bin/tmpicc", ""), ("build/include/tmpi/mpi.h", ""),
                               ("build/lib/tmpi/start.a", ""), ("bin/make", "#!/bin/sh\necho x >> made\n")):
                (at / name).parent.mkdir(parents=True, exist_ok=True)
                (at / name).write_text(text, encoding="ascii")
            (at / "bin/make").chmod(0o755)
            options = argparse.Namespace(work=at, path=at / "suite", bin=at / "build/bin", report=False, jobs=1)
            for changed, times in ((None, 1), (None, 1), ("bin/tmpicc", 2), ("include/tmpi/mpi.h", 3), ("lib/tmpi/start.a", 4), (None, 4)):
                if changed:
                    (at / "build" / changed).write_text("changed", encoding="ascii")
                TOOL.prepare(options, os.environ | {"PATH": f"{at}/bin:{os.environ['PATH']}"})
                self.assertEqual((at / "programs/made").read_text(encoding="ascii"), times * "x\n", changed)

    def test_numbers(self):
        for word in ("2", "2x", "0x4", "2x4x", "-2x4"):
            self.assertRaises(argparse.ArgumentTypeError, TOOL.nodes_and_ranks, word)


class Page(unittest.TestCase):
    def test_page(self):
        text = TOOL.page({"attr": TOOL.read_tap(TAP)[0]}, {"kernel": "Linux 9"})
        self.assertIn("| kernel | Linux 9 |", text)
        self.assertIn("| attr | 1 | 6 | 4 | 1 |\n| all | 1 | 6 | 4 | 1 |\n\n16.7 % pass.", text)
        self.assertIn("| `attr/bad` | 4 | `` Found 3 errors \\| all of them `` |", text)
        self.assertIn("| `attr/unbuilt` | 1 | `` not built: x.c:3:5: error: unknown name `` |", text)
        self.assertIn("the suite expects this: `` issue4711 ``", text)
        self.assertIn("| `attr/vast` | 2 | `` xfail due to memory requirement `` |", text)

    def test_a_folder_that_stopped(self):
        text = TOOL.page({"attr": TOOL.read_tap(TAP)[0], "rma": None}, {})
        self.assertIn("| rma | not run to its end |  |  |  |", text)
        self.assertIn("16.7 % pass of the folders that ran.", text)


if __name__ == "__main__":
    TOOL = load(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
