# SPDX-License-Identifier: Apache-2.0
"""Thesis 4.4: the ocean, with spin locks, with semaphore locks, and with today's default."""
import blocks
import plots
from blocks import quantity
from results import paper

from . import thesis

VARIANTS = (("reactive", False, "our barrier"), ("spin", False, "the thesis's, spin locks"),
            ("spin", True, "the same, all VPs awake"))


def rows_of(results, **wanted):
    """Rows of the ocean. Ours are called mltp, whichever barrier they use: a step has one of them."""
    return [{**row, "impl": "mltp" if row["impl"] == "mltp-thesis" else row["impl"]}
            for row in results.select(experiment="ocean", clock="wall", **wanted)]


def collapse(rows, cpus, of="min"):
    """The slowest of more VPs than CPUs over the fastest of no more. of: which run of a row is the slow one."""
    over = [r[of] for r in rows if r["vps"] > cpus]
    even = [r["min"] for r in rows if r["vps"] <= cpus]
    return max(over) / min(even) if over and even else None


def unanswered(results, lock, crowded):
    """Says which rows a variant lacks since a run gave no right answer in time; nothing if there are none."""
    rows = results.wrong(experiment="ocean", clock="wall", lock=lock, crowded=crowded)
    made = [f"{r['threads']} threads on {r['vps']} VPs" for r in rows if r["impl"].startswith("mltp") and "vps" in r]
    return f" (a run of {' and one of '.join(made)} gave no answer in time)" if made else ""


def today_figure(results):
    """What became of the thesis's collapse."""
    cpus = results.identity["cpus"]
    picture, axes = plots.panels(3)
    slowest, lines = [], []
    for panel, (lock, crowded, name) in zip(axes, VARIANTS):
        rows = rows_of(results, lock=lock, crowded=crowded)
        panel.set_title(name)
        if not rows:
            plots.note(panel, results.missing("ocean"))
            continue
        thesis.our_panel(panel, rows)
        ours = [r for r in rows if r["impl"] == "mltp" and r["threads"] >= r["vps"]]
        ratio = collapse(ours, cpus)
        if ratio:
            slowest.append(f"{quantity(ratio)} by minima, {quantity(collapse(ours, cpus, 'max'))} in the slowest run, "
                           f"with {name}{unanswered(results, lock, crowded)}")
        lines += [[name, r["vps"], r["threads"], *blocks.spread(r)] for r in ours]
    made = paper("thesis-programs", program="ocean", lock="spin", cpus=2, impl="mltp")
    sentence = (f"With spin locks and more VPs than CPUs the thesis's program took up to "
                f"{quantity(collapse([{**r, 'min': r['mean']} for r in made], 2))} times as long "
                "as its best")
    sentence += ". Here that factor is " + "; ".join(slowest) + "." if slowest else "."
    return blocks.Figure(
        "thesis-ocean-today", "What became of the collapse",
        "The same program here with our barrier, which parks threads and does not use MLTP_LOCK, with the thesis's "
        "barrier (its Figure 6: a lock and yields) on spin locks, and with that on as many awake VPs as there are, "
        "which the library does only with MLTP_OVERSUBSCRIBE=1.", picture, sentence,
        blocks.Table(["barrier", "VPs", "threads", "min s", "median s", "max s"], lines))


def section(results):
    collapsed, = paper("thesis-programs", table=4.4)
    caption = ("Time of the ocean simulation over the number of VPs, for several numbers of "
               "threads. "
               "The thesis's program was SPLASH-2's; ours is another of the same shape, so "
               "compare the shapes of curves, not seconds. Its barrier here is the thesis's, of a lock and yields. ")
    spin = thesis.figure(
        results, "thesis-figure-13", "Figure 13: the ocean with spin locks", caption +
        f"Tables 27 to 31, and the run of {quantity(collapsed['mean'])} s with "
        f"{collapsed['vps']} VPs on {collapsed['cpus']} CPUs that the text tells of.",
        "ocean", rows_of(results, lock="spin", crowded=False), lock="spin")
    semaphore = thesis.figure(
        results, "thesis-figure-14", "Figure 14: the ocean with semaphore locks", caption +
        "Tables 32 to 39; Table 37 is lost in the text we have.", "ocean",
        rows_of(results, lock="semaphore", crowded=False), lock="semaphore")
    today = today_figure(results)
    return blocks.Section(
        "thesis-ocean", "Ocean simulation", "thesis 4.4, Tables 27 to 39, Figures 13 and 14",
        "Hundreds of barriers a time step: the program in which a preempted lock holder "
        "made the thesis's spin locks collapse.", [spin, semaphore, today])
