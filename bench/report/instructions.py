# SPDX-License-Identifier: Apache-2.0
"""Rows `instructions` of compare.py: what an operation of MPI takes on one VP, in instructions of all ranks.

Callgrind counts them, so other programs on the machine do not change them, and one run is enough. The cost of an
operation is the difference between two runs with few and with many, without the two barriers around each.
"""
import json
import pathlib
import re
import shutil
import subprocess

import price

SOURCES = {"single": ["single.c", "measure.c"], "onesided": ["onesided.c", "measure.c"]}
FEW, MANY = 100, 600
AT_ONCE = "0"  # milliseconds that a batch takes at least: it has one operation
BARRIER = "barrier"
ROWS = [  # name, ranks, program and its words
    ("latency, 8 bytes", 2, "single latency 8"),
    ("message, 64 at a time", 2, "single stream 8"),
    ("ring, 8 bytes", 16, "single ring 8"),
    (BARRIER, 16, "single barrier 0"),
    ("allreduce, 8 bytes", 16, "single allreduce 8"),
    ("reduce, 8 bytes", 16, "single reduce 8"),
    ("bcast, 8 bytes", 16, "single bcast 8"),
    ("allgather, 8 bytes", 16, "single allgather 8"),
    ("alltoall, 8 bytes", 16, "single alltoall 8"),
    ("put, 8 bytes", 2, "onesided put 8"),
    ("accumulate, 8 bytes", 2, "onesided accumulate 8"),
    ("put and fence, 8 bytes", 16, "onesided fence 8"),
    ("lock, put, unlock, 8 bytes", 2, "onesided lock 8")]
START = ("start to end", 64, "single start 0 1")


def build(bench, folder):
    if not shutil.which("valgrind"):
        raise price.Failure("no valgrind, which counts instructions (install valgrind)")
    return price.build(bench, folder, SOURCES, ["-O2"])  # valgrind does not know each instruction of the CPU


def count(built, ranks, words):
    """The instructions of a whole job."""
    tmpirun, folder = built
    program, *arguments = words.split()
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", tmpirun, "--vps=1", "-n", str(ranks),
               folder / program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not counted or len(lines) != 1 or not json.loads(lines[0])["verified"]:
        raise price.Failure(f"{' '.join(map(str, command))} ended with {done.returncode} and printed {done.stdout!r}")
    return int(counted[1])


def operation(built, ranks, words):
    """The instructions of an operation, and of the two barriers around it."""
    few, many = (count(built, ranks, f"{words} {batches} {AT_ONCE}") for batches in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def measure(built):
    """One run of each row. Returns {row: (value, unit)} as compare.measure() does."""
    barriers = {ranks: operation(built, ranks, "single barrier 0") / 3 for ranks in {row[1] for row in ROWS}}
    values = {}
    for name, ranks, words in ROWS:
        cost = barriers[ranks] if name == BARRIER else operation(built, ranks, words) - 2 * barriers[ranks]
        values[name, f"{ranks} ranks"] = (cost, "instr")
    name, ranks, words = START
    values[name, f"{ranks} ranks"] = (count(built, ranks, words), "instr")
    return values
