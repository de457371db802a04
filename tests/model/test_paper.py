# SPDX-License-Identifier: Apache-2.0
"""The model of the paper's machine agrees with what the paper's text says."""

import unittest

from model import curves, paper
from model.statements import statements


class Paper(unittest.TestCase):

    def test_every_statement_holds(self):
        found = statements()
        self.assertGreaterEqual(len(found), 12)
        for statement in found:
            with self.subTest(says=statement["says"]):
                self.assertTrue(statement["holds"], statement["model"])

    def test_separate_locks_cost_what_table_2_says(self):
        more = paper.MULTI.management() - paper.SINGLE.management()
        self.assertAlmostEqual(more / (4 * 5.6e-6), 1)

    def test_almost_half_of_the_bus_demand_is_of_sections(self):
        inside = sum(s.visits * s.work.bus for s in paper.FREELIST.sections)
        self.assertTrue(0.4 < inside / (inside + paper.FREELIST.outside.bus) < 0.5)

    def test_figures_have_the_papers_curves(self):
        figures = curves.of_the_paper()
        self.assertEqual([f["figure"] for f in figures], [2, 5, 9, 10, 11, 12])
        self.assertEqual(len(figures[0]["series"]), 5)
        for figure in figures[2:]:
            self.assertEqual([s["name"] for s in figure["series"]], ["local", "freelist"])
            for series in figure["series"]:
                self.assertEqual(len(series["x"]), len(series["y"]))


if __name__ == "__main__":
    unittest.main()
