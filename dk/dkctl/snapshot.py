# SPDX-License-Identifier: Apache-2.0
"""What a machine's kernel work is bound to at one moment: the input of hostplan beside roles and topology.

Knobs are files whose text is a set of CPUs. Each is read once, and its text is kept as it was, so that it
can be put back bit for bit.
"""
import dataclasses

from . import cpus

IRQS = "/proc/irq"
NETS = "/sys/class/net"
WORKQUEUES = "/sys/devices/virtual/workqueue"
CGROUP = "/sys/fs/cgroup"


@dataclasses.dataclass(frozen=True)
class Knob:
    """A file that holds CPUs. `kind`: irq, irq-default, rps, napi, workqueue, cgroup, controllers."""

    path: str
    kind: str
    text: str
    name: str  # for people: the interrupt's or device's name
    writable: bool

    @property
    def is_mask(self):
        """True if the text is a mask of hexadecimal digits, False if it is a list."""
        return not self.path.endswith(("_list", "cpuset.cpus"))

    @property
    def cpus(self):
        """The CPUs that the text names."""
        return cpus.parse_mask(self.text) if self.is_mask else cpus.parse_list(self.text)

    def format(self, wanted):
        """CPUs as this file wants them."""
        return cpus.format_mask(wanted, self.text) if self.is_mask else cpus.format_list(wanted)


@dataclasses.dataclass(frozen=True)
class Net:
    """A network device: its interrupts and the knobs of its receive queues."""

    name: str
    irqs: frozenset
    queues: tuple
    threaded: Knob | None


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """The knobs and tasks of a machine. `base` in Task.affinity and Knob.text: before dkctl changed anything."""

    irqs: tuple
    nets: tuple
    workqueues: tuple
    cgroups: tuple  # knobs of the top-level cgroups, None in place of a tuple where there is no cgroup v2
    tasks: tuple


def knob(host, path, kind, name, base):
    """The knob at a path, with the text it had before dkctl changed it; None if there is no such file."""
    text = host.read(path)
    if text is None:
        return None
    found = Knob(path, kind, base.get(path, text), name, host.writable(path))
    try:
        found.cpus
    except ValueError:
        if kind not in ("napi", "controllers"):
            return None
    return found


def irq_name(host, number):
    """The name of an interrupt's handler, or its number alone."""
    names = [name for name in host.names(f"{IRQS}/{number}") if host.names(f"{IRQS}/{number}/{name}")
             or "affinity" not in name and name not in ("node", "spurious")]
    return f"interrupt {number}" + (f" ({names[0]})" if names else "")


def read_irqs(host, base):
    """The interrupts' knobs, the default for new ones first."""
    numbers = sorted(int(name) for name in host.names(IRQS) if name.isdigit())
    found = [knob(host, f"{IRQS}/default_smp_affinity", "irq-default", "new interrupts", base)]
    found += [knob(host, f"{IRQS}/{n}/smp_affinity_list", "irq", irq_name(host, n), base) for n in numbers]
    return tuple(k for k in found if k)


def read_nets(host, base):
    """The network devices."""
    found = []
    for name in host.names(NETS):
        where = f"{NETS}/{name}"
        irqs = {int(n) for folder in ("device/msi_irqs", "device/../msi_irqs")
                for n in host.names(f"{where}/{folder}")}
        queues = [knob(host, f"{where}/queues/{queue}/rps_cpus", "rps", f"{name} {queue}", base)
                  for queue in host.names(f"{where}/queues") if queue.startswith("rx-")]
        threaded = knob(host, f"{where}/threaded", "napi", f"threaded NAPI of {name}", base)
        found.append(Net(name, frozenset(irqs), tuple(q for q in queues if q), threaded))
    return tuple(found)


def read_workqueues(host, base):
    """The masks of unbound workqueues: that of all, and those of single ones."""
    paths = [(f"{WORKQUEUES}/cpumask", "unbound workqueues")]
    paths += [(f"{WORKQUEUES}/{name}/cpumask", f"workqueue {name}") for name in host.names(WORKQUEUES)]
    found = (knob(host, path, "workqueue", name, base) for path, name in paths)
    return tuple(k for k in found if k)


def read_cgroups(host, base):
    """The CPU sets of the top-level cgroups; None if cgroup v2 with cpuset is not mounted."""
    controllers = (host.read(f"{CGROUP}/cgroup.controllers") or "").split()
    if "cpuset" not in controllers:
        return None
    path = f"{CGROUP}/cgroup.subtree_control"
    found = [Knob(path, "controllers", base.get(path, host.read(path) or ""), "controllers of cgroups",
                  host.writable(path))]
    for name in host.names(CGROUP):
        if host.read(f"{CGROUP}/{name}/cgroup.procs") is not None:
            path = f"{CGROUP}/{name}/cpuset.cpus"
            text = base.get(path, host.read(path) or "")  # the file appears with the controller
            found.append(Knob(path, "cgroup", text, f"cgroup {name}", found[0].writable))
    return tuple(found)


def read(host, base=None):
    """Takes a snapshot of a machine. `base`: text or affinity before dkctl changed it, by write target."""
    base = base or {}
    tasks = tuple(dataclasses.replace(task, affinity=cpus.parse_list(base[target_of(task)]))
                  if target_of(task) in base else task for task in host.tasks())
    return Snapshot(read_irqs(host, base), read_nets(host, base), read_workqueues(host, base),
                    read_cgroups(host, base), tasks)


def target_of(task):
    """The write target that stands for a thread's affinity."""
    return f"affinity:{task.tid}:{task.start}:{task.comm}"
