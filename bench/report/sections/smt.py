# SPDX-License-Identifier: Apache-2.0
"""D. Smith (2005): asymmetric scheduling on SMT processors, Tables 4.1 to 4.5, A.1 to A.6, Figures 3.2, 4.2."""
import pathlib
import statistics
import sys

import blocks
import plots
from blocks import quantity
from results import paper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
from model import smt  # noqa: E402  (found through the line above)

MODES = ("up", "smt", "dk")
NAMES = {"up": "UP", "smt": "SMT", "dk": "DK"}
ORDER = ("art", "crafty", "vpr", "vortex", "equake", "mesa")
HYBRIDS = (("4.4", "crafty", "equake"), ("4.5", "art", "mesa"))


def average(rows, key="ttc", **wanted):
    """The average of the runs that have these values, as the thesis takes it."""
    return statistics.mean(row[key] for row in rows if all(row[k] == v for k, v in wanted.items()))


def thesis_table(rows, program, number):
    """Table 4.2 or 4.3, from the raw times of Appendix A."""
    lines = []
    for mode in MODES:
        for threads in (2, 3, 4):
            cells = []
            for network in (0, 1):
                ours = average(rows, program=program, mode=mode, threads=threads, network=network)
                up = average(rows, program=program, mode="up", threads=threads, network=network)
                cells += [f"{ours:.2f}", f"{100 * (ours / up - 1):+.2f} %"]
            lines.append([NAMES[mode], f"{threads}T", *cells])
    return blocks.Table(["mode", "copies", "TTC s, no network", "against UP", "TTC s, network", "against UP"], lines,
                        f"The thesis's Table {number}, {program}, from its raw times. All percentages are of UP's time; "
                        "the thesis divides some of its by the other time.")


def hybrid_table(rows, number, first, second):
    """Table 4.4 or 4.5: two programs one after the other, each in its better mode."""
    ttc = {(p, m): average(rows, program=p, mode=m, threads=4, network=1) for p in (first, second) for m in MODES}
    lines = [[NAMES[m], *(f"{ttc[p, m]:.2f}" for p in (first, second)), f"{ttc[first, m] + ttc[second, m]:.2f}"]
             for m in MODES]
    best = [min(ttc[p, m] for m in ("smt", "dk")) for p in (first, second)]
    lines.append(["hybrid", *(f"{b:.2f}" for b in best), f"{sum(best):.2f}"])
    return blocks.Table(["mode", first, second, "total"], lines,
                        f"The thesis's Table {number}: seconds of four copies with network load.")


def category(values, program):
    """The category of Table 4.1: the mode that shortens a program's time more."""
    return "pro-SMT" if values[program, "smt"] > values[program, "dk"] else "pro-DK"


def categories(rows):
    """Table 4.1, which the thesis prints, from its raw times and by the model."""
    printed = {row["program"]: row["paper"] for row in smt.categories()}
    raw, models = gains(rows), model_gains()
    return blocks.Table(["program", "thesis", "from its raw times", "model"],
                        [[p, printed[p], category(raw, p), category(models, p)] for p in ORDER],
                        "The thesis's Table 4.1: the better mode for four copies with network load. "
                        "The last column is of the model, not measured.")


def appendix_tables(rows):
    """Tables A.1 to A.6: the seconds of each run."""
    tables = []
    for number, program in sorted({(row["figure"], row["program"]) for row in rows}):
        mine = [row for row in rows if row["program"] == program]
        lines = []
        for mode in MODES:
            for threads in (2, 3, 4):
                cells = [times_of_runs(mine, mode, threads, network) for network in (0, 1)]
                lines.append([NAMES[mode], threads, *cells])
        tables.append(blocks.Table(["mode", "copies", "TTC s, no network", "TTC s, network"], lines,
                                   f"The thesis's Table {number}, {program}: the time to completion of each run."))
    return tables


def times_of_runs(rows, mode, threads, network):
    """The times of a case's runs, in their order."""
    return ", ".join(f"{row['ttc']:g}" for row in sorted(rows, key=lambda row: row["run"])
                     if (row["mode"], row["threads"], row["network"]) == (mode, threads, network))


def gains(rows):
    """Figure 4.2: how much shorter than UP, with network load, in per cent."""
    return {(p, m): 100 * (1 - average(rows, program=p, mode=m, threads=4, network=1)
                           / average(rows, program=p, mode="up", threads=4, network=1))
            for p in ORDER for m in ("smt", "dk")}


def model_gains():
    """The same by the model."""
    return {(row["program"], m): 100 * (1 - row["cycles"][m, True] / row["cycles"]["up", True])
            for row in smt.categories() for m in ("smt", "dk")}


def figure_4_2(rows):
    """The thesis's gains beside the model's."""
    theirs, models = gains(rows), model_gains()
    picture, axes = plots.panels(2, 3.4)
    for panel, title, values in zip(axes, ("The thesis", "Model, not measured"), (theirs, models)):
        for shift, mode, colour in ((-0.2, "smt", "C0"), (0.2, "dk", "C1")):
            panel.bar([i + shift for i in range(len(ORDER))], [values[p, mode] for p in ORDER], 0.38, color=colour,
                      label=NAMES[mode])
        panel.set_xticks(range(len(ORDER)), ORDER)
        panel.set_title(title)
        panel.set_ylabel("shorter than UP by, %")
        panel.axhline(0, color="#888888", linewidth=0.8)
        panel.legend()
    agree = sum((theirs[p, "smt"] > theirs[p, "dk"]) == (models[p, "smt"] > models[p, "dk"]) for p in ORDER)
    table = blocks.Table(["program", "thesis SMT %", "thesis DK %", "model SMT %", "model DK %"],
                         [[p, *(f"{values[p, m]:+.1f}" for values in (theirs, models) for m in ("smt", "dk"))]
                          for p in ORDER])
    return blocks.Figure("smt-figure-4-2", "Figure 4.2 and Table 4.1: SMT and DK against UP",
                         "Four copies with network load. The model's instruction mixes are assumed, so its bars have "
                         "signs to compare and no sizes.", picture,
                         f"The model has the thesis's sign for {agree} of {len(ORDER)} programs.", table)


def figure_3_2():
    """The schedule of Figure 3.2, as the model makes it."""
    made = {mode: smt.figure_3_2(mode) for mode in MODES}
    longest = max(len(schedule) for schedule, _ in made.values())
    lines = []
    for cycle in range(longest):
        cells = []
        for mode in MODES:
            line = made[mode][0][cycle] if cycle < len(made[mode][0]) else {}
            cells.append(" ".join(f"{name.replace('thread ', 'T')}:{'F' * fp + 'I' * other}"
                                  for name, (fp, other) in sorted(line.items())))
        lines.append([cycle + 1, *cells])
    return blocks.Table(["cycle", *(f"{NAMES[mode]} (model)" for mode in MODES)], lines,
                        "Figure 3.2 by the model. T1 and T2 are user threads, F a floating-point instruction, I one of "
                        "another kind. The thesis's drawing is not in the text we have; the workload satisfies each "
                        "statement of that text.")


def place(document):
    """Where dkctl measured, for captions."""
    siblings = "SMT siblings" if document["smt"] else "two cores that stand for siblings, so SMT has twice the hardware"
    return f"on CPUs {document['cpus']}: {siblings}"


def measured_modes(results):
    """What dkctl experiment modes measured here, if it did."""
    document = results.document("dk-modes")
    if not document:
        return []
    return [blocks.Table(["program", "copies", "mode", "network", "TTC min s", "median s", "max s"],
                         [[row["program"], row["copies"], NAMES[row["mode"]], "load" if row["net"] else "–",
                           quantity(min(row["ttc"])), quantity(statistics.median(row["ttc"])), quantity(max(row["ttc"]))]
                          for row in document["rows"]],
                         f"Measured here by dkctl experiment modes, {place(document)}.")]


def measured_pairs(results):
    """What dkctl experiment hybrid measured here, if it did: Tables 4.4 and 4.5 for the built-in programs."""
    document = results.document("dk-hybrid")
    if not document:
        return []
    rows = []
    for row in document["rows"]:
        single, own = min(row["static"].values()), statistics.median(row["measured"])
        rows.append([" + ".join(row["programs"]), " + ".join(NAMES[mode] for mode in row["best"]),
                     *(quantity(row["static"][mode]) for mode in MODES), quantity(own), f"{own / single:.2f}"])
    return [blocks.Table(["programs", "best modes", *(f"both {NAMES[mode]} s" for mode in MODES), "each in its best s",
                          "of the best single mode"], rows,
                         f"Measured here by dkctl experiment hybrid, {place(document)}. Medians; each row is the sum of two programs' "
                         "times. A value below 1 in the last column: a mode for each program beats one mode for both.")]


def section(results):
    """The section of the page."""
    rows = paper("smt")
    made = [figure_4_2(rows), figure_3_2(), thesis_table(rows, "art", "4.2"), thesis_table(rows, "mesa", "4.3")]
    made.insert(1, categories(rows))
    made += [hybrid_table(rows, *names) for names in HYBRIDS] + measured_modes(results) + measured_pairs(results) + appendix_tables(rows)
    return blocks.Section(
        "smt", "One SMT sibling for the kernel", "Smith, Tables 4.1 to 4.5, Figures 3.2 and 4.2, Appendix A",
        "Where a core has two contexts, user and kernel tasks can share both (SMT), have one each (DK), or share one (UP). "
        "The thesis measured SPEC2000 on a Pentium 4. What is marked as a model was computed, not measured.", made)
