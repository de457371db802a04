# SPDX-License-Identifier: Apache-2.0
"""The paper's machine, a Sequent Symmetry with 20 processors, as far as its text tells.

What the text states is marked "stated", with its place. The figures' own data are not in the text,
so the rest is chosen ("assumed") to agree with what is said of them; statements.py checks that it
does.
"""

from . import spinning
from .bus import BusMachine
from .strategies import Section, Strategy, Work

US = 1e-6

PROCESSORS = 20             # stated: III.F
LOCK = 5.6 * US             # stated: Table II, acquire and release
PROCEDURE_CALL = 3.6 * US   # stated: Table II
LOOP = 2.5 * US             # stated: Table II, an iteration of the null loop
DYNIX_PROCESS = 25e-3       # stated: section I, "over 25 ms"
THREAD = DYNIX_PROCESS / 500  # stated: III.F, "500 times less expensive"; by the fastest: one lock

# A section of the ready queue: "less than 10 us" (stated, IV.E); how much less is assumed, and so
# is its bus time. Part of a lock's 5.6 us is spent holding it: half, assumed.
READY = Work(7.5 * US, bus=1.2 * US)
# One of a free list is a push or a pop, shorter (assumed).
FREE = Work(6.8 * US, bus=0.6 * US)

# Thread management uses the bus for a tenth of its time (assumed; stated are that local ready queues
# level out because of the bus, III.F, and that almost half of it is due to sections, IV.E).
BUS = 0.1 * THREAD

# A miss of a spinning processor: with backoff there are two for each release, and the degradation is
# slight "unless the number of spin-waiting processors exceeds ten" (stated, IV.E). Ten waiters that
# miss twice in a section fill the bus with misses of 0.4 us (derived from it).
MISS = READY.seconds / (2 * 10) * 1.07


def with_sections(name, total, sections, bus=BUS, look=0.0):
    """A strategy that takes `total` seconds on one processor, the rest of it outside of locks."""
    inside = sum(s.visits * s.work.seconds for s in sections)
    inside_bus = sum(s.visits * s.work.bus for s in sections)
    return Strategy(name, Work(total - inside, bus=bus - inside_bus), tuple(sections),
                    look=Work(look))


# Complexity "results in a noticeable increase" (stated, III.F); its microseconds are assumed. Four
# locks more cost four times Table II's 5.6 us.
SINGLE = with_sections("single", THREAD, [Section("all", Work(18 * US, bus=1.8 * US), 2)])
MULTI = with_sections("multi", THREAD + 4 * LOCK,
                      [Section("ready", READY, 2), Section("stacks", FREE, 2),
                       Section("blocks", FREE, 2)], bus=1.2 * BUS)
FREELIST = with_sections("freelist", THREAD + 2 * US, [Section("ready", READY, 2)])
IDLEQ = with_sections("idleq", THREAD + 7 * US, [Section("ready", READY, 2)])
LOCAL = with_sections("local", THREAD + 5 * US, [Section("ready", READY, 2, per_processor=True)],
                      look=LOOP)
STRATEGIES = (SINGLE, MULTI, FREELIST, IDLEQ, LOCAL)

MACHINE = BusMachine(spinning.backoff(), MISS)  # backoff: stated, IV.D


def user_work(seconds, bus_load=0.0):
    """User code that uses the bus for a part of its time."""
    if not 0 <= bus_load <= 1:
        raise ValueError(f"a bus load of {bus_load}: it must be within 0..1")
    return Work(seconds, bus=bus_load * seconds)
