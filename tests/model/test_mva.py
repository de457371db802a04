# SPDX-License-Identifier: Apache-2.0
"""Mean value analysis against closed forms, a simulation, and bounds."""

import math
import unittest

from model.mva import Centre, Class, solve, solve_two_classes

import simulate


class OneClass(unittest.TestCase):

    def test_balanced_network_has_its_closed_form(self):
        for customers in (1, 2, 7, 50):
            for stations in (1, 2, 5):
                with self.subTest(customers=customers, stations=stations):
                    expected = customers / (0.3 * (customers + stations - 1))
                    for centres in ([Centre(0.3)] * stations, [Centre(0.3, stations)]):
                        found = solve(0.0, centres, customers)
                        self.assertAlmostEqual(found.throughput, expected, places=12)
                        self.assertAlmostEqual(found.length[0], customers / stations, places=12)

    def test_machine_repairman_has_its_closed_form(self):
        delay, demand = 5.0, 1.0
        for customers in (1, 2, 6, 20):
            with self.subTest(customers=customers):
                ways = [math.perm(customers, k) * (demand / delay) ** k
                        for k in range(customers + 1)]
                expected = (1 - ways[0] / sum(ways)) / demand
                found = solve(delay, [Centre(demand)], customers)
                self.assertAlmostEqual(found.throughput, expected, places=12)

    def test_simulation_agrees(self):
        for delay, demands, customers in ((1.0, (0.5,), 3), (2.0, (0.3, 0.6), 5),
                                          (0.5, (0.2, 0.2, 0.4), 4)):
            with self.subTest(demands=demands):
                throughput, length = simulate.one_class(delay, demands, customers, 60000, seed=1)
                found = solve(delay, [Centre(d) for d in demands], customers)
                self.assertAlmostEqual(throughput / found.throughput, 1, delta=0.02)
                for simulated, analysed in zip(length, found.length):
                    self.assertAlmostEqual(simulated / analysed, 1, delta=0.05)

    def test_throughput_keeps_within_its_bounds_and_grows(self):
        centres = [Centre(0.1), Centre(0.02, 4)]
        last = 0.0
        for customers in range(1, 60):
            found = solve(1.0, centres, customers)
            self.assertLessEqual(found.throughput, min(customers / 1.18, 1 / 0.1) + 1e-12)
            self.assertGreater(found.throughput, last - 1e-9)
            last = found.throughput

    def test_customers_are_conserved(self):
        found = solve(0.7, [Centre(0.2), Centre(0.05, 3)], 9)
        everywhere = 0.7 * found.throughput + found.length[0] + 3 * found.length[1]
        self.assertAlmostEqual(everywhere, 9, places=12)

    def test_bad_input_is_refused_with_a_message(self):
        for call, complaint in (
                (lambda: Centre(-1.0), "demand is -1.0"),
                (lambda: Centre(math.nan), "demand is nan"),
                (lambda: Centre(1.0, 0), "0 centres"),
                (lambda: solve(1.0, [], 0), "0 customers"),
                (lambda: solve(-1.0, [Centre(1.0)], 1), "delay is -1.0"),
                (lambda: solve(0.0, [Centre(0.0)], 2), "takes no time")):
            with self.subTest(complaint=complaint):
                self.assertRaisesRegex(ValueError, complaint, call)


class TwoClasses(unittest.TestCase):

    def test_classes_alike_are_one_class(self):
        for first, second in ((1, 1), (3, 4), (7, 2)):
            with self.subTest(first=first, second=second):
                found = solve_two_classes(Class(first, 1.0, 0.4), Class(second, 1.0, 0.4))
                alone = solve(1.0, [Centre(0.4)], first + second).residence[0]
                self.assertAlmostEqual(found[0], alone, places=12)
                self.assertAlmostEqual(found[1], alone, places=12)

    def test_class_without_customers_meets_the_other(self):
        found = solve_two_classes(Class(0, 1.0, 0.3), Class(4, 2.0, 0.5))
        other = solve(2.0, [Centre(0.5)], 4)
        self.assertAlmostEqual(found[1], other.residence[0], places=12)
        self.assertAlmostEqual(found[0], 0.3 * (1 + other.length[0]), places=12)
        self.assertEqual(solve_two_classes(Class(4, 2.0, 0.5), Class(0, 1.0, 0.3)), found[::-1])

    def test_simulation_agrees(self):
        for classes in (((2, 1.0, 0.5), (3, 0.5, 0.1)), ((1, 0.2, 0.4), (4, 2.0, 0.6))):
            with self.subTest(classes=classes):
                simulated = simulate.two_classes(classes, 60000, seed=1)
                found = solve_two_classes(*(Class(*c) for c in classes))
                for left, right in zip(simulated, found):
                    self.assertAlmostEqual(left / right, 1, delta=0.03)

    def test_more_spinners_slow_the_workers(self):
        times = [solve_two_classes(Class(2, 1.0, 0.1), Class(n, 0.5, 0.2))[0] for n in range(20)]
        self.assertEqual(times, sorted(times))
        self.assertLess(times[0], times[1])

    def test_bad_input_is_refused_with_a_message(self):
        good = Class(1, 1.0, 1.0)
        for bad in (Class(-1, 1.0, 1.0), Class(1, -1.0, 1.0), Class(1, 1.0, math.nan)):
            with self.subTest(bad=bad):
                self.assertRaisesRegex(ValueError, "0 or more", solve_two_classes, good, bad)
        self.assertRaisesRegex(ValueError, "takes no time", solve_two_classes, good,
                               Class(1, 0.0, 0.0))


if __name__ == "__main__":
    unittest.main()
