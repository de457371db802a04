#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the include graph of src/: rooms include only rooms below them, and no files form a circle.

A room is a folder. The table lists rooms from the bottom up, with what each may include. An include
without an arrow in the table is an error; so is a room without a row, an arrow that runs upward in
the table, and a circle of files inside a room. A header and the C file of the same name count as one.
"""
import argparse
import pathlib
import re
import sys

# Room -> what its files may include beside their own room and the public headers (mltp/...): whole
# rooms, or single headers. A room may include only rooms above its own row in this table, which is
# below it in the house.
ARROWS = {
    # The processor, with one folder for each: knows nothing of us.
    "arch/x86_64": [],
    "arch/aarch64": [],
    "arch": ["arch/x86_64", "arch/aarch64"],
    # When to steal, search, sleep, wake, spin and go home: pure functions, which know nothing of us.
    "policy": [],
    # The kernel and libc's threads: may ask the processor, nothing more.
    "os": ["arch"],
    # Atomics, internal locks, lists, options, log: memory, time and descriptors come from the system.
    "base": ["arch", "os"],
    # What sanitizers, valgrind, tracers and the reports must know: inline, or one table.
    "instrument": [],
    # The daemon mltpd: how it decides, and a program's side of the connection.
    "coord": ["os", "base"],
    # Teams of OpenMP and OpenBLAS in programs that were not written for us.
    "teams": ["os", "base", "coord"],
    # Threads of programs that were not written for us. It stands before libc's functions, so it calls these.
    "gate": ["arch/arch.h", "os", "base", "coord"],
    # The descriptor of a thread, its states, its values.
    "core/thread": ["arch", "os", "base", "instrument"],
    # The VP, the state of the runtime, and the interface to alternatives.
    "core/vp": ["policy", "arch", "os", "base", "core/thread"],
    # Deterministic mode: its switch, clock, random numbers and log.
    "core/det": ["base", "instrument", "core/thread", "core/vp"],
    # Deadlines of parked threads.
    "core/timer": ["base", "core/thread", "core/vp", "core/det"],
    # Where descriptors and stacks come from.
    "core/memory": ["base", "os", "core/thread", "core/vp"],
    # Run queues, switches, theft, sleeping VPs.
    "core/sched": ["policy", "arch", "os", "base", "coord", "instrument", "core/thread", "core/vp", "core/det", "core/timer",
                   "core/memory"],
    # Parking, and waiting for words.
    "core/wait": ["policy", "arch", "os", "base", "coord", "instrument", "core/thread", "core/vp", "core/det", "core/timer",
                  "core/sched"],
    # Start and end of threads and of the runtime.
    "core/life": ["os", "base", "coord", "instrument", "core/thread", "core/vp", "core/det", "core/timer", "core/memory",
                  "core/sched", "core/wait"],
    # Input and output: parks threads until descriptors are ready; the scheduler calls it by a hook.
    "io": ["os", "base", "core/thread", "core/vp", "core/det", "core/timer", "core/sched", "core/wait"],
    # What libmltp offers to the project's other libraries.
    "core/internal": ["policy", "os/os.h", "base", "instrument", "core/thread", "core/vp", "core/det", "core/memory", "core/sched",
                      "core/wait", "core/life"],
    # Everything that waits is built on the core's park.
    "sync": ["policy", "arch", "os", "base", "core/thread", "core/vp", "core/det", "core/memory", "core/sched", "core/wait", "core/life"],
    # Locks from papers, and what alternatives keep with a VP.
    "alternatives/spin": ["base", "core/det", "core/vp", "sync"],
    # Schedulers from papers.
    "alternatives/strategy": ["base", "core/thread", "core/vp", "core/det", "core/memory", "core/sched",
                              "alternatives/spin"],
    # Dumps and reports look at every state the core has, and ask objects what they are.
    "debug": ["policy", "arch", "os", "base", "instrument", "core/thread", "core/vp", "core/memory", "core/life", "sync"],
    # QuickThreads' interface and SystemC's coroutine package: bare contexts, without a runtime.
    "quickthreads": ["arch", "os/os.h"],
    "systemc": ["arch", "os", "instrument/sanitizer.h"],
    # MPI is built on the public interface; of the inside it has the internal API. Its loader knows
    # the processor's relocations and makes system calls of its own.
    "tmpi": ["policy", "arch/prefetch.h", "arch/program.h", "base/atomic.h", "base/digits.h", "core/internal", "os/map.h", "os/os.h", "os/pthreads.h"],
    # Simulation is built on the public interface; of the inside it has the internal API. It switches
    # threads in place.
    "sim": ["arch", "base/atomic.h", "core/internal"],
}

# Files that include each other because they are one idea. At most 5.
PAIRS = {
    ("arch/arch", "arch/ucontext"): "the backends of one contract",
    ("base/log", "base/options"): "MLTP_MISUSE says what a misuse report does; bad options are reported",
    ("tmpi/loader/program", "tmpi/loader/open"): "a library that a rank opens is one more image of the program",
    ("tmpi/match/deferred", "tmpi/match/entries"): "a deferred message is an entry of the mailbox",
    ("tmpi/match/deferred", "tmpi/match/match"): "releasing a deferred message completes its sender's request",
}

# Rooms whose folders are not rooms: one row of the table for all, while their files may not form a circle either.
WHOLE = {"tmpi", "sim", "systemc", "quickthreads"}

# Public headers beside mltp/...
PUBLIC = {"tmpi/mpi.h", "quickthreads/qt.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def room_of(file):
    """The room of a path below src/."""
    parts = pathlib.PurePath(file).parts
    return parts[0] if parts[0] in WHOLE else "/".join(parts[:-1])


def unit_of(file):
    """A header and the C file of the same name are one unit."""
    return str(pathlib.PurePath(file).with_suffix(""))


def check_table(arrows, pairs):
    """Arrows that run upward in the table, and too many pairs."""
    order = {room: index for index, room in enumerate(arrows)}
    errors = []
    for room, targets in arrows.items():
        for target in targets:
            below = target if target in order else room_of(target)
            if order.get(below, len(order)) >= order[room]:
                errors.append(f"layers.py: the arrow from {room} to {target} runs upward (move the row, or"
                              " declare a narrow function in the lower room)")
    if len(pairs) > 5:
        errors.append("layers.py: more than 5 pairs (find the true direction)")
    return errors


def find_circle(graph):
    """The first circle of a graph, as a list of nodes; empty: none."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):]
        if node in done:
            return []
        path.append(node)
        for target in sorted(graph.get(node, ())):
            if found := visit(target):
                return found
        path.pop()
        done.add(node)
        return []

    for node in sorted(graph):
        if found := visit(node):
            return found
    return []


def check(src):
    """Returns the errors in a source folder, as 'file:line: what (what to do)'."""
    errors = check_table(ARROWS, PAIRS)
    graph = {}
    for path in sorted(p for p in src.rglob("*") if p.suffix in {".c", ".h", ".S"}):
        file = path.relative_to(src)
        room = room_of(file)
        if room not in ARROWS:
            errors.append(f"{path}:1: room '{room}' has no arrows (see tools/lint/layers.py)")
            continue
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            match = INCLUDE.match(line)
            if not match or match[1].startswith("mltp/") or match[1] in PUBLIC:
                continue
            header = match[1]
            if not (src / header).is_file():
                errors.append(f"{path}:{number}: no header src/{header} (write room/file.h)")
            elif not {header, room_of(header)} & {room, *ARROWS[room]}:
                errors.append(f"{path}:{number}: {room} must not include {header}"
                              " (see the arrows in tools/lint/layers.py)")
            elif unit_of(header) != unit_of(file):
                graph.setdefault(unit_of(file), set()).add(unit_of(header))
    for one, other in PAIRS:
        graph.get(one, set()).discard(other)
    if circle := find_circle(graph):
        errors.append(f"{src}: files include each other in a circle: {' -> '.join([*circle, circle[0]])}"
                      " (find the true direction)")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("src", type=pathlib.Path, nargs="?", default=pathlib.Path("src"))
    errors = check(parser.parse_args().src)
    for error in errors:
        print(error, file=sys.stderr)
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
