#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What dkctl refuses, it refuses before it changes anything, and says what to do."""
import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from machines import MACHINES
from dkctl import host as host_module
from dkctl import journal, main, sched
from dkctl.refusal import Refusal

MESSAGE = re.compile(r"^dkctl: .+: .+ \(.+\)$")


class Caller(unittest.TestCase):
    """Calls dkctl on a fake machine."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.state = pathlib.Path(folder.name)
        self.host = MACHINES["two-by-two"].host()

    def call(self, *words, host=None):
        """Runs dkctl. Returns (exit status, stdout, stderr)."""
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            try:
                status = main.main(["--state", str(self.state), *words], ["dkctl"],
                                   pathlib.Path("/nonexistent/dk-sched"), "0", "/nonexistent/dk-load",
                                   host or self.host)
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), error.getvalue()

    def refused(self, *words, host=None, status=1, says=""):
        """Checks that a command is refused in one line, and that nothing of the machine has changed."""
        host = host or self.host
        before = host.state()
        got, out, error = self.call(*words, host=host)
        self.assertEqual(got, status, (out, error))
        self.assertEqual(out, "")
        self.assertRegex(error.strip(), MESSAGE)
        self.assertIn(says, error)
        self.assertEqual(before, host.state())
        self.assertEqual(host.writes, 0)


class Refusals(Caller):
    def test_bad_requests(self):
        self.refused("mode", "dk", "--cores", "9", status=2, says="no CPU 9")
        self.refused("mode", "dk", "--cores", "x", status=2, says="no list of CPUs")
        self.refused("mode", "dk", "--pair", "0", status=2, says="not two CPU numbers")
        self.refused("mode", "dk", "--pair", "1,1", status=2, says="overlap")
        self.refused("mode", "dk", "--pair", "0,1", "--cores", "0", status=2)
        self.refused("mode", "--role", "0=user,0=kernel", status=2, says="overlap")
        self.refused("mode", "--role", "0=boss", status=2, says="any, user, kernel, off")
        self.refused("mode", "--role", "12=user", status=2, says="no CPU 12")
        self.refused("mode", status=2, says="neither a mode nor roles")
        self.refused("mode", "dk", "--epoch-ms", "0", status=2)
        self.refused("mode", "dk", "--net", "eth9", status=2, says="no such network device")
        self.refused("run", "--mode", "dk", "--", "/no/such/program", status=2, says="not found")
        self.refused("run", "--mode", "dk", status=2, says="no command")
        self.refused("run", "--mode", "dk", "--prefer", "dk", "--", "true", status=2, says="no core alternates")
        self.refused("advise", status=2)
        self.refused("advise", "--", "/no/such/program", status=2, says="not found")
        self.refused("experiment", "modes", "--copies", "two", status=2)
        for words in (["mode", "turbo"], ["fly"], []):
            self.assertEqual(self.call(*words)[0], 2)

    def test_numbers_are_digits_alone(self):
        """A space or a sign in a number is a typing error."""
        self.refused("mode", "dk", "--cores", "0, 1", status=2, says="no list of CPUs")
        self.refused("mode", "dk", "--pair", "0,+1", status=2, says="not two CPU numbers")
        self.refused("experiment", "modes", "--copies", "2, 3", status=2, says="no list of numbers")
        for words in (["mode", "dk", "--epoch-ms", " 40"], ["advise", "--runs", "+3", "--", "true"],
                      ["advise", "--copies", "1_0", "--", "true"]):
            self.assertEqual(self.call(*words)[0], 2)

    def test_an_offline_cpu(self):
        self.refused("mode", "dk", "--cores", "3", host=MACHINES["offline"].host(), status=2, says="offline")

    def test_no_cpu_left(self):
        self.refused("mode", "--role", "0+1=user", says="no CPU is left for kernel tasks")
        self.refused("mode", "--role", "2-3=off".replace("-", "+"), says="no CPU is left for user tasks")
        self.refused("mode", "dk", "--cores", "2", host=MACHINES["offline"].host(), says="cannot be divided")

    def test_no_smt_offers_a_pair(self):
        self.refused("mode", "dk", host=MACHINES["no-smt"].host(), says="--pair 0,1")
        self.refused("advise", "--", "true", host=MACHINES["no-smt"].host(), says="--pair 0,1")

    def test_no_permission(self):
        self.host.root_user = False
        self.refused("mode", "dk", says="sudo")
        self.refused("run", "--mode", "dk", "--", "true", says="sudo")
        self.refused("restore", says="sudo")

    def test_backends(self):
        self.refused("mode", "dk", "--backend", "scx", says="no sched_ext (use --backend fallback")
        self.refused("mode", "hybrid", says="epochs need the BPF scheduler")
        self.host.files[sched.STATE] = "disabled"
        self.refused("mode", "dk", "--backend", "scx", says="no BTF")
        self.host.files["/sys/kernel/btf/vmlinux"] = ""
        self.refused("mode", "dk", "--backend", "scx", says="built without its BPF scheduler")

    def test_a_kernel_whose_btf_is_broken(self):
        """The kernel refuses the object: dk-sched says why, dkctl names the fallback, and auto takes it."""
        self.host.files |= {sched.STATE: "disabled", "/sys/kernel/btf/vmlinux": ""}
        scheduler = self.state / "dk-sched"
        scheduler.write_text("#!/bin/sh\necho 'kernel BTF has no scx_bpf_dsq_insert' >&2\nexit 1\n", encoding="utf-8")
        scheduler.chmod(0o755)
        why, advice = sched.missing(self.host, scheduler, False)
        self.assertEqual(why, "the kernel refuses the BPF scheduler: kernel BTF has no scx_bpf_dsq_insert")
        self.assertIn("--backend fallback", advice)
        with unittest.mock.patch.object(sched, "missing", return_value=(why, advice)):
            self.refused("mode", "dk", "--backend", "scx", says="use --backend fallback")
            self.assertEqual(self.call("mode", "dk")[0], 0)
            self.assertIn("fallback", self.call("status")[1])

    def test_core_scheduling_cookies(self):
        self.host.files |= {sched.STATE: "disabled", "/sys/kernel/btf/vmlinux": ""}
        with unittest.mock.patch.object(sched.os, "access", return_value=True), \
                unittest.mock.patch.object(sched, "core_cookies", return_value=True):
            self.refused("mode", "dk", "--backend", "scx", says="core-scheduling cookies")
            self.assertIsNotNone(sched.missing(self.host, "dk-sched", True))

    def test_a_real_cookie_is_found(self):
        holds = ("import ctypes, time; print(ctypes.CDLL(None).prctl(62, 1, 0, 1, ctypes.c_ulong(0)), flush=True);"
                 " time.sleep(1000)")  # PR_SCHED_CORE_CREATE for its thread group
        with subprocess.Popen([sys.executable, "-c", holds], stdout=subprocess.PIPE, text=True) as holder:
            try:
                if holder.stdout.readline() != "0\n":
                    self.skipTest("no core scheduling here (no SMT, or a kernel without CONFIG_SCHED_CORE)")
                self.assertTrue(sched.core_cookies(host_module.Host()))
            finally:
                holder.kill()

    def test_another_scheduler(self):
        self.host.files |= {sched.STATE: "enabled"}
        with unittest.mock.patch.object(sched, "missing", return_value=None):
            self.refused("mode", "dk", "--backend", "scx", says="another sched_ext scheduler")

    def test_another_backend_in_force(self):
        self.assertEqual(self.call("mode", "dk", "--backend", "fallback")[0], 0)
        self.host.writes = 0
        self.refused("mode", "up", "--backend", "scx", says="dkctl restore first")

    def journaled(self):
        """A machine in mode dk, whose dkctl is gone."""
        self.assertEqual(self.call("mode", "dk", "--backend", "fallback")[0], 0)
        self.host.writes = 0
        return self.state / "journal"

    def test_journal_of_another_boot(self):
        self.journaled()
        self.host.boot = "boot-2"
        for words in (["restore"], ["mode", "up"], ["plan", "up"]):
            self.refused(*words, says="dkctl restore --forget")
        self.assertEqual(self.call("restore", "--forget")[0], 0)
        self.assertEqual(self.host.writes, 0)
        self.assertEqual(self.call("plan", "up")[0], 0)

    def test_damaged_journals(self):
        path = self.journaled()
        good = path.read_text(encoding="utf-8")
        for bad in (good[:-9], "", "{}", "[]", good.replace("smp_affinity", "smp_affinitz", 1),
                    json.dumps({"sha256": 0, "body": 0})):
            path.write_text(bad, encoding="utf-8")
            self.refused("restore", says="damaged")
            self.assertIn("damaged", self.call("status")[1])

    def test_two_at_a_time(self):
        with journal.lock(self.state):
            self.refused("mode", "dk", says="another dkctl")
            self.refused("restore", says="another dkctl")

    def test_scheduler_that_does_not_start_leaves_nothing_changed(self):
        self.host.files[sched.STATE] = "disabled"
        before = self.host.state()
        with unittest.mock.patch.object(sched, "missing", return_value=None), \
                unittest.mock.patch.object(sched.Scheduler, "start", side_effect=Refusal("scheduler", "no", "ask")):
            self.assertEqual(self.call("mode", "dk", "--backend", "scx")[0], 1)
        self.assertEqual(before, self.host.state())
        self.assertFalse((self.state / "journal").exists())


class Commands(Caller):
    """What is not refused works: the way from the command line to the machine and back."""

    def test_plan_changes_nothing_and_says_what_mode_does(self):
        before = self.host.state()
        status, out, _ = self.call("plan", "dk", "--json")
        self.assertEqual((status, before, self.host.writes), (0, self.host.state(), 0))
        writes = json.loads(out)["writes"]
        self.assertEqual(self.call("mode", "dk")[0], 0)
        for write in writes:
            if "subtree_control" not in write["target"] and not write["target"].startswith("affinity"):
                self.assertEqual(self.host.files[write["target"]], write["new"])
        self.assertEqual(self.host.threads[900].affinity, {0, 2})
        self.assertEqual(self.host.threads[3].affinity, {1, 3})
        self.assertIn("core of CPU 0: dk (0 user, 1 kernel)", self.call("status")[1])
        self.assertEqual(self.call("restore")[0], 0)
        self.assertEqual(before, self.host.state())

    def test_run_changes_modes_for_a_command_and_passes_its_status_on(self):
        before = self.host.state()
        status, _, _ = self.call("run", "--mode", "dk", "--", "sh", "-c", "exit 7")
        self.assertEqual((status, before), (7, self.host.state()))
        self.assertEqual(self.call("run", "--mode", "up", "--", "sh", "-c", "kill -9 $$")[0], 137)

    def test_run_inside_a_mode_returns_to_that_mode(self):
        before = self.host.state()
        self.assertEqual(self.call("mode", "dk", "--cores", "0")[0], 0)
        between = self.host.state()
        self.assertNotEqual(before, between)
        self.assertEqual(self.call("run", "--mode", "up", "--", "true")[0], 0)
        self.assertEqual(between, self.host.state())
        self.assertEqual(self.call("restore")[0], 0)
        self.assertEqual(before, self.host.state())

    def test_one_device_only(self):
        before = self.host.state()[0]
        self.assertEqual(self.call("mode", "dk", "--net", "eth0")[0], 0)
        after = self.host.state()[0]
        self.assertEqual({path for path in after if after[path] != before[path]},
                         {"/proc/irq/25/smp_affinity_list", "/proc/irq/26/smp_affinity_list"})


if __name__ == "__main__":
    unittest.main()
