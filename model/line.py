# SPDX-License-Identifier: Apache-2.0
"""The low level of a machine without a bus: caches that send lines to each other.

Section V.A's bus does not fit today's processors: caches keep coherent by messages from point to
point, whose sum has room enough, so that a miss takes about the same time whoever else misses. What
remains scarce is the single line: whoever wants to write it must have it, and requests for the same
line are served one after the other. So each lock's line is a queueing centre of its own; its
customers are the processor that holds the lock and those that spin for it, two classes. User code
and other locks do not come by. Data that moves from processor to processor costs a fixed time for
each line.
"""

import functools
import math
from dataclasses import dataclass

from .mva import Class, solve_two_classes
from .spinning import Spinning

HANDOVER = 2  # transfers of a lock's line when others wait: release, and the next one's acquisition


@dataclass(frozen=True)
class LineMachine:
    """Processors with coherent caches that wait for locks by `spinning`."""
    spinning: Spinning
    transfer: float  # seconds until a line last written by another processor is here

    def start(self, cycle):
        """The state an idle machine has: nobody waits for any of the locks."""
        return [0.0] * len(cycle.sections)

    def moved(self, work, elsewhere):
        """Seconds for `work` whose lines were last written on another processor so often."""
        return work.seconds + work.transfers * self.transfer * elsewhere

    def outside_seconds(self, cycle, state):
        """What the code outside of locks takes: a processor that waits for a lock does not disturb it."""
        del state
        return self.moved(cycle.outside, any_other(cycle.processors))

    def section_seconds(self, cycle, index, state):
        """What one visit takes: the section, and handing over the lock among the waiters."""
        work, waiters = cycle.sections[index].work, state[index]
        some_wait = waiters / (1 + waiters)  # how often a release meets anyone at all
        # A waiter follows another processor for certain, else any may have been here last.
        hold = self.moved(work, some_wait + (1 - some_wait) * any_other(cycle.processors))
        return hold + some_wait * HANDOVER * self.transfer * self.slowdown(
            self.moved(work, 1.0), waiters)

    def observe(self, cycle, waiting, state):
        """The state is how many wait for each lock."""
        del cycle, state
        return [waiters for _, waiters in waiting]

    def slowdown(self, hold, waiters):
        """How much longer the holder waits for the lock's line because of the spinners."""
        below = math.floor(waiters)
        low, high = (slowdown_among(self, hold, n) for n in (below, below + 1))
        return low + (waiters - below) * (high - low)


def any_other(processors):
    """How often what any processor wrote last was written by another than this one."""
    return (processors - 1) / processors


@functools.lru_cache(maxsize=None)
def slowdown_among(machine, hold, waiters):
    """The same for a whole number of them; kept, since the iteration comes here each round."""
    spinning, transfer = machine.spinning, machine.transfer
    if waiters == 0 or transfer == 0 or spinning.own_line:
        return 1.0
    handover = HANDOVER * transfer
    if spinning.pause is not None:
        spinner = Class(waiters, spinning.pause, transfer)
    else:
        misses = transfer * spinning.misses(waiters)
        spinner = Class(waiters, max(0.0, hold + handover - misses), misses)
    residence, _ = solve_two_classes(Class(1, hold, handover), spinner)
    return residence / handover
