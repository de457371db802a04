# SPDX-License-Identifier: Apache-2.0
"""SystemC with our coroutine package and with its own."""
import blocks
import plots
from blocks import quantity

NAMES = {"systemc": "SystemC as it is", "mltp-systemc": "with our package preloaded"}
COLOURS = {"systemc": "#444444", "mltp-systemc": "#0b6e4f"}


def panel(axes, rows):
    for place, row in enumerate(rows):
        axes.bar(place, row["median"], 0.6, color=COLOURS[row["impl"]], label=NAMES[row["impl"]],
                 yerr=[[row["median"] - row["min"]], [row["max"] - row["median"]]], capsize=3)
        axes.annotate(quantity(row["median"]), (place, row["max"]), xytext=(0, 3), textcoords="offset points",
                      ha="center", fontsize=8)
    axes.set_xticks([])
    axes.set_ylim(0, 1.15 * max(row["max"] for row in rows))
    axes.set_title(rows[0]["label"].partition(",")[0])
    axes.set_ylabel("bytes" if rows[0]["unit"] == "B" else "ns of CPU time")


def figure(results):
    title, key = "Waits and processes of SystemC", "systemc-waits"
    caption = ("One unmodified program on the distribution's SystemC, run in turn as it is and with "
               "libmltp-systemc.so preloaded: a wait of a process for another; a process created, run and ended; "
               "memory of one that is alive.")
    rows = results.select(experiment="systemc")
    groups = [[row for row in rows if row["metric"] == metric] for metric in ("wait", "process", "alive")]
    groups = [group for group in groups if {row["impl"] for row in group} == set(NAMES)]
    if not groups:
        return blocks.Figure(key, title, caption, None, f"systemc: {results.missing('systemc')}.")
    picture, axes = plots.panels(len(groups))
    parts, lines = [], []
    for place, group in zip(axes, groups):
        panel(place, group)
        stock, ours = (next(row for row in group if row["impl"] == impl) for impl in NAMES)
        share = ours["min"] / stock["min"]
        parts.append(f"{ours['label'].partition(',')[0]}: {quantity(share)} of what SystemC takes by itself, "
                     f"{stock.get('verdict', 'too few runs')}")
        lines += [[row["label"], NAMES[row["impl"]], *blocks.spread(row), row["unit"], row["runs"]] for row in group]
    return blocks.Figure(key, title, caption, picture, blocks.opened("; ".join(parts)) + ".",
                         blocks.Table(["operation", "by", "min", "median", "max", "unit", "runs"],
                                      lines))


def section(results):
    return blocks.Section(
        "systemc", "SystemC", "the kernel that still ships QuickThreads, which ContextThreads set out to replace",
        "What the coroutine package is worth to a program people have today.", [figure(results)])
