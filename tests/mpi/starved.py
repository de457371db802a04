#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Out of memory in MPI calls: each allocation that the library makes in a scenario fails in turn.

Usage: starved.py TMPIRUN STARVED STARVE [SCENARIO...]

STARVE is a library for LD_PRELOAD (starve.c). A call then succeeds, returns MPI_ERR_NO_MEM, or ends the job with a
message that says what there was no memory for, unless it concerns no other rank. Wrong data, other classes, crashes and
hangs are failures.
"""
import os
import re
import subprocess
import sys

TMPIRUN, STARVED, STARVE = sys.argv[1:4]
RUNS = ((1,), (2,), (5,), (2, "--check"))
MOST = 400  # allocations of one scenario
HANG = 550  # seconds; a busy machine may be slow
REFUSED, FAILED = 77, 1
ALONE = {"restarted", "exchanged"}  # scenarios without calls that other ranks wait for


def once(run, scenario, nth):
    """Runs a scenario. Returns how it ended, and a text if that was wrong."""
    environment = {**os.environ, "LD_PRELOAD": STARVE}
    try:
        ended = subprocess.run([TMPIRUN, *run[1:], "-n", str(run[0]), STARVED, scenario, str(nth)], env=environment, text=True,
                               capture_output=True, timeout=HANG, check=False)
    except subprocess.TimeoutExpired as hang:
        return "hangs", f"{hang.stderr}"
    text = f"status {ended.returncode}\n{ended.stdout}{ended.stderr}"
    refusals = re.findall(r"refused \d+ (.*)", ended.stderr)
    if any(refusal != "no memory" for refusal in refusals):
        return "another class", text
    if ended.returncode == 0 and re.search(r"^done \d+$", ended.stdout, re.M):
        failed = int(re.search(r"^done (\d+)$", ended.stdout, re.M)[1])
        return ("over" if failed == 0 else "refused" if refusals else "right"), ""
    if ended.returncode == REFUSED and refusals:
        return "refused", ""
    if ended.returncode == FAILED and "no memory" in ended.stderr and scenario not in ALONE:
        return "told", ""
    return "wrong", text


def main():
    names = subprocess.run([TMPIRUN, "-n", "1", STARVED, "list"], text=True, capture_output=True, check=True).stdout.split()
    wrong, counts = [], {}
    for scenario in sys.argv[4:] or names:
        for run in RUNS:
            for nth in range(1, MOST):
                end, text = once(run, scenario, nth)
                if end == "over":
                    break
                counts[end] = counts.get(end, 0) + 1
                if text:
                    wrong.append((scenario, run, nth, end))
                    print(f"{scenario}, run {run}, allocation {nth}: {end}\n{text}", flush=True)
            else:
                wrong.append((scenario, run, MOST, "allocates without end"))
    print(f"{sum(counts.values())} allocations failed: {counts}")
    assert sum(counts.values()) > 200, "the library's allocations are not reached"
    assert not wrong, f"{len(wrong)} of them: {wrong}"


if __name__ == "__main__":
    main()
