#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for mltp-bench: notes its calls, and fails or waits where the test says so.

FAKE_CALLS names a file that gets a line for each call; FAKE_FAIL an experiment that fails;
FAKE_WAIT an experiment that says so through the pipe FAKE_PIPE and then waits to be ended.
"""
import json
import os
import signal
import sys

if sys.argv[1] == "--list":
    print("experiments:\n  pi   x\n  handshake   x\nimplementations:\n  mltp   x")
    sys.exit(0)
experiment = sys.argv[1]
with open(os.environ["FAKE_CALLS"], "a", encoding="utf-8") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\n")
if experiment == os.environ.get("FAKE_FAIL"):
    print("fake: the answer is wrong", file=sys.stderr)
    sys.exit(3)
if experiment == os.environ.get("FAKE_WAIT"):
    with open(os.environ["FAKE_PIPE"], "w", encoding="utf-8") as pipe:
        pipe.write(f"{os.getpid()}\n")
        pipe.flush()
        signal.pause()
with open(sys.argv[sys.argv.index("--json") + 1], "w", encoding="utf-8") as file:
    json.dump({"experiment": experiment, "env": {"load": [0.5]}, "rows": []}, file)
print(f"fake: measured {experiment}")
