# SPDX-License-Identifier: Apache-2.0
"""Calibration from measurements, and what is refused."""

import json
import pathlib
import tempfile
import unittest

from model import here, report, spinning
from model.bus import BusMachine
from model.measurements import BadMeasurement, read
from model.solve import predict
from model.strategies import Strategy, Work

NS = 1e-9
CALIBRATION = here.Calibration(5 * NS, 50 * NS, 10 * NS, {})


def calibrate_rows(bus=0.0):
    """What mltp-bench calibrate would have written on a machine as the model has it."""
    def row(metric, processors, steps, seconds):
        return {"impl": "machine", "params": {"processors": processors, "steps": steps},
                "metric": metric, "unit": "ns", "clock": "wall", "runs": 1, "verified": True,
                "min": seconds / NS, "median": seconds / NS, "max": seconds / NS}

    shared = here.Strategy("shared", Work(0.0), (here.Section("queue", Work(
        CALIBRATION.section, transfers=4), 1),))
    rows = [row("exchange", 1, 0, CALIBRATION.exchange), row("transfer", 2, 0, CALIBRATION.transfer)]
    for steps in (0, 100):
        alone = CALIBRATION.section + steps * NS
        copies = Strategy("copies", Work(alone, bus=bus * alone))
        both = predict(copies, Work(0.0), 2, BusMachine(spinning.queue(), 0.0)).seconds
        rows += [row("private", 1, steps, alone), row("private", 2, steps, both),
                 row("shared", 1, steps, alone),
                 row("shared", 2, steps, predict(shared, Work(steps * NS), 2, CALIBRATION.machine(
                     spinning.queue())).seconds)]
    return rows


def lifecycle_rows(strategy, counts=(1, 2), works=(0, 300), way=spinning.backoff()):
    """What mltp-bench lifecycle would have written for a strategy as the model has it."""
    threads = 1000000
    return [{"impl": "mltp", "metric": "seconds", "unit": "s", "clock": "wall", "verified": True,
             "params": {"strategy": strategy.name, "vps": n, "threads": threads, "work_us": us},
             "median": threads / predict(strategy, Work(us * 1e-6), n,
                                         CALIBRATION.machine(way)).throughput}
            for n in counts for us in works]


class Files(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, content, name="a.json"):
        path = pathlib.Path(self.folder.name, name)
        path.write_text(content if isinstance(content, str) else json.dumps(content),
                        encoding="utf-8")
        return path

    def both(self, lifecycle, bus=0.0):
        env = {"cpu": "none", "cpus": 2}
        return read([self.file({"experiment": "calibrate", "env": env,
                                "rows": calibrate_rows(bus)}),
                     self.file({"experiment": "lifecycle", "env": env, "rows": lifecycle},
                               "b.json")])

    def test_finds_the_machine_and_the_strategies_again(self):
        true = [here.built(name, 60 * NS, CALIBRATION.section)(6.0) for name in here.STRATEGIES]
        found = report.of_this_machine(*self.both([r for s in true for r in lifecycle_rows(s)]))
        self.assertAlmostEqual(found["machine"]["transfer_seconds"] / CALIBRATION.transfer, 1)
        self.assertAlmostEqual(found["machine"]["section_transfers"], 4, places=1)
        for strategy in found["strategies"]:
            self.assertEqual(strategy["source"], "lifecycle")
            self.assertAlmostEqual(strategy["seconds"] / (60 * NS), 1, places=6)
            self.assertAlmostEqual(strategy["transfers"], 6, places=1)
        held_out = [p for p in found["predictions"] if p["experiment"] == "lifecycle"
                    and not p["fitted"] and p["processors"] > 1]
        self.assertEqual(len(held_out), len(true))
        self.assertLess(report.error_summary(found["predictions"])["worst"], 0.01)
        self.assertEqual([f["figure"] for f in found["figures"]], [6, 2, 9, 10, 12])
        names = [s["name"] for s in found["figures"][2]["series"] if s["kind"] == "measured"]
        self.assertEqual(names, list(here.STRATEGIES))

    def test_the_way_of_waiting_makes_a_difference(self):
        true = here.built("single", 60 * NS, CALIBRATION.section)(6.0)
        measured = self.both(lifecycle_rows(true, works=(0, 0.05), way=spinning.exchange()))
        right, wrong = (report.error_summary(report.of_this_machine(*measured, way=way)[
            "predictions"])["worst"] for way in (spinning.exchange(), spinning.queue()))
        self.assertLess(right, 0.001)
        self.assertGreater(wrong, 2 * right)

    def test_errors_are_those_of_the_measurement(self):
        rows = lifecycle_rows(here.built("freelist", 60 * NS, CALIBRATION.section)(6.0),
                              works=(0, 0.1))
        for row in rows:  # one that is not fitted must not move the fit
            if row["params"]["vps"] == 2 and row["params"]["work_us"] > 0:
                row["median"] *= 2
        found = report.of_this_machine(*self.both(rows))
        self.assertAlmostEqual(report.error_summary(found["predictions"])["worst"], 0.5, places=3)

    def test_strategies_that_were_not_measured_are_composed_of_the_default(self):
        default = here.built("default", 60 * NS, CALIBRATION.section)(3.0)
        found = report.of_this_machine(*self.both(lifecycle_rows(default)))
        self.assertEqual({s["name"]: s["source"] for s in found["strategies"]},
                         {n: "composed" for n in here.STRATEGIES} | {"default": "lifecycle"})
        seconds = {s["name"]: s["seconds"] / NS for s in found["strategies"]}
        self.assertAlmostEqual(seconds["multi"], 60 + 6 * 10, places=6)

    def test_sections_measured_on_one_processor_move_what_the_calibration_found(self):
        found = report.of_this_machine(*self.both(lifecycle_rows(
            here.built("freelist", 60 * NS, CALIBRATION.section)(6.0), counts=(1,))))
        self.assertAlmostEqual(found["strategies"][0]["transfers"], 2 * 4, places=1)

    def test_rows_of_vps_that_were_no_processors_are_left_out_and_counted(self):
        default = here.built("default", 60 * NS, CALIBRATION.section)(3.0)
        rows = lifecycle_rows(default, counts=(1, 2, 8))
        rows += [row | {"metric": "cpu_seconds", "clock": "cpu",
                        "median": busy * row["median"] * row["params"]["vps"]}
                 for row, busy in zip(rows, (0.5, 1, 1, 0.6, 1, 1))]
        found = report.of_this_machine(*self.both(rows))
        self.assertEqual(found["left_out"], 3)  # two on 8 VPs, one that lost its CPUs
        self.assertEqual([(p["processors"], p["work_us"]) for p in found["predictions"]
                          if p["experiment"] == "lifecycle"], [(1, 0), (2, 0), (1, 300)])
        alone = next(p for p in found["predictions"] if p["processors"] == 1)
        self.assertAlmostEqual(alone["measured_seconds"] / (0.5 * 60 * NS), 1)  # CPU time

    def test_bus_share_is_found_again_from_private_copies(self):
        found = report.of_this_machine(*self.both([], bus=0.3))
        for share in found["machine"]["bus_shares"].values():
            self.assertAlmostEqual(share, 0.3, places=4)
        self.assertEqual(here.bus_share(0.99, 2), 0.0)

    def test_values_of_a_row_come_from_its_median_and_unit(self):
        rows, env = read([self.file({"experiment": "micro", "env": {"cpus": 2}, "rows": [
            {"impl": "mltp", "metric": "create", "params": {"vps": 1, "threads": 9}, "unit": "ns",
             "clock": "cpu", "min": 8.0, "median": 9.0, "verified": True},
            {"impl": "mltp", "metric": "memory", "params": {}, "unit": "B", "clock": "none",
             "median": 8.0, "verified": True},
            {"impl": "pth", "metric": "create", "params": {}, "unit": "ns", "clock": "cpu",
             "median": 1.0, "verified": False}]})])
        self.assertEqual(env, {"cpus": 2})
        self.assertEqual([(r["seconds"], r["vps"]) for r in rows], [(9 * NS, 1)])

    def test_bad_files_are_refused_with_a_message(self):
        for content, complaint in (
                ("{", "no JSON"), ("[]", "no \"rows\""), ({"rows": [3]}, "row 0 is no object"),
                ({"rows": [{"seconds": 0}]}, "row 0 took 0 seconds"),
                ({"rows": [{"seconds": "1"}]}, "row 0 took '1' seconds")):
            with self.subTest(complaint=complaint):
                path = self.file(content)
                with self.assertRaisesRegex(BadMeasurement, complaint) as caught:
                    read([path])
                self.assertIn(str(path), str(caught.exception))
        self.assertRaisesRegex(BadMeasurement, "No such file", read, ["/nonexistent.json"])

    def test_measurements_that_do_not_suffice_are_refused_with_a_message(self):
        default = here.built("default", 60 * NS, CALIBRATION.section)(3.0)
        for lifecycle, complaint in (
                (lifecycle_rows(default, counts=(2,)), "default has no row on 1 VP"),
                ([{"metric": "seconds", "strategy": "new", "vps": 1, "threads": 1, "work_us": 0,
                   "seconds": 1}],
                 "strategy new")):
            with self.subTest(complaint=complaint):
                self.assertRaisesRegex(BadMeasurement, complaint, report.of_this_machine,
                                       *self.both(lifecycle))
        self.assertRaisesRegex(BadMeasurement, "metric exchange.*mltp-bench calibrate",
                               report.of_this_machine, [], None)


if __name__ == "__main__":
    unittest.main()
