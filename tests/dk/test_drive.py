#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The driver of Figure 4.1, the built-in programs, and the plan of this very machine, for real."""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest
import unittest.mock

import fake  # noqa: F401  (finds dkctl)
from dkctl import advise, counters, drive, experiment
from dkctl.refusal import Refusal

LOAD, DKCTL = os.environ["DK_LOAD"], os.environ["DKCTL"]
RESULTS = {"fp": 3990085, "integer": 1713666964175018662, "branchy": 14671665804816307738,
           "cache": 8658869049456428460, "memory": 6293029372992, "mixed": 3649020405}


class Driver(unittest.TestCase):
    def script(self, text):
        """A shell command whose copies write their times into a file."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = pathlib.Path(folder.name) / "log"
        self.log.touch()
        return ["sh", "-c", text, "sh", str(self.log)]

    def test_ttc_is_the_slowest_first_iteration_and_others_are_restarted(self):
        # The first copy to make the folder is slow; the others are quick, and run several times.
        command = self.script('echo began >> "$1"; if mkdir "$1.slow" 2>/dev/null; then sleep 1; else sleep 0.1; fi')
        began = time.monotonic()
        run = drive.run(command, 3)
        self.assertGreaterEqual(run.ttc, 1)
        self.assertLessEqual(run.ttc, time.monotonic() - began)
        self.assertEqual(run.ttc, max(run.iterations))
        self.assertEqual(len(run.iterations), 3)
        self.assertLess(run.mean, run.ttc)
        self.assertGreater(self.log.read_text().count("began"), 4)

    def test_no_copy_outlives_the_run(self):
        command = self.script('if mkdir "$1.quick" 2>/dev/null; then exit 0; fi; echo $$ >> "$1"; sleep 0.3')
        drive.run(command, 2)
        for pid in self.log.read_text().split():
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())

    def test_a_copy_that_fails_is_no_measurement(self):
        with self.assertRaisesRegex(Refusal, "ended with status 3"):
            drive.run(["sh", "-c", "exit 3"], 2)
        with self.assertRaises(Refusal):
            drive.run(["/no/such/program"], 2)

    def test_copies_have_the_cpus_they_are_given(self):
        cpu = min(os.sched_getaffinity(0))
        drive.run(["sh", "-c", f'test "$(taskset -cp $$ | sed "s/.*: //")" = {cpu}'], 2, {cpu})


class Programs(unittest.TestCase):
    def test_each_program_comes_to_its_result(self):
        for name in advise.BUILT_IN:
            done = subprocess.run([LOAD, name, "2"], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout, f"{name} {RESULTS[name]}\n")

    def test_usage(self):
        for words in ([], ["fp", "0"], ["fp", "x"], ["fp", " 4"], ["fp", "4x"], ["swim"], ["flood", "nowhere"]):
            done = subprocess.run([LOAD, *words], capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertTrue(done.stderr)


class Advice(unittest.TestCase):
    def test_best_of(self):
        self.assertEqual(advise.best_of({"up": [2, 2.1], "smt": [1, 1.01], "dk": [1.9, 2]}), "smt")
        self.assertTrue(advise.best_of({"up": [2], "smt": [2.01], "dk": [3]}).startswith("even"))
        self.assertTrue(advise.best_of({"up": [2, 3, 3], "smt": [2.2, 2.2], "dk": [3]}).startswith("even"))

    def test_counters_are_plausible_or_absent(self):
        counted = counters.Counters()
        subprocess.run([LOAD, "fp", "1"], check=True, capture_output=True)
        ipc = counted.ipc()
        self.assertTrue(ipc is None or 0.05 < ipc < 16, ipc)

    def test_advice_on_a_command_of_this_machine(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU cannot be a pair")
        first, second = sorted(os.sched_getaffinity(0))[:2]
        with tempfile.TemporaryDirectory() as state:
            done = subprocess.run([DKCTL, "--state", state, "advise", "--pair", f"{first},{second}", "--runs", "1",
                                   "--json", "--", LOAD, "fp", "2"], capture_output=True, text=True, check=True)
        row = json.loads(done.stdout)["rows"][0]
        self.assertEqual(set(row["seconds"]), {"up", "smt", "dk"})
        self.assertTrue(all(times[0] > 0 for times in row["seconds"].values()))


class Experiment(unittest.TestCase):
    def test_modes_of_a_command(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU cannot be a pair")
        first, second = sorted(os.sched_getaffinity(0))[:2]
        with tempfile.TemporaryDirectory() as state:
            done = subprocess.run([DKCTL, "--state", state, "experiment", "modes", "--pair", f"{first},{second}",
                                   "--runs", "1", "--copies", "2,3", "--json", "--", LOAD, "fp", "1"],
                                  capture_output=True, text=True, check=True)
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([(row["copies"], row["mode"]) for row in rows],
                         [(copies, mode) for copies in (2, 3) for mode in ("up", "smt", "dk")])
        self.assertTrue(all(row["ttc"][0] >= row["mean"][0] > 0 for row in rows))


    def test_pairs_in_their_best_modes(self):
        times = {("a", "up"): 1, ("a", "smt"): 2, ("a", "dk"): 3, ("b", "up"): 30, ("b", "smt"): 20, ("b", "dk"): 10,
                 ("c", "up"): 7, ("c", "smt"): 5, ("c", "dk"): 6}
        ran = []

        def run(command, copies, cpus):
            ran.append((command, copies, cpus))
            return drive.Run(times[command, cpus], (1,))
        options = argparse.Namespace(words=[], copies="2,4", runs=2, programs="")
        with unittest.mock.patch.object(experiment, "built_in", return_value={name: name for name in "abc"}), \
                unittest.mock.patch.object(experiment.advise, "user_cpus", side_effect=lambda mode, group: mode), \
                unittest.mock.patch.object(experiment.drive, "run", side_effect=run):
            rows = experiment.hybrid(None, options, "", (0, 1))
        self.assertEqual([(row["programs"], row["best"], row["static"]["up"], row["projected"], row["measured"]) for row in rows],
                         [(("a", "b"), ["up", "dk"], 31, 11, [11, 11]), (("a", "c"), ["up", "smt"], 8, 6, [6, 6]),
                          (("b", "c"), ["dk", "smt"], 37, 15, [15, 15])])
        self.assertEqual({copies for _, copies, _ in ran}, {4})


class ThisMachine(unittest.TestCase):
    def test_a_plan_of_this_machine_can_be_made_by_anybody(self):
        with tempfile.TemporaryDirectory() as state:
            done = subprocess.run([DKCTL, "--state", state, "plan", "smt", "--json"], capture_output=True, text=True,
                                  check=True)
            self.assertEqual(json.loads(done.stdout)["writes"], [])
            self.assertEqual(subprocess.run([DKCTL, "--state", state, "status"], capture_output=True,
                                            check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
