# SPDX-License-Identifier: Apache-2.0
"""The issue-slot model does what the thesis says of Figure 3.2, cycle by cycle, and has the signs of Table 4.1."""

import unittest

from model import smt, smt_mixes


class Figure32(unittest.TestCase):
    """Each statement of the text about the figure (thesis 3.1), asked of the model."""

    def setUp(self):
        made = {mode: smt.figure_3_2(mode) for mode in smt.MODES}
        self.schedule = {mode: schedule for mode, (schedule, _) in made.items()}
        self.ends = {mode: [thread.finished for thread in threads] for mode, (_, threads) in made.items()}

    @staticmethod
    def threads(line):
        return {name: fp for name, (fp, _) in line.items() if name != "kernel"}

    def test_the_whole_schedule(self):
        """The golden case: each cycle's instructions of thread 1, thread 2 and the kernel."""
        golden = {
            "up": "2-- --k -2- --k 2-- --k -2- --k 2-- --k -2- 2-- -2- 2-- -2-",
            "smt": "11- 1-k 11- -2k 11- 2-k 11- -2k 11- 2-k -1-",
            "dk": "2-- -2k 2-- -2k 2-- -2k 2-- -2k 2-- -2k"}
        for mode, expected in golden.items():
            cells = ["".join([str(line[name][0]) if name in line else "-" for name in ("thread 1", "thread 2")]
                             + ["k" if "kernel" in line else "-"]) for line in self.schedule[mode]]
            self.assertEqual(" ".join(cells), expected, mode)

    def test_up_two_instructions_of_alternating_threads_kernel_work_in_between(self):
        users = [self.threads(line) for line in self.schedule["up"]]
        for line, mine in zip(self.schedule["up"], users):
            self.assertTrue(not mine or list(mine.values()) == [2])
            self.assertFalse(mine and "kernel" in line)
        order = [next(iter(mine)) for mine in users if mine]
        self.assertEqual(order, ["thread 1", "thread 2"] * 5)

    def test_smt_one_instruction_of_each_stream(self):
        for line in self.schedule["smt"][:-1]:
            if "kernel" not in line:
                self.assertEqual(self.threads(line), {"thread 1": 1, "thread 2": 1})

    def test_smt_at_time_2_one_floating_point_instruction(self):
        self.assertEqual(self.schedule["smt"][1], {"kernel": (0, 1), "thread 1": (1, 0)})

    def test_dk_never_pauses_a_user_task(self):
        self.assertTrue(all(sum(self.threads(line).values()) == 2 for line in self.schedule["dk"]))

    def test_dk_ends_one_cycle_before_smt_and_five_before_up(self):
        for end, smt_end, up_end in zip(self.ends["dk"], self.ends["smt"], self.ends["up"]):
            self.assertEqual((smt_end - end, up_end - end), (1, 5))

    def test_every_mode_does_the_same_work(self):
        for schedule in self.schedule.values():
            self.assertEqual(sum(sum(self.threads(line).values()) for line in schedule), 20)
            self.assertEqual(sum("kernel" in line for line in schedule), 5)

    def test_no_cycle_issues_more_than_the_machine_can(self):
        machine = smt.Machine()
        for schedule in self.schedule.values():
            for line in schedule:
                self.assertLessEqual(sum(fp + other for fp, other in line.values()), machine.width)
                self.assertLessEqual(sum(fp for fp, _ in line.values()), machine.fp_units)


class Table41(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = smt.categories()

    def test_six_programs_have_the_thesis_sign(self):
        self.assertEqual({row["program"]: row["paper"] for row in self.rows},
                         {"vortex": "pro-SMT", "mesa": "pro-SMT", "equake": "pro-SMT",
                          "vpr": "pro-DK", "crafty": "pro-DK", "art": "pro-DK"})
        for row in self.rows:
            self.assertEqual(row["model"], row["paper"], row)

    def test_dk_is_up_without_network_and_better_with_it(self):
        """Thesis 4.2: the first two conclusions."""
        for row in self.rows:
            cycles = row["cycles"]
            self.assertEqual(cycles["dk", False], cycles["up", False])
            self.assertLess(cycles["dk", True], cycles["up", True])

    def test_network_load_costs_up_its_bursts(self):
        share = 1 - smt_mixes.NET_BURST / smt_mixes.NET_PERIOD
        for row in self.rows:
            without, beside = row["cycles"]["up", False], row["cycles"]["up", True]
            self.assertAlmostEqual(without / beside, share, delta=0.02)

    def test_the_sign_follows_the_mix(self):
        """A program without stalls or losses gains from a second context as far as slots last."""
        calm = smt_mixes.Mix("calm", "", fp=0, ilp=1, miss=0, stall=0, split=1, crowded=1)
        self.assertAlmostEqual(smt_mixes.cycles(calm, "up", False) / smt_mixes.cycles(calm, "smt", False), 2, delta=0.02)
        greedy = smt_mixes.Mix("greedy", "", fp=1, ilp=2, miss=0, stall=0, split=1, crowded=1)
        self.assertAlmostEqual(smt_mixes.cycles(greedy, "up", False) / smt_mixes.cycles(greedy, "smt", False), 1,
                               delta=0.02)


if __name__ == "__main__":
    unittest.main()
