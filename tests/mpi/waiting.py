#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tmpirun --wait: each call that waits for other ranks does so in the way that is asked for, and is counted.

usage: waiting.py TMPIRUN WAITING
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TMPIRUN, PROGRAM = "", ""
ROUNDS = 50
TURNS = 20  # what comes with the first looks is no spin, and in a lucky turn all comes so
CALLS = ("recv", "recv-any", "wait", "waitall", "waitany", "waitsome", "probe", "mprobe", "sendrecv", "send", "ssend",
         "barrier", "bcast", "allreduce")


def run(call, *options, rounds=ROUNDS, **environment):
    """@return how the ranks have waited. No VP comes beside a lone one that seems to stand still on a busy machine."""
    if "--vps=1" in options:
        environment["MLTP_MONITOR"] = "off"
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "report.json")
        subprocess.run([TMPIRUN, "-n", "2", f"--report={file}", *options, PROGRAM, call, str(rounds)], check=True,
                       timeout=550, env={**os.environ, **environment})
        return json.loads(file.read_text())["waits"]


class OneProcessor(unittest.TestCase):
    """There the partner cannot run before the waiter parks."""

    def test_spin_is_in_vain(self):
        for call in CALLS:
            waits = run(call, "--vps=1", "--wait=spin:1")
            self.assertGreaterEqual(waits["spins_vain"], ROUNDS, call)
            self.assertGreaterEqual(waits["parks"], ROUNDS, call)
            self.assertEqual((waits["spins_paid"], waits["spin_us"]), (0, 1), call)

    def test_who_knows_that_parks(self):
        for call in CALLS:
            for how in ("conscious", "park"):
                waits = run(call, "--vps=1", f"--wait={how}")
                self.assertGreaterEqual(waits["parks"], ROUNDS, call)
                self.assertEqual((waits["spins_paid"], waits["spins_vain"]), (0, 0), call)

    def test_as_long_as_a_park_takes(self):
        waits = run("recv", "--vps=1", "--wait=spin", MLTP_AWAIT_SPIN_NS="777")
        self.assertEqual(waits["spin_us"], 0.777)
        self.assertGreaterEqual(waits["spins_vain"], ROUNDS)

    def test_nobody_else_runs(self):
        for options in (("--seed=3", "--wait=spin:50"), ("--seed=3", "--wait=spin"), ("--vps=1", "--wait=spin")):
            waits = run("barrier", *options, MLTP_AWAIT_SPIN_NS="0")
            self.assertEqual((waits["spins_paid"], waits["spins_vain"]), (0, 0), options)

    def test_calls_that_wait_are_counted(self):
        self.assertEqual(run("recv", "--vps=1")["calls"], 2 * ROUNDS)
        self.assertEqual(run("probe", "--vps=1")["calls"], 4 * ROUNDS)
        self.assertEqual(run("barrier", "--vps=1")["calls"], 2 * ROUNDS)


class Processors(unittest.TestCase):
    def test_spin_is_paid(self):
        for call in CALLS:
            turns = (run(call, "--one-to-one", "--wait=spin:1000000", rounds=1000) for _ in range(TURNS))
            self.assertTrue(any(waits["spins_paid"] > 0 for waits in turns), call)

    def test_it_comes_when_the_time_is_over(self):
        for call in CALLS:
            for how in ("spin:1", "spin:3", "spin"):
                waits = run(call, "--vps=2", f"--wait={how}", rounds=1000)
                self.assertGreater(waits["calls"], 0, call)


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
