#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one thing costs beside many others of its kind, in instructions, which other programs on the machine do not change.

usage: growth.py TMPIRUN PROGRAM
PROGRAM is bench/mpi/programs/growth.c. Exits with 77 if there is no valgrind.
"""
import re
import shutil
import subprocess
import sys

FEW, MANY = 1000, 10000  # beyond what a VP keeps of freed requests, so both pay for that
# Flat: MANY / FEW times the instructions. A list that is walked makes it some 70 times.
MOST = 1.5 * MANY / FEW
ROWS = "attributes", "info", "communicators", "cancelled", "unexpected", "wildcard", "flood", "flood --check"


def instructions(tmpirun, program, row, count):
    name, *options = row.split()
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", tmpirun, *options, "--vps", "1", "-n", "2",
               program, name, str(count)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", result.stderr)[1])


def main():
    if shutil.which("valgrind") is None:
        print("no valgrind here")
        return 77
    start = instructions(*sys.argv[1:], "structures", 1)
    failed = 0
    for row in ROWS:
        few, many = (instructions(*sys.argv[1:], row, count) - start for count in (FEW, MANY))
        print(f"{row}: {few / FEW:.0f} instructions each of {FEW}, {many / MANY:.0f} each of {MANY}")
        failed += many > MOST * few
    return failed


if __name__ == "__main__":
    sys.exit(main())
