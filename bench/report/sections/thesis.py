# SPDX-License-Identifier: Apache-2.0
"""What the figures of the thesis's programs have in common: time over VPs, a line for each
number of threads, on the thesis's two machines and on this one."""
import blocks
import plots
from blocks import quantity
from results import paper

MACHINES = {2: "thesis: 2 x 400 MHz Pentium II", 4: "thesis: 4 x 500 MHz Pentium III"}
ONE_TO_ONE = ("pthreads", "mltp-kernel")


def paper_panel(axes, rows):
    """The thesis's means; one-to-one threads stand where they have as many processes."""
    for shade, threads in zip(plots.SHADES, sorted({r["threads"] for r in rows
                                                    if r["impl"] == "mltp"})):
        plots.line(axes, [r for r in rows if r["impl"] == "mltp" and r["threads"] == threads],
                   "vps", color=shade,
                   label=f"{threads} threads" if threads > 1 else "1 thread")
    one = [{**r, "vps": r["threads"]} for r in rows if r["impl"] == "one-to-one"]
    if one:
        plots.line(axes, one, "vps", color="#444444", marker="D", linestyle=":",
                   label="one-to-one, a kernel thread each")
    plots.powers_of_two(axes, [r["vps"] or r["threads"] for r in rows], "VPs (processes)")
    plots.value_axis(axes, "seconds", [r["mean"] for r in rows])


def our_panel(axes, rows):
    for shade, threads in zip(plots.SHADES, sorted({r["threads"] for r in rows})):
        plots.line(axes, [r for r in rows if r["impl"] == "mltp" and r["threads"] == threads],
                   "vps", 1000, color=shade,
                   label=f"{threads} threads" if threads > 1 else "1 thread")
    vps = {r["vps"] for r in rows if r["impl"] == "mltp"}
    for impl, style in zip(ONE_TO_ONE, (":", "--")):
        one = [{**r, "vps": r["threads"]} for r in rows
               if r["impl"] == impl and r["threads"] in vps]
        if one:
            plots.line(axes, one, "vps", 1000, linestyle=style, **plots.style_of(impl))
    plots.powers_of_two(axes, vps, "VPs (one-to-one: kernel threads)")
    plots.value_axis(axes, "milliseconds, wall clock", [r["median"] for r in rows])


def against_pthreads(rows):
    """How two-level threads compare with pthreads, number by number of threads."""
    ratios = {}
    for other in (r for r in rows if r["impl"] == "pthreads"):
        ours = [r for r in rows if r["impl"] == "mltp" and r["threads"] == other["threads"]]
        if ours:
            ratios[other["threads"]] = other["min"] / min(r["min"] for r in ours)
    return ratios


def sentence_of(what, rows, cpus, thesis):
    """What the figure shows, worked out from its rows."""
    ratios = against_pthreads(rows)
    if not ratios:
        return ""
    best, worst = max(ratios, key=ratios.get), min(ratios, key=ratios.get)
    text = (f"{what}: on the number of VPs that suits them, two-level threads are "
            f"{quantity(ratios[worst])} times as fast as the same number of pthreads at worst "
            f"(with {worst}) and {quantity(ratios[best])} times at best (with {best})")
    over = [r for r in rows if r["impl"] == "mltp" and r["vps"] > cpus]
    even = [r for r in rows if r["impl"] == "mltp" and r["vps"] <= cpus]
    if over and even:
        slower = min(r["min"] for r in over) / min(r["min"] for r in even)
        text += (f"; on more VPs than the {cpus} CPUs their best time is {quantity(slower)} times "
                 "that on fewer")
    ones = [r["mean"] for r in thesis if r["impl"] == "one-to-one"]
    twos = [r["mean"] for r in thesis if r["impl"] == "mltp"]
    if ones and twos:
        text += (f". In the thesis the best two-level run took "
                 f"{quantity(min(twos) / min(ones))} times as long as the best one-to-one run")
    return text + "."


def numbers(rows, thesis):
    """All values of a figure, those of the thesis beside those measured here."""
    lines = [["here", "–", plots.name_of(r["impl"]), r.get("vps", "–"), r["threads"],
              *blocks.spread(r)] for r in rows]
    lines += [[f"thesis, {r['cpus']} CPUs", r["table"], plots.name_of(r["impl"]),
               r["vps"] or "–", r["threads"], quantity(r["min"]), quantity(r["mean"]),
               quantity(r["max"])] for r in thesis]
    return blocks.Table(["where", "table", "threads are", "VPs", "threads", "min s",
                         "median s (thesis: mean)", "max s"], lines)


def figure(results, key, title, caption, program, rows, lock=None):
    """A figure of one program: the thesis's two machines, and this one with rows."""
    thesis = paper("thesis-programs", program=program, **({"lock": lock} if lock else {}))
    experiment = program.partition("-")[0]
    picture, axes = plots.panels(3)
    for panel, (cpus, name) in zip(axes, MACHINES.items()):
        paper_panel(panel, [r for r in thesis if r["cpus"] == cpus])
        panel.set_title(name)
    cpus = results.identity["cpus"]
    axes[2].set_title(f"here: {cpus} CPUs")
    if rows:
        our_panel(axes[2], rows)
    else:
        plots.note(axes[2], results.missing(experiment))
    sentence = sentence_of(blocks.opened(title.partition(":")[2].strip()), rows, cpus, thesis) or \
        f"Here: {results.missing(experiment)}."
    return blocks.Figure(key, title, caption, picture, sentence, numbers(rows, thesis))
