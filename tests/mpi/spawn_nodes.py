#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that ranks of several nodes spawn: where they are, when they are refused, how such jobs end (nodes.py has the launcher).

usage: spawn_nodes.py TMPIRUN PROGRAM [TEST...]
"""
import json
import pathlib
import sys
import tempfile
import unittest

import nodes

PROGRAM = ""


def run(what, *options, ranks=2):
    return nodes.launch("-n", "2", nodes.TMPIRUN, "--timeout=600", *options, "-n", str(ranks), PROGRAM, what)


class Spawn(unittest.TestCase):
    def right(self, what, *options, **more):
        result = run(what, *options, **more)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def test_ranks_are_shared_out(self):
        self.right("places")

    def test_nodes_that_spawn_at_once(self):
        self.right("at_once", ranks=4)

    def test_a_node_whose_ranks_have_ended_gets_no_others(self):
        self.right("left", "--spare=10000")

    def test_all_nodes_start_their_part_or_none_does(self):
        """Rank 3 would be on node 1, and has no file."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "out.3").mkdir()
            result = run("refused", f"--output={folder}/out")
            said = pathlib.Path(folder, "out.0").read_text(encoding="ascii")
        self.assertEqual((result.returncode, said[-6:]), (0, "right\n"), (result, said))

    def test_numbers_that_were_not_used_are_those_of_other_nodes(self):
        self.right("refused_elsewhere")

    def test_a_node_without_room(self):
        words = ["-n", "2", PROGRAM, "no_room"]
        result = nodes.launch("-n", "1", nodes.TMPIRUN, "--spare=8", *words, ":", "-n", "1", nodes.TMPIRUN, "--spare=1", *words)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def test_a_deadlock_of_both_worlds_is_one_report(self):
        result = run("wait")
        self.assertEqual(result.returncode, 86, result)
        self.assertEqual(result.stderr.count("tmpi: deadlock of 4 ranks"), 1, result)
        self.assertRegex(result.stderr, "ranks? 0(-1)? waits? in MPI_Barrier")
        self.assertRegex(result.stderr, "ranks 2-3 wait in MPI_Recv: no message has come from rank 0, tag 9, .* on MPI_COMM_PARENT")

    def test_a_child_of_another_node_aborts(self):
        result = run("abort")
        self.assertEqual(result.returncode, 5, result)
        self.assertIn("rank 3 called MPI_Abort(5)", result.stderr)

    def test_a_child_of_another_node_fails(self):
        result = run("status")
        self.assertEqual(result.returncode, 3, result)
        self.assertIn("rank 3 ended with status 3", result.stderr)

    def test_one_report_of_all_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "report.json")
            self.right("places", f"--report={file}", "--check=strict")
            report = json.loads(file.read_text())
        places = [(rank["rank"], rank["node"]) for rank in report["ranks"]]
        self.assertEqual(places, list(enumerate([0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1])))
        self.assertEqual([rank["calls"]["MPI_Finalize"]["calls"] for rank in report["ranks"]], [1] * len(places))


if __name__ == "__main__":
    nodes.TMPIRUN, PROGRAM = sys.argv[1:3]
    nodes.skip_without_launcher()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
