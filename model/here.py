# SPDX-License-Identifier: Apache-2.0
"""This machine: what the model takes from measurements on it, and how well it then predicts others.

The machine has caches that send lines (line.py). Measured directly are the transfer of a line and
the critical section (mltp-bench calibrate), and what a thread costs on one processor under each
strategy (lifecycle). One number for each cannot be: how many lines move with a thread or a section.
It is fitted, and the rows it is fitted to are marked.
"""

import math
from dataclasses import dataclass, replace

from . import spinning
from .bus import BusMachine
from .line import LineMachine
from .measurements import BadMeasurement
from .solve import predict
from .strategies import Section, Strategy, Work, seconds_alone

STRATEGIES = ("single", "multi", "freelist", "idleq", "local", "default")
LOCKS = {  # each a lock's name, its visits in a thread's life, whether each processor has one
    "single": (("all", 2, False),),
    "multi": (("ready", 2, False), ("stacks", 2, False), ("blocks", 2, False)),
    "freelist": (("ready", 2, False),),
    "idleq": (("ready", 2, False),),
    "local": (("ready", 2, True),),
    "default": (),
}
TRANSFERS_MAX = 200.0
BUSY = 0.9  # part of the time VPs must have had CPUs, and used them, to count as processors


@dataclass(frozen=True)
class Calibration:
    """What was measured of the machine, in seconds."""
    exchange: float
    transfer: float
    section: float
    bus_shares: dict  # steps between sections -> part of the time on a bus that would explain it

    def machine(self, way):
        """The machine, with locks that wait in this way."""
        return LineMachine(way, self.transfer)


@dataclass(frozen=True)
class Point:
    """A measurement the model can speak of: seconds from thread to thread, on each processor."""
    experiment: str
    strategy: str
    processors: int
    work: float
    seconds: float


def least(rows, **wanted):
    """The least time among the rows with these values."""
    times = [r["seconds"] for r in rows if all(r.get(k) == v for k, v in wanted.items())]
    if not times:
        row = ", ".join(f"{k} {v}" for k, v in wanted.items())
        raise BadMeasurement(f"there is no row with {row}: add the JSON of "
                             f"mltp-bench {wanted['experiment']} (on two CPUs or more)")
    return min(times)


def calibrate(rows):
    """Reads the rows of mltp-bench calibrate."""
    own = [r for r in rows if r["experiment"] == "calibrate"]
    shares = {}
    for steps in sorted({r["steps"] for r in own if r["metric"] == "private"}):
        alone, both = (least(own, experiment="calibrate", metric="private", steps=steps,
                             processors=n) for n in (1, 2))
        shares[str(steps)] = bus_share(both / alone, 2)
    return Calibration(least(own, experiment="calibrate", metric="exchange"),
                       least(own, experiment="calibrate", metric="transfer"),
                       least(own, experiment="calibrate", metric="private", steps=0, processors=1),
                       shares)


def bus_share(slowdown, processors):
    """The bus demand, as a part of the time alone, that slows private copies so much (V.A).

    Found by halving: the more demand, the slower. 1 where the bus would have to be all.
    """
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        copies = Strategy("private copies", Work(1.0, bus=middle))
        machine = BusMachine(spinning.queue(), 0.0)
        found = predict(copies, Work(0.0), processors, machine).seconds
        low, high = (middle, high) if found < slowdown else (low, middle)
    return high if high > 2e-6 else 0.0


def least_squares(build, points, machine):
    """The number of transfers for which `build(transfers)` predicts the points best, by the squares
    of the errors' logarithms. Golden section: a prediction only grows with the transfers."""
    def misfit(transfers):
        strategy = build(transfers)
        return sum(math.log(predict(strategy, Work(p.work), p.processors, machine).seconds
                            / p.seconds) ** 2 for p in points)

    low, high, ratio = 0.0, TRANSFERS_MAX, (math.sqrt(5) - 1) / 2
    while high - low > 1e-3:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if misfit(left) < misfit(right):
            high = right
        else:
            low = left
    return (low + high) / 2


def built(name, management, section):
    """A function that makes the strategy for a number of transfers in a thread's life."""
    visits = sum(v for _, v, _ in LOCKS[name])
    hold = management / 2 if name == "single" else min(section, management / max(visits, 1))

    def build(transfers):
        if not LOCKS[name]:
            return Strategy(name, Work(management, transfers=transfers))
        sections = tuple(Section(lock, Work(hold, transfers=transfers / visits), v, own)
                         for lock, v, own in LOCKS[name])
        return Strategy(name, Work(max(0.0, management - visits * hold)), sections)
    return build


def without_work(points):
    """The points with the least work: those the transfers are fitted to."""
    idle = min((p.work for p in points), default=0.0)
    return [p for p in points if p.work == idle]


def shared_copy(calibration, points):
    """The calibration's own critical section, on a copy that processors share, fitted to points."""
    def build(transfers):
        return Strategy("shared", Work(0.0),
                        (Section("queue", Work(calibration.section, transfers=transfers), 1),))
    machine = calibration.machine(spinning.queue())
    return build(least_squares(build, points, machine))


def shared_points(rows, calibration):
    """The calibration's rows on a shared copy by several processors. Their work between sections is
    what one processor took there, less the section."""
    own = [r for r in rows if r["experiment"] == "calibrate" and r["metric"] == "shared"]
    return [Point("calibrate", "shared", r["processors"],
                  max(0.0, least(own, experiment="calibrate", metric="shared", steps=r["steps"],
                                 processors=1) - calibration.section), r["seconds"])
            for r in own if r["processors"] > 1]


def case_of(row):
    """What a row of lifecycle is about, whatever it says of it."""
    return row["strategy"], row["vps"], row["work_us"], row["threads"]


def lifecycle_points(rows, cpus):
    """Rows of lifecycle, and of micro's create, whose VPs were processors all the time.

    Returns them, and how many were left out: those on more VPs than CPUs, and those of several VPs
    that had no CPU, or no work, for more than a little of the time.
    """
    points, left_out = [], 0
    cpu_seconds = {case_of(r): r["seconds"] for r in rows
                   if r["experiment"] == "lifecycle" and r["metric"] == "cpu_seconds"}
    for r in rows:
        if r["experiment"] == "lifecycle" and r["metric"] == "seconds":
            wall = r["seconds"] * r["vps"]
            cpu = cpu_seconds.get(case_of(r), wall)
            if r["vps"] > cpus or (r["vps"] > 1 and cpu < BUSY * wall):
                left_out += 1
                continue
            # One VP is one processor however often it is interrupted: its CPU time counts.
            points.append(Point("lifecycle", r["strategy"], r["vps"], 1e-6 * r["work_us"],
                                (cpu if r["vps"] == 1 else wall) / r["threads"]))
        elif (r["experiment"] == "micro" and r["vps"] <= cpus
              and (r["metric"], r["impl"]) == ("create", "mltp")):
            # CPU time of all VPs for each thread: what each VP takes from thread to thread
            points.append(Point("micro", "default", r["vps"], 0.0, r["seconds"]))
    unknown = {p.strategy for p in points} - set(STRATEGIES)
    if unknown:
        raise BadMeasurement(f"strategy {min(unknown)}: the model knows {', '.join(STRATEGIES)}")
    if any(p.experiment == "lifecycle" and p.strategy == "default" for p in points):
        points = [p for p in points if p.experiment == "lifecycle"]
    return points, left_out


def fit(name, points, calibration, machine, section_transfers):
    """The strategy as its null threads (least work measured) show it, and the points used. Where
    these are of one processor only, sections move as many lines as the calibration's own does."""
    fitted = without_work(points)
    alone = [p.seconds - p.work for p in fitted if p.processors == 1]
    several = [p for p in fitted if p.processors > 1]
    if not alone:
        raise BadMeasurement(f"strategy {name} has no row on 1 VP: measure with --vps 1,P")
    build = built(name, max(0.0, min(alone)), calibration.section)
    if several:
        return build(least_squares(build, several, machine)), fitted
    return build(section_transfers * sum(v for _, v, _ in LOCKS[name])), fitted


def composed(name, plain, calibration, section_transfers):
    """A strategy that was not measured: the default's cost, with the locks it would have."""
    visits = sum(v for _, v, _ in LOCKS[name])
    strategy = built(name, plain.management() + visits * calibration.section,
                     calibration.section)(0.0)
    sections = tuple(replace(s, work=replace(s.work, transfers=section_transfers))
                     for s in strategy.sections)
    outside = replace(strategy.outside, transfers=plain.outside.transfers)
    return replace(strategy, outside=outside, sections=sections)


def compare(strategy, points, machine, fitted):
    """Predictions beside measurements, as dicts."""
    rows = []
    for p in sorted(points, key=lambda p: (p.work, p.processors)):
        found = predict(strategy, Work(p.work), p.processors, machine).seconds
        rows.append({"experiment": p.experiment, "strategy": p.strategy,
                     "processors": p.processors, "work_us": 1e6 * p.work,
                     "measured_seconds": p.seconds, "predicted_seconds": found,
                     "error": found / p.seconds - 1, "fitted": p in fitted})
    return rows


def shape(strategy):
    """A strategy's numbers, for the report."""
    return {"name": strategy.name, "seconds": seconds_alone(strategy, Work(0.0)),
            "in_sections": sum(s.visits * s.work.seconds for s in strategy.sections),
            "transfers": strategy.outside.transfers
            + sum(s.visits * s.work.transfers for s in strategy.sections)}
