# SPDX-License-Identifier: Apache-2.0
"""MPI: single operations beside today's libraries, and what it costs to have a copy of the program for each rank."""
import blocks
import plots
import verdicts
from blocks import quantity

from . import mpi_ways

UNITS = {"us": "microseconds", "ms": "milliseconds", "kB": "kB"}
OVER_RANKS = (("barrier", "barrier"), ("allreduce, 8 bytes", "sum of a number"),
              ("bcast, 8 bytes", "broadcast of 8 bytes"))


def rows_of(results, metric, **wanted):
    return results.select(experiment="mpi", metric=metric, **wanted)


def over_ranks(axes, rows, title):
    for impl in mpi_ways.of(rows):
        plots.line(axes, [row for row in rows if row["impl"] == impl], "ranks", **mpi_ways.style(impl))
    plots.powers_of_two(axes, [row["ranks"] for row in rows], "ranks")
    axes.set_yscale("log")
    axes.set_title(title)
    axes.set_ylabel(UNITS[rows[0]["unit"]])


def numbers(rows):
    return blocks.Table(
        ["operation", "by", "ranks", "min", "median", "max", "unit", "CPU ms from start to end", "runs"],
        [[row["metric"], mpi_ways.name(row["impl"]), row["ranks"], *blocks.spread(row), row["unit"],
          quantity(row["cpu_ms"]), row["runs"]] for row in rows])


def ahead(rows):
    """At how many points ours takes least of all, and by how much the best other is behind."""
    ratios = mpi_ways.ratios(rows)
    if not ratios:
        return "There is nothing to compare with."
    return (f"MLTP takes least at {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} points; the best other "
            f"library takes {quantity(min(ratios))} to {quantity(max(ratios))} times as much.")


def picture_of(results, key, title, caption, wanted):
    """A panel for each metric that was measured, over ranks."""
    measured = [(name, rows_of(results, metric)) for metric, name in wanted]
    measured = [(name, rows) for name, rows in measured if rows]
    if not measured:
        return blocks.Figure(key, title, caption, None, f"mpi: {results.missing('mpi')}.")
    picture, axes = plots.panels(len(measured))
    for panel, (name, rows) in zip(axes, measured):
        over_ranks(panel, rows, name)
    every = [row for _, rows in measured for row in rows]
    return blocks.Figure(key, title, caption, picture, ahead(every), numbers(every))


def messages(results):
    title, key = "Messages between two ranks", "mpi-messages"
    caption = ("Time of one message, one way: half a round trip. One CPU: both ranks share it. Polled: the receiver calls "
               "MPI_Test() until the message is there, so each rank keeps a CPU. Otherwise a library may use one CPU or two.")
    panels = [(metric, rows_of(results, metric, ranks=2)) for metric in (
        "latency, 8 bytes, one CPU", "latency, 8 bytes", "latency, 8 bytes, polled", "latency, 1 MiB")]
    panels = [(metric, rows) for metric, rows in panels if rows]
    if not panels:
        return blocks.Figure(key, title, caption, None, f"mpi: {results.missing('mpi')}.")
    picture, axes = plots.panels(len(panels))
    for panel, (metric, rows) in zip(axes, panels):
        for place, row in enumerate(reversed(rows)):
            panel.errorbar(row["median"], place, marker="o", markersize=7, capsize=3,
                           color=mpi_ways.style(row["impl"])["color"],
                           xerr=[[row["median"] - row["min"]], [row["max"] - row["median"]]])
            panel.annotate(quantity(row["median"]), (row["max"], place), xytext=(6, 0),
                           textcoords="offset points", va="center", fontsize=8)
        panel.set_yticks(range(len(rows)), [mpi_ways.name(row["impl"]) for row in reversed(rows)])
        panel.set_xscale("log")
        panel.set_xlim(right=panel.get_xlim()[1] * 2)
        panel.set_xlabel("microseconds, median (min to max)")
        panel.set_title(metric.replace("latency, ", ""))
        panel.grid(False, axis="y")
    every = [row for _, rows in panels for row in rows]
    sentence = ahead(every)
    large = {row["impl"]: row["min"] for row in every if row["metric"] == "latency, 1 MiB"}
    if "tmpi" in large:
        sentence += f" A MiB at a time MLTP moves {quantity(2 ** 20 / large['tmpi'] / 1e3)} GB a second."
    return blocks.Figure(key, title, caption, picture, sentence, numbers(every))


def price(results):
    """What private copies of a program's data and text cost."""
    key, name = "mpi-privatization", "The price of a copy for each rank"
    caption = ("Each rank has the program's data and text at addresses of its own. Left: loading, running and "
               "ending all ranks. Middle: memory of the process for each. Right: a barrier for each rank, beside "
               "the barrier of as many plain threads, which share one text, on the same VPs.")
    started, memory, barriers = (rows_of(results, metric, impl="tmpi")
                                 for metric in ("start to end", "memory of a rank", "barrier"))
    if not started or not barriers:
        return blocks.Figure(key, name, caption, None, f"mpi: {results.missing('mpi')}.")
    picture, axes = plots.panels(3)
    threads = [row for row in results.select(experiment="barrier", metric="barrier", impl="mltp")
               if row["vps"] == barriers[0]["vps"]]
    share = [{**row, **{k: row[k] / row["ranks"] * 1e3 for k in ("min", "median", "max")}} for row in barriers]
    for panel, rows, title, label in ((axes[0], started, "start to end", "ms"),
                                      (axes[1], memory, "memory", "kB for each rank"),
                                      (axes[2], share, "a barrier", "ns of wall time for each rank")):
        panel.set_title(title)
        if rows:
            plots.line(panel, rows, "ranks", **mpi_ways.style("tmpi"))
        plots.powers_of_two(panel, [row["ranks"] for row in rows] or [1], "ranks")
        plots.value_axis(panel, label, [row["max"] for row in rows] or [1])
    if threads:
        plots.line(axes[2], [{**row, "ranks": row["threads"]} for row in threads], "ranks", color="#777777",
                   marker="x", label="threads with one text")
    last = max(started, key=lambda row: row["ranks"])
    sentence = (f"{last['ranks']} ranks start and end in {quantity(last['min'])} ms, "
                f"{quantity(1e3 * last['min'] / last['ranks'])} us for each")
    if memory:
        most = max(memory, key=lambda row: row["ranks"])
        sentence += f"; each takes {quantity(most['min'])} kB where there are {most['ranks']}"
    few, many = (choose(share, key=lambda row: row["ranks"]) for choose in (min, max))
    sentence += (f". A barrier takes {quantity(few['min'])} ns for each of {few['ranks']} ranks and "
                 f"{quantity(many['min'])} for each of {many['ranks']}, each of which has its stack, data and text to itself.")
    return blocks.Figure(key, name, caption, picture, sentence, numbers(started + memory + barriers))


def loaded(results):
    """Our rows, quiet and beside programs that compute on every CPU."""
    lines, ratios = [], {"min": [], "median": []}
    for row in results.select(experiment="mpi-load", impl="loaded"):
        for quiet in results.select(experiment="mpi-load", impl="quiet", metric=row["metric"], ranks=row["ranks"]):
            here = {key: row[key] / quiet[key] for key in ratios}
            for key, value in here.items():
                ratios[key].append(value)
            lines.append([row["metric"], row["ranks"], row["unit"], *(quantity(of[key]) for key in ratios for of in (quiet, row)),
                          *(f"{value:.2f}" for value in here.values()), row["runs"]])
    if not lines:
        return None
    worst = ", ".join(f"{max(values):.2f} by {key}" for key, values in ratios.items())
    return blocks.Table(
        ["operation", "ranks", "unit", "quiet: min", "loaded: min", "quiet: median", "loaded: median", "ratio of minima",
         "of medians", "runs of each"], lines,
        f"Beside a program that computes on every CPU, runs in turn. Half of each CPU is left, a ratio of 2; the aim is at most 2.5. The "
        f"worst ratio: {worst}.")


def beside_peers(results):
    """Each row of ours that was measured beside a peer."""
    lines, found = [], []
    for ours in results.select(impl="tmpi"):
        if ours["experiment"] not in ("mpi", "mpi-programs"):
            continue
        peers = [row for row in results.select(experiment=ours["experiment"], metric=ours["metric"], ranks=ours["ranks"])
                 if mpi_ways.is_peer(row["impl"])]
        if not peers:
            continue
        least, middle = verdicts.best(peers), verdicts.best(peers, "median")
        found.append(verdicts.of(peers, lambda row: mpi_ways.name(row["impl"])))
        lines.append([ours["metric"], ours["ranks"], ours["unit"], *blocks.spread(ours), ours["runs"],
                      f"{quantity(least['min'])} {mpi_ways.name(least['impl'])}", f"{least['min'] / ours['min']:.2f}",
                      f"{quantity(middle['median'])} {mpi_ways.name(middle['impl'])}",
                      f"{middle['median'] / ours['median']:.2f}", found[-1]])
    return blocks.Table(["row", "ranks", "unit", "ours: min", "median", "max", "runs", "least minimum of peers", "peer / ours",
                         "least median of peers", "peer / ours", "verdict"], lines,
                        f"On {results.identity['cpu']}, runs in turn. {verdicts.RULE} {verdicts.count(found)}") if lines else None


def section(results):
    made = [picture_of(results, "mpi-collectives", "Collectives, over the number of ranks",
                       "Wall time of one call of all ranks. Ranks outnumber the CPUs from the second point on.",
                       OVER_RANKS),
            messages(results),
            picture_of(results, "mpi-start", "Starting and ending, and memory",
                       "Left: a program that does nothing, from launch to end. Right: memory of all processes for "
                       "each rank, what they share counted once.",
                       (("start to end", "start to end"), ("memory of a rank", "memory of a rank"))),
            price(results)]
    return blocks.Section(
        "mpi", "MPI: single operations", "TMPI-2 section 5",
        "The same program, compiled for each library that is installed; runs take turns. While each rank can have a CPU "
        "the others run as they come and with each rank pinned to a core, and the better one counts. Where ranks "
        "outnumber CPUs Open MPI yields when idle, and MPICH yields after each poll." + mpi_ways.absent(results),
        [block for block in (beside_peers(results), *made, loaded(results)) if block])
