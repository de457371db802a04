# SPDX-License-Identifier: Apache-2.0
"""Fifteen machines that dkctl has to cope with, and the request that each is planned for."""
import dataclasses

from fake import FakeHost, thread, offline
from dkctl import cpus


def topology(cores, online=None, isolated="", packages=None):
    """The files of /sys/devices/system/cpu. cores: tuples of siblings."""
    everyone = cpus.format_list(cpu for core in cores for cpu in core)
    base = "/sys/devices/system/cpu"
    files = {f"{base}/online": online or everyone, f"{base}/present": everyone, f"{base}/isolated": isolated}
    for core in cores:
        for cpu in core:
            files[f"{base}/cpu{cpu}/topology/thread_siblings_list"] = cpus.format_list(core)
            package = next((p for p in packages or () if cpu in cpus.parse_list(p)), everyone)
            files[f"{base}/cpu{cpu}/topology/package_cpus_list"] = package
    return files


def irqs(table, default):
    """The files of /proc/irq. table: number -> (affinity list, handler's name)."""
    files = {"/proc/irq/default_smp_affinity": default}
    for number, (affinity, name) in table.items():
        files[f"/proc/irq/{number}/smp_affinity_list"] = affinity
        files[f"/proc/irq/{number}/node"] = "0"
        if name:
            files[f"/proc/irq/{number}/{name}/.folder"] = ""
    return files


def net(name, rps, numbers=()):
    """The files of a network device. rps: the mask of each receive queue."""
    files = {f"/sys/class/net/{name}/threaded": "0"}
    for i, mask in enumerate(rps):
        files[f"/sys/class/net/{name}/queues/rx-{i}/rps_cpus"] = mask
        files[f"/sys/class/net/{name}/queues/tx-{i}/xps_cpus"] = "0"
    for number in numbers:
        files[f"/sys/class/net/{name}/device/msi_irqs/{number}"] = "msix"
    return files


def workqueues(mask):
    base = "/sys/devices/virtual/workqueue"
    return {f"{base}/cpumask": mask, f"{base}/writeback/cpumask": mask}


def cgroups(control, *names):
    base = "/sys/fs/cgroup"
    files = {f"{base}/cgroup.controllers": "cpuset cpu io memory pids", f"{base}/cgroup.subtree_control": control}
    files.update({f"{base}/{name}/cgroup.procs": "1" for name in names})
    if "cpuset" in control:
        files.update({f"{base}/{name}/cpuset.cpus": "" for name in names})
    return files


def usual_tasks(everyone, count):
    """Kernel threads, one of them bound to each CPU, and a few of users."""
    found = [thread(1, "init", everyone), thread(2, "kthreadd", everyone, True),
             thread(3, "rcu_preempt", everyone, True), thread(4, "kswapd0", everyone, True),
             thread(900, "shell", everyone), thread(901, "pinned to 0", "0"), thread(902, "pinned to 1", "1")]
    return found + [thread(10 + cpu, f"ksoftirqd/{cpu}", str(cpu), True, True) for cpu in range(count)]


@dataclasses.dataclass
class Machine:
    """A machine and a request: a mode with its cores or pair, or roles."""

    files: dict
    tasks: list
    mode: str | None = "dk"
    cores: str | None = None
    pair: str | None = None
    role: str | None = None
    threaded: bool = False
    refused: tuple = ()
    readonly: tuple = ()
    events: dict = dataclasses.field(default_factory=dict)

    def host(self):
        """A new machine of this kind."""
        made = FakeHost(self.files, self.tasks, self.refused, self.readonly)
        made.events = dict(self.events)
        return made


def two_by_two(**changed):
    """2 cores x 2 threads with a NIC of two queues; the common case."""
    parts = {"cores": topology([(0, 1), (2, 3)]),
             "irqs": irqs({24: ("0-3", "disk"), 25: ("0", "eth0-rx-0"), 26: ("2", "eth0-rx-1"),
                           27: ("3", "timer")}, "f"),
             "net": net("eth0", ["0", "0"], (25, 26)) | net("lo", ["0"]),
             "wq": workqueues("f"), "cgroups": cgroups("cpu memory", "init.scope", "system.slice", "user.slice")}
    parts.update(changed)
    return {path: text for part in parts.values() for path, text in part.items()}


def big(cores, packages):
    """Cores whose second threads follow after all first ones, as servers number them."""
    pairs = [(i, i + cores) for i in range(cores)]
    mask = ",".join(["ffffffff"] * (2 * cores // 32))
    table = {100 + i: (str(i), f"eth0-{i}") for i in range(cores)}
    return topology(pairs, packages=packages) | irqs(table, mask) | \
        net("eth0", [",".join(["00000000"] * (2 * cores // 32))] * 4, tuple(table)) | workqueues(mask)


TASKS = usual_tasks("0-3", 4)
MACHINES = {
    "no-smt": Machine(topology([(0,), (1,)]) | irqs({5: ("0-1", "disk"), 6: ("0", "eth0")}, "3")
                      | net("eth0", ["0"], (6,)) | workqueues("3"), usual_tasks("0-1", 2), pair="0,1"),
    "two-by-two": Machine(two_by_two(), TASKS),
    "mixed-modes": Machine(two_by_two(), TASKS, cores="2"),
    "up": Machine(two_by_two(), TASKS, mode="up"),
    "roles": Machine(two_by_two(), TASKS, mode=None, role="0+2=user,1=kernel,3=any"),
    "back-to-smt": Machine(two_by_two(), TASKS, mode="smt"),
    "server-64x2": Machine(big(64, ["0-31,64-95", "32-63,96-127"]), usual_tasks("0-127", 128)),
    "four-way": Machine(topology([(0, 1, 2, 3), (4, 5, 6, 7)]) | irqs({9: ("0-2", "disk"), 10: ("5", "")}, "ff")
                        | workqueues("ff"), usual_tasks("0-7", 8)),
    "offline": Machine(two_by_two(cores=topology([(0, 1), (2, 3)], online="0-2")), usual_tasks("0-2", 3), cores="0"),
    "isolated": Machine(two_by_two(cores=topology([(0, 1), (2, 3)], isolated="2-3"),
                                   irqs=irqs({24: ("0-1", "disk")}, "3"), wq=workqueues("3")),
                        usual_tasks("0-1", 4)),
    "single-queue": Machine(two_by_two(irqs=irqs({24: ("0-3", "disk")}, "f"), net=net("eth0", ["0"])), TASKS),
    "rps-in-use": Machine(two_by_two(net=net("eth0", ["f", "4"], (25, 26))), TASKS, threaded=True),
    "cgroups-in-use": Machine(two_by_two(cgroups=cgroups("cpuset cpu", "system.slice", "db.slice")
                                         | {"/sys/fs/cgroup/db.slice/cpuset.cpus": "1,3"}), TASKS),
    "no-cgroup-v2": Machine(two_by_two(cgroups={}), TASKS),
    "read-only-proc": Machine(two_by_two(), TASKS, readonly=("/proc/irq",)),
    "refused-irqs": Machine(two_by_two(), TASKS, refused=("/proc/irq/25/smp_affinity_list",
                                                          "/proc/irq/24/smp_affinity_list")),
    "hot-unplug": Machine(two_by_two(), TASKS, events={3: offline(3)}),
    "container": Machine(topology([(0, 1), (2, 3)]) | net("eth0", ["0"]), [thread(1, "init", "0-3")],
                         readonly=("/proc", "/sys")),
}
