#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the gate adds to operations on free objects: price.py LIBRARY PROGRAM.

Callgrind counts the instructions of PROGRAM with LIBRARY preloaded and without. A round's cost is
the difference between two numbers of rounds, so what a process costs by itself does not count.
"""
import os
import re
import shutil
import subprocess
import sys

LIBRARY, PROGRAM = sys.argv[1:3]
FEW, MANY = 10000, 20000
# The most instructions that a gated round may take beside libc's own.
MORE = {"mutex": 15, "recursive": 0, "sem": 45, "cond": 45}


def instructions(name, rounds, gated):
    environment = {**os.environ, "MLTP_COORDINATOR": "off", "MLTP_VPS": "2"}
    if gated:
        environment["LD_PRELOAD"] = LIBRARY
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, name, str(rounds)],
                          capture_output=True, text=True, check=False, env=environment)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not counted:
        sys.exit(f"price: {name} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return int(counted[1])


def a_round(name, gated):
    return (instructions(name, MANY, gated) - instructions(name, FEW, gated)) / (MANY - FEW)


def main():
    if not shutil.which("valgrind"):
        print("price: skipped: valgrind counts the instructions (install valgrind)")
        return 77
    dear = 0
    for name, more in MORE.items():
        plain, gated = a_round(name, False), a_round(name, True)
        dear += gated > plain + more
        print(f"{name:10}{plain:8.0f} instructions in libc, {gated:.0f} gated")
    return 1 if dear else 0


if __name__ == "__main__":
    sys.exit(main())
