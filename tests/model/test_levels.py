# SPDX-License-Identifier: Apache-2.0
"""The two levels and the iteration between them."""

import math
import unittest

from model import paper, spinning
from model.bus import BusMachine
from model.iterate import NotConverged, fixed_point
from model.line import LineMachine
from model.mva import Centre, solve
from model.solve import Cycle, predict
from model.strategies import Section, Strategy, Work, seconds_alone

NULL = Work(0.0)
WAYS = (spinning.exchange(), spinning.read(), spinning.backoff(), spinning.persistent(1e-5),
        spinning.queue())


class Iteration(unittest.TestCase):

    def test_finds_a_fixed_point_that_whole_steps_swing_about(self):
        self.assertAlmostEqual(fixed_point(lambda s: [10 / s[0] ** 2], [1.0])[0], 10 ** (1 / 3))
        self.assertAlmostEqual(fixed_point(lambda s: [8 - 3 * s[0]], [0.0])[0], 2)

    def test_says_when_there_is_none(self):
        self.assertRaisesRegex(NotConverged, "2000 rounds.*differ by", fixed_point,
                               lambda s: [s[0] + 1], [0.0])


class Levels(unittest.TestCase):

    def machines(self):
        for way in WAYS:
            yield BusMachine(way, 0.4e-6)
            yield LineMachine(way, 0.1e-6)

    def test_one_processor_takes_what_its_code_takes(self):
        user = Work(20e-6, bus=1e-6)
        for machine in self.machines():
            for strategy in paper.STRATEGIES:
                with self.subTest(machine=machine, strategy=strategy.name):
                    found = predict(strategy, user, 1, machine)
                    self.assertAlmostEqual(found.seconds / seconds_alone(strategy, user), 1)
                    self.assertEqual(found.spinning, 0)

    def test_without_bus_demand_the_high_level_is_plain_queueing(self):
        strategy = Strategy("one", Work(5e-6), (Section("a", Work(1e-6), 2),))
        for processors in (2, 5, 12):
            for machine in (BusMachine(spinning.backoff(), 0.0),
                            LineMachine(spinning.backoff(), 0.0)):
                with self.subTest(processors=processors, machine=machine):
                    found = predict(strategy, Work(3e-6), processors, machine)
                    plain = solve(8e-6, [Centre(2e-6)], processors)
                    self.assertAlmostEqual(found.throughput / plain.throughput, 1)

    def test_without_locks_the_low_level_is_plain_queueing(self):
        strategy = Strategy("private copies", Work(10e-6, bus=2e-6))
        for processors in (2, 5, 12):
            found = predict(strategy, NULL, processors, paper.MACHINE)
            plain = solve(8e-6, [Centre(2e-6)], processors)
            self.assertAlmostEqual(found.throughput / plain.throughput, 1)

    def test_line_machine_charges_moved_lines_by_how_often_they_were_elsewhere(self):
        strategy = Strategy("handing on", Work(1e-6, transfers=3))
        machine = LineMachine(spinning.queue(), 0.1e-6)
        found = predict(strategy, NULL, 4, machine).seconds
        self.assertAlmostEqual(found / (1e-6 + 0.75 * 0.3e-6), 1)

    def test_more_work_lowers_throughput_where_waiting_costs_others_nothing(self):
        for machine in (BusMachine(spinning.backoff(), 0.0), LineMachine(spinning.read(), 0.0)):
            for strategy in paper.STRATEGIES:
                with self.subTest(machine=machine, strategy=strategy.name):
                    found = [predict(strategy, Work(us * 1e-6), 12, machine).throughput
                             for us in (0, 10, 100, 1000)]
                    self.assertEqual(found, sorted(found, reverse=True))

    def test_more_work_can_raise_throughput_where_those_who_wait_slow_the_others(self):
        none, some = (predict(paper.SINGLE, Work(s), 12, paper.MACHINE).throughput
                      for s in (0.0, 200e-6))
        self.assertGreater(some, none)

    def test_everything_converges_up_to_1024_processors(self):
        for machine in self.machines():
            for strategy in paper.STRATEGIES:
                with self.subTest(machine=machine, strategy=strategy.name):
                    found = predict(strategy, Work(300e-6), 1024, machine)
                    self.assertTrue(0 < found.throughput < 1024 / 300e-6)
                    self.assertTrue(0 <= found.spinning < 1)

    def test_queue_spins_cheapest_where_many_wait(self):
        for kind, cost in ((BusMachine, 0.4e-6), (LineMachine, 0.1e-6)):
            speed = {way.name: predict(paper.SINGLE, NULL, 20, kind(way, cost)).throughput
                     for way in WAYS}
            with self.subTest(kind=kind.__name__, speed=speed):
                self.assertEqual(max(speed, key=speed.get), "queue")
                self.assertGreater(speed["backoff"], speed["exchange"])

    def test_spinners_on_the_bus_are_not_computing_meanwhile(self):
        machine = BusMachine(spinning.exchange(), 0.4e-6)  # all their time is spent at the bus
        cycle = Cycle(2, Work(3e-6), (Section("a", Work(1e-6), 1),))
        found = machine.observe(cycle, [(1e-6, 1.0)], [2.0])[0]
        self.assertAlmostEqual(found, solve(4e-6, [Centre(0.5e-6)], 2).residence[0] / 0.5e-6)

    def test_those_who_wait_on_lines_of_their_own_do_not_slow_the_holder(self):
        for way in WAYS:
            slow = LineMachine(way, 0.1e-6).slowdown(1e-6, 7.5)
            with self.subTest(way=way.name):
                self.assertTrue(slow == 1.0 if way.own_line else slow > 1.01, slow)

    def test_search_is_charged_to_local_ready_queues_only(self):
        self.assertEqual(paper.FREELIST.search(NULL, 18), Work(0.0))
        self.assertEqual(paper.LOCAL.search(NULL, 1).seconds, 0)
        busy, idle = (paper.LOCAL.search(Work(s), 18).seconds for s in (0.0, 1.0))
        self.assertAlmostEqual(idle / paper.LOOP, 19 / 2 - 1, places=2)  # one thread is ready
        self.assertLess(busy, idle)

    def test_bad_input_is_refused_with_a_message(self):
        for call, complaint in (
                (lambda: Work(-1.0), "must be 0 or more"),
                (lambda: Work(1.0, bus=2.0), "a part of all"),
                (lambda: Work(math.nan), "must be 0 or more"),
                (lambda: spinning.persistent(0.0), "more than 0 seconds"),
                (lambda: paper.user_work(1.0, 1.5), "within 0..1"),
                (lambda: predict(paper.SINGLE, NULL, 0, paper.MACHINE), "0 customers")):
            with self.subTest(complaint=complaint):
                self.assertRaisesRegex(ValueError, complaint, call)


if __name__ == "__main__":
    unittest.main()
