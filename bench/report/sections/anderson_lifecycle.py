# SPDX-License-Identifier: Apache-2.0
"""Anderson et al., section III: five ways to manage threads, Figures 1 to 4."""
import blocks
import plots
from blocks import quantity
from results import paper

from . import anderson

SOURCE = "Anderson, Lazowska and Levy III, Tables I to III, Figures 1 to 4"

# What the paper says of Figures 1 and 2: what takes longer than what, on one processor or on many.
CLAIMS = (("freelist", "single", "one", "the single lock is fastest on one processor"),
          ("multi", "single", "one", "a lock for each structure costs more than one for all"),
          ("idleq", "freelist", "one", "looking for an idle processor costs more than not looking"),
          ("freelist", "local", "many", "only local ready queues support a higher throughput"))


def best(rows, strategy, vps):
    """The shortest time of a strategy on `vps` VPs, or None."""
    return min((row["min"] for row in rows if row["strategy"] == strategy and row["vps"] == vps),
               default=None)


def fastest_alone(rows):
    """What the paper's speed-ups compare with: the fastest on one processor."""
    return min((row["min"] for row in rows if row["vps"] == 1), default=None)


def speedups(rows):
    alone = fastest_alone(rows)
    return [] if alone is None else [
        {**row, "min": alone / row["max"], "median": alone / row["median"],
         "max": alone / row["min"]} for row in rows]


def panel_of(axes, rows, label):
    anderson.lines(axes, rows, "strategy", "vps")
    plots.powers_of_two(axes, [row["vps"] for row in rows], "VPs")
    plots.value_axis(axes, label, [row["median"] for row in rows])


def numbers(rows):
    return blocks.Table(
        ["strategy", "VPs", "threads", "work us", "min s", "median s", "max s"],
        [[anderson.name_of(row["strategy"]), row["vps"], row.get("threads", "–"),
          quantity(row["work_us"]), *blocks.spread(row)] for row in rows])


def sentence_of(rows):
    """The fastest strategy for each number of VPs, from the rows."""
    counts = sorted({row["vps"] for row in rows})
    parts = []
    for vps in counts:
        here = [row for row in rows if row["vps"] == vps]
        first = min(here, key=lambda row: row["min"])
        last = max(here, key=lambda row: row["min"])
        parts.append(f"on {vps} VP{'s' if vps > 1 else ''} {anderson.name_of(first['strategy'])} "
                     f"is fastest and {anderson.name_of(last['strategy'])} takes "
                     f"{quantity(last['min'] / first['min'])} times as long")
    return blocks.opened("; ".join(parts)) + "."


def speed_sentence(rows):
    """How far each strategy comes, the furthest first."""
    furthest = {row["strategy"]: row for row in sorted(rows, key=lambda row: row["max"])}
    return "Highest speed-ups: " + ", ".join(
        f"{anderson.name_of(row['strategy'])} {quantity(row['max'])} (on {row['vps']})"
        for row in sorted(furthest.values(), key=lambda row: -row["max"])) + "."


def figure(results, number, title, work, speed):
    rows = [row for row in results.select(experiment="lifecycle", metric="seconds")
            if (row["work_us"] > 0) == work]
    key = f"anderson-figure-{number}"
    caption = f"{blocks.opened(title)}, over the number of VPs. {anderson.LOST}"
    shown = speedups(rows) if speed else rows
    if not shown:
        return blocks.Figure(key, f"Figure {number}: {title}", caption, None,
                             f"lifecycle: {results.missing('lifecycle')}.")
    picture, axes = plots.panels(1)
    panel_of(axes[0], shown, "speed-up over the fastest on one VP" if speed else "seconds")
    return blocks.Figure(key, f"Figure {number}: {title}", caption, picture,
                         speed_sentence(shown) if speed else sentence_of(rows), numbers(rows))


def claims(results):
    """The paper's findings, each with what was measured here."""
    rows = results.select(experiment="lifecycle", metric="seconds", work_us=0)
    lines = []
    for dearer, cheaper, where, says in CLAIMS:
        vps = 1 if where == "one" else max((row["vps"] for row in rows), default=1)
        pair = best(rows, dearer, vps), best(rows, cheaper, vps)
        if None not in pair:
            ratio = pair[0] / pair[1]
            lines.append([says, f"{anderson.name_of(dearer)} over {anderson.name_of(cheaper)}",
                          vps, quantity(ratio), "as in the paper" if ratio > 1 else "not here"])
    return blocks.Table(["the paper found", "times compared", "VPs", "ratio here", ""], lines)


def figure_4(results):
    rows = results.select(experiment="latency")
    title = "Figure 4: cost of a thread against runnable threads"
    caption = ("Time for a thread to be created, started and finished, over how many threads can "
               f"run. {anderson.LOST}")
    if not rows:
        return blocks.Figure("anderson-figure-4", title, caption, None,
                             f"latency: {results.missing('latency')}.")
    picture, axes = plots.panels(1)
    anderson.lines(axes[0], rows, "strategy", "runnable", 1e9)
    plots.powers_of_two(axes[0], [row["runnable"] for row in rows], "runnable threads")
    plots.value_axis(axes[0], "nanoseconds for a thread", [row["median"] for row in rows])
    cheapest = min(rows, key=lambda row: row["min"])
    dearest = max(rows, key=lambda row: row["min"])
    sentence = (f"The cheapest point is {anderson.name_of(cheapest['strategy'])} with "
                f"{cheapest['runnable']} runnable; the dearest, "
                f"{anderson.name_of(dearest['strategy'])} with {dearest['runnable']}, costs "
                f"{quantity(dearest['min'] / cheapest['min'])} times as much.")
    table = blocks.Table(["strategy", "VPs", "runnable threads", "min ns", "median ns", "max ns"],
                         [[anderson.name_of(row["strategy"]), row["vps"], row["runnable"],
                           *blocks.spread(row, 1e9)] for row in rows])
    return blocks.Figure("anderson-figure-4", title, caption, picture, sentence, table)


def facts():
    """What the paper's text states."""
    return blocks.Table(["the paper's machine", "", "", "where"],
                        [[row["quantity"], quantity(row["value"]), row["unit"] or "",
                          row["where"]] for row in paper("anderson")])


def section(results):
    figures = [figure(results, 1, "time to create, start and finish null threads", False, False),
               figure(results, 2, "speed-up of the same", False, True),
               figure(results, 3, "speed-up when each thread works, too", True, True),
               figure_4(results)]
    found = claims(results)
    return blocks.Section(
        "anderson-lifecycle", "Thread management", SOURCE,
        "Five ways to keep ready threads, stacks and control blocks, behind one interface, and "
        "the library's own.", [facts(), *figures[:2], *([found] if found.rows else []),
                               *figures[2:]])
