# SPDX-License-Identifier: Apache-2.0
"""Several programs on one machine: TMPI-2's workload (Table 3), programs of others, copies of one program."""
import blocks
import plots
from blocks import quantity
from results import paper

from . import mpi_ways

JOBS = ("GOODWIN", "MM2", "GE1", "GE2", "MM1", "SWEEP3D")
SYSTEMS = ("TMPI-2", "TMPI", "SGI MPI")
NAMES = {"coordinated": "MLTP with mltpd", "uncoordinated": "MLTP without mltpd"}
STYLES = {"coordinated": ("#0b6e4f", "o"), "uncoordinated": ("#6fb98f", "s")}


def name(way):
    return NAMES.get(way) or mpi_ways.name(way)


def style(way):
    if way not in STYLES:
        return mpi_ways.style(way)
    colour, mark = STYLES[way]
    return {"color": colour, "marker": mark, "label": name(way)}


def printed(interval):
    """The paper's mean turnaround of each system at an interval, in seconds."""
    means = {}
    for system in SYSTEMS:
        times = [row["value"] for row in paper("tmpi2", table=3, quantity=f"{system} turnaround at {interval} s")]
        means[system] = sum(times) / len(times)
    return means


def drawn(rows):
    """Mean turnaround over the interval, of each way."""
    picture, (axes,) = plots.panels(1)
    for way in dict.fromkeys(row["impl"] for row in rows):
        plots.line(axes, [row for row in rows if row["impl"] == way], "interval_s", **style(way))
    axes.invert_xaxis()
    axes.set_xlabel("interval between launches, s (more jobs at once to the right)")
    plots.value_axis(axes, "mean turnaround, ms", [row["median"] for row in rows])
    return picture


def said(rows):
    """How the best other way compares with the coordinated one."""
    ratios = []
    for interval in dict.fromkeys(row["interval_s"] for row in rows):
        here = {row["impl"]: row["median"] for row in rows if row["interval_s"] == interval}
        ours = here.pop("coordinated", None)
        if ours and here:
            way = min(here, key=here.get)
            ratios.append(f"{here[way] / ours:.2f} ({name(way)}) at {quantity(interval)} s")
    return ("The least median of the other ways, over that of MLTP with mltpd: " + ", ".join(ratios) + "." if ratios
            else "There is nothing to compare.")


def numbers(rows):
    order = {job: i for i, job in enumerate((*JOBS, "mean"))}
    lines = [[quantity(row["interval_s"]) if row["interval_s"] else "alone", row["metric"], name(row["impl"]),
              *blocks.spread(row), row["runs"]]
             for row in sorted(rows, key=lambda row: (-(row["interval_s"] or 1e9), order[row["metric"]]))]
    return blocks.Table(["interval, s", "job", "by", "min ms", "median ms", "max ms", "runs"], lines)


def workload(results):
    key, title = "tmpi2-table-3", "Table 3: turnaround of six jobs"
    caption = ("From a job's launch to its end. The paper's intervals are parts of the time a job takes alone; the same "
               "parts are used here.")
    rows = results.select(experiment="workload")
    means = [row for row in rows if row["metric"] == "mean" and row["interval_s"]]
    if not means:
        return blocks.Figure(key, title, caption, None, f"workload: {results.missing('workload')}.")
    return blocks.Figure(key, title, caption, drawn(means), said(means), numbers(rows))


def beside_paper(results):
    """Each way's mean turnaround over that of the coordinated one, beside the paper's over TMPI-2's."""
    rows = results.select(experiment="workload", metric="mean")
    here = sorted({row["interval_s"] for row in rows if row["interval_s"]}, reverse=True)
    ways = [way for way in dict.fromkeys(row["impl"] for row in rows) if way != "coordinated"]
    lines = []
    for index, interval in enumerate((20, 14, 12, 10)):
        means = printed(interval)
        line = [f"{interval} s", *(f"{means[system] / means['TMPI-2']:.2f}" for system in SYSTEMS[1:])]
        found = ({row["impl"]: row["median"] for row in rows if row["interval_s"] == here[index]}
                 if len(here) == 4 else {})
        ours = found.get("coordinated")
        line += [f"{here[index]:.3f} s" if found else "–",
                 *(f"{found[way] / ours:.2f}" if ours and way in found else "–" for way in ways)]
        lines.append(line)
    return blocks.Table(["the paper's interval", "TMPI over TMPI-2", "SGI MPI over TMPI-2", "interval here",
                         *(f"{name(way)} over MLTP with mltpd" for way in ways)], lines,
                        "Table 3's normalized means: the mean turnaround of the six jobs over that of TMPI-2.")


def table_of(results, experiment, title, first, key):
    """Times of an experiment's ways, row by row."""
    rows = results.select(experiment=experiment)
    lines = [[key(row), name(row["impl"]), *blocks.spread(row), row["runs"], row.get("verdict", "")] for row in rows]
    return blocks.Table([first, "by", "min s", "median s", "max s", "runs", "verdict of the first way"], lines,
                        f"{title} {results.missing(experiment).capitalize()}." if not lines else title)


def section(results):
    return blocks.Section(
        "coordination", "Several programs on one machine", "TMPI-2 sections 3 and 5.1, Table 3; thesis section 5.3",
        "mltpd shares the CPUs among programs that know nothing of each other. Each program checks its answer; the ways "
        "take turns, run by run." + mpi_ways.absent(results),
        [workload(results), beside_paper(results),
         table_of(results, "foreign", "Programs that were not written for us: plain, and by mltp run; suites of MPI tests "
                  "by ctest -j4.", "what runs", lambda row: row["metric"]),
         table_of(results, "copies", "Copies of the ocean at the same time.", "copies",
                  lambda row: f"{row['copies']}, {row['lock']} locks")])
