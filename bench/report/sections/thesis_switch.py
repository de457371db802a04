# SPDX-License-Identifier: Apache-2.0
"""Thesis 4.1: the cost of context switches."""
import blocks
import plots
from blocks import quantity
from results import paper


def thesis_panel(axes):
    for impl, level, line in (("mltp", "total", "-"), ("process", "total", "-"),
                              ("mltp", "user", ":"), ("process", "user", ":")):
        style = plots.style_of(impl)
        name = style.pop("label") if impl == "process" else "MLTP"
        style.pop("label", None)
        plots.line(axes, paper("thesis-switch", impl=impl, level=level), "switches",
                   linestyle=line, label=f"{name}" + ("" if level == "total" else ", user mode"),
                   **style)
    axes.set_title("thesis: 500 MHz Pentium III")
    axes.set_ylabel("cycles")


def our_panel(axes, rows):
    for impl in [impl for impl in plots.COLOURS if any(row["impl"] == impl for row in rows)]:
        plots.line(axes, [{**row, **{key: row[key] * row["switches"]
                                     for key in ("min", "median", "max")}}
                          for row in rows if row["impl"] == impl], "switches",
                   **plots.style_of(impl))
    axes.set_title("here")
    axes.set_ylabel("CPU nanoseconds")


def sentence_of(rows):
    last = max(row["switches"] for row in paper("thesis-switch"))
    cycles = {row["impl"]: row["mean"] for row in paper("thesis-switch", level="total",
                                                        switches=last)}
    text = (f"In the thesis {last} switches of processes cost "
            f"{quantity(cycles['process'] / cycles['mltp'])} times the cycles of as many "
            "MLTP switches")
    here = {row["impl"]: row["min"] for row in rows if row["switches"] == last}
    if "mltp" in here and "pthreads" in here:
        text += (f"; here kernel threads take {quantity(here['pthreads'] / here['mltp'])} times "
                 "the CPU time of MLTP's")
    return text + "."


def numbers(rows):
    lines = [["here", "–", plots.name_of(row["impl"]), row["switches"],
              *[quantity(row[key] * row["switches"]) for key in ("min", "median", "max")],
              "CPU ns"] for row in rows]
    lines += [["thesis", row["table"], "MLTP" if row["impl"] == "mltp" else "processes",
               row["switches"], quantity(row["min"]), quantity(row["mean"]),
               quantity(row["max"]), f"cycles, {row['level']}"] for row in paper("thesis-switch")]
    return blocks.Table(["where", "table", "what switches", "switches", "min",
                         "median (thesis: mean)", "max", "unit"], lines)


def figure_7(results):
    rows = results.select(experiment="switch", metric="switches")
    picture, axes = plots.panels(2, 3.8)
    thesis_panel(axes[0])
    if rows:
        our_panel(axes[1], rows)
    else:
        plots.note(axes[1], results.missing("switch"))
    for panel in axes[:1 + bool(rows)]:
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xlabel("context switches")
    return blocks.Figure(
        "thesis-figure-7", "Figure 7: cost of a number of context switches",
        "Two threads that give way to each other, so many times from a cold start; Tables 1 to 4. "
        "The thesis counted processor cycles, which the machine here may not count: CPU time "
        "stands in for them.", picture, sentence_of(rows), numbers(rows))


def instructions(results):
    rows = [row for row in results.select(experiment="switch", unit="instructions")]
    lines = [[row["label"], plots.name_of(row["impl"]), quantity(row["min"])] for row in rows]
    return blocks.Table(
        ["operation", "package", "instructions"], lines,
        "Instructions in user mode as valgrind counts them, of one operation; the kernel's, which "
        "pthreads use and Go's runtime, which valgrind cannot run, are not in it.") \
        if rows else None


def section(results):
    counted = instructions(results)
    return blocks.Section(
        "thesis-switch", "Context switches", "thesis 4.1, Tables 1 to 4, Figure 7",
        "What it costs to give the processor to another thread, in user space and through the "
        "kernel.", [figure_7(results)] + ([counted] if counted else []))
