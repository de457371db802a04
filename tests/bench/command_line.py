#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line of mltp-bench: what it prints, the JSON it writes, its exit status."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BENCH = sys.argv.pop(1)


def bench(*arguments, **environment):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


class CommandLine(unittest.TestCase):

    def test_list(self):
        result = bench("--list")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for word in ("pi", "matmul", "ocean", "lifecycle", "latency", "micro", "mltp", "mltp-ucontext", "mltp-kernel",
                     "pthreads"):
            self.assertIn(f"\n  {word} ", result.stdout)

    def test_help_and_version(self):
        result = bench("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for option in ("--threads", "--vps", "--impl", "--runs", "--json", "--quick", "--size"):
            self.assertIn(option, result.stdout)
        result = bench("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^mltp-bench \d+\.\d+\.\d+\n$")

    def test_usage_errors(self):
        for arguments, complaint in (
            ((), "no experiment"),
            (("nonsense",), "nonsense: no such experiment"),
            (("pi", "ocean"), "one experiment at a time"),
            (("pi", "--threads", "1,x"), "--threads x"),
            (("pi", "--threads", ""), "--threads"),
            (("pi", "--threads", "0"), "--threads 0"),
            (("pi", "--vps", "4Q"), "--vps 4Q"),
            (("pi", "--runs", "-1"), "--runs -1"),
            (("pi", "--impl", "mltp,none"), "--impl none"),
            (("matmul", "--schedule", "late"), "--schedule late"),
            (("ocean", "--tolerance", "nan"), "--tolerance nan"),
            (("pi", "--size", "10"), "--size: pi has none"),
            (("pi", "--strategy", "local"), "--strategy: pi has none"),
            (("lifecycle", "--strategy", "local,best"), "--strategy local,best"),
            (("ocean", "--count", "10"), "--count: ocean has none"),
            (("ocean", "--schedule", "fixed"), "--schedule: ocean has none"),
            (("pi", "--bogus"), "--bogus"),
        ):
            with self.subTest(arguments=arguments):
                result = bench(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(complaint, result.stderr)

    def test_wrong_size_fails(self):
        result = bench("ocean", "--size", "100")
        self.assertEqual(result.returncode, 1)
        self.assertIn("100 is not 2^k + 2", result.stderr)

    def test_library_that_does_not_start_fails(self):
        result = bench("pi", "--quick", "--impl", "mltp", "--threads", "1", MLTP_STACK_SIZE="x")
        self.assertEqual(result.returncode, 1)
        self.assertIn("FAILED 3 of 3: mltp does not start", result.stdout)

    def test_unwritable_json_fails(self):
        result = bench("pi", "--quick", "--impl", "pthreads", "--json", "/nonexistent/f.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write /nonexistent/f.json", result.stderr)

    def report_of(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            result = bench(*arguments, "--json", path)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            with open(path, encoding="utf-8") as file:
                return json.load(file)

    def test_json(self):
        for experiment in (("pi",), ("matmul",), ("matmul", "--schedule", "fixed"),
                           ("ocean", "--size", "34", "--steps", "2")):
            with self.subTest(experiment=experiment):
                report = self.report_of(*experiment, "--quick", "--runs", "2",
                                        "--threads", "1,3", "--vps", "1,P")
                self.assertEqual(report["experiment"], experiment[0])
                self.assertEqual(set(report["env"]), {"cpu", "cpus", "kernel", "load", "commit",
                                                      "versions", "date"})
                rows = report["rows"]
                # 2 clocks x 2 numbers of threads x (mltp on 1 and P VPs, mltp-kernel, pthreads)
                self.assertEqual(len(rows), 16)
                for row in rows:
                    self.assertTrue(row["verified"])
                    self.assertEqual((row["runs"], row["metric"], row["unit"]), (2, "time", "s"))
                    self.assertIn(row["clock"], ("wall", "cpu"))
                    self.assertLessEqual(0, row["min"])
                    self.assertLessEqual(row["min"], row["median"])
                    self.assertLessEqual(row["median"], row["max"])
                    self.assertIn(row["params"]["threads"], (1, 3))
                    self.assertEqual("vps" in row["params"], row["impl"] == "mltp")

    def test_json_of_strategies(self):
        common = ("--quick", "--runs", "1", "--strategy", "single,local", "--vps", "2")
        for experiment, metrics in (
                (("lifecycle", "--count", "2000"),
                 {"seconds", "cpu_seconds", "threads_per_second"}),
                (("latency", "--count", "20", "--threads", "2,4"), {"seconds_per_thread"})):
            with self.subTest(experiment=experiment):
                rows = self.report_of(*experiment, *common)["rows"]
                self.assertEqual({row["metric"] for row in rows}, metrics)
                self.assertEqual({row["params"]["strategy"] for row in rows}, {"single", "local"})
                for row in rows:
                    self.assertTrue(row["verified"])
                    self.assertEqual((row["runs"], row["params"]["vps"]), (1, 2))
                    self.assertLess(0, row["median"])


if __name__ == "__main__":
    unittest.main()
