#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the gate adds to an operation on a free object or to a thread: price.py LIBRARY PROGRAM OPERATION.

Callgrind counts the instructions of PROGRAM with LIBRARY preloaded and without. What a process costs without a round does
not count. Of waits for a mutex that is held for long, the instructions of the function that spins are counted.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIBRARY, PROGRAM, OPERATION = sys.argv[1:4]
ROUNDS = 20000
SLOW = 80  # the rounds of operations that switch threads are divided by it
# The most instructions that a gated round may take beside libc's own. A thread gets no heap of its own.
MORE = {"mutex": 15, "recursive": 0, "sem": 45, "cond": 45, "thread": 2500, "c11": 2500, "stray": 15}
TURNS = 5  # threads that wait for each other take more instructions, never fewer: the least one counts
WAITS = 500
SPUN = 200  # the most instructions of a wait in the function that spins; a hundred spins take 700


def instructions(name, rounds, gated, out="/dev/null"):
    environment = {**os.environ, "MLTP_COORDINATOR": "off", "MLTP_VPS": "2"}
    if gated:
        environment["LD_PRELOAD"] = LIBRARY
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", PROGRAM, name, str(rounds)],
                          capture_output=True, text=True, check=False, env=environment)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not counted:
        sys.exit(f"price: {name} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return int(counted[1])


def a_round(name, gated, enough=0):
    """The least instructions of a round; looks no further once a number is `enough` or fewer."""
    slow = name in ("thread", "c11")
    rounds = ROUNDS // (SLOW if slow else 1)
    start = instructions(name, 0, gated)
    least = None
    for _ in range(TURNS if slow else 1):
        now = (instructions(name, rounds, gated) - start) / rounds
        least = now if least is None else min(least, now)
        if least <= enough:
            break
    return least


def spun():
    """A wait's instructions in the function that spins."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/callgrind.out"
        instructions("wait", WAITS, True, out)
        annotated = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", out], capture_output=True, text=True,
                                   check=True)
    counts = re.findall(r"^\s*([\d,]+) .*:gt_mutex_lock_busy\b", annotated.stdout, re.M)
    return sum(int(count.replace(",", "")) for count in counts) / WAITS


def main():
    if not shutil.which("valgrind"):
        print("price: skipped: valgrind counts the instructions (install valgrind)")
        return 77
    if OPERATION == "wait":
        spins = spun()
        print(f"{spins:.0f} instructions of the function that spins")
        return 0 if 0 < spins <= SPUN else 1
    plain = a_round(OPERATION, False)
    most = plain + MORE[OPERATION]
    gated = a_round(OPERATION, True, most)
    print(f"{plain:.0f} instructions in libc, {gated:.0f} gated")
    return 0 if gated <= most else 1


if __name__ == "__main__":
    sys.exit(main())
