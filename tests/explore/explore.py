#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mltp explore` finds the planted bugs, replays and shortens them, and accepts the cures."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

DEADLOCK, LIVELOCK = 86, 87

MLTP, EXAMPLES, ENOUGH = "", pathlib.Path(), 1
TIME_LIMIT = "--timeout=550"  # of one run; a busy machine may be slow

# Program -> how it fails, the most runs each strategy may need, the fewest departures that do.
PLANTED = {
    "lost_wakeup": (DEADLOCK, {"mix": 20, "random": 20, "pct": 20, "delays": 50, "preempt": 20}, 1),
    "lock_order": (DEADLOCK, {"mix": 20, "random": 20, "pct": 20, "delays": 50, "preempt": 20}, 1),
    "aba": (1, {"mix": 100, "random": 50, "pct": 100, "delays": 300, "preempt": 300}, 2),
}


def run(command, **settings):
    """Runs a command in an environment without our options but for these."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MLTP_")}
    return subprocess.run([str(word) for word in command], env={**environment, **settings},
                          capture_output=True, text=True, check=False)


def explore(*arguments):
    return run([MLTP, "explore", TIME_LIMIT, *arguments])


def traced(command, **settings):
    """Exit status and the decisions of a deterministic run."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        status = run(command, MLTP_SCHEDULE_LOG=str(log), **settings).returncode
        return status, log.read_text()


def replays(said):
    """What `explore` printed as replays, as settings and command."""
    for line in re.findall(r"^explore: replay: (.*)$", said, re.M):
        words = line.split()
        settings = dict(word.split("=", 1) for word in words if word.startswith("MLTP_"))
        yield settings, words[len(settings):]


class Planted(unittest.TestCase):
    def test_is_hardly_ever_seen(self):
        for name in PLANTED:
            passed = sum(run([EXAMPLES / name]).returncode == 0 for _ in range(20))
            self.assertGreater(passed, 10, name)

    def test_is_found_replayed_and_shortened(self):
        for name, (status, runs, departures) in PLANTED.items():
            for strategy, most in runs.items():
                with self.subTest(program=name, strategy=strategy):
                    found = explore("--strategy", strategy, "--runs", most, "--",
                                    EXAMPLES / name)
                    self.assertEqual(found.returncode, 1, found.stdout + found.stderr)
                    self.assertIn(f"exit status {status}", found.stdout)
                    both = list(replays(found.stdout))
                    self.assertEqual(len(both), 2, found.stdout)
                    for settings, command in both:
                        first = traced(command, **settings)
                        self.assertEqual(first[0], status)
                        self.assertEqual(first, traced(command, **settings))
                    shortest = both[1][0]["MLTP_SCHEDULE"].split(",")
                    self.assertLessEqual(len(shortest), departures + 1, found.stdout)

    def test_is_named_by_the_message(self):
        said = run([EXAMPLES / "lock_order"], MLTP_SCHEDULE="6:1").stderr
        self.assertIn("MLTP_SCHEDULE=6:1", said)

    def test_cures_pass(self):
        for name in PLANTED:
            for strategy in "mix", "random", "pct", "delays", "preempt":
                with self.subTest(program=name, strategy=strategy):
                    done = explore("--strategy", strategy, "--runs", ENOUGH, "--jobs", 2, "--",
                                   EXAMPLES / name, "fixed")
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertIn("no failure", done.stdout)

    def test_all_schedules_within_a_bound(self):
        done = explore("--strategy", "preempt", "--bound", 1, "--", EXAMPLES / "lost_wakeup",
                       "fixed")
        self.assertRegex(done.stdout, r"no failure: all \d+ schedules")


class Runs(unittest.TestCase):
    def test_seed_decides(self):
        for name in "pipeline", "barrier":
            program = [EXAMPLES.parent / name]
            traces = [traced(program, MLTP_SEED=seed) for seed in ("1", "1", "2")]
            self.assertEqual(traces[0], traces[1])
            self.assertNotEqual(traces[0], traces[2])

    def test_schedule_is_the_seed_in_other_words(self):
        program = [EXAMPLES / "lock_order", "fixed"]
        status, log = traced(program, MLTP_SEED="7")
        decisions = [line.split("\t") for line in log.splitlines()]
        departures = ",".join(f"{d[0]}:{d[1]}" for d in decisions if d[1] != "0")
        self.assertEqual((status, log), traced(program, MLTP_SCHEDULE=departures))

    def test_too_many_steps_are_a_livelock(self):
        done = run([EXAMPLES / "lock_order"], MLTP_SEED="1", MLTP_STEPS_MAX="5")
        self.assertEqual(done.returncode, LIVELOCK)
        self.assertIn("MLTP_SEED=1", done.stderr)

    def test_jobs_find_the_same(self):
        one, two = (explore("--jobs", jobs, "--", EXAMPLES / "aba").stdout for jobs in (1, 3))
        self.assertEqual(one, two)

    def test_failure_that_does_not_repeat(self):
        with tempfile.TemporaryDirectory() as folder:
            third_fails = f"n=$(ls {folder} | wc -l); touch {folder}/$n; [ $n != 2 ] || exit 3; exec {EXAMPLES}/aba fixed"
            done = explore("--runs", 5, "--", "/bin/sh", "-c", third_fails)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("explore: run 2 failed once, and not again: exit status 3", done.stdout)
            self.assertIn("no failure in 5 runs", done.stdout)
            self.assertEqual(len(os.listdir(folder)), 7)

    def test_wrong_usage(self):
        for words in (["--strategy", "luck"], ["--runs", "0"], []):
            self.assertEqual(explore(*words, *(["--", "x"] if words else [])).returncode, 2)

    def test_program_that_cannot_be_explored(self):
        for program, why in ("/no/such/program", "cannot run"), ("/bin/true", "nothing to choose"):
            done = explore("--", program)
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stderr)

    def test_program_that_does_not_end(self):
        done = explore("--timeout=1", "--", "/bin/sh", "-c",
                       f"MLTP_SEED=1 {EXAMPLES}/aba fixed; exec sleep 100")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did not end in time", done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("mltp")
    parser.add_argument("examples", type=pathlib.Path)
    parser.add_argument("enough", type=int, help="runs that a cure has to pass")
    parsed = parser.parse_args()
    MLTP, EXAMPLES, ENOUGH = parsed.mltp, parsed.examples, parsed.enough
    unittest.main(argv=sys.argv[:1], verbosity=2)
