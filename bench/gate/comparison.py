# SPDX-License-Identifier: Apache-2.0
"""A program of gated.py as it is and gated: rows of figures, a line of text, and a row of a page."""
import os
import statistics

ALONE, MANY = 1, 4
DEAR = 1.03  # CPU time of a program alone, gated over plain
FAST = 1.3  # wall time of four copies of a program whose threads waste CPU time, plain over gated
HEADS = ("program", "copies", "turns", "CPU s, plain: min", "median", "gated: min", "median", "gated / plain: min", "median",
         "wall s, plain: min", "median", "gated: min", "median", "plain / gated: min", "median", "most to gain: min", "median", "verdict")


class Comparison:
    """Turns of a program. samples: {way: [(wall, use)]}. alone: the comparison of one copy; None: its CPU time says nothing."""

    def __init__(self, name, copies, samples, alone):
        self.name, self.copies, self.samples, self.alone = name, copies, samples, alone

    def figures(self, way):
        """What a way took, turn by turn, by metric and clock."""
        values = self.samples[way]
        return {("time", "wall"): [wall for wall, _ in values], ("time", "cpu"): [use.cpu for _, use in values],
                ("waits", None): [use.waits for _, use in values], ("losses", None): [use.losses for _, use in values]}

    def seconds(self, way, clock, choose=min):
        return choose(self.figures(way)["time", clock])

    def cost(self, choose=min):
        """CPU time, gated over plain."""
        return self.seconds("gated", "cpu", choose) / self.seconds("plain", "cpu", choose)

    def gain(self, choose=min):
        """Wall time, plain over gated."""
        return self.seconds("plain", "wall", choose) / self.seconds("gated", "wall", choose)

    def most(self, choose=min):
        """How much faster the copies could be if they wasted no CPU time. None: unknown."""
        if self.alone is None:
            return None
        least = min(self.alone.seconds(way, "cpu", choose) for way in self.alone.samples)
        return self.seconds("plain", "wall", choose) * len(os.sched_getaffinity(0)) / (self.copies * least)

    def verdict(self):
        """Against the bars, by minima."""
        if self.copies == ALONE:
            return "above the bar" if self.cost() > DEAR else ""
        most = self.most()
        return "below the bar" if most and self.gain() < FAST <= most else ""

    def rows(self):
        """Rows as mltp-bench writes them."""
        for way in self.samples:
            for (metric, clock), figures in self.figures(way).items():
                yield {"impl": way, "params": {"program": self.name, "copies": self.copies}, "metric": metric,
                       "unit": "s" if clock else "switches", "clock": clock, "runs": len(figures), "verified": True,
                       "min": min(figures), "median": statistics.median(figures), "max": max(figures)}

    def line(self):
        """Minima, ratios by minima and by medians, and the switches of the run that used the least CPU time."""
        least = {way: min(use for _, use in values) for way, values in self.samples.items()}
        switches = "  ".join(f"{use.waits}+{use.losses}" for use in least.values())
        bound = "" if self.alone is None else f" of {self.most():.2f} ({self.most(statistics.median):.2f})"
        return (f"{self.name:20}{self.copies:3}  cpu {self.seconds('plain', 'cpu'):8.3f} {self.seconds('gated', 'cpu'):8.3f} s  gated/plain "
                f"{self.cost():6.3f} ({self.cost(statistics.median):.3f})   wall {self.seconds('plain', 'wall'):8.3f} "
                f"{self.seconds('gated', 'wall'):8.3f} s  plain/gated {self.gain():6.2f} ({self.gain(statistics.median):.2f}){bound} "
                f"{self.verdict():13}  switches {switches}  {len(self.samples['plain'])} turns")

    def cells(self):
        """A row below HEADS."""
        most = ["", ""] if self.alone is None else [f"{self.most(choose):.2f}" for choose in (min, statistics.median)]

        def of(clock, ratio, digits):
            times = [f"{self.seconds(way, clock, choose):.4g}" for way in ("plain", "gated") for choose in (min, statistics.median)]
            return [*times, *(f"{ratio(choose):.{digits}f}" for choose in (min, statistics.median))]
        return [self.name, str(self.copies), str(len(self.samples["plain"])), *of("cpu", self.cost, 3), *of("wall", self.gain, 2),
                *most, self.verdict()]


def page(comparisons, faults, facts):
    """A page of docs/measurements. faults: lines of what went wrong. facts: where it was measured, by name."""
    rows = [HEADS, ["---"] * len(HEADS), *(comparison.cells() for comparison in comparisons)]
    lines = ["<!-- SPDX-License-Identifier: Apache-2.0 -->",
             "<!-- Written by ./dev bench-gated --page. Measure again instead of editing. -->",
             "# Stock pthread programs, plain and gated", "",
             "`./dev bench-gated --page FILE` measures programs of Debian as they are and by `mltp run --threads`, in turn, and writes "
             "this page. Of one copy the CPU time counts: its bar is met if gated over plain is at most "
             f"{DEAR}, by minima. Of four copies the wall time counts: their bar is {FAST} times as fast, where the copies waste so much "
             "CPU time that as much can be gained. The most to gain is the plain wall time over what four times the CPU time of one copy "
             "takes on all CPUs; servers and programs that do not spend the same CPU time in each run have none.", "",
             "| measured on |  |", "| --- | --- |", *(f"| {name} | {fact} |" for name, fact in facts.items()), "",
             *("| " + " | ".join(row) + " |" for row in rows), "", *(f"- {fault}" for fault in faults)]
    return "\n".join(lines).rstrip("\n") + "\n"
