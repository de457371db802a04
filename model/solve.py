# SPDX-License-Identifier: Apache-2.0
"""The high level as in section V.B: processors that contend for locks, and the iteration with the
low level.

Each processor is a customer; each lock a queueing centre; all else a delay. The low level (bus.py or
line.py) says how long code takes given who spins where; this level says who spins where given how
long code takes.
"""

from dataclasses import dataclass

from . import mva
from .iterate import fixed_point
from .strategies import Work


@dataclass(frozen=True)
class Cycle:
    """A thread's life on one of `processors`: what the low level stretches."""
    processors: int
    outside: Work     # user code, thread management outside of locks, the search for a thread
    sections: tuple


@dataclass(frozen=True)
class Prediction:
    """What the model says of a strategy on a number of processors."""
    processors: int
    seconds: float     # from one thread to the next, on each processor
    throughput: float  # threads a second, of all
    spinning: float    # part of the processors' time that goes into waiting for locks
    state: tuple       # of the low level


def predict(strategy, user, processors, machine):
    """Predicts a strategy for threads that each do `user` work. Raises NotConverged."""
    search = strategy.search(user, processors)
    parts = (user, strategy.outside, search)
    cycle = Cycle(processors, Work(sum(p.seconds for p in parts), sum(p.bus for p in parts),
                                   sum(p.transfers for p in parts)), strategy.sections)

    def round_of(state):
        return machine.observe(cycle, waiting(*contend(cycle, machine, state)), state)

    state = fixed_point(round_of, machine.start(cycle))
    centres, solution = contend(cycle, machine, state)
    spun = sum(seconds for seconds, _ in waiting(centres, solution))
    return Prediction(processors, solution.cycle, solution.throughput, spun / solution.cycle,
                      tuple(state))


def contend(cycle, machine, state):
    """The locks' centres as the low level stretches them, and the network's solution."""
    centres = []
    for index, section in enumerate(cycle.sections):
        count = cycle.processors if section.per_processor else 1
        seconds = section.visits * machine.section_seconds(cycle, index, state)
        centres.append(mva.Centre(seconds / count, count))
    delay = machine.outside_seconds(cycle, state)
    return centres, mva.solve(delay, centres, cycle.processors)


def waiting(centres, solution):
    """For each section: the seconds a processor waits in a cycle, and how many wait at one lock."""
    return [(c.count * (r - c.demand), max(0.0, q - solution.throughput * c.demand)) for c, r, q in
            zip(centres, solution.residence, solution.length)]
