#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random MPI programs (soak.h) under many settings, until the time is over or one is wrong."""
import argparse
import itertools
import os
import random
import re
import shlex
import subprocess
import sys
import time

TIMEOUT = 600  # of one program: it has hung


def settings(chance):
    """Options of tmpirun, in turn."""
    yield ["--vps", "1"]
    yield ["--vps", "2"]
    yield ["--vps", "4"]
    yield ["--seed", str(chance.randrange(1, 10**6))]
    yield ["--one-to-one"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tmpirun")
    parser.add_argument("soak", help="the program")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--runs", type=int, help="so many in place of a time")
    parser.add_argument("--rounds", type=int, default=200, help="of each program")
    parser.add_argument("--seed", type=int, default=random.randrange(10**9), help="of all that is random here")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    end = time.monotonic() + options.seconds
    runs = messages = 0
    print(f"soak: seed {options.seed}")
    turns = itertools.chain.from_iterable(settings(chance) for _ in itertools.count())
    for words in turns:
        if runs == options.runs or (options.runs is None and time.monotonic() > end):
            break
        ranks, seed = chance.choice([2, 3, 4, 5, 8, 13, 24]), chance.randrange(10**9)
        command = [options.tmpirun, "-n", str(ranks), *words, options.soak, str(seed), str(options.rounds)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT,
                                  env={**os.environ, "MLTP_STEPS_MAX": str(10**9)})
            status, output = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as hung:
            status, output = "none", f"no end after {TIMEOUT} s\n{(hung.stderr or b'').decode()}"
        match = re.search(r"soak: (\d+) messages", output)
        if status != 0 or not match:
            print(f"soak: wrong, status {status}: {shlex.join(command)}\n{output[:4000]}", file=sys.stderr)
            return 1
        runs += 1
        messages += int(match[1])
    print(f"soak: {runs} programs of {options.rounds} rounds, {messages} messages: all as the model has them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
