# SPDX-License-Identifier: Apache-2.0
"""Exact mean value analysis (MVA) of closed queueing networks.

A processor is a customer. What it does alone is a delay centre; what it must have for itself (the
bus, a lock, a cache line) is a queueing centre. Service is taken to be exponential and the network
to be of product form, so the recursion over the number of customers is exact for it: a customer
that arrives finds what it would see as an onlooker of the network without itself.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Centre:
    """A queueing centre, or `count` alike: `demand` is the service at each, in seconds a cycle."""
    demand: float
    count: int = 1

    def __post_init__(self):
        if not self.demand >= 0:
            raise ValueError(f"a centre's demand is {self.demand}: it must be 0 seconds or more")
        if self.count < 1:
            raise ValueError(f"there are {self.count} centres of a kind: there must be at least 1")


@dataclass(frozen=True)
class Solution:
    """What N customers do: `cycle` in seconds; for each kind of centre, at one of them."""
    cycle: float
    throughput: float  # cycles a second, of all customers
    residence: tuple   # seconds a cycle, waiting and in service
    length: tuple      # customers, waiting and in service


def solve(delay, centres, customers):
    """One class: `customers` go round a delay centre and the queueing centres."""
    check_population(delay, centres, customers)
    length = [0.0] * len(centres)
    for n in range(1, customers + 1):
        residence = [c.demand * (1 + q) for c, q in zip(centres, length)]
        cycle = delay + sum(c.count * r for c, r in zip(centres, residence))
        length = [n / cycle * r for r in residence]
    return Solution(cycle, customers / cycle, tuple(residence), tuple(length))


def check_population(delay, centres, customers):
    """Refuses what has no solution."""
    if customers < 1:
        raise ValueError(f"{customers} customers: there must be at least 1")
    if not delay >= 0:
        raise ValueError(f"the delay is {delay}: it must be 0 seconds or more")
    if delay + sum(c.count * c.demand for c in centres) == 0:
        raise ValueError("a cycle without any demand takes no time: give a delay or a centre some")


@dataclass(frozen=True)
class Class:
    """Customers of one kind: workers, or processors that spin."""
    customers: int
    delay: float   # seconds a cycle
    demand: float  # seconds a cycle at the one queueing centre


def solve_two_classes(first, second):
    """Two classes at one queueing centre, exactly, over all smaller pairs of populations.

    The centre shares itself among those present (product form with two classes asks for that).
    Returns the residence time of each class there; that of a class without customers is what one
    would meet.
    """
    for kind in (first, second):
        if kind.customers < 0 or not kind.delay >= 0 or not kind.demand >= 0:
            raise ValueError(f"{kind}: customers, delay and demand must be 0 or more")
        if kind.delay + kind.demand == 0:
            raise ValueError(f"{kind}: a cycle without any demand takes no time")
    row = []  # of first.customers - 1: the centre's length for each number of the second class
    for a in range(first.customers + 1):
        below, row = row, []
        for b in range(second.customers + 1):
            residence_1 = first.demand * (1 + (below[b] if a else 0.0))
            residence_2 = second.demand * (1 + (row[b - 1] if b else 0.0))
            row.append(a * residence_1 / (first.delay + residence_1)
                       + b * residence_2 / (second.delay + residence_2))
    if first.customers == 0:
        residence_1 = first.demand * (1 + row[-1])
    if second.customers == 0:
        residence_2 = second.demand * (1 + row[-1])
    return residence_1, residence_2
