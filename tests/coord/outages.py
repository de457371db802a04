#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What does not do its part: programs that hold CPUs and do not compute, clocks that differ, daemons that answer
wrongly, places that are full. The others continue, and no program computes slower for ever.

Usage: outages.py MLTPD MLTP WORKER
"""
import contextlib
import errno
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from stage import (LIST, MAGIC, MESSAGE, REFUSED, TIME_LIMIT, WELCOME, Daemon, Worker, message, run, wait_for)

MLTPD, MLTP, WORKER = sys.argv[1:4]
CPUS = len(os.sched_getaffinity(0))
MOST = min(CPUS, 2)

# A program that asks for two CPUs and then does what the last word says.
ASKER = f"""
import os, sys, time
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
from stage import BELL, MESSAGE, join, message
import socket
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect(sys.argv[1])
kind, error, fds = join(connection, role=int(sys.argv[2]))
os.pwrite(fds[1], (2).to_bytes(4, sys.byteorder), 0)
connection.send(message(BELL))
print("up", flush=True)
while sys.argv[3] == "compute":
    pass
time.sleep(600)
"""


def daemon(*options):
    return Daemon(MLTPD, MLTP, "--cpus", str(MOST), *options)


def granted(d, pid, number):
    """Waits until a program has been granted a number of VPs."""
    wait_for(lambda: (d.of(pid) or {}).get("granted") == number, f"{number} VPs granted")


@contextlib.contextmanager
def asker(d, conduct, role=0):
    """A program that asks for two CPUs."""
    with subprocess.Popen([sys.executable, "-c", ASKER, d.socket, str(role), conduct],
                          stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"up\n"
            yield process
        finally:
            process.kill()


def a_stopped_program_lends():
    """What a program has that is stopped goes to the others, and comes back when it continues."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a, Worker(WORKER, d.socket, MOST) as b:
        for worker in (a, b):
            worker.ask("busy 8")
        for _ in range(2):
            granted(d, a.pid, 1)
            os.kill(b.pid, signal.SIGSTOP)
            granted(d, a.pid, MOST)
            wait_for(lambda: a.active() == MOST, "all VPs work")
            os.kill(b.pid, signal.SIGCONT)
            granted(d, a.pid, 1)
            granted(d, b.pid, 1)
        a.end()
        b.end()


def a_silent_program_lends():
    """So does what a program has that asks and does not compute; a program that computes keeps its share."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 8")
        with asker(d, "sleep") as silent:
            granted(d, a.pid, MOST)
            assert d.of(silent.pid)["granted"] >= 1
        with asker(d, "compute") as other:
            granted(d, a.pid, 1)
            a.ask("work 2000")
            assert d.of(a.pid)["granted"] == 1 and d.of(other.pid)["share"] == 1000
        granted(d, a.pid, MOST)
        with asker(d, "sleep", role=1):  # the jobs of `mltp jobs` compute in other processes
            granted(d, a.pid, 1)
            time.sleep(1.5)
            assert d.of(a.pid)["granted"] == 1
        a.end()


def a_silent_program_costs_no_wake_ups():
    """Once the silent program is gone the daemon sleeps."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        with asker(d, "sleep"):
            time.sleep(1.2)

        def still():
            before = d.switches()
            time.sleep(0.8)
            return d.switches() == before
        wait_for(still, "no wake-ups in 0.8 seconds")
        a.end()


def clocks_that_differ():
    """Programs in another time namespace share, and run free after the daemon has died, as others do."""
    if subprocess.run(["unshare", "-T", "--monotonic", "100", "true"], capture_output=True, check=False).returncode:
        print("  no time namespaces here: skipped")
        return
    behind = int(min(1000, time.clock_gettime(time.CLOCK_MONOTONIC) / 2))
    for offset in (-behind, 1000):
        words = ["unshare", "-T", "--monotonic", str(offset)]
        with daemon() as d, Worker(WORKER, d.socket, MOST, before=words) as a, Worker(WORKER, d.socket, MOST) as b:
            a.ask("busy 8")
            b.ask("busy 8")
            granted(d, a.pid, 1)
            wait_for(lambda: a.active() == 1, "it follows its grant")
            if offset > 0:
                time.sleep(2.5)  # longer than a lease
                wait_for(lambda: a.active() == 1, "it still does")
            d.kill()
            wait_for(lambda: a.active() == MOST, "the lease ends")
            a.end()
            b.end()


def behave(listener, answers):
    """Serves connections: each gets the next answer, a list of (bytes, descriptors); then it is left open."""
    kept = []
    for answer in answers:
        connection, _ = listener.accept()
        kept.append(connection)
        with contextlib.suppress(OSError):
            connection.recv(4096)
            for data, fds in answer or ():
                socket.send_fds(connection, [data], fds)
        if answer is None:
            connection.close()
    for connection in kept:
        connection.close()


def daemons_that_lie():
    """A program does not follow a daemon that answers wrongly, and says so; of a silent one it expects nothing."""
    page = os.memfd_create("page", os.MFD_ALLOW_SEALING)  # of the right size, but not sealed
    os.ftruncate(page, 4096)
    hello = message(WELCOME)
    wrong = [[(b"x", [])], [(hello[:-1], [])], [(hello + b"x", [])], [(os.urandom(MESSAGE.size), [])],
             [(message(WELCOME, version=99), [])], [(message(WELCOME, magic=1), [])], [(message(LIST), [])],
             [(hello, [])], [(hello, [page])], [(hello, [page, page])], None]
    refused = {error: [(MESSAGE.pack(MAGIC, 1, REFUSED, 0, 0, 0, error, b""), [])] for error in (0, 1, 13)}
    with tempfile.TemporaryDirectory() as directory, \
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"{directory}/s")
        listener.listen()
        answers = [*wrong, *refused.values()]
        server = threading.Thread(target=behave, args=(listener, answers), daemon=True)
        server.start()
        environment = {**os.environ, "MLTP_COORDINATOR": f"{directory}/s"}
        whys = [""] * len(wrong) + [os.strerror(error or errno.EPROTO) for error in refused]
        remedies = [""] * len(wrong) + ["no mltpd of this version listens there", "start mltpd there", "join a daemon of your own"]
        for answer, why, remedy in zip(answers, whys, remedies, strict=True):
            ended = subprocess.run([WORKER], input="", text=True, check=False, capture_output=True, env=environment,
                                   timeout=TIME_LIMIT)
            assert ended.returncode == 1 and "MLTP_COORDINATOR: cannot join" in ended.stderr, (answer, ended)
            assert f"({remedy}" in ended.stderr and why in ended.stderr, (why, remedy, ended)
        server.join()
        with Worker(WORKER, f"{directory}/s", MOST) as a:  # nobody accepts: it runs as without a daemon
            a.ask("busy 4")
            wait_for(lambda: a.active() == MOST, "all VPs work")
            a.end()
    os.close(page)


def a_full_directory():
    """Where the directory of sockets is full the daemon does not start, and says what to do."""
    script = ('mount -t tmpfs -o size=8k,nr_inodes=2 none "$0" && : > "$0/only" && '
              'XDG_RUNTIME_DIR="$0" "$1"; echo "status $?"; rm -f "$0/only"; '
              'XDG_RUNTIME_DIR="$0" "$1"; echo "status $?"')
    with tempfile.TemporaryDirectory() as directory:
        rights = [] if os.geteuid() == 0 else ["-r"]
        ended = subprocess.run(["unshare", *rights, "-m", "sh", "-c", script, directory, MLTPD], text=True,
                               capture_output=True, check=False, timeout=TIME_LIMIT)
    if "status" not in ended.stdout or "unshare" in ended.stderr or "mount:" in ended.stderr:
        print(f"  no place of our own to fill: skipped: {ended.stderr.strip()}")
        return
    # First there is no room for the lock, then room for the lock and none for the socket.
    assert ended.stdout == "status 1\nstatus 1\n", ended
    first, second = ended.stderr.splitlines()
    for line, words in ((first, "cannot make"), (second, "cannot listen at")):
        assert words in line and "No space left" in line and "free some space there" in line, ended


def two_daemons_say_so():
    """A user's daemon that starts beside the machine's says that both divide the same CPUs."""
    script = ('mount -t tmpfs none /run && { "$1" --machine & machine=$!; '
              'while ! [ -S /run/mltpd.sock ]; do sleep .01; done; '
              'for option in "" --cpus=1; do '
              '"$1" --socket "$0/user" $option & user=$!; '
              'until "$2" ps --socket "$0/user" >"$0/ps" 2>&1; do sleep .01; done; kill $user; wait $user; '
              'echo "status $?"; done; kill $machine; wait; }')
    with tempfile.TemporaryDirectory() as directory:
        rights = [] if os.geteuid() == 0 else ["-r"]
        ended = subprocess.run(["unshare", *rights, "-m", "sh", "-c", script, directory, MLTPD, MLTP], text=True,
                               capture_output=True, check=False, timeout=TIME_LIMIT)
    if "status" not in ended.stdout:
        print(f"  no /run of our own: skipped: {ended.stderr.strip()}")
        return
    assert ended.stdout == "status 0\nstatus 0\n", ended
    assert ended.stderr.count("\n") == 1, ended  # the second one has CPUs of its own
    assert "the machine's daemon (/run/mltpd.sock) divides the same CPUs" in ended.stderr, ended


def refusals_are_reported():
    """The daemon names the process that it refuses, and says why, once a second at most."""
    with daemon("--per-user", "2") as d, contextlib.ExitStack() as stack:
        connections = [stack.enter_context(d.connect()) for _ in range(50)]
        answers = []
        for connection in connections[-10:]:
            answers.append(struct.unpack_from("=I", connection.recv(100), 8)[0])
        assert answers == [REFUSED] * 10, answers
        lines = [line for line in d.messages().splitlines() if "raise --per-user" in line]
        assert f"process {os.getpid()} of user {os.geteuid()}" in lines[0] and len(lines) < 50, lines


if __name__ == "__main__":
    if CPUS < 2:
        print("outages.py: one CPU, nothing to share: skipped")
        sys.exit(77)
    TESTS = [a_stopped_program_lends, a_silent_program_lends, a_silent_program_costs_no_wake_ups, clocks_that_differ,
             daemons_that_lie, a_full_directory, two_daemons_say_so, refusals_are_reported]
    run([t for t in TESTS if len(sys.argv) < 5 or t.__name__ in sys.argv[4:]])
