# SPDX-License-Identifier: Apache-2.0
"""All the model has to say, as one dict: what `python3 -m model` writes as JSON."""

from . import curves, here, spinning
from .solve import predict
from .statements import statements
from .strategies import Section, Strategy, Work

PROJECTED = 20  # the paper's number of processors
PAPERS_WORK = 300e-6  # of a thread, in seconds: Figures 3 and 9
DOUBLING = [2 ** k for k in range(11)]  # up to 1024
MANY = [1, *range(64, 1025, 64)]


def of_the_paper():
    """The paper's machine: what the text states, and the figures."""
    return {"statements": statements(), "figures": curves.of_the_paper()}


def of_this_machine(rows, env, way=spinning.backoff()):
    """This machine, whose strategies wait for their locks in this way: calibration, predictions
    with their errors, projections."""
    calibration = here.calibrate(rows)
    machine = calibration.machine(way)
    cpus = env["cpus"] if env else 1
    shared = here.shared_points(rows, calibration)
    section = here.shared_copy(calibration, here.without_work(shared))
    predictions = here.compare(section, shared, calibration.machine(spinning.queue()),
                               here.without_work(shared))

    moved = section.sections[0].work.transfers
    points, left_out = here.lifecycle_points(rows, cpus)
    strategies, sources = {}, {}
    for name in here.STRATEGIES:
        own = [p for p in points if p.strategy == name]
        if own:
            strategies[name], fitted = here.fit(name, own, calibration, machine, moved)
            sources[name] = own[0].experiment
            predictions += here.compare(strategies[name], own, machine, fitted)
    if "default" in strategies:
        for name in set(here.STRATEGIES) - set(strategies):
            strategies[name] = here.composed(name, strategies["default"], calibration, moved)
            sources[name] = "composed"
    ordered = [strategies[n] for n in here.STRATEGIES if n in strategies]
    return {"env": env, "machine": {"spinning": way.name,
                                    "exchange_seconds": calibration.exchange,
                                    "transfer_seconds": calibration.transfer,
                                    "section_seconds": calibration.section,
                                    "section_transfers": moved,
                                    "bus_shares": calibration.bus_shares},
            "strategies": [here.shape(s) | {"source": sources[s.name]} for s in ordered],
            "predictions": predictions, "left_out": left_out,
            "figures": [counter(calibration, section.sections[0].work)]
            + (projections(ordered, machine, points) if ordered else [])}


def counter(calibration, work):
    """Figure 6 on this machine, projected: a section everybody waits for, by way of waiting."""
    strategy = Strategy("counter", Work(0.0), (Section("counter", work, 1),))
    series = [curves.curve(w.name, ((n, 1e9 / predict(
        strategy, Work(0.0), n, calibration.machine(w)).throughput) for n in DOUBLING))
        for w in spinning.BY_NAME.values()]
    return curves.figure(6, "A section everybody waits for (projected)", "processors", series,
                         y_label="time for each section (ns)", log_x=True, log_y=True)


def projections(strategies, machine, points):
    """Figures 2, 9, 10 and 12 for this machine. 11 has no meaning here: there is no bus to load."""
    user = Work(max((p.work for p in points), default=0.0) or PAPERS_WORK)
    alone = curves.fastest_alone(strategies, user)
    few = range(1, PROJECTED + 1)
    grains = [10 ** (e / 2) * 1e-8 for e in range(0, 11)]
    return [curves.figure2(strategies, machine, few, measured(strategies, points, Work(0.0))),
            curves.figure9(strategies, machine, user, few, alone,
                           measured(strategies, points, user)),
            curves.figure10(strategies, machine, PROJECTED, grains),
            curves.figure12(strategies, machine, Work(PAPERS_WORK), MANY)]


def measured(strategies, points, user):
    """The measured speed-ups of threads with so much work, for those strategies that have any."""
    alone = curves.fastest_alone(strategies, user)
    series = [curves.curve(s.name, ((p.processors, p.processors / p.seconds * alone)
                                    for p in points
                                    if (p.strategy, p.work) == (s.name, user.seconds)),
                           kind="measured") for s in strategies]
    return [s for s in series if s["x"]]


def error_summary(predictions):
    """The errors of what was predicted and not fitted: how many, median, worst; None without any."""
    errors = sorted(abs(p["error"]) for p in predictions
                    if not p["fitted"] and p["processors"] > 1)
    if not errors:
        return None
    return {"count": len(errors), "median": errors[len(errors) // 2], "worst": errors[-1]}
