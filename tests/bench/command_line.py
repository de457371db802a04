#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line of mltp-bench: what it prints, the JSON it writes, its exit status."""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BENCH = sys.argv.pop(1)
# Builds with a sanitizer leave out the programs that measure single operations.
PEER = os.path.join(os.path.dirname(BENCH), "../libexec/mltp/mltp")
HAS_PEERS = os.path.exists(PEER)


def bench(*arguments, **environment):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def valgrind_reads(program):
    """Debian 12's gives up on the debugging information that clang 19 writes."""
    if not shutil.which("valgrind"):
        return False
    said = subprocess.run(["valgrind", "--tool=none", program, "--version"], capture_output=True,
                          text=True, check=False).stderr
    return "I can't recover" not in said


class CommandLine(unittest.TestCase):

    def test_list(self):
        result = bench("--list")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for word in ("pi", "matmul", "ocean", "lifecycle", "latency", "micro", "switch",
                     "forkjoin", "fib", "recursion", "mutex", "handshake", "roundtrip", "barrier", "memory", "sleep",
                     "calibrate", "growth", "spin", "mltp", "mltp-ucontext", "mltp-kernel",
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

    def test_connections(self):
        """As many as the machine has descriptors for."""
        limit = (200, 200)
        result = subprocess.run([BENCH, "io", "--threads", "100000"], capture_output=True, text=True, check=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("100000  left out: the limit on open files is too low", result.stdout)

    def test_usage_errors(self):
        for arguments, complaint in (
            ((), "no experiment"),
            (("nonsense",), "nonsense: no such experiment"),
            (("pi", "ocean"), "one experiment at a time"),
            (("pi", "--threads", "1,x"), "--threads x"),
            (("pi", "--threads", ""), "--threads"),
            (("pi", "--threads", "0"), "--threads 0"),
            (("pi", "--threads", "1,1025"), "--threads 1025: pi has at most 1024"),
            (("--threads", "1000001", "io"), "--threads 1000001"),
            (("pi", "--vps", "4Q"), "--vps 4Q"),
            (("pi", "--runs", "-1"), "--runs -1"),
            (("pi", "--runs", " 4"), "--runs  4"),
            (("pi", "--threads", "1,+2"), "--threads +2"),
            (("pi", "--vps", " 4P"), "--vps  4"),
            (("ocean", "--tolerance", " 0.01"), "--tolerance  0.01"),
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

    def test_load(self):
        """Competitors are named in the report and gone with the program, however it ends."""
        report = self.report_of("pi", "--quick", "--impl", "mltp", "--threads", "1", "--load", "2")
        self.assertEqual(report["env"]["competing"], 2)
        for signal_sent in (None, signal.SIGKILL):
            command = [BENCH, "pi", "--quick", "--impl", "mltp", "--threads", "1", "--load", "2"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as run:
                run.stdout.readline()
                if signal_sent is not None:
                    run.send_signal(signal_sent)
                run.stdout.read()  # ends when the last of them has closed it
                run.wait()
            while self.runs_in_group(run.pid):  # a dying process closes its files first
                time.sleep(0.01)

    @staticmethod
    def runs_in_group(group):
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                if int(fields[2]) == group and fields[0] != "Z":
                    return True
        return False

    def test_json(self):
        for experiment in (("pi",), ("matmul",), ("matmul", "--schedule", "fixed"),
                           ("ocean", "--size", "34", "--steps", "2")):
            with self.subTest(experiment=experiment):
                report = self.report_of(*experiment, "--quick", "--runs", "2",
                                        "--threads", "1,3", "--vps", "1,P")
                self.assertEqual(report["experiment"], experiment[0])
                self.assertEqual(set(report["env"]), {"cpu", "cpus", "kernel", "load", "commit",
                                                      "versions", "date", "competing"})
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
        cpus = min(2, len(os.sched_getaffinity(0)))
        for experiment, vps, metrics in (
                (("lifecycle", "--count", "2000"), 2,
                 {"seconds", "cpu_seconds", "threads_per_second"}),
                (("latency", "--count", "20", "--threads", "2,4"), cpus, {"seconds_per_thread"})):
            with self.subTest(experiment=experiment):
                rows = self.report_of(*experiment, "--quick", "--runs", "1", "--strategy", "single,local",
                                      "--vps", str(vps))["rows"]
                self.assertEqual({row["metric"] for row in rows}, metrics)
                self.assertEqual({row["params"]["strategy"] for row in rows}, {"single", "local"})
                for row in rows:
                    self.assertTrue(row["verified"])
                    self.assertEqual((row["runs"], row["params"]["vps"]), (1, vps))
                    self.assertLess(0, row["median"])

    def test_more_vps_than_cpus(self):
        """Threads that keep the other processors busy would never begin."""
        vps = len(os.sched_getaffinity(0)) + 1
        result = bench("latency", "--quick", "--vps", str(vps))
        self.assertEqual(result.returncode, 1)
        self.assertIn("each VP needs a CPU of its own", result.stderr)

    def test_json_of_growth(self):
        rows = self.report_of("growth", "--size", "200", "--runs", "1")["rows"]
        self.assertEqual({row["metric"] for row in rows},
                         {"seconds_per_thing", "peak_memory", "slope"})
        self.assertEqual({row["params"]["n"] for row in rows}, {2, 20, 200})
        self.assertLessEqual({"fork-join", "await-values", "traps"},
                             {row["params"]["row"] for row in rows})
        self.assertTrue(all(row["verified"] for row in rows))
        self.assertIn("--size is too small", bench("growth", "--size", "20").stderr)

    def test_json_of_spin_waiting(self):
        kinds = {"exchange", "read", "backoff", "persistent", "array", "mcs", "clh"}
        for impl in "kernel", "mltp":
            with self.subTest(impl=impl):
                rows = self.report_of("spin", "--impl", impl, "--threads", "1,2", "--count", "400",
                                      "--runs", "1")["rows"]
                self.assertEqual({row["params"]["algorithm"] for row in rows}, kinds)
                self.assertEqual({row["params"]["figure"] for row in rows}, {6, 7, 8})
                for row in rows:
                    self.assertTrue(row["verified"])
                    self.assertEqual((row["impl"], row["runs"]), (impl, 1))
                    self.assertIn("section_size", row["params"])
                    self.assertLess(0, row["median"])

    @unittest.skipUnless(HAS_PEERS, "no peers in this build")
    def test_rows_of_single_operations(self):
        quick = ("--quick", "--runs", "1", "--impl", "mltp,pthreads")
        rows = self.report_of("handshake", *quick)["rows"]
        self.assertEqual({(row["metric"], row["impl"]) for row in rows},
                         {(metric, impl) for metric in ("sem", "cond")
                          for impl in ("mltp", "pthreads")})
        for row in rows:
            self.assertEqual((row["unit"], row["clock"], row["verified"]), ("ns", "cpu", True))
            self.assertEqual((row["params"]["threads"], row["params"]["vps"]), (2, 1))
            self.assertIn("round trip", row["params"]["label"])

    @unittest.skipUnless(HAS_PEERS, "no peers in this build")
    def test_packed_stacks(self):
        """The kernel may refuse to pack. Then there is a reason in place of a row."""
        done = subprocess.run([PEER, "--ops=5000", "memory-packed", "1", "20"], capture_output=True, text=True, check=True)
        line = json.loads(done.stdout)
        if line["offered"]:
            self.assertTrue(line["verified"])
            self.assertLess(line["rss_bytes"] / line["ops"], 2500)
        else:
            self.assertIn("stacks cannot be packed: ", done.stderr)

    @unittest.skipUnless(HAS_PEERS and os.path.exists(os.path.join(os.path.dirname(BENCH), "mltpd")), "no peers or no mltpd")
    def test_copies_of_a_program(self):
        rows = self.report_of("copies", "--quick", "--runs", "2")["rows"]
        self.assertEqual([(row["params"]["lock"], row["params"]["copies"], row["impl"]) for row in rows],
                         [(lock, copies, way) for lock in ("reactive", "spin") for copies in range(1, 5)
                          for way in ("uncoordinated", "coordinated")])
        for row in rows:
            self.assertEqual((row["unit"], row["runs"], row["verified"]), ("s", 2, True))

    @unittest.skipUnless(HAS_PEERS and os.path.exists(os.path.join(os.path.dirname(BENCH), "mltpd")), "no peers or no mltpd")
    def test_foreign_programs(self):
        rows = self.report_of("foreign", "--quick", "--runs", "1", "--impl", "mltp run,coordinated,uncoordinated")["rows"]
        ways = {(row["metric"], row["impl"]) for row in rows}
        if os.path.exists(os.path.join(os.path.dirname(BENCH), "../libexec/mltp/foreign/teams")):  # clang may have no OpenMP
            self.assertIn(("4 OpenMP programs", "mltp run"), ways)
        for way in ("coordinated", "uncoordinated"):
            self.assertIn(("ctest -j4, 16 MPI tests of 8 ranks", way), ways)
        self.assertTrue(all(row["verified"] and row["unit"] == "s" for row in rows))

    @unittest.skipUnless(HAS_PEERS, "no peers in this build")
    def test_numbers_of_threads(self):
        rows = self.report_of("barrier", "--quick", "--runs", "1", "--impl", "mltp", "--vps", "1",
                              "--threads", "3,64")["rows"]
        self.assertEqual([row["params"]["threads"] for row in rows], [3, 64])

    @unittest.skipUnless(HAS_PEERS, "no peers in this build")
    def test_switches_from_a_cold_start(self):
        rows = self.report_of("switch", "--quick", "--runs", "1", "--impl", "mltp", "--vps", "1",
                              "--threads", "2")["rows"]
        cold = [row["params"]["switches"] for row in rows if row["metric"] == "switches"]
        self.assertEqual(cold, [2 ** n for n in range(1, 11)])
        counted = [row for row in rows if row["unit"] == "instructions"]
        self.assertEqual(len(counted), 2 if valgrind_reads(PEER) else 0)
        for row in counted:
            self.assertTrue(4 < row["min"] < 1000, row)

    def test_unknown_peer(self):
        result = bench("mutex", "--impl", "nobody")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--impl nobody: no such peer (there are mltp,pthreads,", result.stderr)


if __name__ == "__main__":
    unittest.main()
