# SPDX-License-Identifier: Apache-2.0
"""Rows `instructions` of compare.py: what an operation takes on one VP, in instructions of all threads or ranks.

Callgrind counts them, so other programs on the machine hardly change them, and one turn is enough. The cost of an
operation is the difference between two runs with few and with many. MPI's operations have two barriers around them,
which do not count. Under valgrind a start reads the list of all mappings, for want of the end of the first stack that
the kernel tells: some 400,000 instructions of a job of 64 ranks that it does not take otherwise.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import price

SOURCES = {"single": ["single.c", "measure.c"]}
ONESIDED = {"onesided": ["onesided.c", "measure.c"]}
OPTIONS = ["-O2"]  # valgrind does not know each instruction of the CPU
FEW, MANY = 600, 5600  # the first hundreds of a program take other paths: 2 % of a lock, put and unlock
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
THREADS = ["switch", "yield", "create", "fork-join", "mutex", "sem", "cond", "barrier"]  # of mltp-bench micro
FEW_OF_THREADS, MANY_OF_THREADS = 1000, 21000
TRIES = 3  # a program that loses its CPU may look for work once more, as long as 20,000 switches take


def build(bench, folder):
    """Returns tmpirun, the folder of the programs, and which rows of MPI the tree has."""
    if not shutil.which("valgrind"):
        raise price.Failure("no valgrind, which counts instructions (install valgrind)")
    built = price.build(bench, folder, SOURCES, OPTIONS)
    try:
        price.build(bench, folder, ONESIDED, OPTIONS)
    except price.Failure as failure:
        if "MPI_Win" not in str(failure):
            raise
        print(f"instructions: {bench} has no windows: their rows are left out", file=sys.stderr)
        return *built, [row for row in ROWS if not row[2].startswith("onesided")]
    return *built, ROWS


def count(*program):
    """The instructions of a whole run of a program."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not counted or len(lines) != 1 or not json.loads(lines[0])["verified"]:
        raise price.Failure(f"{' '.join(map(str, command))} ended with {done.returncode} and printed {done.stdout!r}")
    return int(counted[1])


def count_job(built, ranks, words):
    """The instructions of a whole job."""
    tmpirun, folder, _ = built
    program, *arguments = words.split()
    return count(tmpirun, "--vps=1", "-n", str(ranks), folder / program, *arguments)


def operation(built, ranks, words):
    """The instructions of an operation, and of the two barriers around it."""
    few, many = (count_job(built, ranks, f"{words} {batches} {AT_ONCE}") for batches in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def operation_of_threads(tmpirun, row):
    """The instructions of an operation of threads, by the program that mltp-bench micro runs."""
    program = tmpirun.parent.parent / "libexec/mltp/mltp"
    few, many = (min(count(program, f"--ops={ops}", row, "1", "1") for _ in range(TRIES))
                 for ops in (FEW_OF_THREADS, MANY_OF_THREADS))
    return (many - few) / (MANY_OF_THREADS - FEW_OF_THREADS)


def measure(built):
    """One run of each row. Returns {row: (value, unit)} as compare.measure() does."""
    barriers = {ranks: operation(built, ranks, "single barrier 0") / 3 for ranks in {row[1] for row in built[2]}}
    values = {(row, "1 vps"): (operation_of_threads(built[0], row), "instr") for row in THREADS}
    for name, ranks, words in built[2]:
        cost = barriers[ranks] if name == BARRIER else operation(built, ranks, words) - 2 * barriers[ranks]
        values[name, f"{ranks} ranks"] = (cost, "instr")
    name, ranks, words = START
    values[name, f"{ranks} ranks"] = (count_job(built, ranks, words), "instr")
    return values
