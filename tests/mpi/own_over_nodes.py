#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The MPI programs of these tests on two and on four nodes, which are processes of one machine (nodes.py). Each checks its own
results. A program that has no meaning on several nodes is named with the reason, so that a new one runs until it is.

Exit status 77: no launcher with PMIx here."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

LAUNCH = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"]
LEFT_OUT = {
    "accesses": "has windows of memory that ranks of one node share",
    "arguments": "is for one rank",
    "disk": "the name of its file has the number of a process",
    "environment": "wants all ranks on one node",
    "files": "ranks of one process have names with its number",
    "intake": "is for two ranks",
    "inter_errors": "is for three ranks",
    "interrupted": "handlers of ranks of one process",
    "launched": "what a launcher tells the ranks of one node",
    "libc": "what ranks of one process have of their own",
    "locks": "locks of ranks of one process",
    "owners": "descriptors of ranks of one process",
    "signals": "signals among ranks of one process",
    "timers": "timers of ranks of one process",
    "window_edges": "is for three ranks",
    "window_errors": "has windows of memory that ranks of one node share"}
ROW = re.compile(r"^    (\w+)\.(?:c|cpp):(\d+)\)?$", re.M)


def programs():
    """Names of the programs, with their numbers of ranks on one node."""
    text = pathlib.Path(__file__).with_name("CMakeLists.txt").read_text(encoding="ascii")
    return ROW.findall(text[text.index("set(programs"):text.index("foreach(program ")])


def run(tmpirun, program, nodes, ranks):
    """@return what is wrong; "": nothing."""
    with tempfile.TemporaryDirectory() as folder:
        line = [*LAUNCH, "-n", str(nodes), str(tmpirun), "--timeout=900", "-n", str(ranks), str(program)]
        result = subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder, stdin=subprocess.DEVNULL,
                                env=dict(os.environ, UCX_TLS="tcp"))
    if result.returncode == 0:
        return ""
    return f"status {result.returncode}: " + " | ".join(result.stderr.strip().splitlines()[:3])[:300]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tmpirun", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, help="where the programs are")
    parser.add_argument("--only", default="", help="programs whose name has this regular expression")
    args = parser.parse_args()
    args.tmpirun, args.folder = args.tmpirun.resolve(), args.folder.resolve()
    asks = [*LAUNCH, "-n", "1", "sh", "-c", 'test -n "$PMIX_NAMESPACE"']
    if not shutil.which(LAUNCH[0]) or subprocess.run(asks, check=False, capture_output=True).returncode != 0:
        print("skipped: no mpirun of Open MPI with PMIx can start a process here (openmpi-bin)")
        return 77
    wrong = 0
    for name, ranks in programs():
        if name in LEFT_OUT or not re.search(args.only, name):
            continue
        for nodes in [2, 4]:
            begin, each = time.monotonic(), -(-int(ranks) // nodes)
            said = run(args.tmpirun, args.folder / name, nodes, each * nodes)
            wrong += said != ""
            print(f"{name}: {nodes} nodes, {each * nodes} ranks: {said or 'right'} ({time.monotonic() - begin:.1f} s)", flush=True)
    for name, why in LEFT_OUT.items():
        print(f"{name}: not run: {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
