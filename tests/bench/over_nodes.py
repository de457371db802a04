#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev bench-nodes: what it says of figures, and the page that it writes of them."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/mpi"))
import over_nodes  # noqa: E402  pylint: disable=wrong-import-position


class OverNodes(unittest.TestCase):
    figures = {"mltp": [3.5, 3.6, 3.7], "mltp-pinned": [3.0, 3.1, 4.0], "openmpi-tcp": [6.0, 6.2, 6.1],
               "openmpi-ucx-pinned": [3.05, 3.2, 4.1], "mpich": []}
    faults = {"mpich": "over 60 s"}

    def test_the_best_setting_of_each_library_counts(self):
        self.assertEqual(over_nodes.verdict(self.figures, self.faults), "even with openmpi (1.02), mpich: over 60 s")
        slower = self.figures | {"openmpi-ucx-pinned": [9.0, 9.1, 9.2]}
        self.assertEqual(over_nodes.verdict(slower, {}), "ahead of openmpi (2.00), mpich: not there")
        faster = self.figures | {"openmpi-tcp": [1.5, 1.6, 1.7], "mpich": [3.0, 3.1, 4.0]}
        self.assertEqual(over_nodes.verdict(faster, {}), "behind openmpi (0.50), even with mpich (1.00)")

    def test_runs_of_ours_that_fail(self):
        self.assertEqual(over_nodes.verdict({"mltp": [], "openmpi-tcp": [1.0]}, {"mltp": "status 1: why"}),
                         "failed: status 1: why")

    def test_page(self):
        row = {"figures": self.figures, "faults": self.faults, "verdict": over_nodes.verdict(self.figures, self.faults)}
        page = over_nodes.page({"latency, 8 bytes, us": row}, {"processor": "a processor"})
        self.assertIn("| processor | a processor |\n", page)
        self.assertTrue(page.endswith("| latency, 8 bytes, us | 3 | 3.1 | 4 | pinned | 3.05 | 3.2 | 4.1 | ucx-pinned | over 60 s |  |  |  | "
                                      "even with openmpi (1.02), mpich: over 60 s |\n"), page)
        lines = page.splitlines()
        self.assertEqual({line.count(" | ") for line in lines[-3:]}, {13}, "the table has as many columns in each line")


if __name__ == "__main__":
    unittest.main()
