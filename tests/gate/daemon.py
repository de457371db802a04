#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A gated program is a program of mltpd's: it gets its share of the CPUs, and leaves when it ends.

Usage: daemon.py MLTPD MLTP CROWD WORKER, with the WORKER of tests/coord
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "coord"))
from stage import TIME_LIMIT, Daemon, Worker, run, wait_for  # pylint: disable=wrong-import-position

MLTPD, MLTP, CROWD, WORKER = sys.argv[1:5]
CPUS = 2
FORKING = """
import os, sys, threading
child = os.fork()
if child == 0:
    reader = threading.Thread(target=sys.stdin.read)
    reader.start()
    reader.join()
    sys.exit()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def begin(where, *words, permits=str(CPUS)):
    """Starts a gated program that may join the daemon at a socket. permits: "" means as many as there are CPUs, which are then
    two."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLTP_")}
    environment.update(MLTP_COORDINATOR=where, MLTP_VPS=permits)
    if permits == "":
        del environment["MLTP_VPS"]
    two = sorted(os.sched_getaffinity(0))[:CPUS]
    return subprocess.Popen(["taskset", "-c", ",".join(map(str, two)), MLTP, "run", "--threads", "--", *words], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


def grants_while(condition, where, d):
    """Runs the crowd until the condition holds for a program of the daemon's that is it. Returns its grants."""
    granted = set()
    with begin(where, CROWD, str(CPUS)) as gated:
        while gated.poll() is None:
            granted |= {entry["granted"] for entry in d.list() if entry["pid"] == gated.pid and condition(entry)}
        out, errors = gated.communicate(timeout=TIME_LIMIT)
        assert gated.returncode == 0 and errors == "" and int(out.split()[1]) > 0, (out, errors)
    wait_for(lambda: d.of(gated.pid) is None, "it has left")
    return granted


def a_lone_program_has_all():
    """It says how many threads could compute, and may have as many CPUs as it asks for."""
    with Daemon(MLTPD, MLTP, "--cpus", str(CPUS)) as d:
        wait_for(lambda: CPUS in grants_while(lambda entry: entry["most"] == CPUS, d.socket, d), "all CPUs are granted")


def two_programs_share():
    """Beside another program it has the other half, and the other one has all again when it has ended."""
    with Daemon(MLTPD, MLTP, "--cpus", str(CPUS)) as d, Worker(WORKER, d.socket, CPUS) as worker:
        worker.ask("busy 8")
        wait_for(lambda: 1 in grants_while(lambda entry: entry["demand"] > 0, d.socket, d), "it has a share")
        wait_for(lambda: d.of(worker.pid)["granted"] == CPUS, "the other program has all")
        worker.end()


def new_threads_share():
    """Threads that began without a permit, as a lone program's do, count, and give way when another program comes."""
    with Daemon(MLTPD, MLTP, "--cpus", str(CPUS)) as d, begin(d.socket, CROWD, "share", permits="") as gated:
        assert gated.stdout.readline() == "begun\n"
        time.sleep(0.5)  # a demand that has fallen does not count at once
        wait_for(lambda: d.of(gated.pid)["demand"] == CPUS, "it asks for all")
        with Worker(WORKER, d.socket, CPUS) as worker:
            worker.ask("busy 8")
            gated.send_signal(signal.SIGUSR1)
            _, errors = gated.communicate(timeout=TIME_LIMIT)
            assert (gated.returncode, errors) == (0, ""), (gated.returncode, errors)
            worker.end()


def children_share():
    """A child of fork() joins the daemon as a program of its own, when it has a thread."""
    with Daemon(MLTPD, MLTP, "--cpus", str(CPUS)) as d, begin(d.socket, sys.executable, "-W", "ignore", "-c", FORKING) as gated:
        wait_for(lambda: len({entry["pid"] for entry in d.list()} - {gated.pid}) == 1, "the child has joined")
        out, errors = gated.communicate("", timeout=TIME_LIMIT)
        assert (gated.returncode, out, errors) == (0, "", ""), (gated.returncode, out, errors)
        wait_for(lambda: not d.list(), "both have left")


if __name__ == "__main__":
    if len(os.sched_getaffinity(0)) < CPUS:
        print("daemon.py: one CPU, nothing to share: skipped")
        sys.exit(77)
    run([a_lone_program_has_all, two_programs_share, new_threads_share, children_share])
