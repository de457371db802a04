# SPDX-License-Identifier: Apache-2.0
"""Equation 3.1 as printed, by enumeration of all placements, and by chance."""

import itertools
import random
import unittest
from fractions import Fraction

from model.placement import queues_examined, searched


def as_printed(threads, queues):
    """Equation (3.1) term by term, exactly."""
    total = queues + sum(i * (queues - i) ** (j - 1) * (queues - i + 1) ** (threads - j)
                         for j in range(1, threads + 1) for i in range(1, queues))
    return Fraction(total, queues ** threads)


def enumerated(threads, queues):
    """The mean over all queues ** threads placements."""
    return Fraction(sum(min(placement) for placement in
                        itertools.product(range(1, queues + 1), repeat=threads)),
                    queues ** threads)


class Placement(unittest.TestCase):

    def test_equation_equals_enumeration(self):
        for threads in range(1, 6):
            for queues in range(1, 7):
                with self.subTest(threads=threads, queues=queues):
                    expected = enumerated(threads, queues)
                    self.assertEqual(as_printed(threads, queues), expected)
                    self.assertAlmostEqual(queues_examined(threads, queues), float(expected),
                                           places=12)

    def test_equation_as_printed_at_the_papers_size(self):
        for threads in (1, 2, 9, 17, 40):
            self.assertAlmostEqual(queues_examined(threads, 18), float(as_printed(threads, 18)),
                                   places=12)

    def test_monte_carlo_agrees(self):
        rng = random.Random(1)
        for threads, queues in ((1, 18), (5, 18), (17, 64)):
            with self.subTest(threads=threads, queues=queues):
                runs = 40000
                mean = sum(min(rng.randint(1, queues) for _ in range(threads))
                           for _ in range(runs)) / runs
                self.assertAlmostEqual(mean / queues_examined(threads, queues), 1, delta=0.03)

    def test_more_threads_shorten_and_more_queues_lengthen_the_search(self):
        for threads in range(1, 30):
            self.assertGreater(queues_examined(threads, 18), queues_examined(threads + 1, 18))
            self.assertLess(queues_examined(threads, 18), queues_examined(threads, 19))
        self.assertGreater(queues_examined(1.5, 18), queues_examined(2, 18))

    def test_figure_5_peaks_at_as_many_threads_as_processors(self):
        heights = {n: searched(n, 18) for n in range(1, 50)}
        self.assertEqual(max(heights, key=heights.get), 18)
        self.assertAlmostEqual(heights[18], 19 / 2)  # "on average half of the queues"
        self.assertAlmostEqual(heights[17], heights[19])

    def test_bad_input_is_refused_with_a_message(self):
        for arguments, complaint in (((0, 4), "0 ready threads"), ((1, 0), "0 queues"),
                                     ((1, 2.5), "2.5 queues"), ((float("nan"), 3), "nan ready")):
            with self.subTest(arguments=arguments):
                self.assertRaisesRegex(ValueError, complaint, queues_examined, *arguments)
        self.assertRaisesRegex(ValueError, "0 runnable threads", searched, 0, 18)


if __name__ == "__main__":
    unittest.main()
