# SPDX-License-Identifier: Apache-2.0
"""TMPI-2's programs: Figure 6, Tables 1, 4 and 5."""
import matplotlib.pyplot as plt

import blocks
import plots
from blocks import quantity
from results import paper

from . import mpi_ways

PANELS = (  # the paper's program, ours, the metric of ours
    ("MM", "MM: product of matrices of 1440 rows (Cannon)", "Cannon 1440"),
    ("GE", "GE: Gaussian elimination, 1728 rows", "GE 1728"),
    ("SWEEP3D", "SWEEP3D: wavefronts over a cube of 64", "wavefront 64"),
    ("GOODWIN", "Sparse LU, 7320 rows (as GOODWIN)", "LU 7320"),
    ("TID", "Sparse LU, 14454 rows (as TID)", "LU 14454"),
    ("E40R0100", "Sparse LU, 17281 rows (as E40R0100)", "LU 17281"),
)
METRIC = {program: metric for program, _, metric in PANELS}


def rows_of(results, **wanted):
    return results.select(experiment="mpi-programs", **wanted)


def overdue(results):
    """Rows of runs that were ended before they had an answer."""
    return [row for row in results.rows if row["experiment"] == "mpi-programs" and "over_seconds" in row]


def numbers(results, metrics):
    rows = [row for metric in metrics for row in rows_of(results, metric=metric)]
    lines = [[row["metric"], mpi_ways.name(row["impl"]), row["ranks"], *blocks.spread(row),
              quantity(row["cpu_ms"]), row["runs"]] for row in rows]
    lines += [[row["metric"], mpi_ways.name(row["impl"]), row["ranks"], f"over {1000 * row['over_seconds']}",
               "–", "–", "–", 0] for row in overdue(results)]
    return blocks.Table(["program", "by", "ranks", "min ms", "median ms", "max ms", "CPU ms from start to end", "runs"],
                        sorted(lines, key=lambda line: (line[0], line[2])))


def speed_panel(axes, rows, title):
    """Speed over that of MLTP with the fewest ranks."""
    ours = [row for row in rows if row["impl"] == "tmpi"]
    base = min(ours, key=lambda row: row["ranks"])["median"]
    for impl in mpi_ways.of(rows):
        here = sorted((row for row in rows if row["impl"] == impl), key=lambda row: row["ranks"])
        axes.plot([row["ranks"] for row in here], [base / row["median"] for row in here], **mpi_ways.style(impl))
    plots.powers_of_two(axes, [row["ranks"] for row in rows], "ranks")
    axes.set_ylim(bottom=0)
    axes.set_title(title)


def figure_6(results):
    key, title = "tmpi2-figure-6", "Figure 6: programs at growing multiplexing degrees"
    caption = (f"Speed over that of MLTP with the fewest ranks, on {results.identity['cpus']} CPUs: 1 is a program "
               "that loses nothing. The paper's curves, of MFLOPS over 1 to 16 ranks on four processors, exist as "
               "pictures only; it says that TMPI-2's do not fall for the first three programs, and "
               "some for sparse LU, where the others are slower by orders of magnitude. MM needs a square number of "
               "ranks.")
    panels = [(name, rows_of(results, metric=metric)) for _, name, metric in PANELS]
    panels = [(name, rows) for name, rows in panels if any(row["impl"] == "tmpi" for row in rows)]
    if not panels:
        return blocks.Figure(key, title, caption, None, f"mpi-programs: {results.missing('mpi-programs')}.")
    picture, grid = plt.subplots(-(-len(panels) // 3), 3, figsize=(11, 3.1 * -(-len(panels) // 3)),
                                 layout="constrained", squeeze=False)
    for axes in grid.flat[len(panels):]:
        axes.set_axis_off()
    for axes, (name, rows) in zip(grid.flat, panels):
        speed_panel(axes, rows, name)
    for line in grid:
        line[0].set_ylabel("relative speed")
    every = [row for _, rows in panels for row in rows]
    kept = [min(row["median"] for row in ours if row["ranks"] == few) /
            min(row["median"] for row in ours if row["ranks"] == many)
            for ours in ([row for row in rows if row["impl"] == "tmpi"] for _, rows in panels)
            for few, many in [(min(row["ranks"] for row in ours), max(row["ranks"] for row in ours))]]
    sentence = (f"From the fewest ranks to the most MLTP keeps {quantity(100 * min(kept))} to "
                f"{quantity(100 * max(kept))} % of its speed")
    ratios = mpi_ways.ratios(every)
    if ratios:
        sentence += (f"; the best other library takes {quantity(min(ratios))} to {quantity(max(ratios))} times as "
                     f"long, and less at {sum(ratio < 1 for ratio in ratios)} of {len(ratios)} points")
    late = len(overdue(results))
    return blocks.Figure(key, title, caption, picture, sentence + (
        f"; {late} points of others have no figure, since their time was over." if late else "."),
                         numbers(results, METRIC.values()))


def table_1(results):
    rows = results.select(experiment="switch", metric="yield", threads=2)
    lines = [[plots.name_of(impl), quantity(min(row["min"] for row in rows if row["impl"] == impl))]
             for impl in ("mltp", "mltp-ucontext", "pthreads") if any(row["impl"] == impl for row in rows)]
    return blocks.Table(
        ["who switches", "CPU ns"], lines,
        "Table 1: a switch between two threads. The paper found that an eager probe saves the second stack switch of "
        "a user-level thread (its figures cannot be read in the text we have); MLTP always switches once, and looks "
        "at what must be done after it, on the next thread's stack.") if lines else None


def degree_of(row, results):
    return row["ranks"] / results.identity["cpus"]


def over_degrees(results, number, title, ways, text):
    """Tables 4 and 5: the time of others over ours at degrees 1 to 3, beside the paper's."""
    lines = []
    for program in ("GE", "SWEEP3D"):
        for degree in (1, 2, 3):
            printed = paper("tmpi2", table=number, program=program, degree=degree)
            line = [program, degree, *(f"{row['value']:.2f}" for row in printed)]
            here = {row["impl"]: row["median"] for row in rows_of(results, metric=METRIC[program])
                    if degree_of(row, results) == degree}
            line += [f"{here[way] / here['tmpi']:.2f}" if way in here and "tmpi" in here else "–" for way in ways]
            lines.append(line)
    heads = ["program", "multiplexing degree",
             *(f"paper, {count} processors" for count in (2, 4, 6, 8)),
             *(f"here, {mpi_ways.name(way)}" for way in ways)]
    return blocks.Table(heads, lines, f"Table {number}: {title} {text}")


def section(results):
    ways = [way for way in mpi_ways.of(rows_of(results)) if mpi_ways.is_peer(way)]
    return blocks.Section(
        "mpi-programs", "MPI: the programs of TMPI-2", "TMPI-2 section 5, Figure 6, Tables 1, 4 and 5",
        "Ordinary MPI programs with globals, each of which checks its answer; the multiplexing degree is the "
        "number of ranks for each CPU. The matrices of sparse LU are made here, as large as the paper's."
        + mpi_ways.absent(results),
        [block for block in (
            figure_6(results), table_1(results),
            over_degrees(results, 4, "speed of TMPI-2 over TMPI,", ["one-to-one"],
                         "whose ranks are kernel threads; here over --one-to-one."),
            over_degrees(results, 5, "speed of TMPI-2 over SGI's MPI,", ways,
                         "whose ranks are processes; here over today's libraries.")) if block])
