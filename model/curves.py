# SPDX-License-Identifier: Apache-2.0
"""The figures' curves as data: what a page plots, and what JSON carries.

A figure is a dict of `figure`, `title`, `x`, `y` (the axes' labels), `log_x`, `log_y`, and `series`: a list of
dicts of `name`, `kind` ("model" or "measured"), `x` and `y`.
"""

from . import paper
from .placement import searched
from .solve import predict
from .strategies import Work, seconds_alone

SPEEDUP = "speed-up over the fastest on one processor"


def figure(number, title, x_label, series, y_label=SPEEDUP, log_x=False, log_y=False):
    """A figure's dict."""
    return {"figure": number, "title": title, "x": x_label, "y": y_label, "log_x": log_x,
            "log_y": log_y, "series": series}


def curve(name, points, kind="model"):
    """A series from pairs of x and y."""
    points = list(points)
    return {"name": name, "kind": kind, "x": [x for x, _ in points], "y": [y for _, y in points]}


def fastest_alone(strategies, user):
    """Seconds for a thread of the fastest strategy on one processor: what speed-ups compare with."""
    return min(seconds_alone(s, user) for s in strategies)


def speedup(strategy, user, processors, machine, alone):
    """The paper's speed-up (III.F): against the fastest strategy on one processor."""
    return alone * predict(strategy, user, processors, machine).throughput


def over_processors(strategies, user, counts, machine, alone):
    """One curve for each strategy over the number of processors."""
    return [curve(s.name, ((n, speedup(s, user, n, machine, alone)) for n in counts))
            for s in strategies]


def figure5(processors=18):
    """Queues examined against runnable threads, equation 3.1."""
    counts = range(1, 2 * processors + 1)
    return figure(5, f"Queues examined, {processors} processors (equation 3.1)",
                  "runnable threads",
                  [curve("local", ((n, searched(n, processors)) for n in counts))],
                  y_label="queues examined for each thread")


def figure2(strategies, machine, counts, measured=()):
    """Speed-up for threads that do nothing."""
    none = Work(0.0)
    return figure(2, "Null threads", "processors",
                  over_processors(strategies, none, counts, machine,
                                  fastest_alone(strategies, none)) + list(measured))


def figure9(strategies, machine, user, counts, alone, measured=()):
    """Model beside measurement: speed-up over processors; `measured` are curves."""
    title = f"Model and measurement, {1e6 * user.seconds:g} us of work a thread"
    return figure(9, title, "processors",
                  over_processors(strategies, user, counts, machine, alone) + list(measured))


def figure10(strategies, machine, processors, seconds, bus_load=0.0):
    """Speed-up against user work, each a number of seconds."""
    users = [Work(s, bus=bus_load * s) for s in seconds]
    series = [curve(s.name, ((1e6 * u.seconds, speedup(s, u, processors, machine,
                                                       fastest_alone(strategies, u)))
                             for u in users)) for s in strategies]
    title = f"Speed-up against work, {processors} processors"
    if bus_load:
        title += f", bus load {bus_load:.0%}"
    return figure(10, title, "user work for each thread (us)", series, log_x=True)


def figure11(strategies, machine, processors, seconds, loads):
    """Speed-up against the bus load of user code."""
    series = [curve(s.name, ((100 * load, speedup(s, u, processors, machine,
                                                  fastest_alone(strategies, u)))
                             for load, u in ((b, Work(seconds, bus=b * seconds)) for b in loads)))
              for s in strategies]
    return figure(11, f"Speed-up against bus load, {1e6 * seconds:g} us of work, "
                  f"{processors} processors", "bus load of user code (%)", series)


def figure12(strategies, machine, user, counts):
    """Speed-up over many processors."""
    return figure(12, f"Speed-up over processors, {1e6 * user.seconds:g} us of work a thread",
                  "processors", over_processors(strategies, user, counts, machine,
                                                fastest_alone(strategies, user)))


def of_the_paper():
    """Figures 2, 5 and 9 to 12 with the paper's machine, as the paper drew them."""
    two = (paper.LOCAL, paper.FREELIST)
    machine = paper.MACHINE
    work = paper.user_work(300e-6)
    alone = fastest_alone(paper.STRATEGIES, work)
    return [
        figure2(paper.STRATEGIES, machine, range(1, paper.PROCESSORS + 1)),
        figure5(),
        figure9(two, machine, work, range(1, paper.PROCESSORS + 1), alone),
        figure10(two, machine, paper.PROCESSORS, [10 ** (e / 4) * 1e-6 for e in range(4, 21)],
                 bus_load=0.05),
        figure11(two, machine, paper.PROCESSORS, 200e-6, [e / 200 for e in range(0, 31)]),
        figure12(two, machine, paper.user_work(2e-3), [1, *range(5, 201, 5)]),
    ]
