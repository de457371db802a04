# SPDX-License-Identifier: Apache-2.0
"""From roles, topology and a snapshot to the writes that steer kernel work: a pure function.

Rules:
- Kernel work goes to the CPUs of roles kernel and any. What was bound to CPUs among these stays on those;
  what was bound elsewhere moves as near as it can: to a sibling, then to the package, then to any of them.
- An interrupt handler's bottom half runs where its interrupt arrives, so interrupts come first. Receive
  packet steering (RPS) moves the network's bottom halves of devices whose interrupts cannot be moved.
- The fallback backend sets affinities of tasks, too. An affinity that the user chose wins: a task that would
  have no CPU left keeps what it has, and is counted.
- What Linux does not let anybody move is listed as such: steered around, never excluded.

Writes are in the order in which they are made; they are put back in reverse order.
"""
import dataclasses

from . import cpus
from .snapshot import target_of


@dataclasses.dataclass(frozen=True)
class Write:
    """One change: a file or a thread's affinity, from an old text to a new one.

    `undo` is what to write to get the old text back, where that is not the old text itself.
    """

    target: str
    old: str
    new: str
    why: str
    undo: str | None = None


@dataclasses.dataclass(frozen=True)
class Plan:
    """Writes in their order, what cannot be moved and why, and how many tasks kept their own affinity."""

    writes: tuple
    fixed: tuple
    explicit: int = 0


def near(old, allowed, topology):
    """The allowed CPUs nearest to the old ones."""
    for candidates in (old, topology.siblings(old), topology.neighbours(old)):
        if candidates & allowed:
            return candidates & allowed
    return allowed


class Planner:
    """Collects writes and fixed items; nothing of it outlives make()."""

    def __init__(self, topology, roles, snapshot):
        self.topology, self.roles, self.snapshot = topology, roles, snapshot
        self.writes, self.fixed, self.explicit = [], [], 0

    def steer(self, knob, allowed, why, wanted=None):
        """Adds the write that binds a knob to the allowed CPUs, if it changes anything."""
        new = wanted if wanted is not None else near(knob.cpus, allowed, self.topology)
        if new == knob.cpus:
            return
        if not knob.writable:
            self.fixed.append(f"{knob.name}: {knob.path} cannot be written")
            return
        if knob.cpus and not knob.cpus & self.topology.online:  # the kernel would refuse to put it back
            self.fixed.append(f"{knob.name}: bound to offline CPUs {cpus.format_list(knob.cpus)}")
            return
        self.writes.append(Write(knob.path, knob.text, knob.format(new), f"{knob.name}: {why}"))

    def irqs(self):
        """Interrupts leave the CPUs of user tasks."""
        for knob in self.snapshot.irqs:
            self.steer(knob, self.roles.kernel, "interrupts go to kernel CPUs")

    def nets(self, threaded):
        """Receive queues: RPS where interrupts do not do it; threaded NAPI if it is asked for."""
        moved = {int(knob.path.split("/")[3]) for knob in self.snapshot.irqs
                 if knob.kind == "irq" and (knob.writable or knob.cpus <= self.roles.kernel)}
        for net in self.snapshot.nets:
            steered = bool(net.irqs) and net.irqs <= moved
            for queue in net.queues:
                if queue.cpus:
                    self.steer(queue, self.roles.kernel, "received packets go to kernel CPUs")
                elif not steered and not self.roles.plain:
                    self.steer(queue, None, "its interrupts do not move, so RPS takes packets to kernel CPUs",
                               near(self.topology.online, self.roles.kernel, self.topology))
            if threaded and net.threaded and net.threaded.text == "0" and not self.roles.plain:
                knob = net.threaded
                self.writes.append(Write(knob.path, "0", "1", f"{knob.name}: polling becomes a kernel thread"))

    def workqueues(self):
        """Unbound work items run on kernel CPUs."""
        for knob in self.snapshot.workqueues:
            self.steer(knob, self.roles.kernel, "unbound work goes to kernel CPUs")

    def cgroups(self):
        """Fallback: top-level cgroups keep user CPUs only."""
        groups = self.snapshot.cgroups
        if not groups or self.roles.user == self.topology.online:
            return
        control = groups[0]
        if not control.writable:
            self.fixed.append(f"cgroups: {control.path} cannot be written, so affinities alone hold user tasks")
            return
        if "cpuset" not in control.text.split():
            self.writes.append(Write(control.path, control.text, "+cpuset",
                                     "cgroups get CPU sets", undo="-cpuset"))
        for knob in groups[1:]:
            if not knob.text and "cpuset" in control.text.split():  # the kernel takes no empty set back
                self.fixed.append(f"{knob.name}: its CPU set is empty, so affinities alone hold its tasks")
                continue
            old = knob.cpus or self.topology.online
            wanted = old & self.roles.user
            if not wanted:
                self.explicit += 1
                self.fixed.append(f"{knob.name}: its own CPU set {knob.text} has no user CPU, so it is kept")
            elif wanted != old:
                self.writes.append(Write(knob.path, knob.text, cpus.format_list(wanted),
                                         f"{knob.name}: user tasks stay on user CPUs"))

    def tasks(self):
        """Fallback: threads keep those of their CPUs that suit their class."""
        for task in self.snapshot.tasks:
            allowed = self.roles.kernel if task.kthread else self.roles.user
            old = task.affinity & self.topology.online
            if old <= allowed:
                continue
            if task.pinned:
                continue  # pinned_threads() lists them
            if not old & allowed:
                self.explicit += 1
                continue
            kind = "kernel" if task.kthread else "user"
            self.writes.append(Write(target_of(task), cpus.format_list(task.affinity),
                                     cpus.format_list(old & allowed), f"{kind} thread {task.comm}"))

    def pinned_threads(self):
        """Lists the kernel threads that the kernel itself binds to CPUs of user tasks."""
        names = {}
        for task in self.snapshot.tasks:
            if task.kthread and task.pinned and not task.affinity & self.topology.online <= self.roles.kernel:
                name = task.comm.split("/")[0]
                names[name] = names.get(name, 0) + 1
        self.fixed += [f"{count} kernel thread{'s' if count > 1 else ''} {name}: bound by the kernel"
                       for name, count in sorted(names.items())]


ALWAYS_FIXED = ("softirqs TIMER, SCHED, HRTIMER and RCU run on the CPU that raises them",
                "per-CPU work items run on the CPU that queues them")


def make(topology, roles, snapshot, tasks=False, threaded=False, only_net=None):
    """Plans the writes that steer a machine to its roles.

    tasks: also set affinities and CPU sets (the fallback backend). threaded: make NAPI polling threads.
    only_net: steer this network device only, and nothing else of the machine.
    """
    planner = Planner(topology, roles, snapshot)
    if only_net:
        nets = tuple(net for net in snapshot.nets if net.name == only_net)
        irqs = tuple(knob for knob in snapshot.irqs for net in nets
                     if knob.kind == "irq" and int(knob.path.split("/")[3]) in net.irqs)
        planner.snapshot = dataclasses.replace(snapshot, nets=nets, irqs=irqs)
        planner.irqs()
        planner.nets(threaded)
        return Plan(tuple(planner.writes), tuple(planner.fixed))
    planner.irqs()
    planner.nets(threaded)
    planner.workqueues()
    if tasks:
        planner.tasks()  # before cgroups: in reverse, a thread gets CPUs back that its cgroup already has
        planner.cgroups()
    if not roles.plain:
        planner.pinned_threads()
        planner.fixed += ALWAYS_FIXED
    return Plan(tuple(planner.writes), tuple(planner.fixed), planner.explicit)
