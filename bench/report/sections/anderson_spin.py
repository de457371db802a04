# SPDX-License-Identifier: Apache-2.0
"""Anderson et al., section IV: ways to wait for a lock, Figures 6 to 8."""
import blocks
import plots
from blocks import quantity

from . import anderson

FIGURES = (  # number, title, over what, the axis and its scale, caption
    (6, "time to increment a shared counter under a lock", "processors", ("seconds", 1),
     "Elapsed time for so many processors to bring a counter to the same height."),
    (7, "relative speed against the size of the critical section", "section_size",
     ("relative speed", 1),
     "Time of one processor over time of several, for critical sections of growing size: the "
     "closer to one, the less the waiting slows the holder."),
    (8, "time for each processor to get the lock once", "processors",
     ("microseconds for each processor", 1e6),
     "Elapsed time divided by the number of processors, each of which takes the lock once."),
)

WORDS = {"processors": "processors", "section_size": "steps in the critical section"}


def relative_speeds(rows):
    """Figure 7: one processor's time over that of the most, for each size."""
    most = max(row["processors"] for row in rows)
    made = []
    for row in rows:
        alone = next((other for other in rows if other["processors"] == 1 and all(
            other[key] == row[key] for key in ("algorithm", "section_size"))), None)
        if row["processors"] == most and alone is not None:
            made.append({**row, "min": alone["min"] / row["max"],
                         "median": alone["median"] / row["median"],
                         "max": alone["max"] / row["min"]})
    return made


def sentence_of(number, rows, across):
    """The algorithms at the far end of the figure, first to last."""
    far = max(row[across] for row in rows)
    end = sorted((row for row in rows if row[across] == far), key=lambda row: row["median"],
                 reverse=number == 7)
    first, last = end[0], end[-1]
    ratio = max(first["median"], last["median"]) / min(first["median"], last["median"])
    return (f"With {quantity(far)} {WORDS[across]}, {anderson.name_of(first['algorithm'])} does "
            f"best and {anderson.name_of(last['algorithm'])} worst, by a factor of "
            f"{quantity(ratio)}.")


def figure(results, number, title, across, axis, caption):
    rows = [row for row in results.select(experiment="spin", clock="wall")
            if str(row.get("figure")) == str(number)]
    shown = relative_speeds(rows) if number == 7 and rows else rows
    key, title = f"anderson-figure-{number}", f"Figure {number}: {title}"
    caption = f"{caption} {anderson.LOST}"
    if not shown:
        return blocks.Figure(key, title, caption, None, f"spin: {results.missing('spin')}.")
    picture, axes = plots.panels(1)
    label, scale = axis
    anderson.lines(axes[0], shown, "algorithm", across, scale)
    plots.powers_of_two(axes[0], [row[across] for row in shown if row[across] > 0], WORDS[across])
    plots.value_axis(axes[0], label, [row["median"] for row in shown])
    table = blocks.Table(["algorithm", "processors", "section size", "min us", "median us",
                          "max us"],
                         [[anderson.name_of(row["algorithm"]), row["processors"],
                           row["section_size"], *blocks.spread(row, 1e6)] for row in rows])
    return blocks.Figure(key, title, caption, picture, sentence_of(number, shown, across), table)


def section(results):
    return blocks.Section(
        "anderson-spin", "Spin-waiting", "Anderson, Lazowska and Levy IV, Figures 6 to 8",
        "How processors wait for a lock without giving up: what it costs them, and what it costs "
        "the one that holds it.", [figure(results, *each) for each in FIGURES])
