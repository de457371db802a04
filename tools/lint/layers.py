#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the rooms of src/ include only what lies below them.

An include without an arrow in the table is an error; so is a room without a row.
"""
import argparse
import pathlib
import re
import sys

# Room -> what its files may include beside their own room and the public headers (mltp/...):
# whole rooms, or single headers.
ARROWS = {
    # The processor: knows nothing of us.
    "arch": [],
    # The kernel and libc's threads: may ask the processor, nothing more.
    "os": ["arch"],
    # Atomics, lists, options, log: may ask the system for memory, time and descriptors.
    "base": ["arch", "os"],
    # What sanitizers, valgrind and tracers must know; empty unless they are there.
    "instrument": [],
    # Threads, VPs, scheduler.
    "core": ["arch", "os", "base", "instrument", "alternatives", "debug/report.h"],
    # Everything that waits is built on core's park.
    "sync": ["arch", "os", "base", "instrument", "alternatives", "core"],
    # Other ways to manage threads and to wait for a lock, from papers.
    "alternatives": ["arch", "os", "base", "core", "sync"],
    # Dumps and reports look at every state core has, and ask objects what they are.
    "debug": ["arch", "os", "base", "instrument", "core", "sync/describe.h", "sync/lock.h"],
    # QuickThreads' interface and SystemC's coroutine package: bare contexts, without a runtime.
    "quickthreads": ["arch", "os/os.h"],
    "systemc": ["arch", "os", "instrument"],
    # MPI is built on the public interface; of the inside it has the internal API.
    # Its loader knows the processor's relocations and has system calls of its own.
    "tmpi": ["arch/program.h", "base/atomic.h", "core/internal", "os/map.h", "os/os.h",
             "os/pthreads.h"],
    # Simulation is built on the public interface; of the inside it has the internal API.
    # It switches threads in place.
    "sim": ["arch", "base/atomic.h", "core/internal"],
}

# Public headers beside mltp/...
PUBLIC = {"tmpi/mpi.h", "quickthreads/qt.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def check(src):
    """Returns the errors in a source folder, as 'file:line: what (what to do)'."""
    errors = []
    for path in sorted(p for p in src.rglob("*") if p.suffix in {".c", ".h", ".S"}):
        room = path.relative_to(src).parts[0]
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
            elif not {header, header.split("/")[0], header.rsplit("/", 1)[0]} & {room, *ARROWS[room]}:
                errors.append(f"{path}:{number}: {room} must not include {header}"
                              " (see the arrows in tools/lint/layers.py)")
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
