# SPDX-License-Identifier: Apache-2.0
"""python3 -m model.smt: a simulator of issue slots of a processor with two contexts. A model, not a measurement.

D. Smith, *Asymmetric Task Scheduling on Simultaneous Multithreading Processors* (2005), Figure 3.2 and Table 4.1. Each
cycle the two contexts share issue slots and floating-point units. A mode says which streams a context may run:

up      one context runs user threads in turn and kernel work, which interrupts them
smt     both contexts run user threads; kernel work displaces one of them
dk      one context runs user threads in turn, the other kernel work

As in the thesis, the cost of switching is left out.
"""
import argparse
import dataclasses
import functools
import json

from . import smt_mixes

UP, SMT, DK = MODES = ("up", "smt", "dk")


@dataclasses.dataclass(frozen=True)
class Machine:
    """What the contexts share: instructions issued in a cycle, and how many of them floating-point ones."""

    width: int = 3     # stated: 2.5
    fp_units: int = 2  # stated: 1.1


class Stream:
    """A thread's instructions, in groups: those of a group are independent, and wait for the group before.

    A group is (floating-point, other, stall): after its last instruction the stream stalls for some cycles.
    """

    def __init__(self, name, groups):
        self.name, self.groups = name, list(groups)
        self.at, self.fp, self.other, self.ready = 0, 0, 0, 0
        self.finished = None
        self.load()

    def load(self):
        """Takes the next group, if there is one."""
        if self.at < len(self.groups):
            self.fp, self.other, self.stall = self.groups[self.at]

    def issue(self, cycle, slots, fp_units):
        """Issues what fits of the current group. Returns (floating-point, other) instructions."""
        if self.finished is not None or cycle < self.ready:
            return 0, 0
        fp = min(self.fp, fp_units, slots)
        other = min(self.other, slots - fp)
        self.fp, self.other = self.fp - fp, self.other - other
        if not self.fp and not self.other:
            self.ready = cycle + 1 + self.stall
            self.at += 1
            if self.at == len(self.groups):
                self.finished = cycle
            self.load()
        return fp, other


class Kernel:
    """Periodic kernel work: pieces of one instruction. pending(cycle) tells how many have come and are not done."""

    def __init__(self, arrivals):
        self.arrivals, self.done = list(arrivals), 0

    def pending(self, cycle):
        """True if a piece waits."""
        return self.done < len(self.arrivals) and self.arrivals[self.done] <= cycle


def user_contexts(mode, cycle, threads, turn, kernel_works):
    """The user threads that have a context in a cycle."""
    left = [thread for thread in threads if thread.finished is None]
    if not left or (mode == UP and kernel_works):
        return []
    if mode in (UP, DK):
        return [left[turn % len(left)]] if len(left) > 1 else left
    contexts = 1 if kernel_works else 2
    start = turn % len(left)
    return (left[start:] + left[:start])[:contexts]


def run(mode, threads, kernel, machine=Machine(), limit=10 ** 7):
    """Runs threads to their end. Returns the schedule: for each cycle a dict of stream name to (fp, other)."""
    schedule, turn = [], 0
    cycle = 0
    while any(thread.finished is None for thread in threads):
        cycle += 1
        if cycle > limit:
            raise RuntimeError(f"the streams do not end within {limit} cycles")
        works = kernel.pending(cycle)
        running = user_contexts(mode, cycle, threads, turn, works)
        slots, units, line = machine.width, machine.fp_units, {}
        if works:
            kernel.done += 1
            slots -= 1
            line["kernel"] = (0, 1)
        share = len(running)
        for thread in running:  # each context has its share of the units first; what one leaves the next may take
            fp, other = thread.issue(cycle, slots, max(1, units // share) if share > 1 else units)
            slots, units, share = slots - fp - other, units - fp, share - 1
            if fp or other:
                line[thread.name] = (fp, other)
        if mode != SMT or works:
            turn += bool(running)
        schedule.append(line)
    return schedule


def figure_3_2(mode):
    """The workload of Figure 3.2: two threads of ten floating-point instructions, and kernel work in between.

    The drawing is not in the text we have. This is the smallest workload that we found to satisfy all of what the
    text says of it: pairs of independent instructions, each after the one before; a piece of kernel work in every
    second cycle from the second on. tests/model/test_smt.py has the statements.
    """
    threads = [Stream(name, [(2, 0, 0)] * 5) for name in ("thread 1", "thread 2")]
    return run(mode, threads, Kernel(range(2, 12, 2))), threads


def picture(schedule):
    """A schedule as text: a line for each cycle."""
    names = sorted({name for line in schedule for name in line})
    lines = ["cycle  " + "  ".join(f"{name:<8}" for name in names)]
    for cycle, line in enumerate(schedule, start=1):
        cells = ("F" * line.get(name, (0, 0))[0] + "I" * line.get(name, (0, 0))[1] or "." for name in names)
        lines.append(f"{cycle:>5}  " + "  ".join(f"{cell:<8}" for cell in cells).rstrip())
    return "\n".join(lines)


@functools.cache
def categories():
    """Each of the thesis's programs: cycles in each mode, with and without network load, and its category."""
    found = []
    for mix in smt_mixes.MIXES:
        cycles = {(mode, net): smt_mixes.cycles(mix, mode, net) for net in (False, True) for mode in MODES}
        found.append({"program": mix.name, "paper": mix.category, "cycles": cycles,
                      "model": "pro-SMT" if cycles[SMT, True] < cycles[DK, True] else "pro-DK"})
    return found


def main():
    """Prints the model's figure and table."""
    parser = argparse.ArgumentParser(prog="python3 -m model.smt", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--json", metavar="FILE", help="write what is printed to FILE")
    options = parser.parse_args()
    document = {"model": True, "figure_3_2": {}, "table_4_1": []}
    for mode in MODES:
        schedule, threads = figure_3_2(mode)
        print(f"Figure 3.2 (model), mode {mode}: threads end in cycles {[t.finished for t in threads]}")
        print(picture(schedule) + "\n")
        document["figure_3_2"][mode] = {"schedule": schedule, "ends": [t.finished for t in threads]}
    print("Table 4.1 (model): thousand cycles of four copies, without and with network load")
    for row in categories():
        cells = "".join(f"{row['cycles'][mode, net] / 1e3:>8.2f}" for net in (False, True) for mode in MODES)
        print(f"{row['program']:<9}{cells}  {row['model']:<8} thesis: {row['paper']}")
        document["table_4_1"].append({**row, "cycles": {f"{m}{' net' if n else ''}": c
                                                        for (m, n), c in row["cycles"].items()}})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)


if __name__ == "__main__":
    main()
