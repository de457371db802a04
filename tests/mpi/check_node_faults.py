#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults of jobs on two nodes, in namespaces (check_nodes.py): each ends with the right answer, or with one reason.

A node's process is killed in each phase of a job, and the launcher's server of a node. A link is down for a while, or
delays messages, or loses some. The nodes' clocks differ. --starts N starts a job N times. Exit status 77: namespaces or
mpirun are refused here.
"""
import argparse
import os
import pathlib
import shutil
import tempfile
import time

import check_nodes
from check_nodes import (SECONDS, SILENCE_SECONDS, end_after_fault, end_of, expect, kill, processes_of, run, step, try_fault,
                         wait_until)

PHASES = [  # what the ranks do, seconds after both processes are there
    ("wait", 0.0), ("wait", 0.05), ("wait", 0.1), ("wait", 0.2), ("wait", 0.3),  # start, and connections
    ("stream", 2), ("stream", 2.1), ("meet", 2), ("meet", 2.1), ("end", 2)]
LINKS = [(20, 0), (2, 2)]  # ms, and percent of the frames
MEET_SECONDS = 60  # src/tmpi/run/joined.c


def on_node(network, node, entries):
    space = os.readlink(f"/proc/{network.holders[node].pid}/ns/net")
    return [entry for entry in entries if os.readlink(entry / "ns/net") == space]


def start(network, tmpirun, program, what):
    """The launcher loses some errors of a job that fails, so those of each node go to a file."""
    for file in network.folder.glob("errors.*"):
        file.unlink()
    return network.start(2, "sh", "-c", f'exec "$0" "$@" 2>>{network.folder}/errors.$PMIX_RANK', tmpirun, "-n", 4, program, what)


def ends(network, job, tmpirun):
    """All processes of a job end. @return what they and the launcher have printed."""
    wait_until(lambda: not processes_of(network, tmpirun), SILENCE_SECONDS + 10,
               f"nodes have not ended {SILENCE_SECONDS + 10} s after the fault")
    said, status = end_after_fault(network, tmpirun, job)
    said += "".join(file.read_text() for file in sorted(network.folder.glob("errors.*")))
    expect(status != 0 and "right" not in said.splitlines(), f"status {status}:\n{said}")
    return said


def kill_node(network, tmpirun, program, what, seconds):
    job = start(network, tmpirun, program, what)
    wait_until(lambda: len(processes_of(network, tmpirun)) == 2, SECONDS, "2 nodes have not started")
    time.sleep(seconds)
    kill(on_node(network, 1, processes_of(network, tmpirun)))
    said = ends(network, job, tmpirun)
    expect("node1" in said or "10.77.0.2" in said, f"nothing names node 1:\n{said}")


def kill_server(network, tmpirun, program):
    """The launcher's daemon of node 1, which is its server of PMIx."""
    job = start(network, tmpirun, program, "wait")
    wait_until(lambda: len(processes_of(network, tmpirun)) == 2, SECONDS, "2 nodes have not started")
    time.sleep(2)
    kill(on_node(network, 1, processes_of(network, "orted")))
    ends(network, job, tmpirun)


def heal_link(network, tmpirun, program, seconds):
    """A link that is down for less than SILENCE_SECONDS delays a job, and nothing else."""
    job = network.start(2, tmpirun, "-n", 4, program, "pulse")
    wait_until(lambda: len(processes_of(network, tmpirun)) == 2, SECONDS, "2 nodes have not started")
    time.sleep(2)
    run("ip", "link", "set", "port1", "down")
    time.sleep(seconds)
    run("ip", "link", "set", "port1", "up")
    said, status = end_of(job)
    expect(said.splitlines()[-1:] == ["right"] and status == 0, f"status {status}:\n{said}")


def node_that_never_comes(network, tmpirun, program):
    """The launcher has started it, but it does not run tmpirun."""
    node = f'test "$PMIX_RANK" = 0 || exec sleep 1000; exec {tmpirun} -n 4 {program} short'
    job = network.start(2, "sh", "-c", node)
    wait_until(lambda: processes_of(network, tmpirun), SECONDS, "no node has started")
    wait_until(lambda: not processes_of(network, tmpirun), MEET_SECONDS + 30,
               f"node 0 has not ended {MEET_SECONDS + 30} s after its start")
    said, status = end_after_fault(network, tmpirun, job)
    expect(status == 1 and "do not find each other: nothing has come from node 1 (10.77.0.2)" in said, f"status {status}:\n{said}")


def right(network, tmpirun, program, what):
    said, status = end_of(network.start(2, tmpirun, "-n", 4, program, what))
    expect(said.splitlines()[-1:] == ["right"] and status == 0, f"{what}: status {status}:\n{said}")


def check(network, tmpirun, program):
    for what, seconds in PHASES:
        with step(f"a node killed {seconds} s after its start, ranks {what}"):
            try_fault(kill_node, network, tmpirun, program, what, seconds)
    with step("the server of PMIx of a node killed"):
        try_fault(kill_server, network, tmpirun, program)
    with step("a link down for 5 s"):
        heal_link(network, tmpirun, program, 5)
    with step("a node that never comes"):
        try_fault(node_that_never_comes, network, tmpirun, program)
    for delay, loss in LINKS:
        with step(f"a link that delays by {delay} ms and loses {loss} %"), network.slow_link(1, delay, loss):
            right(network, tmpirun, program, "pulse")
            for what in ["partitioned", "windows"]:
                right(network, tmpirun, program.parent / "shared_by_nodes", what)
    for what in ["partitioned", "windows"]:
        with step(f"nodes whose clocks differ by a day: {what}"):
            right(network, tmpirun, program.parent / "shared_by_nodes", what)


def start_often(network, tmpirun, program, starts):
    for begun in range(0, starts, 100):
        with step(f"starts from {begun} on"):
            for _ in range(min(100, starts - begun)):
                right(network, tmpirun, program, "nothing")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tmpirun", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path, help="over_nodes; shared_by_nodes is beside it")
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--only-starts", action="store_true")
    args = parser.parse_args()
    if not shutil.which("mpirun.openmpi"):
        check_nodes.skip("no mpirun of Open MPI (openmpi-bin)")
    check_nodes.skip_in_tmp(args)
    if check_nodes.INSIDE not in os.environ:
        check_nodes.enter_namespaces()
    with tempfile.TemporaryDirectory(dir=args.program.resolve().parent) as folder:
        network = check_nodes.Network(pathlib.Path(folder))
        try:
            network.add()
            network.add(clock=86400)
            if not args.only_starts:
                check(network, args.tmpirun.resolve(), args.program.resolve())
            start_often(network, args.tmpirun.resolve(), args.program.resolve(), args.starts)
        finally:
            network.close()


if __name__ == "__main__":
    main()
