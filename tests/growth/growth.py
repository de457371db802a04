# SPDX-License-Identifier: Apache-2.0
"""What one thing costs does not grow with how many others there are: growth.py PROGRAM.

Callgrind counts the instructions of each row of mltp-bench growth at three sizes. A row's cost for each thing is the
difference between two sizes, so what the process costs by itself does not count. The slope is that
of the cost on log-log axes: 0 is flat, 1 means that each thing pays for all others.
"""
import concurrent.futures
import math
import re
import shutil
import subprocess
import sys

SIZES = (100, 400, 1600)
SLOPE_MOST = 0.3
ROWS = ("fork-join", "await-words", "await-values", "rwlock-give-up", "timers", "due-timers", "select", "thread-specific", "peaks", "dump", "traps",
        "nested-tries", "nested-parents")


def valgrind(tool, *command):
    return subprocess.run(["valgrind", f"--tool={tool}", *command], capture_output=True, text=True,
                          check=False)


def instructions(program, row, size):
    done = valgrind("callgrind", "--callgrind-out-file=/dev/null", program, row, str(size))
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not counted:
        sys.exit(f"growth: {row} {size} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return int(counted[1])


def costs(counts):
    """Instructions for each thing, between neighbouring sizes."""
    return [(counts[i + 1] - counts[i]) / (SIZES[i + 1] - SIZES[i]) for i in range(len(SIZES) - 1)]


def main(program):
    if not shutil.which("valgrind"):
        print("growth: skipped: valgrind counts the instructions (install valgrind)")
        return 77
    if "I can't recover" in valgrind("none", program).stderr:
        print("growth: skipped: this valgrind does not read what the compiler wrote (use gcc)")
        return 77
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = {row: [pool.submit(instructions, program, row, size) for size in SIZES]
                 for row in ROWS}
        counts = {row: [count.result() for count in found[row]] for row in ROWS}
    steep = 0
    print(f"{'row':16}{'few':>10}{'many':>10}{'slope':>8}   instructions for each thing")
    for row in ROWS:
        few, many = costs(counts[row])
        slope = math.log(many / few) / math.log((SIZES[2] - SIZES[1]) / (SIZES[1] - SIZES[0]))
        steep += slope > SLOPE_MOST
        print(f"{row:16}{few:10.0f}{many:10.0f}{slope:8.2f}{'   too steep' if slope > SLOPE_MOST else ''}")
    if steep:
        print(f"growth: {steep} rows grow with a slope above {SLOPE_MOST}")
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
