# SPDX-License-Identifier: Apache-2.0
"""Roles of CPUs, and modes of cores.

A role says which tasks a CPU runs: `any`, `user`, `kernel`, or none (`off`). A mode gives a role to each
SMT sibling of a core (thesis 3.1): smt all any; up one any, the rest off; dk the last kernel, the rest user.
`hybrid` alternates between dk and smt in epochs (thesis 5.1.2); its roles are those of dk, and the
scheduler lifts them in every second epoch.

Roles are given to groups. A group is a core, or on a machine without SMT a pair of CPUs that the user names.
Every group keeps a CPU for user tasks and a CPU for kernel tasks.
"""
import dataclasses

from . import cpus
from .refusal import Refusal

ROLES = ("any", "user", "kernel", "off")
MODES = ("smt", "up", "dk", "hybrid")


@dataclasses.dataclass(frozen=True)
class Roles:
    """The role of each online CPU; `epochs` holds the CPUs whose groups alternate."""

    by_cpu: tuple  # of (cpu, role), ordered by CPU
    epochs: frozenset = frozenset()

    def having(self, *roles):
        """The CPUs that have one of the given roles."""
        return frozenset(cpu for cpu, role in self.by_cpu if role in roles)

    @property
    def user(self):
        """The CPUs that run user tasks."""
        return self.having("any", "user")

    @property
    def kernel(self):
        """The CPUs that run kernel tasks."""
        return self.having("any", "kernel")

    @property
    def plain(self):
        """True if no CPU differs from what a stock kernel does."""
        return all(role == "any" for _, role in self.by_cpu)

    def text(self):
        """The roles as a list for people and for dk-sched: "0=user,1=kernel"."""
        return ",".join(f"{cpu}={role}" for cpu, role in self.by_cpu)


def mode_roles(mode, group):
    """The roles that a mode gives to a group of CPUs, as (cpu, role)."""
    group = sorted(group)
    if mode == "smt":
        return [(cpu, "any") for cpu in group]
    if mode == "up":
        return [(cpu, "off" if i else "any") for i, cpu in enumerate(group)]
    return [(cpu, "kernel" if cpu == group[-1] else "user") for cpu in group]


def mode_of(group_roles):
    """The name of the mode that gives these (cpu, role) pairs, or "mixed"."""
    group = [cpu for cpu, _ in group_roles]
    for mode in ("smt", "up", "dk"):
        if mode_roles(mode, group) == sorted(group_roles):
            return mode
    return "mixed"


def parse_pair(text, topology):
    """The group that `--pair USER,KERNEL` names, in the order of its CPUs' roles."""
    what = f"pair '{text}'"
    try:
        first, second = (cpus.number(part) for part in text.split(","))
    except ValueError:
        raise Refusal(what, "it is not two CPU numbers", "write --pair 0,1", 2) from None
    check_known({first, second}, topology, what)
    if first == second:
        raise Refusal(what, "the roles overlap on one CPU", "name two different CPUs", 2)
    return first, second


def check_known(wanted, topology, what):
    """Refuses CPUs that the machine does not have, or that are offline."""
    unknown = sorted(set(wanted) - topology.present)
    if unknown:
        raise Refusal(what, f"no CPU {cpus.format_list(unknown)} on this machine",
                      f"choose from {cpus.format_list(topology.present)}", 2)
    offline = sorted(set(wanted) - topology.online)
    if offline:
        raise Refusal(what, f"CPU {cpus.format_list(offline)} is offline",
                      f"choose from {cpus.format_list(topology.online)}, or bring it online first", 2)


def parse_roles(text, topology):
    """The (cpu, role) pairs of `--role 0=user,1=kernel`; CPU lists with + in place of the comma: 0+2-3=user."""
    given = {}
    for part in text.split(","):
        left, equals, role = part.partition("=")
        what = f"role '{part}'"
        if not equals or role not in ROLES:
            raise Refusal(what, "it is not CPU=ROLE", f"ROLE is one of {', '.join(ROLES)}", 2)
        try:
            wanted = cpus.parse_list(left.replace("+", ","))
        except ValueError:
            raise Refusal(what, f"'{left}' is no CPU", "write 0=user, or 0+2-3=user", 2) from None
        check_known(wanted, topology, what)
        for cpu in wanted:
            if given.get(cpu, role) != role:
                raise Refusal(what, f"CPU {cpu} has role {given[cpu]} too: the roles overlap",
                              "give each CPU one role", 2)
            given[cpu] = role
    return sorted(given.items())


def assign(topology, mode=None, cores=None, pair=None, role_text=None, base=None):
    """Makes the roles of all online CPUs of a request. Cores that are not named keep the roles of `base`."""
    by_cpu = dict(base.by_cpu) if base else {}
    by_cpu = {cpu: by_cpu.get(cpu, "any") for cpu in topology.online}
    epochs = set(base.epochs) & topology.online if base else set()
    groups = list(topology.cores)
    if pair:
        groups = [group for group in groups if not set(group) & set(pair)] + [tuple(pair)]
    if mode:
        chosen = [tuple(pair)] if pair else named_groups(topology, cores)
        for group in chosen:
            if len(group) < 2 and mode != "smt":
                raise Refusal(f"mode {mode} for core {group[0]}", "it has one CPU, so it cannot be divided",
                              "name two CPUs as a pair: --pair 0,1")
            order = mode_roles(mode, range(len(group)))
            by_cpu.update((group[i], role) for i, role in order)
            epochs = epochs | set(group) if mode == "hybrid" else epochs - set(group)
    for cpu, role in parse_roles(role_text, topology) if role_text else ():
        by_cpu[cpu] = role
        epochs.discard(cpu)
    roles = Roles(tuple(sorted(by_cpu.items())), frozenset(epochs))
    check_left(roles, groups)
    return roles


def named_groups(topology, cores):
    """The cores that a list of CPUs names: every core that has one of them. None: the cores with siblings."""
    if cores is None:
        return [group for group in topology.cores if len(group) > 1] or list(topology.cores)
    try:
        wanted = cpus.parse_list(cores)
    except ValueError:
        raise Refusal(f"cores '{cores}'", "it is no list of CPUs", "write --cores 0-3,8", 2) from None
    check_known(wanted, topology, f"cores '{cores}'")
    return [group for group in topology.cores if set(group) & wanted]


def check_left(roles, groups):
    """Refuses roles that leave user or kernel tasks of a group without a CPU."""
    if all(len(group) == 1 for group in groups):  # without SMT, roles divide the whole machine
        groups = [tuple(cpu for group in groups for cpu in group)]
    for group in groups:
        for kind, left in (("user", roles.user), ("kernel", roles.kernel)):
            if not left & set(group):
                raise Refusal(f"roles of CPUs {cpus.format_list(group)}", f"no CPU is left for {kind} tasks",
                              f"give one of them role {kind} or any")
