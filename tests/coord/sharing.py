#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs share CPUs by mltpd: what each is granted, and how many VPs then work.

Usage: sharing.py MLTPD MLTP WORKER

Programs believe that they may have as many VPs as this machine has CPUs; on one CPU there is
nothing to share, and the test is skipped.
"""
import os
import pathlib
import subprocess
import sys
import time

from stage import Daemon, Worker, run, wait_for

MLTPD, MLTP, WORKER = sys.argv[1:4]
CPUS = len(os.sched_getaffinity(0))
MOST = min(CPUS, 2)


def daemon():
    return Daemon(MLTPD, MLTP, "--cpus", str(MOST))


def granted(d, worker, number):
    """Waits until a program has been granted a number of VPs."""
    wait_for(lambda: (d.of(worker.pid) or {}).get("granted") == number,
             f"{number} VPs granted; programs are {d.list()}")


def settles(worker, number):
    """Waits until that number of VPs of a program work."""
    wait_for(lambda: worker.active() == number, f"{number} VPs at work")


def a_lone_program_has_all():
    """A program alone has all CPUs, and makes the daemon do nothing."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 8")
        granted(d, a, MOST)
        settles(a, MOST)
        sleeps(d)
        before = d.switches()
        a.ask("work 2000")
        a.ask("idle")
        a.ask("busy 8")
        assert d.switches() - before <= 1, "a lone program wakes the daemon"
        a.end()


def two_programs_share():
    """A newcomer gets its share, and gives it back when it ends."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 8")
        settles(a, MOST)
        with Worker(WORKER, d.socket, MOST) as b:
            b.ask("busy 8")
            granted(d, a, 1)
            granted(d, b, 1)
            settles(a, 1)
            settles(b, 1)
            b.end()
        granted(d, a, MOST)
        settles(a, MOST)
        a.end()


def idle_programs_lend():
    """What an idle program does not use goes to another, and comes back when it is needed."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a, Worker(WORKER, d.socket, MOST) as b:
        a.ask("busy 8")
        granted(d, a, MOST)
        settles(a, MOST)
        for _ in range(5):
            b.ask("busy 8")
            granted(d, a, 1)
            b.ask("work 20")
            b.ask("idle")
            granted(d, a, MOST)
        settles(a, MOST)
        a.end()
        b.end()


def one_thread_needs_one_vp():
    """A program that can keep one VP busy leaves the rest to others."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a, Worker(WORKER, d.socket, MOST) as b:
        b.ask("busy 1")
        b.ask("work 50")
        a.ask("busy 8")
        granted(d, a, 1)
        settles(a, 1)
        b.ask("idle")
        granted(d, a, MOST)
        a.end()
        b.end()


def a_program_changes_its_most():
    """mltp_set_vps() tells the daemon how many VPs the program may have."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 8")
        granted(d, a, MOST)
        for most in (1, MOST):
            assert a.ask(f"vps {most}") == "0"
            wait_for(lambda number=most: (d.of(a.pid) or {}).get("most") == number, f"it may have {most} VPs")
            granted(d, a, most)
            settles(a, most)
        a.end()


def running_on(pid):
    """Returns the CPUs on which threads of a program compute."""
    found = set()
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
        if fields[0] == "R":
            found.add(int(fields[36]))
    return found


def move(pid, cpu):
    """Moves all threads of a program to one CPU, and lets them leave it."""
    allowed = os.sched_getaffinity(0)
    for which in ({cpu}, allowed):
        for task in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(task), which)


def each_goes_to_its_own_cpu():
    """Programs that the kernel has put on each other's CPUs change places: the kernel sees no reason to."""
    own = sorted(os.sched_getaffinity(0))[:2]
    with daemon() as d, Worker(WORKER, d.socket, 2) as a, Worker(WORKER, d.socket, 2) as b:
        for worker in (a, b):
            worker.ask("busy 8")
        for worker in (a, b):
            granted(d, worker, 1)
            settles(worker, 1)
        for _ in range(3):
            for worker, cpu in ((a, own[1]), (b, own[0])):
                move(worker.pid, cpu)
            for worker, cpu in ((a, own[0]), (b, own[1])):
                wait_for(lambda w=worker, c=cpu: running_on(w.pid) == {c}, f"it computes on CPU {cpu}")
        a.end()
        b.end()


def more_programs_than_cpus():
    """Where programs outnumber CPUs each has one VP, and all make progress."""
    with daemon() as d:
        workers = [Worker(WORKER, d.socket, MOST) for _ in range(2 * MOST)]
        for worker in workers:
            worker.ask("busy 4")
        for worker in workers:
            granted(d, worker, 1)
            worker.ask("work 20")
        shares = [p["share"] for p in d.list()]
        assert sum(shares) <= 1000 * MOST and min(shares) > 0, shares
        for worker in workers:
            worker.end()
            worker.__exit__()


def idle_daemon_sleeps():
    """While registered programs are idle the daemon does not wake up."""
    with daemon() as d:
        workers = [Worker(WORKER, d.socket, MOST) for _ in range(3)]
        for worker in workers:
            worker.ask("busy 4")
            worker.ask("work 10")
            worker.ask("idle")
        wait_for(lambda: all(p["demand"] == 0 for p in d.list()), "all idle")
        sleeps(d)
        for worker in workers:
            worker.end()
            worker.__exit__()


def sleeps(d):
    """Waits until the daemon has slept for half a second."""
    def still():
        before = d.switches()
        time.sleep(0.5)
        return d.switches() == before
    wait_for(still, "no wake-ups in half a second")


def commands_show_programs():
    """`mltp ps` and `mltp top` show the programs."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 8")
        a.ask("work 500")
        for words in (["ps"], ["top", "--count=2", "--delay=0.2"]):
            text = subprocess.run([MLTP, *words, "--socket", d.socket], text=True, check=True,
                                  stdout=subprocess.PIPE).stdout
            row = next(line.split() for line in text.splitlines() if str(a.pid) in line)
            assert row[2] == "threads" and row[-1] == "worker" and row[5] == str(MOST), text
        wait_for(lambda: d.of(a.pid)["switches"] > 0, "switches are counted")
        for words in (["--delay", "0"], ["--count", "x"], ["more"]):
            assert subprocess.run([MLTP, "top", *words], stderr=subprocess.DEVNULL,
                                  check=False).returncode == 2
        d.stop()
        failed = subprocess.run([MLTP, "ps", "--socket", d.socket], stderr=subprocess.PIPE,
                                text=True, check=False)
        assert failed.returncode == 1 and "cannot reach mltpd" in failed.stderr, failed
        a.end()


if __name__ == "__main__":
    if CPUS < 2:
        print("sharing.py: one CPU, nothing to share: skipped")
        sys.exit(77)
    run([a_lone_program_has_all, two_programs_share, idle_programs_lend, one_thread_needs_one_vp, a_program_changes_its_most,
         each_goes_to_its_own_cpu, more_programs_than_cpus, idle_daemon_sleeps, commands_show_programs])
