#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostplan's plans for machines of all kinds are those reviewed in golden/; after a crash at any write,
restore gives the snapshot back. `--update` writes golden/ anew, for review."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

from fake import Killed, thread
from machines import MACHINES
from dkctl import apply, cpus, hostplan, main, roles as roles_module, session as session_module
from dkctl import topology as topology_module

GOLDEN = pathlib.Path(__file__).parent / "golden"


def session_of(host, state):
    """A session on a machine without sched_ext: the fallback backend."""
    made = session_module.Session(host, state, pathlib.Path("/nonexistent/dk-sched"), ["dkctl"])
    made.load()
    return made


def roles_of(machine, session):
    """The roles that a machine's request comes to."""
    pair = roles_module.parse_pair(machine.pair, session.topology) if machine.pair else None
    return roles_module.assign(session.topology, machine.mode, machine.cores, pair, machine.role)


def plan_text(machine, backend):
    """A plan as dkctl plan prints it."""
    with tempfile.TemporaryDirectory() as state:
        session = session_of(machine.host(), state)
        roles = roles_of(machine, session)
        plan, _ = session.plan(roles, backend, machine.threaded)
    out = io.StringIO()
    print(f"# {backend}: {roles.text()}", file=out)
    main.show_plan(plan, out)
    return out.getvalue()


class Golden(unittest.TestCase):
    def test_plans(self):
        for name, machine in MACHINES.items():
            with self.subTest(machine=name):
                expected = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
                self.assertEqual(plan_text(machine, "scx") + plan_text(machine, "fallback"), expected)


def lasting(state, host):
    """A machine's state without what an unplugged CPU took along: its files keep what the kernel made of them."""
    files, threads = state
    return files, {tid: (task.affinity & host.online() or host.online()) for tid, task in threads.items()}


class Restore(unittest.TestCase):
    def changed(self, machine, kill_at):
        """Changes a machine, dies at a write, restores as a new process. Returns (before, after, host, done)."""
        host, done = machine.host(), True
        with tempfile.TemporaryDirectory() as state, contextlib.redirect_stderr(io.StringIO()):
            before = host.state()
            host.kill_at = kill_at
            try:
                session = session_of(host, state)
                session.change(roles_of(machine, session), "fallback", (), machine.threaded)
            except Killed:
                done = False
            between = host.state()
            host.kill_at, host.events = None, {}
            session = session_of(host, state)
            self.failed = session.restore()[2]
            self.assertFalse((pathlib.Path(state) / "journal").exists() and not self.failed)
        if done and machine.mode != "smt" and not machine.readonly:
            self.assertNotEqual(before, between, "the change changed nothing")
        return before, host.state(), host, done

    def test_after_a_crash_at_any_write_the_snapshot_is_back(self):
        for name, machine in MACHINES.items():
            for kill_at in range(10000):
                with self.subTest(machine=name, kill_at=kill_at):
                    before, after, host, done = self.changed(machine, kill_at)
                    if name == "hot-unplug":
                        before, after = (lasting(state, host) for state in (before, after))
                        before[0]["/sys/devices/system/cpu/online"] = after[0]["/sys/devices/system/cpu/online"]
                        del before[0]["/proc/irq/27/smp_affinity_list"], after[0]["/proc/irq/27/smp_affinity_list"]
                    else:
                        self.assertEqual(self.failed, [])
                    self.assertEqual(before, after)
                if done:
                    break
            self.assertLess(kill_at, 9999)

    def test_a_crash_while_restoring_is_restored_too(self):
        machine = MACHINES["two-by-two"]
        for kill_at in range(10000):
            with self.subTest(kill_at=kill_at), tempfile.TemporaryDirectory() as state:
                host = machine.host()
                before = host.state()
                session = session_of(host, state)
                session.change(roles_of(machine, session), "fallback")
                host.writes, host.kill_at = 0, kill_at
                with contextlib.suppress(Killed):
                    session_of(host, state).restore()
                    kill_at = None
                host.kill_at = None
                session_of(host, state).restore()
                self.assertEqual(before, host.state())
            if kill_at is None:
                return

    def test_the_last_write_is_put_back_first(self):
        machine = MACHINES["two-by-two"]
        with tempfile.TemporaryDirectory() as state:
            host = machine.host()
            session = session_of(host, state)
            session.change(roles_of(machine, session), "fallback")
            targets = [entry[0] for entry in session.journal.entries]
            restored = apply.restore(host, session.journal.entries)[0]
        self.assertEqual(restored, [t for t in reversed(targets) if t in restored])
        self.assertGreater(len(restored), 10)

    def test_a_second_mode_keeps_the_first_state(self):
        machine = MACHINES["two-by-two"]
        with tempfile.TemporaryDirectory() as state:
            host = machine.host()
            before = host.state()
            for mode in ("dk", "up", "smt", "dk"):
                session = session_of(host, state)
                session.change(roles_module.assign(session.topology, mode, base=session.base_roles()), "fallback")
                self.assertEqual(before == host.state() or mode != "smt", True, mode)
            session_of(host, state).restore()
            self.assertEqual(before, host.state())

    def test_a_thread_that_inherited_its_affinity_is_freed(self):
        machine = MACHINES["two-by-two"]
        with tempfile.TemporaryDirectory() as state:
            host = machine.host()
            session = session_of(host, state)
            session.change(roles_of(machine, session), "fallback")
            child = host.threads[900].affinity
            host.threads[5000] = thread(5000, "child", ",".join(map(str, sorted(child))), start=99999)
            session_of(host, state).restore()
            self.assertEqual(host.threads[5000].affinity, host.threads[900].affinity)
            self.assertEqual(host.threads[901].affinity, frozenset({0}))


class Pure(unittest.TestCase):
    def test_near_stays_then_goes_to_siblings_then_to_the_package(self):
        host = MACHINES["server-64x2"].host()
        topology = topology_module.read(host)
        allowed = frozenset(range(64, 128))
        self.assertEqual(hostplan.near(frozenset({3, 70}), allowed, topology), {70})
        self.assertEqual(hostplan.near(frozenset({3}), allowed, topology), {67})
        self.assertEqual(hostplan.near(frozenset({3}), frozenset({80, 100}), topology), {80})
        self.assertEqual(hostplan.near(frozenset({3}), frozenset({100}), topology), {100})

    def test_a_plan_depends_on_its_arguments_only(self):
        machine = MACHINES["two-by-two"]
        self.assertEqual(plan_text(machine, "fallback"), plan_text(machine, "fallback"))

    def test_no_write_names_a_cpu_that_it_should_leave(self):
        for name, machine in MACHINES.items():
            with self.subTest(machine=name), tempfile.TemporaryDirectory() as state:
                session = session_of(machine.host(), state)
                roles = roles_of(machine, session)
                plan, _ = session.plan(roles, "scx", False)
                for write in plan.writes:
                    masked = write.target.endswith(("cpumask", "rps_cpus", "default_smp_affinity"))
                    text = write.new
                    there = cpus.parse_mask(text) if masked else cpus.parse_list(text)
                    self.assertTrue(there and there <= roles.kernel, write)


if __name__ == "__main__":
    if "--update" in sys.argv:
        GOLDEN.mkdir(exist_ok=True)
        for which, kind in MACHINES.items():
            (GOLDEN / f"{which}.txt").write_text(plan_text(kind, "scx") + plan_text(kind, "fallback"), encoding="utf-8")
        sys.exit()
    unittest.main()
