# SPDX-License-Identifier: Apache-2.0
"""Which CPUs the machine has, which of them share a core, and which share a package."""
import dataclasses

from . import cpus

CPU = "/sys/devices/system/cpu"


@dataclasses.dataclass(frozen=True)
class Topology:
    """Cores are tuples of online CPUs; a machine without SMT has one CPU in each."""

    present: frozenset
    online: frozenset
    isolated: frozenset
    cores: tuple
    packages: tuple  # of frozensets

    @property
    def smt(self):
        """True if a core has several online CPUs."""
        return any(len(core) > 1 for core in self.cores)

    def siblings(self, wanted):
        """All online CPUs that share a core with one of the given CPUs."""
        return frozenset(cpu for core in self.cores if wanted & set(core) for cpu in core)

    def neighbours(self, wanted):
        """All online CPUs that share a package with one of the given CPUs."""
        return frozenset(cpu for package in self.packages if wanted & package for cpu in package)


def read_list(host, name):
    """The CPUs of a list in /sys/devices/system/cpu; an unreadable list is empty."""
    return cpus.parse_list(host.read(f"{CPU}/{name}") or "")


def grouped(online, sets):
    """Disjoint groups of online CPUs, from what each CPU says of itself."""
    groups, seen = [], set()
    for cpu in sorted(online):
        if cpu not in seen:
            group = sorted((sets[cpu] & online) | {cpu})
            groups.append(tuple(group))
            seen.update(group)
    return tuple(groups)


def read(host):
    """Reads the topology of a machine."""
    online = read_list(host, "online") or frozenset({0})
    present = read_list(host, "present") or online
    siblings, packages = {}, {}
    for cpu in online:
        where = f"{CPU}/cpu{cpu}/topology"
        siblings[cpu] = cpus.parse_list(host.read(f"{where}/thread_siblings_list") or str(cpu))
        packages[cpu] = cpus.parse_list(host.read(f"{where}/package_cpus_list") or str(cpu))
    return Topology(present, online, read_list(host, "isolated"), grouped(online, siblings),
                    tuple(frozenset(group) for group in grouped(online, packages)))
