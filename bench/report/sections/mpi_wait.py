# SPDX-License-Identifier: Apache-2.0
"""Ways to wait for other ranks: TMPI-2's Tables 2 and 6 to 9."""
import blocks
import plots
from blocks import quantity
from results import paper

PROGRAMS = {"GE": "GE 1728", "SWEEP3D": "wavefront 64", "GOODWIN": "LU 7320", "TID": "LU 14454",
            "E40R0100": "LU 17281"}  # the paper's, and our row
OURS = ("CG 128", "latency, 8 bytes")  # rows the paper has nothing beside
DEGREES = (1, 1.5, 2, 2.5, 3)
WAYS = {"conscious": "conscious", "spin:50": "spin 50 us", "spin:2000": "spin 2 ms",
        "spin": "spin as long as a park takes", "park": "park at once"}


def rows_of(results, metric, **wanted):
    return results.select(experiment="mpi-wait", metric=metric, **wanted)


def measured(results, metric, degree):
    """The rows of a program at a degree, by the way to wait."""
    return {row["impl"]: row for row in rows_of(results, metric, degree=degree)}


def gain(here, way, over="conscious", key="median"):
    """By how many percent a program is slower with a way to wait; None: not measured."""
    if not {way, over} <= set(here):
        return None
    return 100 * (here[way][key] / here[over][key] - 1)


def percent(value):
    return "–" if value is None else f"{value:+.1f} %" if abs(value) < 100 else f"{value:+.0f} %"


def printed(table, program, degree):
    found = paper("tmpi2", table=table, program=program, degree=degree)
    return found[0]["value"] if found else None


def drawn(axes, title, lines):
    """Gains in percent over the degree."""
    for (name, points), colour in zip(lines, plots.SERIES):
        points = [(degree, value) for degree, value in points if value is not None]
        axes.plot([degree for degree, _ in points], [value for _, value in points], marker="o", color=colour, label=name)
    axes.set_title(title)
    axes.set_xlabel("ranks for each processor")
    axes.set_ylabel("faster by %")
    axes.legend()


def figure(results):
    key, title = "tmpi2-table-8", "Table 8: what it brings to know who runs"
    caption = ("By how many percent a program is faster when a rank that waits spins only while the rank it waits for "
               "runs, and never longer than a park takes, than when it spins for the paper's short time and then "
               "parks. CPU time is that of whole runs, start and end among them, and hardly depends on what else runs.")
    here = [(metric, [(degree, measured(results, metric, degree)) for degree in DEGREES])
            for metric in PROGRAMS.values()]
    gains = {key: [(metric, [(degree, gain(ways, "spin:50", key=key)) for degree, ways in at]) for metric, at in here]
             for key in ("median", "cpu_ms")}
    if not any(value is not None for _, points in gains["median"] for _, value in points):
        return blocks.Figure(key, title, caption, None, f"mpi-wait: {results.missing('mpi-wait')}.")
    picture, axes = plots.panels(3)
    drawn(axes[0], "the paper, Power Challenge",
          [(program, [(degree, printed(8, program, degree)) for degree in DEGREES]) for program in PROGRAMS])
    drawn(axes[1], "here: time", gains["median"])
    drawn(axes[2], "here: CPU time", gains["cpu_ms"])
    most = max(degree for _, points in gains["cpu_ms"] for degree, value in points if value is not None)
    last = [value for _, points in gains["cpu_ms"] for degree, value in points if degree == most and value is not None]
    old = [printed(8, program, most) for program in PROGRAMS]
    return blocks.Figure(key, title, caption, picture,
                         f"With {most:g} ranks for each processor programs take {quantity(min(last))} to "
                         f"{quantity(max(last))} % more CPU time if ranks spin for a fixed time first; in the paper "
                         f"they take {quantity(min(old))} to {quantity(max(old))} % longer.")


def gains_table(results):
    """Tables 6, 8 and 9 beside ours."""
    lines = []
    for program, metric in [*PROGRAMS.items(), *(("–", metric) for metric in OURS)]:
        for degree in DEGREES:
            here = measured(results, metric, degree)
            old = [printed(table, program, degree) for table in (6, 8, 9)]
            if here or any(value is not None for value in old):
                lines.append([program, metric, f"{degree:g}", *map(percent, old),
                              *(percent(gain(here, way, over, key)) for way, over, key in (
                                  ("spin:2000", "spin:50", "median"), ("spin:50", "conscious", "median"),
                                  ("spin:50", "conscious", "cpu_ms"), ("spin", "conscious", "median"),
                                  ("park", "conscious", "median")))])
    return blocks.Table(
        ["the paper's program", "ours", "ranks for each processor", "Table 6: short spin over long",
         "Table 8: conscious over spin, Power Challenge", "Table 9: the same, Origin 2000",
         "here: short over long spin", "conscious over short spin", "the same, CPU time",
         "conscious over spinning as long as a park takes", "conscious over park at once"], lines,
        "Tables 6, 8 and 9: how much faster the first is, by medians of runs in turn. The paper has four processors.")


def counters(results):
    """Why: the spins that failed."""
    lines = []
    for metric in (*PROGRAMS.values(), *OURS):
        for degree in (1, 2, 3):
            here = measured(results, metric, degree)
            for way, row in here.items():
                more = row["cpu_ms"] - here["park"]["cpu_ms"] if "park" in here else None
                lines.append([metric, degree, WAYS[way], quantity(row["median"]), quantity(row["cpu_ms"]),
                              *(quantity(row[key]) for key in ("calls", "parks", "spins_paid", "spins_vain", "vain_ms")),
                              quantity(more)])
    return blocks.Table(
        ["program", "ranks for each processor", "waiting", "time (ms; latency: us)", "CPU ms", "calls that may wait",
         "parked", "spun until it came", "spun, then parked", "ms of spins that ended in a park, at most",
         "CPU ms more than parking at once"], lines,
        "Why: a spin that ends in a park takes time from ranks that could run, and the more ranks share a processor the more "
        "spins end so. Their number by their length is the time that such a run takes more.")


def table_1(results):
    """None without a run of it. The paper's own figures cannot be read in the text we have."""
    ways = (("by the kernel", "pthreads", "probe-early"), ("two switches of stacks", "mltp", "probe-late"),
            ("one, after an eager probe", "mltp", "probe-early"))
    lines = [[name, threads, *(quantity(row[key]) for key in ("min", "median", "max"))]
             for name, impl, metric in ways for threads in (2, 1000)
             for row in results.select(experiment="switch", metric=metric, impl=impl, threads=threads)]
    return blocks.Table(["how a thread switches", "threads", "min", "median", "max"], lines,
                        "Table 1: CPU nanoseconds of a switch. A late probe is made on a stack of its own, between "
                        "two switches; an eager one is made first, so one switch suffices unless the VP has to sleep.") \
        if lines else None


def table_2(results):
    lines = []
    for row in paper("tmpi2", table=2):
        metric = PROGRAMS.get(row["program"])
        here = rows_of(results, metric, impl="conscious", ranks=row["nodes"])
        lines.append([row["program"], metric or "–", quantity(row["value"]),
                      quantity(here[0]["calls"] / here[0]["median"] * 1e3) if here else "–"])
    return blocks.Table(["the paper's program", "ours", "synchronizations a second, paper", "here"], lines,
                        "Table 2: how often four ranks synchronize. Here: calls that wait for others where it is "
                        "necessary, of all ranks, over the timed part; a few of them are before and after it.")


def table_7(results):
    lines = []
    for degree in (1, 2, 3):
        made = {row["quantity"]: row["value"] for row in paper("tmpi2", table=7, degree=degree)}
        lines.append([degree, "paper, spin 2 ms", *(quantity(made[name]) for name in (
            "synchronizations", "blockings", "blockings a second", "blockings in 100")), "–"])
        lines += [[degree, f"here, {WAYS[row['impl']]}", quantity(row["calls"]), quantity(row["parks"]),
                   quantity(row["parks"] / row["median"] * 1e3), quantity(100 * row["parks"] / max(1, row["calls"])),
                   quantity(row["spins_paid"])]
                  for row in measured(results, PROGRAMS["GOODWIN"], degree).values()]
    return blocks.Table(["ranks for each processor", "where, and how ranks wait", "synchronizations", "blockings",
                         "blockings a second", "of 100 synchronizations", "spins that paid"], lines,
                        "Table 7: GOODWIN on the paper's four processors, and sparse LU of as many rows here. A "
                        "synchronization is a call that may wait; often what it would wait for is there.")


def section(results):
    switches = table_1(results)
    return blocks.Section(
        "mpi-wait", "MPI: ways to wait", "TMPI-2 sections 3.3, 4 and 5.3, Tables 1, 2 and 6 to 9",
        "What a rank does that has to wait for others: spin only while they run (conscious, the default), spin for a "
        "fixed time whoever runs, or park at once (tmpirun --wait).",
        [figure(results), gains_table(results), counters(results), *([switches] if switches else []),
         table_2(results), table_7(results)], needs={"mpi-wait"})
