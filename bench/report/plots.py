# SPDX-License-Identifier: Apache-2.0
"""How figures look: one place for colours, marks and axes."""
import matplotlib

matplotlib.use("Agg")  # no display is needed
import matplotlib.pyplot as plt  # noqa: E402

STYLE = {"font.size": 9, "axes.titlesize": 9.5, "axes.titleweight": "bold", "axes.grid": True,
         "grid.color": "#dddddd", "grid.linewidth": 0.6, "axes.spines.top": False,
         "axes.spines.right": False, "axes.edgecolor": "#888888", "legend.fontsize": 8,
         "legend.frameon": False, "lines.linewidth": 1.5, "lines.markersize": 4.5,
         "svg.hashsalt": "mltp"}
plt.rcParams.update(STYLE)

COLOURS = {"mltp": "#0b6e4f", "mltp-ucontext": "#6fb98f", "mltp-kernel": "#c77d0a",
           "pthreads": "#444444", "one-to-one": "#444444", "boost-fiber": "#2b6cb0",
           "boost-context": "#7fb1e3", "st": "#8a4fbf", "pth": "#b0413e", "go": "#00a3b4",
           "massivethreads": "#2b6cb0", "argobots": "#8a4fbf", "process": "#b0413e",
           "asio": "#2b6cb0"}
MARKS = {"mltp": "o", "mltp-ucontext": "s", "mltp-kernel": "^", "pthreads": "D",
         "one-to-one": "D", "boost-fiber": "v", "boost-context": "<", "st": "P", "pth": "X",
         "go": "h", "massivethreads": "s", "argobots": "v", "process": "X",
         "asio": "v"}
NAMES = {"mltp": "MLTP", "mltp-ucontext": "MLTP, ucontext", "mltp-kernel": "MLTP calls, one-to-one",
         "boost-fiber": "Boost.Fiber", "boost-context": "Boost.Context", "st": "State Threads",
         "pth": "GNU Pth", "go": "Go", "massivethreads": "MassiveThreads", "argobots": "Argobots", "one-to-one": "one-to-one (jkthreads)",
         "process": "Linux processes", "asio": "Boost.Asio"}
SHADES = ("#a8ddc3", "#6fb98f", "#3a9b72", "#0b6e4f", "#06402d")  # few to many
SERIES = ("#0b6e4f", "#c77d0a", "#2b6cb0", "#8a4fbf", "#b0413e", "#00a3b4", "#444444")


def name_of(impl):
    return NAMES.get(impl, impl)


def style_of(impl):
    return {"color": COLOURS.get(impl, "#777777"), "marker": MARKS.get(impl, "."),
            "label": name_of(impl)}


def panels(count, height=3.3, **options):
    """A figure with `count` panels side by side."""
    figure, axes = plt.subplots(1, count, figsize=(11 if count > 1 else 7, height),
                                layout="constrained", squeeze=False, **options)
    return figure, list(axes[0])


def line(axes, rows, x, scale=1.0, **style):
    """Medians over x, with bars from minimum to maximum where they are known."""
    rows = sorted(rows, key=lambda row: row[x])
    middle = [row.get("median", row.get("mean")) for row in rows]
    below = [m - row["min"] if row.get("min") is not None else 0 for m, row in zip(middle, rows)]
    above = [row["max"] - m if row.get("max") is not None else 0 for m, row in zip(middle, rows)]
    axes.errorbar([row[x] for row in rows], [scale * m for m in middle],
                  yerr=[[scale * b for b in below], [scale * a for a in above]],
                  capsize=2.5, elinewidth=0.8, **{"marker": "o", **style})


def powers_of_two(axes, values, label):
    """An axis over numbers such as 1, 2, 4, 8."""
    values = sorted(set(values))
    axes.set_xscale("log", base=2)
    axes.set_xticks(values, [str(value) for value in values])
    axes.minorticks_off()
    axes.set_xlabel(label)


def value_axis(axes, label, values):
    """From zero; logarithmic where the largest value would make the others invisible."""
    axes.set_ylabel(label)
    if max(values) > 50 * min(values):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)


def note(axes, text):
    """Words in a panel that has no data."""
    axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, color="#777777",
              wrap=True)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)


def finish(figure):
    """One legend below all panels, of all that is in them."""
    entries = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries.update(zip(labels, handles))
    if entries:
        figure.legend(list(entries.values()), list(entries), loc="upper center",
                      bbox_to_anchor=(0.5, 0), ncol=min(len(entries), 6))
    return figure
