# SPDX-License-Identifier: Apache-2.0
"""What the paper's text says of its measurements and its model, asked of this model.

Each statement gives the place, the words in short, the model's figures, and whether they agree. It
is a check of shapes and orders: the figures' own data are not in the text.
"""

from dataclasses import asdict, dataclass

from . import paper, spinning
from .bus import BusMachine
from .curves import fastest_alone, speedup
from .solve import predict
from .strategies import Section, Strategy, Work, seconds_alone

NULL = Work(0.0)
US = 1e-6


@dataclass(frozen=True)
class Statement:
    """One thing the paper says."""
    where: str
    says: str
    model: dict  # name of a figure -> value
    holds: bool


def null_speedup(strategy, processors):
    """Speed-up for threads that do nothing, as in Figure 2."""
    alone = fastest_alone(paper.STRATEGIES, NULL)
    return speedup(strategy, NULL, processors, paper.MACHINE, alone)


def plateau(strategy):
    """The best speed-up on any number of the paper's processors."""
    return max(null_speedup(strategy, n) for n in range(1, paper.PROCESSORS + 1))


def counting(waiters, section_us, way):
    """Time of a critical section with `waiters` waiters, relative to none: Fig. 6."""
    share = paper.READY.bus / paper.READY.seconds
    counter = Strategy("counter", NULL, (Section("counter", Work(
        section_us * US, bus=share * section_us * US), 1),))
    machine = BusMachine(way, paper.MISS)
    return 1 / (predict(counter, NULL, waiters + 1, machine).throughput * section_us * US)


def latency():
    """Figures 1 and 2 on one processor."""
    alone = {s.name: 1e6 * s.management() for s in paper.STRATEGIES}
    calls = paper.SINGLE.management() / paper.PROCEDURE_CALL
    yield Statement("III.F", "a thread costs an order of magnitude more than a procedure call",
                    {"procedure calls": calls}, 5 <= calls <= 20)
    yield Statement("III.F", "on one processor one lock is fastest, separate locks slowest",
                    alone, alone["single"] == min(alone.values())
                    and alone["multi"] == max(alone.values()))


def throughput():
    """Figures 1 to 3 on many processors."""
    best = {s.name: plateau(s) for s in paper.STRATEGIES}
    yield Statement("III.F", "one lock for all limits throughput; a lock on the ready queue to a few "
                    "operations at once; only local ready queues support more", best,
                    best["single"] < 2 < best["freelist"] < 5 < best["local"]
                    and best["local"] == max(best.values()))
    late = {f"on {n}": null_speedup(paper.LOCAL, n) for n in (10, 18, 20)}
    waits = predict(paper.LOCAL, NULL, 20, paper.MACHINE).spinning
    yield Statement("III.F", "local ready queues level out because of the bus, without significant "
                    "contention for locks", late | {"time spent waiting for locks": waits},
                    late["on 20"] < 1.02 * late["on 18"] and waits < 0.15)
    work = paper.user_work(300 * US)
    gain = {f"on {n}": predict(paper.LOCAL, work, n, paper.MACHINE).throughput
            / predict(paper.FREELIST, work, n, paper.MACHINE).throughput for n in (4, 18, 20)}
    yield Statement("III.F, Fig. 3", "with 300 us of work differences appear as the number of "
                    "processors increases", gain,
                    abs(gain["on 4"] - 1) < 0.05 < gain["on 20"] - 1)


def waiting():
    """Figures 6 and 7: time of a section relative to that of one processor alone."""
    ways = {w.name: w for w in (spinning.exchange(), spinning.read(), spinning.backoff(),
                                spinning.queue())}
    moderate = {name: counting(7, 8, way) for name, way in ways.items()}
    yield Statement("IV.E, Fig. 6", "exchange and read degrade badly for a moderate number of "
                    "waiters (here 7), backoff slightly", moderate,
                    min(moderate["exchange"], moderate["read"]) > 1.5 > 1.25 > moderate["backoff"])
    many = {f"{n} waiters": counting(n, 8, ways["backoff"]) for n in (10, 15, 19)}
    yield Statement("IV.E, Fig. 6", "backoff degrades when more than ten wait", many,
                    many["19 waiters"] > 1.2 * many["10 waiters"])
    sizes = {f"{name}, {us} us": counting(7, us, ways[name])
             for name in ("exchange", "read") for us in (8, 200)}
    yield Statement("IV.E, Fig. 7", "a longer section makes read degrade less, exchange evenly",
                    sizes, sizes["read, 200 us"] < 0.8 * sizes["read, 8 us"]
                    and abs(sizes["exchange, 200 us"] / sizes["exchange, 8 us"] - 1) < 0.05)
    queue = {f"{n} waiters": counting(n, 8, ways["queue"]) for n in (1, 19)}
    yield Statement("IV.F", "a queue takes O(1) bus transactions for each section", queue,
                    queue["19 waiters"] < 1.1 * queue["1 waiters"])


def projections():
    """Figures 10 to 12: local ready queues relative to local free lists."""
    machine, processors = paper.MACHINE, paper.PROCESSORS

    def ratio(user):
        local, central = (predict(s, user, processors, machine).throughput
                          for s in (paper.LOCAL, paper.FREELIST))
        return local / central

    grain = {f"{us} us": ratio(paper.user_work(us * US, 0.05)) for us in (10, 100, 1000, 100000)}
    values = list(grain.values())
    yield Statement("V.C, Fig. 10", "the central ready queue is a bottleneck for fine grain; for "
                    "coarse grain the package ceases to matter", grain,
                    values[0] > 3 and abs(values[-1] - 1) < 0.01 and values[0] > values[1] > values[2])
    loads = {}
    for percent in (0, 5, 10, 15):
        user = paper.user_work(200 * US, percent / 100)
        alone = seconds_alone(paper.SINGLE, user)
        for name, strategy in (("local", paper.LOCAL), ("central", paper.FREELIST)):
            loads[f"{name}, {percent} %"] = speedup(strategy, user, processors, machine, alone)
    local, central = list(loads.values())[::2], list(loads.values())[1::2]
    yield Statement("V.C, Fig. 11", "bus load limits both, and can reduce the difference between "
                    "them", loads, local == sorted(local, reverse=True)
                    and central == sorted(central, reverse=True)
                    and local[-1] - central[-1] < 0.5 * (local[0] - central[0]))
    user = paper.user_work(2e-3)
    alone = seconds_alone(paper.SINGLE, user)
    central = {f"central on {n}": speedup(paper.FREELIST, user, n, machine, alone)
               for n in (50, 100, 120)}
    local = {f"local on {n}": speedup(paper.LOCAL, user, n, machine, alone) for n in (50, 120)}
    yield Statement("V.C, Fig. 12", "with 2 ms of work the central ready queue drops off sharply "
                    "beyond a number of processors; local ones do not", central | local,
                    central["central on 100"] > 1.5 * central["central on 50"]
                    and central["central on 120"] < 0.3 * central["central on 100"]
                    and local["local on 120"] > 2 * local["local on 50"])


def statements():
    """All statements, as dicts."""
    return [asdict(s) for part in (latency, throughput, waiting, projections) for s in part()]
