#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev bench-gated: verdicts and the page, of invented figures; turns and wrong answers, of invented programs."""
import os
import pathlib
import statistics
import sys
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/gate"))
import comparison  # noqa: E402  pylint: disable=wrong-import-position
import gated  # noqa: E402  pylint: disable=wrong-import-position
import programs  # noqa: E402  pylint: disable=wrong-import-position


def samples(plain, gated_too):
    """Of (wall, CPU) in seconds."""
    return {way: [(wall, programs.Use(cpu, 3, 4)) for wall, cpu in values] for way, values in (("plain", plain), ("gated", gated_too))}


def compared(copies, plain, gated_too, alone=None):
    return comparison.Comparison("toy", copies, samples(plain, gated_too), alone)


class Verdicts(unittest.TestCase):

    def test_a_copy_alone(self):
        good = compared(1, [(1, 1.0), (1, 1.5), (1, 1.5)], [(1, 1.03), (1, 1.2), (1, 9)])
        self.assertAlmostEqual(good.cost(), 1.03)
        self.assertAlmostEqual(good.cost(statistics.median), 0.8)
        self.assertEqual(good.verdict(), "")
        self.assertEqual(compared(1, [(1, 1.0)], [(1, 1.04)]).verdict(), "above the bar")

    def test_four_copies(self):
        with unittest.mock.patch.object(os, "sched_getaffinity", return_value={0, 1}):
            one = compared(1, [(2, 3), (2, 4), (2, 4)], [(2, 2), (2, 5), (2, 6)])
            wasting = compared(4, [(8, 16)], [(7, 9)], one)
            self.assertAlmostEqual(wasting.most(), 2)
            self.assertAlmostEqual(wasting.most(statistics.median), 1)
            self.assertEqual(wasting.verdict(), "below the bar")
            self.assertEqual(compared(4, [(8, 16)], [(6, 9)], one).verdict(), "")
            frugal = compared(1, [(2, 3.9)], [(2, 4)])
            self.assertEqual(compared(4, [(8, 16)], [(9, 16)], frugal).verdict(), "")  # nothing to gain
            self.assertEqual(compared(4, [(8, 16)], [(9, 16)]).verdict(), "")  # unknown

    def test_page(self):
        one = compared(1, [(1, 1.0)], [(1, 1.04)])
        rows = [one, compared(4, [(8, 16), (9, 17)], [(7, 9), (8, 10)], one)]
        page = comparison.page(rows, ["4 of toy: lost"], {"processor": "toy"})
        table = [line for line in page.splitlines() if line.startswith("| ")]
        self.assertEqual(table[0], "| measured on |  |")
        self.assertEqual({len(line.split(" | ")) for line in table[3:]}, {len(comparison.HEADS)})
        self.assertIn("| toy | 1 | 1 | 1 | 1 | 1.04 | 1.04 | 1.040 | 1.040 |", page)
        self.assertIn("- 4 of toy: lost\n", page)
        self.assertEqual({(row["metric"], row["clock"]) for row in rows[0].rows()},
                         {("time", "wall"), ("time", "cpu"), ("waits", None), ("losses", None)})


class Turns(unittest.TestCase):
    WAYS = {"plain": ([], {}), "gated": (["gate"], {})}

    def turns(self, answers, runs, seconds=0):
        """A program whose runs give these answers."""
        answers = iter(answers)
        program = types.SimpleNamespace(name="toy", run=lambda *_: (1, programs.Use(1, 0, 0), {next(answers)}))
        return gated.turns(program, self.WAYS, 1, None, types.SimpleNamespace(runs=runs, seconds=seconds))

    def test_as_many_as_wanted(self):
        self.assertEqual({way: len(values) for way, values in self.turns(["a"] * 1000, 3).items()}, {"plain": 3, "gated": 3})
        self.assertEqual(len(self.turns(["a"] * 1000, gated.MOST + 5)["plain"]), gated.MOST + 5)
        self.assertEqual(len(self.turns(["a"] * 1000, 1, seconds=1000)["plain"]), gated.MOST)

    def test_another_answer(self):
        with self.assertRaisesRegex(programs.Wrong, "toy: gated: the answer is {'b'}, not a"):
            self.turns(["a", "b"], 2)


if __name__ == "__main__":
    unittest.main()
