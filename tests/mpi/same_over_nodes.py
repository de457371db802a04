#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An MPI program that a user has, on one node and on several, in namespaces (check_nodes.py): its answers are equal.

The answer is each line of its output and of the files --file that has the regular expression --same, in their order; if
the expression has groups, what they match. A program without such a line fails, and so does one that ends with another
status than 0. Each run has a folder of its own. Exit status 77: namespaces or mpirun are refused here.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import check_nodes
from check_nodes import expect


def answer_of(args, folder, said):
    """The lines that are compared."""
    lines = check_nodes.lines_of(said)
    for name in args.file:
        for path in sorted(folder.glob(name)):
            lines += path.read_text(encoding="utf-8", errors="replace").splitlines()
    found = filter(None, (re.search(args.same, line) for line in lines))
    return [" ".join(match.groups("")) or match.string for match in found]


def run_on(network, args, nodes, folder):
    """Starts the program on some nodes, in a folder that all of them have. @return its answer, and seconds."""
    begin = time.monotonic()
    line = [args.tmpirun, "-n", args.ranks, args.program, *args.arguments]
    if nodes == 1:
        job = subprocess.Popen(list(map(str, line)), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    else:
        job = network.start(nodes, "sh", "-c", 'cd "$0" && exec "$@"', folder, *line)
    said, _ = job.communicate()
    expect(job.returncode == 0, f"{nodes} nodes: status {job.returncode}:\n{said[-2000:]}")
    return answer_of(args, folder, said), time.monotonic() - begin


def check(network, args, within):
    answers = {}
    for nodes in [1, *args.nodes]:
        while len(network.holders) < nodes:
            network.add()
        folder = within / f"run{nodes}"
        shutil.copytree(args.folder, folder) if args.folder else folder.mkdir()
        answers[nodes], seconds = run_on(network, args, nodes, folder)
        print(f"{nodes} nodes, {args.ranks} ranks: {len(answers[nodes])} lines of the answer, {seconds:.1f} s", flush=True)
    expect(answers[1], f"no line of its output has {args.same}")
    for line in answers[1]:
        print(f"    {line}")
    for nodes in args.nodes:
        for one, several in zip(answers[1], answers[nodes]):
            expect(one == several, f"{nodes} nodes say '{several}', one says '{one}'")
        expect(answers[nodes] == answers[1], f"{nodes} nodes: other lines than one node: {answers[nodes]}")
    print("equal")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tmpirun", type=pathlib.Path)
    parser.add_argument("program", help="with its arguments, in one word of the shell's")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--same", default="", help="regular expression of the lines that are compared; default: all")
    parser.add_argument("--file", nargs="*", default=[], help="files of the run whose lines are compared, too")
    parser.add_argument("--folder", type=pathlib.Path, help="each run begins in a copy of it")
    args = parser.parse_args()
    args.tmpirun = args.tmpirun.resolve()
    program, *args.arguments = shlex.split(args.program)
    args.program = pathlib.Path(program).resolve()
    if not shutil.which("mpirun.openmpi"):
        check_nodes.skip("no mpirun of Open MPI (openmpi-bin)")
    check_nodes.skip_in_tmp(args)
    if check_nodes.INSIDE not in os.environ:
        check_nodes.enter_namespaces()
    with tempfile.TemporaryDirectory(dir=args.tmpirun.parent) as folder:  # nodes have a /tmp of their own
        network = check_nodes.Network(pathlib.Path(folder))
        try:
            check(network, args, pathlib.Path(folder))
        finally:
            network.close()


if __name__ == "__main__":
    sys.exit(main())
