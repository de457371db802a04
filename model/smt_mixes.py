# SPDX-License-Identifier: Apache-2.0
"""Instruction mixes of the thesis's six programs, and their cycles in each mode: Table 4.1 by the model.

The numbers are assumed, from what is generally known of the SPEC2000 programs and what the thesis says of Art (it
uses most of the processor in a single stream) and Mesa (low throughput, long latencies). They are statements to be
judged, not measurements. `ways` and `shared` hold what co-running costs on the thesis's Pentium 4: its contexts split
queues in half, and share the caches.
"""
import dataclasses
import random

WORK = 3000          # instructions of a copy
COPIES = 4           # stated: Figure 4.2
SLICE = 200          # cycles between turns of user threads
NET_PERIOD, NET_BURST = 500, 70  # kernel work of the network load: a burst of cycles in each period (assumed)
KERNEL_RATE = 0.5    # instructions in a cycle of kernel work: it performs worse than a program (stated: 3.1)
WIDTH, FP_UNITS = 3, 2


@dataclasses.dataclass(frozen=True)
class Mix:
    """A program: what it issues, where it stalls, and what it loses beside a copy of itself."""

    name: str
    category: str   # the thesis's, Table 4.1
    fp: float       # share of floating-point instructions
    ilp: float      # independent instructions in a group, on average
    miss: float     # groups that end in a stall
    stall: int      # cycles of such a stall
    split: float    # ilp with half of the queues, as a share
    crowded: float  # factor of misses with half of the caches


# What decides: a stream that stalls often leaves slots to another; one that does not has only caches to lose.
MIXES = (
    Mix("art", "pro-DK", fp=0.6, ilp=2.6, miss=0.04, stall=24, split=0.70, crowded=2.2),
    Mix("crafty", "pro-DK", fp=0.0, ilp=2.6, miss=0.03, stall=14, split=0.62, crowded=2.4),
    Mix("vpr", "pro-DK", fp=0.15, ilp=2.0, miss=0.06, stall=16, split=0.72, crowded=2.3),
    Mix("vortex", "pro-SMT", fp=0.0, ilp=2.0, miss=0.09, stall=18, split=0.80, crowded=1.35),
    Mix("equake", "pro-SMT", fp=0.4, ilp=1.9, miss=0.11, stall=30, split=0.85, crowded=1.3),
    Mix("mesa", "pro-SMT", fp=0.35, ilp=1.6, miss=0.12, stall=26, split=0.92, crowded=1.15),
)


class Copy:
    """One running copy: it draws groups as its mix says, from a seed of its own."""

    def __init__(self, mix, seed):
        self.mix, self.random = mix, random.Random(seed)
        self.left, self.ready = WORK, 0
        self.fp, self.other = 0, 0

    def draw(self, beside):
        """Draws the next group. beside: another user thread has the other context."""
        mean = max(1.0, self.mix.ilp * (self.mix.split if beside else 1))
        size = int(mean) + (self.random.random() < mean - int(mean))
        self.fp = sum(self.random.random() < self.mix.fp for _ in range(size))
        self.other = size - self.fp

    def issue(self, cycle, slots, fp_units, beside):
        """Issues what fits in a cycle. Returns (instructions, floating-point ones)."""
        if cycle < self.ready or self.left <= 0:
            return 0, 0
        if not self.fp and not self.other:
            self.draw(beside)
        fp = min(self.fp, fp_units, slots)
        other = min(self.other, slots - fp)
        self.fp, self.other = self.fp - fp, self.other - other
        self.left -= fp + other
        if not self.fp and not self.other:
            misses = self.mix.miss * (self.mix.crowded if beside else 1)
            self.ready = cycle + 1 + (self.mix.stall if self.random.random() < misses else 0)
        return fp + other, fp


def kernel_busy(cycle, net):
    """True in the cycles of the network load's bursts."""
    return net and cycle % NET_PERIOD < NET_BURST


def chosen(mode, live, turn, busy):
    """The copies that have a context: up and dk give one copy a context, smt two, one of which kernel work takes."""
    if mode == "up":
        return [] if busy else [live[turn % len(live)]]
    if mode == "dk":
        return [live[turn % len(live)]]
    count = min(len(live), 1 if busy else 2)
    return [live[(turn * count + i) % len(live)] for i in range(count)]


def cycles(mix, mode, net):
    """Cycles until the last of four copies is done."""
    copies = [Copy(mix, seed) for seed in range(COPIES)]
    cycle = stolen = 0
    while live := [copy for copy in copies if copy.left > 0]:
        cycle += 1
        busy = kernel_busy(cycle, net)
        running = chosen(mode, live, cycle // SLICE, busy)
        slots, units = WIDTH, FP_UNITS
        if busy:
            stolen += KERNEL_RATE
            if stolen >= 1:
                stolen -= 1
                slots -= 1
        if cycle % 2:
            running.reverse()  # contexts take turns in issuing first
        for copy in running:
            done, fp = copy.issue(cycle, slots, units, len(running) > 1)
            slots, units = slots - done, units - fp
    return cycle
