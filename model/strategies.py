# SPDX-License-Identifier: Apache-2.0
"""What a thread's life costs under each strategy of section III: code in and out of locks."""

from dataclasses import dataclass, field

from .placement import queues_examined


@dataclass(frozen=True)
class Work:
    """Code, by what it takes on a machine that does nothing else."""
    seconds: float        # on one processor that has all data in its cache
    bus: float = 0.0      # of these, seconds on the bus (bus.py)
    transfers: float = 0.0  # cache lines last written elsewhere that it needs (line.py)

    def __post_init__(self):
        if not (self.seconds >= 0 and self.transfers >= 0 and 0 <= self.bus <= self.seconds):
            raise ValueError(f"{self}: seconds and transfers must be 0 or more, and the bus's "
                             "seconds a part of all seconds")

    def times(self, number):
        """The same work `number` times; it need not be a whole number."""
        return Work(self.seconds * number, self.bus * number, self.transfers * number)


@dataclass(frozen=True)
class Section:
    """A critical section, entered `visits` times in a thread's life."""
    lock: str
    work: Work  # of one visit
    visits: float
    per_processor: bool = False  # as many such locks as processors, each chosen as often


@dataclass(frozen=True)
class Strategy:
    """A strategy: what one thread's creation, start and end do together."""
    name: str
    outside: Work
    sections: tuple = ()
    look: Work = field(default=Work(0.0))  # at one queue more, in search of a thread

    def management(self):
        """Seconds a thread takes on one processor, without its own work."""
        return self.outside.seconds + sum(s.visits * s.work.seconds for s in self.sections)

    def search(self, user, processors):
        """The looks at further queues, as mean work for each thread.

        A processor that seeks a thread has itself created one that nobody has taken yet; each of
        the others has one out as long as it is between its own creation and its own search, about
        half of its time in thread management.
        """
        if self.look.seconds == 0 and self.look.transfers == 0:
            return Work(0.0)
        between = 0.5 * self.management() / (self.management() + user.seconds)
        ready = 1 + (processors - 1) * between
        return self.look.times(queues_examined(ready, processors) - 1)


def seconds_alone(strategy, user):
    """Seconds for each thread on one processor, of its own work and all management."""
    return user.seconds + strategy.management()
