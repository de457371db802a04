# SPDX-License-Identifier: Apache-2.0
"""Thesis 4.3: the product of two matrices, tiles taken under a lock or shared out."""
import blocks
import plots
from results import paper

from . import thesis


def figure_10(results):
    """Dynamic scheduling: the thesis has one thread on each VP, so time is over threads."""
    made = paper("thesis-programs", program="matmul-dynamic")
    rows = results.select(experiment="matmul", clock="wall", schedule="dynamic")
    picture, axes = plots.panels(3)
    for panel, (cpus, name) in zip(axes, thesis.MACHINES.items()):
        for impl in ("mltp", "one-to-one"):
            plots.line(panel, [r for r in made if r["cpus"] == cpus and r["impl"] == impl],
                       "threads", **plots.style_of(impl))
        plots.powers_of_two(panel, [r["threads"] for r in made], "threads")
        panel.set_ylabel("seconds")
        panel.set_ylim(bottom=0)
        panel.set_title(name)
    axes[2].set_title(f"here: {results.identity['cpus']} CPUs")
    if not rows:
        plots.note(axes[2], results.missing("matmul"))
    for impl in ("mltp", "mltp-kernel", "pthreads") if rows else ():
        here = [r for r in rows if r["impl"] == impl
                and r.get("vps", r["threads"]) == r["threads"]]
        plots.line(axes[2], here, "threads", 1000, **plots.style_of(impl))
    if rows:
        plots.powers_of_two(axes[2], [r["threads"] for r in rows], "threads (MLTP: as many VPs)")
        axes[2].set_ylabel("milliseconds, wall clock")
        axes[2].set_ylim(bottom=0)
    sentence = thesis.sentence_of("Tiles taken under a lock", rows, results.identity["cpus"],
                                  made) or f"Here: {results.missing('matmul')}."
    return blocks.Figure(
        "thesis-figure-10", "Figure 10: matrix product, tiles taken under a lock",
        "Time to multiply two matrices over the number of threads, each with a VP of its own; "
        "Tables 13 to 16, of which digits are lost in the text we have: means are as exact as "
        "they can be read.", picture, sentence, thesis.numbers(rows, made))


def section(results):
    fixed = thesis.figure(
        results, "thesis-figure-11", "Figure 11: matrix product, tiles shared out",
        "Time to multiply two matrices over the number of VPs, for several numbers of threads; "
        "Tables 17 to 26, some of whose digits are lost.", "matmul-fixed",
        results.select(experiment="matmul", clock="wall", schedule="fixed"))
    return blocks.Section(
        "thesis-matmul", "Matrix product", "thesis 4.3, Tables 13 to 26, Figures 10 and 11",
        "Two square matrices, multiplied tile by tile.",
        [figure_10(results), fixed])
