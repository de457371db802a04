#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several tmpiruns that a launcher has started as one job: they know each other, and none runs a job of its own.

The launcher is Open MPI's mpirun; without one that has PMIx the test is skipped."""
import os
import shutil
import subprocess
import sys
import unittest

TMPIRUN, PROGRAM, MPIRUN = "", "", ""
ASKS = 'test -n "$PMIX_NAMESPACE"'


def launch(*arguments):
    return subprocess.run([MPIRUN, "--allow-run-as-root", "--oversubscribe", *arguments],
                          capture_output=True, text=True, check=False)


class Nodes(unittest.TestCase):
    def refused(self, *arguments):
        result = launch(*arguments)
        self.assertEqual(result.returncode, 1, result)
        return result.stderr

    def test_nodes_know_each_others_ranks(self):
        host = os.uname().nodename
        for nodes, ranks in [(2, 8), (3, 3)]:
            said = self.refused("-n", str(nodes), TMPIRUN, "-n", str(ranks), PROGRAM)
            for node in range(nodes):
                first, last = ranks // nodes * node, ranks // nodes * (node + 1) - 1
                self.assertEqual(said.count(f"tmpirun: node {node} ({host}): ranks {first} to {last}\n"), 1, said)
            self.assertEqual(said.count(f"a job of {ranks} ranks on {nodes} nodes cannot run"), 1, said)

    def test_ranks_that_cannot_be_divided(self):
        self.assertIn("choose a multiple of 2", self.refused("-n", "2", TMPIRUN, "-n", "5", PROGRAM))

    def test_nodes_that_differ(self):
        said = self.refused("-n", "1", TMPIRUN, "-n", "4", PROGRAM, ":", "-n", "1", TMPIRUN, "-n", "2", PROGRAM)
        self.assertRegex(said, r"nodes 0 \(\S+\) and 1 \(\S+\) have different values of -n")
        said = self.refused("-n", "1", TMPIRUN, "-n", "4", PROGRAM, ":", "-n", "1", TMPIRUN, "-n", "4", sys.executable)
        self.assertRegex(said, r"nodes 0 \(\S+\) and 1 \(\S+\) have different programs")

    def test_a_launcher_with_one_process_changes_nothing(self):
        alone = subprocess.run([TMPIRUN, "-n", "4", PROGRAM], capture_output=True, text=True, check=False)
        result = launch("-n", "1", TMPIRUN, "-n", "4", PROGRAM)
        self.assertEqual((result.returncode, result.stderr), (alone.returncode, alone.stderr), result)
        self.assertEqual(alone.returncode, 0, alone)

    def test_a_launcher_that_is_gone(self):
        environment = dict(os.environ, PMIX_NAMESPACE="gone", PMIX_RANK="0")
        result = subprocess.run([TMPIRUN, "-n", "4", PROGRAM], capture_output=True, text=True, check=False,
                                env=environment)
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, "warning: this process is a job of its own, .* no server of PMIx")


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    MPIRUN = shutil.which("mpirun.openmpi") or ""
    if not MPIRUN or launch("-n", "1", "sh", "-c", ASKS).returncode != 0:
        print("skipped: no mpirun of Open MPI with PMIx can start a process here (openmpi-bin)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
