# SPDX-License-Identifier: Apache-2.0
"""One request from refusal to writes: checks, plan, journal, scheduler, host.

Order of a change: everything that can refuse comes first; then the journal goes to disk; then the scheduler
starts or flips; then the writes are made. A crash at any moment leaves a journal that leads back.
"""
import os
import pathlib
import shlex

from . import apply, hostplan, journal, roles as roles_module, sched, snapshot, topology
from .refusal import Refusal

BACKENDS = ("auto", "scx", "fallback")
PASSES = 3  # threads that start while a plan is made are found by the next pass


class Session:
    """What all commands share: the machine, the state folder, its journal and its scheduler."""

    def __init__(self, host, state, program, launcher):
        self.host, self.state, self.launcher = host, pathlib.Path(state), launcher
        self.program = program
        self.scheduler = sched.Scheduler(state, program)
        self.topology = topology.read(host)
        self.journal = None

    def load(self):
        """Reads the journal, or refuses it."""
        self.journal = journal.load(self.state / "journal", self.host.boot_id())
        return self.journal

    def base_roles(self):
        """The roles of the session in force; all any if there is none."""
        kept = (self.journal.session if self.journal else {}) or {}
        if not kept.get("roles"):
            return roles_module.Roles(tuple((cpu, "any") for cpu in sorted(self.topology.online)))
        by_cpu = tuple((cpu, role) for cpu, role in kept["roles"] if cpu in self.topology.online)
        return roles_module.Roles(by_cpu, frozenset(kept["epochs"]) & self.topology.online)

    def choose_backend(self, wanted):
        """The backend to use, and why it is not the scheduler. Refuses one that was asked for by name."""
        active = self.journal.session.get("backend")
        if active and wanted not in ("auto", active):
            raise Refusal(f"backend {wanted}", f"backend {active} is in force", "run dkctl restore first")
        if active == "fallback" or (active == "scx" and self.scheduler.running()):
            return active, None
        if wanted == "fallback":
            return "fallback", None
        why = sched.missing(self.host, self.program, self.topology.smt)
        if why is None and self.host.read(sched.STATE) != "disabled":
            why = "another sched_ext scheduler is running", "end it first, or " + sched.FALLBACK
        if why and "scx" in (wanted, active):
            raise Refusal("backend scx", *why)
        return ("fallback", why[0]) if why else ("scx", None)

    def plan(self, roles, backend, threaded=False, only_net=None):
        """The plan from the machine's first state to the roles."""
        first = self.journal.old() if self.journal else {}
        shot = snapshot.read(self.host, first)
        tasks = backend == "fallback" and only_net is None
        return hostplan.make(self.topology, roles, shot, tasks, threaded, only_net), shot

    def pending(self, plan):
        """The writes of a plan that the machine does not have yet, and the writes that end an older plan."""
        wanted = {write.target for write in plan.writes}
        ends = [hostplan.Write(target, old, old if undo is None else undo, "back to its first state", undo)
                for target, old, undo, _ in reversed(self.journal.entries)
                if target not in wanted and not apply.same(target, apply.current(self.host, target), old)
                and apply.current(self.host, target) is not None]
        news = [write for write in plan.writes if apply.current(self.host, write.target) != write.new]
        return ends + news

    def check_permission(self):
        """Refuses a change by a process that may not make it."""
        if not self.host.privileged():
            raise Refusal("permission", "changing the machine needs root", "run it with sudo")

    def change(self, roles, wanted, options=(), threaded=False, only_net=None):
        """Brings the machine to roles. Returns (backend, why not the scheduler, plan, what was refused)."""
        self.check_permission()
        backend, why = self.choose_backend(wanted)
        if backend == "fallback" and roles.epochs:
            raise Refusal("mode hybrid", "alternating epochs need the BPF scheduler" + (f", and {why}" if why else ""),
                          "choose mode dk or smt, or change modes by dkctl run")
        plan, shot = self.plan(roles, backend, threaded, only_net)
        refused = []
        for number in range(PASSES):
            todo = self.pending(plan)
            if not self.journal.session.get("since"):
                self.journal.session["since"] = max((task.start for task in shot.tasks), default=0)
            self.journal.session.update(roles=list(roles.by_cpu), epochs=sorted(roles.epochs), backend=backend,
                                        refused=refused, fixed=list(plan.fixed), explicit=plan.explicit)
            self.journal.add(plan.writes)
            self.journal.save()
            if number == 0 and backend == "scx" and only_net is None:
                self.bring_scheduler(roles, options)
            refused += [text for text in apply.apply(self.host, todo) if text not in refused]
            plan, shot = self.plan(roles, backend, threaded, only_net)
            if not [write for write in self.pending(plan) if apply.split(write.target)]:
                break
        self.journal.session["refused"] = refused
        self.journal.save()
        return backend, why, plan, refused

    def bring_scheduler(self, roles, options):
        """Flips the running scheduler to roles, or starts one. If it does not start, nothing stays changed."""
        if self.scheduler.running():
            self.scheduler.tell(" ".join(["roles", roles.text(), ",".join(map(str, sorted(roles.epochs))) or "-"]))
            return
        again = shlex.join([*self.launcher, "--state", str(self.state), "restore", "--settings"])
        try:
            self.scheduler.start(roles, options, again)
        except Refusal:
            self.restore()
            raise

    def restore(self, settings_only=False):
        """Ends the scheduler and puts everything back. Returns (restored, gone, failed)."""
        if not settings_only:
            self.scheduler.stop()
        result = apply.restore(self.host, self.journal.entries)
        apply.free_inheritors(self.host, self.journal.entries, self.journal.session.get("since", 0))
        if not result[2]:
            self.journal.remove()
            self.journal.entries, self.journal.session = [], {}
        return result


def default_state():
    """The state folder: of root in /run, of others in their own runtime folder."""
    if os.geteuid() == 0:
        return "/run/dkctl"
    return os.path.join(os.environ.get("XDG_RUNTIME_DIR", f"/tmp/dkctl-{os.getuid()}"), "dkctl")
