# SPDX-License-Identifier: Apache-2.0
"""The low level as in section V.A: one bus for all, which whoever misses its cache must have.

Each processor is a customer of the bus and of a delay centre (all it does in its cache). What it
asks of the bus is the mean over user code, thread management and spinning, weighted by the time it
spends in each. The result is one number: how much longer a second of bus service takes because
others use the bus too.
"""

from dataclasses import dataclass

from .mva import Centre, solve
from .spinning import Spinning


@dataclass(frozen=True)
class BusMachine:
    """Processors on a shared bus that wait for locks by `spinning`."""
    spinning: Spinning
    miss: float  # seconds of bus service for one cache miss

    def start(self, cycle):
        """The state an idle machine has: nobody waits for the bus."""
        del cycle
        return [1.0]

    def outside_seconds(self, cycle, state):
        """What the code outside of locks takes when the bus is as `state` says."""
        return slowed(cycle.outside, state[0])

    def section_seconds(self, cycle, index, state):
        """What one visit of a critical section takes."""
        return slowed(cycle.sections[index].work, state[0])

    def observe(self, cycle, waiting, state):
        """The state that follows from how many seconds each section is waited for, in a cycle."""
        busy = cycle.outside.bus + sum(s.visits * s.work.bus for s in cycle.sections)
        alone = (cycle.outside.seconds + sum(s.visits * s.work.seconds for s in cycle.sections)
                 - busy)
        for index, (seconds, waiters) in enumerate(waiting):
            spun = self.spun(seconds, waiters, self.section_seconds(cycle, index, state), state)
            busy += spun
            alone += seconds - spun * state[0]
        if busy == 0:
            return [1.0]
        return [solve(alone, [Centre(busy)], cycle.processors).residence[0] / busy]

    def spun(self, seconds, waiters, hold, state):
        """Seconds of bus service asked for in `seconds` of spinning."""
        if seconds == 0 or hold == 0:
            return 0.0
        misses = seconds / hold * self.spinning.misses(waiters)
        if self.spinning.pause is not None:
            misses += seconds / (self.miss * state[0] + self.spinning.pause)
        return min(self.miss * misses, seconds / state[0])  # no more than all the time


def slowed(work, factor):
    """Seconds for `work` when each second of bus service takes `factor` seconds."""
    return work.seconds - work.bus + work.bus * factor
