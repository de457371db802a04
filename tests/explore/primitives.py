#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Explores each primitive by itself, by each strategy, to a bound. Prints what was tried."""
import argparse
import subprocess
import sys


def explore(mltp, program, name, *options):
    """@return whether no order of the threads makes the program fail."""
    done = subprocess.run([mltp, "explore", "--timeout", "550", *options, "--", program, name],
                          capture_output=True, text=True, check=False)
    print(f"{name:16}", *options, "-", done.stdout.splitlines()[0] if done.stdout else "")
    if done.returncode != 0:
        print(done.stdout, done.stderr)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("mltp")
    parser.add_argument("program")
    parser.add_argument("runs", help="of each strategy")
    parser.add_argument("--bound", default="2", help="departures of the systematic strategy")
    asked = parser.parse_args()
    names = subprocess.run([asked.program], capture_output=True, text=True, check=True).stdout
    passed = [explore(asked.mltp, asked.program, name, "--runs", asked.runs, *strategy)
              for name in names.split()
              for strategy in (["--strategy", "random"], ["--strategy", "pct"],
                               ["--strategy", "preempt", "--bound", asked.bound])]
    return not all(passed)


if __name__ == "__main__":
    sys.exit(main())
