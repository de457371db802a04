# SPDX-License-Identifier: Apache-2.0
"""What one thing costs beside many others of its kind, on log-log axes: flat lines are the aim."""
import blocks
import plots
from blocks import quantity

from . import mpi_ways

COLUMNS = 3  # panels beside each other


def grid(count):
    rows = -(-count // COLUMNS)
    picture, axes = plots.plt.subplots(rows, COLUMNS, figsize=(11, 2.6 * rows), layout="constrained", squeeze=False)
    for panel in axes.flat[count:]:
        panel.set_axis_off()
    return picture, axes.flat[:count]


def draw(groups, x, style_of):
    """A panel for each group of rows, a line for each implementation."""
    picture, axes = grid(len(groups))
    for panel, (title, rows) in zip(axes, groups.items()):
        for impl in dict.fromkeys(row["impl"] for row in rows):
            plots.line(panel, [row for row in rows if row["impl"] == impl], x, **style_of(impl))
        panel.set_xscale("log")
        panel.set_yscale("log")
        low, high = panel.get_ylim()
        if high < 10 * low:  # so that a flat line looks flat
            panel.set_ylim(low / 3, high * 3)
        panel.set_title(title)
        panel.set_ylabel(rows[0]["unit"])
        panel.legend()
    return picture


def grouped(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def numbers(rows, x, name):
    return blocks.Table(["row", "implementation", "n", "min", "median", "max", "unit", "runs"],
                        [[row.get("row", row["metric"]), name(row["impl"]), row[x], *blocks.spread(row), row["unit"],
                          row["runs"]] for row in rows])


LIMIT = 0.3  # a slope up to this is called flat: log n over three decades is less

# Why a row may be steeper, so that a reader can judge it (tests/growth and mpi.growth count instructions of most rows);
# a row that is steep without a reason here is reported as such.
MISSES = "each is a cache miss when all of them no longer fit the caches"
REASONS = {
    **dict.fromkeys(("unexpected", "wildcard", "posted", "cancelled", "attributes", "info", "master", "await-words"), MISSES),
    "waitany": "MPI_Waitany reads its array of handles from the first one, and the handles of complete requests are null",
}


def kind(row):
    """What is one line of a table of slopes."""
    return row["row"], row.get("ranks"), row["impl"]


def slopes(rows):
    """The median slope of each row and implementation."""
    return {kind(row): row["median"] for row in rows if row["metric"] == "slope"}


def sentence_of_slopes(found, ours):
    own = [slope for (_, _, impl), slope in found.items() if impl == ours]
    if not own:
        return "There is no slope."
    return (f"The slopes of {len(own)} rows lie between {quantity(min(own))} and {quantity(max(own))}; "
            f"{sum(slope <= LIMIT for slope in own)} are at most three tenths.")


def steep(rows, ours, name):
    """Our rows that are steeper than LIMIT, each with its reason and the flattest other."""
    found = slopes(rows)
    lines = []
    for (row, ranks, impl), slope in found.items():
        if impl != ours or slope <= LIMIT:
            continue
        others = [(other, peer) for (at, among, peer), other in found.items() if (at, among) == (row, ranks) and is_other(peer)]
        best, peer = min(others) if others else (None, None)
        lines.append([row, quantity(slope), quantity(best), name(peer) if peer else "–", REASONS.get(row, "not known")])
    return blocks.Table(["row", "our slope", "the flattest other's", "which", "reason"], lines,
                        "Rows whose slope is above three tenths.") if lines else None


def is_other(impl):
    return impl not in ("mltp", "checked", "tmpi", "one-to-one")


def decades(rows, x, each, memory, name):
    """A line for each row and implementation: time of one thing at each size, the slope, and memory."""
    groups = grouped(rows, kind)
    lines = []
    for (row, ranks, impl), own in groups.items():
        timed = sorted((point for point in own if point["metric"] == each), key=lambda point: point[x])
        held = sorted((point for point in own if point["metric"] == memory), key=lambda point: point[x])
        slope = next((point for point in own if point["metric"] == "slope"), None)
        if not timed:
            continue
        lines.append([row, ranks or "–", name(impl), ", ".join(str(point[x]) for point in timed),
                      ", ".join(quantity(point["min"]) for point in timed), timed[0]["unit"], *(spread_of(slope)),
                      ", ".join(quantity(point["max"]) for point in held)])
    return blocks.Table(["row", "ranks", "implementation", "n", "least time of each", "unit", "slope", "its spread", "memory, B"],
                        lines)


def spread_of(slope):
    if slope is None:
        return "–", "–"
    least, middle, most = blocks.spread(slope)
    return middle, f"{least} to {most}"


def missing(results, key, title, caption, experiment):
    return blocks.Figure(f"growth-{key}", title, caption, None, f"{experiment}: {results.missing(experiment)}.")


def threads(results):
    title, caption = "Threads and simulation", "CPU time of each of n things; the least of several runs, and their spread."
    rows = results.select(experiment="growth")
    timed = [row for row in rows if row["metric"] == "seconds_per_thing"]
    if not timed:
        return missing(results, "threads", title, caption, "growth")
    return blocks.Figure("growth-threads", title, caption, draw(grouped(timed, lambda row: row["row"]), "n", plots.style_of),
                         sentence_of_slopes(slopes(rows), "mltp"),
                         decades(rows, "n", "seconds_per_thing", "peak_memory", plots.name_of))


def recursion(results):
    title = "Recursive programs"
    caption = "Time of each thread on one VP and on two, over the size of the tree; the most memory on two."
    rows = results.select(experiment="recursion")
    rows = [row for row in rows if row["metric"] != "absent"]
    if not rows:
        return missing(results, "recursion", title, caption, "recursion")
    groups = grouped(rows, lambda row: f"{row['metric']}, {row['vps']} VP" + "s"[:row["vps"] - 1])
    worst = [max(row["min"] for row in own) / min(row["min"] for row in own)
             for group in groups.values() if group[0]["unit"] == "ns" and not group[0]["metric"].endswith("-walk")
             for own in [[row for row in group if row["impl"] == "mltp"]] if own]
    sentence = (f"Between sizes of a tree, a thread of MLTP's takes {quantity(min(worst))} to {quantity(max(worst))} times "
                "the least.") if worst else "There is nothing to compare."
    return blocks.Figure("growth-recursion", title, caption, draw(groups, "threads", plots.style_of), sentence,
                         numbers(rows, "threads", plots.name_of))


def mpi(results):
    title, caption = "MPI", "CPU time of rank 0's process for each of n, which is that of all ranks where ranks are threads; the least of several runs, and their spread."
    rows = results.select(experiment="mpi-growth")
    timed = [row for row in rows if row["metric"] == "each"]
    if not timed:
        return missing(results, "mpi", title, caption, "mpi-growth")
    groups = grouped(timed, lambda row: row["row"] + (f", {row['ranks']} ranks" if row["ranks"] else ""))
    return blocks.Figure("growth-mpi", title, caption, draw(groups, "size", mpi_ways.style),
                         sentence_of_slopes(slopes(rows), "tmpi"),
                         decades(rows, "size", "each", "memory of each", mpi_ways.name))


def section(results):
    tables = [steep(results.select(experiment=experiment), ours, name)
              for experiment, ours, name in (("growth", "mltp", plots.name_of), ("mpi-growth", "tmpi", mpi_ways.name),
                                             ("mpi-growth", "checked", mpi_ways.name))]
    return blocks.Section(
        "growth", "Costs beside many others", "what one thing costs when there are n of them",
        "Each row is measured at three sizes. The slope is that of a line through the logarithms of size and time for each "
        "thing: 0 is flat, 1 means that each thing pays for all others.",
        [threads(results), recursion(results), mpi(results), *(table for table in tables if table)])
