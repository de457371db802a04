# SPDX-License-Identifier: Apache-2.0
"""The model of many nodes, against what can be computed by hand."""

import unittest

from model import nodes


class Allreduce(unittest.TestCase):
    def test_two_nodes_exchange_two_messages(self):
        message = nodes.SEND + nodes.LATENCY + nodes.RECEIVE
        for way in (nodes.to_root, nodes.tree):
            self.assertAlmostEqual(way(2), 2 * message + 2 * nodes.LOCAL)

    def test_the_root_receives_one_after_the_other(self):
        first = nodes.SEND + nodes.LATENCY
        self.assertGreater(nodes.to_root(1000), first + 999 * nodes.RECEIVE)

    def test_a_tree_takes_a_step_more_for_twice_the_nodes(self):
        steps = [nodes.tree(2 ** (power + 1)) - nodes.tree(2**power) for power in range(1, 9)]
        for step in steps:
            self.assertLess(step, 2 * (nodes.SEND + nodes.LATENCY + nodes.RECEIVE) + 1e-9)


if __name__ == "__main__":
    unittest.main()
