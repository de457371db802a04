# SPDX-License-Identifier: Apache-2.0
"""Single operations beside today's thread packages."""
import blocks
import plots
from blocks import quantity

EXPERIMENTS = (
    ("yield", "switch", ("yield",), "Yields",
     "Each thread gives way again and again; over the number of threads."),
    ("forkjoin", "forkjoin", ("create", "fork-join"), "Creating and joining threads",
     "Left: null threads created in batches, started and finished. Right: one forked and joined."),
    ("fib", "fib", ("fib-25",), "A tree of threads: fib(25)",
     "A thread for each call of a recursive function, each joined by its parent."),
    ("mutex", "mutex", ("mutex",), "A mutex, free and fought for",
     "Locking, adding one, unlocking; over the number of threads that want it."),
    ("handshake", "handshake", ("sem", "cond"), "Handshakes on one VP",
     "A round trip between two threads by two semaphores, and by one condition."),
    ("roundtrip", "roundtrip", ("sem-2-vps", "across"), "Round trips with two VPs",
     "Left: both threads may stay on one VP. Right: one never blocks, so every trip crosses."),
    ("barrier", "barrier", ("barrier",), "Barriers",
     "The price of one thread passing one barrier, over the number of threads."),
    ("sleep", "sleep", ("sleep",), "A thread that sleeps",
     "CPU time of the process for each wake-up of one thread that sleeps 1 ms again and again."),
    ("memory", "memory", ("memory", "memory-page-tables", "memory-packed", "memory-packed-page-tables"),
     "Memory of a blocked thread",
     "Growth of the process while a crowd of threads waits, for each of them; of pthreads there "
     "are fewer, as the numbers say. Packed: ours with MLTP_PACK_MS, the others as they are."),
)
NEEDS = {experiment for _, experiment, *_ in EXPERIMENTS}  # a page of few operations would stand for one of all


def impls_of(rows):
    """The packages there are, in the order of the legend."""
    return [impl for impl in plots.NAMES if any(row["impl"] == impl for row in rows)] + \
        (["pthreads"] if any(row["impl"] == "pthreads" for row in rows) else [])


def axis_label(row):
    clock = {"cpu": "CPU ", "wall": "wall-clock "}.get(row["clock"], "")
    return f"{clock}{row['unit']}, median (min to max)"


def lines_over_threads(rows, metric):
    """A panel for each number of VPs."""
    vps = sorted({row["vps"] for row in rows})
    picture, axes = plots.panels(len(vps), sharey=True)
    for panel, count in zip(axes, vps):
        here = [row for row in rows if row["vps"] == count and row["metric"] == metric]
        for impl in impls_of(here):
            plots.line(panel, [row for row in here if row["impl"] == impl], "threads",
                       **plots.style_of(impl))
        plots.powers_of_two(panel, [row["threads"] for row in here], "threads")
        panel.set_yscale("log")
        panel.set_title(f"{count} VP" + ("s" if count > 1 else ""))
    axes[0].set_ylabel(axis_label(rows[0]))
    return picture


def points(rows, metrics):
    """A panel for each metric, a line for each package and number of VPs. Where values lie far
    apart the axis is logarithmic, and marks stand where bars would lie about their lengths."""
    metrics = [metric for metric in metrics if any(row["metric"] == metric for row in rows)]
    picture, axes = plots.panels(len(metrics), 3.6)
    for panel, metric in zip(axes, metrics):
        here = [row for row in rows if row["metric"] == metric]
        impls = impls_of(here)
        here.sort(key=lambda row: (impls.index(row["impl"]), row["vps"]), reverse=True)
        far = max(row["max"] for row in here) > 20 * min(row["min"] for row in here)
        several = len({row["vps"] for row in here}) > 1
        for place, row in enumerate(here):
            spread = [[row["median"] - row["min"]], [row["max"] - row["median"]]]
            colour = plots.style_of(row["impl"])["color"]
            if far:
                panel.errorbar(row["median"], place, xerr=spread, color=colour, marker="o",
                               markersize=7, capsize=3)
            else:
                panel.barh(place, row["median"], xerr=spread, height=0.7, color=colour,
                           error_kw={"elinewidth": 0.8, "capsize": 2})
            panel.annotate(quantity(row["median"]), (row["max"], place), xytext=(6, 0),
                           textcoords="offset points", va="center", fontsize=8)
        panel.set_yticks(range(len(here)), [
            plots.name_of(row["impl"]) + (f", {row['vps']} VP{'s'[:row['vps'] - 1]}" if several
                                          else "") for row in here])
        if far:
            panel.set_xscale("log")
        panel.set_xlim(right=panel.get_xlim()[1] * (3 if far else 1.15))
        panel.set_xlabel(axis_label(here[0]))
        panel.set_title(here[0]["label"].partition(",")[0])
        panel.grid(False, axis="y")
    return picture


def ratios_to(rows, wanted):
    """Other packages' minima over ours, at each point where both were measured."""
    groups = {}
    for row in rows:
        # pthreads may have fewer threads where memory is the question, so not by threads there
        threads = row["threads"] if row["unit"] == "ns" else None
        groups.setdefault((row["metric"], row["vps"], threads), {})[row["impl"]] = row["min"]
    return [min(others) / point["mltp"] for point in groups.values() if point.get("mltp")
            for others in [[value for impl, value in point.items() if wanted(impl)]] if others]


def sentence_of(rows):
    best = ratios_to(rows, lambda impl: impl != "mltp")
    kernel = ratios_to(rows, lambda impl: impl == "pthreads")
    less = "takes" if rows[0]["unit"] == "ns" else "needs"
    text = ""
    if best:
        ahead = sum(ratio >= 1 for ratio in best)
        text += (f"MLTP {less} least at {ahead} of {len(best)} points; the best other package "
                 f"{less} {quantity(min(best))} to {quantity(max(best))} times as much")
    if kernel:
        text += (f"; pthreads {less.replace('takes', 'take').replace('needs', 'need')} "
                 f"{quantity(min(kernel))} to {quantity(max(kernel))} times as much")
    return text + "." if text else "There is nothing to compare with."


def numbers(rows):
    return blocks.Table(
        ["operation", "package", "VPs", "threads", "min", "median", "max", "unit", "runs"],
        [[row["label"], plots.name_of(row["impl"]), row["vps"], row["threads"],
          *blocks.spread(row), row["unit"], row["runs"]] for row in rows])


def figure(results, key, experiment, metrics, title, caption):
    rows = [row for row in results.select(experiment=experiment) if row["metric"] in metrics]
    if not rows:
        return blocks.Figure(f"peers-{key}", title, caption, None,
                             f"{experiment}: {results.missing(experiment)}.")
    swept = len(metrics) == 1 and len({row["threads"] for row in rows}) > 1
    picture = lines_over_threads(rows, metrics[0]) if swept else points(rows, metrics)
    return blocks.Figure(f"peers-{key}", title, caption, picture, sentence_of(rows),
                         numbers(rows))


def absent(results):
    """Which packages could not be measured here."""
    names = sorted({row["impl"] for row in results.rows if row.get("metric") == "absent"})
    return "" if not names else " Not installed here, and so absent: " + \
        ", ".join(plots.name_of(name) for name in names) + "."


def section(results):
    return blocks.Section(
        "peers", "Today's thread packages", "the numbers to beat, over numbers of threads",
        "Each package runs a program of its own, compiled as its users would; the packages take "
        "turns, run by run. Packages that have no kernel threads to spread over are in the panels "
        "of one VP only." + absent(results),
        [figure(results, *each) for each in EXPERIMENTS], needs=NEEDS)
