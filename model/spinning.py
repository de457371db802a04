# SPDX-License-Identifier: Apache-2.0
"""What a processor that waits for a lock asks of the bus, or of the lock's cache line (section IV)."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Spinning:
    """One way of waiting.

    `misses(k)`: cache misses of one waiter for each release of the lock, when k processors wait.
    `pause`: seconds between two accesses of a waiter that does not spin in its cache; None for one
    that does. `own_line`: it waits on a line of its own, not on the lock's.
    """
    name: str
    misses: Callable[[float], float]
    pause: float | None = None
    own_line: bool = False


def exchange():
    """Spin on the exchange: each try goes to the bus, one right after the other."""
    return Spinning("exchange", lambda waiting: 0.0, pause=0.0)


def read():
    """Spin on a read: at a release all miss, all try, and each try makes the readers miss.

    The i-th of k to try then sees k - i more tries: (k - 1) / 2 further misses in the mean.
    """
    return Spinning("read", lambda waiting: 2 + max(0.0, waiting - 1) / 2)


def backoff():
    """Ethernet-style backoff: two misses, one for the release and one for the new holder."""
    return Spinning("backoff", lambda waiting: 2.0)


def persistent(delay):
    """Backoff that delays whenever the lock reads as held: a miss each `delay` seconds."""
    if not delay > 0:
        raise ValueError(f"the mean delay is {delay}: it must be more than 0 seconds")
    return Spinning("persistent", lambda waiting: 0.0, pause=delay)


def queue():
    """Each on a flag of its own (Table IV, MCS, CLH): one miss in all, when it is its turn."""
    return Spinning("queue", lambda waiting: 1 / max(1.0, waiting), own_line=True)


BY_NAME = {way.name: way for way in (exchange(), read(), backoff(), queue())}
