#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mltpd and its programs when something goes wrong: nothing hangs, nobody loses.

Usage: faults.py MLTPD MLTP WORKER
"""
import array
import contextlib
import ctypes
import mmap
import os
import pathlib
import random
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from stage import (BELL, HELLO, LIST, MESSAGE, TIME_LIMIT, REFUSED, WELCOME, Daemon, Worker, computing,
                   join, message, run, wait_for)

MLTPD, MLTP, WORKER = sys.argv[1:4]
CPUS = len(os.sched_getaffinity(0))
MOST = min(CPUS, 2)
DEMAND = 0  # offset in the report page


def daemon(*options):
    return Daemon(MLTPD, MLTP, "--cpus", str(MOST), *options)


def granted(d, worker, number):
    """Waits until a program has been granted a number of VPs."""
    wait_for(lambda: (d.of(worker.pid) or {}).get("granted") == number, f"{number} VPs granted")


def descriptors(process):
    """Returns how many descriptors a process has."""
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def report_demand(fds, demand):
    """Writes into a report page."""
    with mmap.mmap(fds[1], 4096) as page:
        page[DEMAND:DEMAND + 4] = struct.pack("=I", demand)


@contextlib.contextmanager
def bare(d, demand=2, most=2):
    """A registered program that is only a connection."""
    connection = d.connect()
    kind, _, fds = join(connection, most=most)
    assert kind == WELCOME
    try:
        report_demand(fds, demand)
        connection.send(message(BELL))
        yield connection, fds
    finally:
        connection.close()
        for fd in fds:
            os.close(fd)


def daemon_killed_under_load():
    """SIGKILL, and a new daemon: programs continue, use what they like meanwhile, and come back."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a, Worker(WORKER, d.socket, MOST) as b:
        for worker in (a, b):
            worker.ask("busy 8")
        granted(d, a, 1)
        d.kill()
        for worker in (a, b):
            worker.ask("work 100")
        wait_for(lambda: a.active() == MOST, "the lease ends, and all VPs work")
        d.start()
        granted(d, a, 1)
        granted(d, b, 1)
        wait_for(lambda: a.active() == 1, "a shares again")
        a.end()
        b.end()


def daemon_stopped():
    """SIGSTOP: leases end, programs take what they like; SIGCONT: they share again."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a, Worker(WORKER, d.socket, MOST) as b:
        a.ask("busy 8")
        b.ask("busy 8")
        granted(d, a, 1)
        os.kill(d.process.pid, signal.SIGSTOP)
        wait_for(lambda: a.active() == MOST, "the lease ends")
        with Worker(WORKER, d.socket, MOST) as late:  # it does not wait for the answer forever
            late.ask("busy 4")
            late.ask("work 50")
            os.kill(d.process.pid, signal.SIGCONT)
            granted(d, late, 1)
            late.end()
        wait_for(lambda: a.active() == 1, "a shares again")
        a.end()
        b.end()


def programs_killed():
    """SIGKILL to programs that are idle, busy, in a fork, or joining: their shares are free."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 8")
        granted(d, a, MOST)
        before = descriptors(d.process)
        for command in ("idle", "busy 8", "busy 1"):
            with Worker(WORKER, d.socket, MOST) as b:
                b.ask(command)
                b.process.kill()
                b.process.wait()
            granted(d, a, MOST)
        for delay in range(10):  # somewhere on its way through the start
            environment = {**os.environ, "MLTP_COORDINATOR": d.socket}
            with subprocess.Popen([WORKER], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  env=environment) as process:
                time.sleep(delay / 2000)
                process.kill()
        granted(d, a, MOST)
        wait_for(lambda: descriptors(d.process) <= before + 1, "descriptors are closed")
        a.end()


def held_open_by_a_child():
    """A program ends while a child of another program's holds its connection: the share is free."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 8")
        child = os.fork()
        if child == 0:
            connection = d.connect()
            join(connection)
            connection.set_inheritable(True)
            subprocess.Popen(["sleep", "30"], close_fds=False)  # pylint: disable=R1732
            os._exit(0)
        os.waitpid(child, 0)
        granted(d, a, MOST)
        a.end()


def program_stopped():
    """A program that is stopped does not stop the others."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a, Worker(WORKER, d.socket, MOST) as b:
        a.ask("busy 8")
        b.ask("busy 8")
        granted(d, a, 1)
        os.kill(b.pid, signal.SIGSTOP)
        a.ask("work 200")
        with Worker(WORKER, d.socket, MOST) as late:
            late.ask("busy 4")
            granted(d, late, 1)
            late.end()
        os.kill(b.pid, signal.SIGCONT)
        b.ask("work 10")
        a.end()
        b.end()


def program_forks_and_closes():
    """A child joins by itself; a program that closes all descriptors runs on, and harms no file."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a, Worker(WORKER, d.socket, MOST) as b:
        a.ask("busy 8")
        assert a.ask("fork") == "0"
        assert d.of(a.pid) is not None
        b.ask("busy 8")
        granted(d, a, 1)
        assert int(b.ask("close")) > 300
        wait_for(lambda: d.of(b.pid) is None or b.active() == 1, "its share is gone, or small")
        for command in ("idle", "busy 8", "work 50", "idle"):
            b.ask(command)
        granted(d, a, MOST)
        a.end()
        b.end()


def demand_is_a_lie():
    """A program that asks for a billion VPs gets its fair share."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 8")
        with computing(), bare(d, demand=4000000000, most=4000000000):
            wait_for(lambda: len(d.list()) == 2, "both are there")
            granted(d, a, 1)
            a.ask("work 100")
        granted(d, a, MOST)
        a.end()


def bells_flood():
    """A program that rings without end is cut off; the others do not notice."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 8")
        with bare(d) as (connection, _):
            with contextlib.suppress(OSError):
                for _ in range(1000000):
                    connection.send(message(BELL))
            a.ask("work 20")
        wait_for(lambda: "cut off" in d.messages(), "a message")
        granted(d, a, MOST)
        a.end()


def nobody_reads():
    """An observer that does not read what it asked for is cut off."""
    with daemon() as d:
        with contextlib.ExitStack() as stack:
            for _ in range(200):
                stack.enter_context(bare(d, demand=0))
            observer = d.connect()
            observer.settimeout(0.5)
            with contextlib.suppress(OSError):
                for _ in range(100000):
                    observer.send(message(LIST))
            wait_for(lambda: "cut off" in d.messages(), "a message")
            assert len(d.list()) == 200
            observer.close()


def wrong_messages():
    """Each message that no program sends ends its connection, and no other."""
    good = message(HELLO, most=2)
    wrong = [b"", b"x", good[:-1], good + b"x", message(HELLO, most=2, magic=1),
             message(HELLO, most=2, version=99), message(0), message(99), message(BELL),
             message(WELCOME), os.urandom(MESSAGE.size), os.urandom(60000)]
    refused = [message(HELLO, most=0), message(HELLO, most=1, weight=0),
               message(HELLO, most=1, weight=100000), message(HELLO, most=1, role=77)]
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 4")
        for data in wrong:
            with d.connect() as connection:
                connection.send(data)
                if data:
                    assert connection.recv(100) == b"", data
        for data in refused:
            with d.connect() as connection:
                connection.send(data)
                answer = MESSAGE.unpack(connection.recv(100))
                assert answer[2] == REFUSED and answer[6] == 22, answer
        with bare(d) as (connection, _):
            connection.send(good)  # a second HELLO
            assert connection.recv(100) == b""
        names = d.connect()
        join(names, name=b"\x1b[31mred\xff")
        assert any(p["name"] == "?[31mred?" for p in d.list())
        a.ask("work 10")
        assert [p["pid"] for p in d.list() if p["name"] == "worker"] == [a.pid]
        a.end()


def random_messages():
    """Random bytes, damaged messages, descriptors nobody asked for: the daemon serves on."""
    draw = random.Random(7)
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 4")
        before = descriptors(d.process)
        for _ in range(300):
            with d.connect() as connection, contextlib.suppress(OSError):
                for _ in range(draw.randrange(1, 6)):
                    kind = draw.choice([HELLO, BELL, LIST, draw.randrange(1 << 32)])
                    data = bytearray(message(kind, most=draw.choice([0, 1, 2, 1 << 31])))
                    for _ in range(draw.choice([0, 0, 1, 3])):
                        data[draw.randrange(len(data))] = draw.randrange(256)
                    rights = array.array("i", [connection.fileno()] * draw.choice([0, 0, 1, 20]))
                    connection.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]
                                       if rights else [])
        wait_for(lambda: descriptors(d.process) <= before + 1, "descriptors are closed")
        a.ask("work 10")
        a.end()
        d.stop()


def pages_are_sealed():
    """A program cannot write its grant, nor make either page smaller."""
    with daemon() as d, bare(d) as (_, fds):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        shared_write = libc.mmap(None, ctypes.c_size_t(4096), 3, 1, fds[0], ctypes.c_long(0))
        assert shared_write == ctypes.c_void_p(-1).value, "the grant can be mapped for writing"
        for action in (lambda: os.pwrite(fds[0], b"x", 0), lambda: os.ftruncate(fds[0], 0),
                       lambda: os.ftruncate(fds[1], 0), lambda: os.ftruncate(fds[1], 1 << 30)):
            try:
                action()
                raise AssertionError("a page is not sealed")
            except PermissionError:
                pass


def other_users():
    """Another user cannot join a user's daemon, nor reach the pages of another's program."""
    if os.geteuid() != 0:
        print("  not root: skipped")
        return
    for options, welcome in (((), False), (("--machine",), True)):
        with daemon(*options) as d, Worker(WORKER, d.socket, MOST) as a:
            os.chmod(d.directory.name, 0o755)
            os.chmod(d.socket, 0o666)
            a.ask("busy 4")
            script = f"""
import os, socket, struct, sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
from stage import *
os.setgid(65534)
os.setuid(65534)
for pid in ({a.pid}, {d.process.pid}):
    try:
        os.listdir(f"/proc/{{pid}}/fd")
        sys.exit("can see descriptors of another user")
    except PermissionError:
        pass
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect({d.socket!r})
kind, error, fds = join(connection)
assert kind == (WELCOME if {welcome} else REFUSED), kind
assert {welcome} or error == 13, error
print("as it should be")
"""
            text = subprocess.run([sys.executable, "-c", script], text=True, check=False,
                                  capture_output=True)
            assert text.stdout == "as it should be\n", text.stdout + text.stderr
            a.end()


def a_daemon_of_another_user():
    """A program does not join a daemon whose user is neither root nor its own."""
    if os.geteuid() != 0:
        print("  not root: skipped")
        return
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o777)
        script = ("import os, socket, sys, time; os.setgid(65534); os.setuid(65534);"
                  "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET);"
                  f"s.bind('{directory}/s'); s.listen(); print('up', flush=True); time.sleep(1000)")
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            run_at = subprocess.run([WORKER], input="", text=True, check=False, capture_output=True,
                                    env={**os.environ, "MLTP_COORDINATOR": f"{directory}/s"})
            process.kill()
        assert run_at.returncode == 1 and "Permission denied" in run_at.stderr, run_at


def two_daemons():
    """The second daemon at a place refuses; the first one serves on. A stale socket is replaced."""
    with daemon() as d:
        second = subprocess.run([MLTPD, "--socket", d.socket], text=True, capture_output=True,
                                timeout=TIME_LIMIT, check=False)
        assert second.returncode == 1 and "another mltpd does" in second.stderr, second
        assert d.list() == []
        d.kill()
        assert os.path.exists(d.socket)
        d.start()
        d.stop()
        assert not os.path.exists(d.socket)


def bad_places():
    """Directories that are absent, read-only or full; names too long; no XDG_RUNTIME_DIR."""
    with tempfile.TemporaryDirectory() as directory:
        plain = {k: v for k, v in os.environ.items() if k != "XDG_RUNTIME_DIR"}
        cases = [([f"--socket={directory}/no/s"], plain, "cannot make"),
                 (["--socket=/proc/s"], plain, "cannot make"),
                 ([f"--socket={directory}/{'x' * 120}"], plain, "too long"),
                 ([], plain, "XDG_RUNTIME_DIR"),
                 ([], {**plain, "XDG_RUNTIME_DIR": "relative"}, "XDG_RUNTIME_DIR"),
                 ([], {**plain, "LISTEN_PID": "1", "LISTEN_FDS": "1"}, "")]
        for options, environment, words in cases:
            ended = subprocess.run([MLTPD, *options], env=environment, text=True, check=False,
                                   capture_output=True, timeout=TIME_LIMIT)
            assert ended.returncode == 1 and words in ended.stderr, ended
        for options in (["--cpus=0"], ["--cpus=x"], ["--per-user=0"], ["--nonsense"], ["word"]):
            ended = subprocess.run([MLTPD, *options], check=False, capture_output=True)
            assert ended.returncode == 2, ended
        for where, words in ((f"{directory}/none", "No such file"), ("x" * 200, "too long"),
                             (directory, "")):
            ended = subprocess.run([WORKER], input="", text=True, check=False, capture_output=True,
                                   env={**plain, "MLTP_COORDINATOR": where})
            assert ended.returncode == 1 and "MLTP_COORDINATOR" in ended.stderr, ended
            assert words in ended.stderr, ended


def socket_by_systemd():
    """A socket that systemd passes is used; what is none is refused."""
    for kind, good in ((socket.SOCK_SEQPACKET, True), (socket.SOCK_STREAM, False)):
        with tempfile.TemporaryDirectory() as directory:
            listener = socket.socket(socket.AF_UNIX, kind)
            listener.bind(f"{directory}/s")
            listener.listen()
            script = ('if [ $0 != 3 ]; then exec 3<&$0; fi;'
                      'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"')
            process = subprocess.Popen(["bash", "-c", script, str(listener.fileno()), MLTPD],
                                       pass_fds=[listener.fileno()], stderr=subprocess.PIPE)
            if good:
                with Worker(WORKER, f"{directory}/s", MOST) as a:
                    a.ask("busy 2")
                    a.ask("work 5")
                    a.end()
                process.terminate()
                assert process.wait(TIME_LIMIT) == 0 and os.path.exists(f"{directory}/s")
            else:
                assert process.wait(TIME_LIMIT) == 1
                assert b"ListenSequentialPacket" in process.stderr.read()
            process.stderr.close()
            listener.close()


def full_disk():
    """Messages that cannot be written are lost, and nothing else happens."""
    with daemon() as d:
        with open("/dev/full", "wb") as full:
            process = subprocess.Popen([MLTPD, "--socket", d.socket + "2"], stderr=full)
        wait_for(lambda: os.path.exists(d.socket + "2"), "it listens")
        d.socket += "2"
        with d.connect() as connection:
            connection.send(b"nonsense")
            assert connection.recv(100) == b""
        assert d.list() == []
        process.terminate()
        assert process.wait(TIME_LIMIT) == 0


def ten_thousand_connections():
    """10,000 connections: served, or refused by the limit; programs continue, and all is freed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = min(10000, hard - 100)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, number + 100), hard))
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a:
        a.ask("busy 4")
        before = descriptors(d.process)
        connections = []
        for _ in range(number):
            connections.append(d.connect())
        a.ask("work 20")
        connections.append(d.connect())
        assert join(connections.pop())[0] in (WELCOME, REFUSED)
        for connection in connections:
            connection.close()
        wait_for(lambda: descriptors(d.process) <= before + 1, "descriptors are closed")
        granted(d, a, MOST)
        a.end()
    with daemon("--per-user", "3") as d:
        connections = [d.connect() for _ in range(10)]
        answers = [join(connection)[:2] for connection in connections]
        assert 1 <= answers.count((WELCOME, 0)) <= 3, answers
        assert answers.count((REFUSED, 11)) >= 7, answers
        for connection in connections:
            connection.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def a_thousand_programs():
    """1,000 registered programs: a change counts soon; the daemon's memory stays small."""
    with daemon() as d, Worker(WORKER, d.socket, MOST) as a, contextlib.ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE,
                           (min(4000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
                            resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        a.ask("busy 8")
        for _ in range(1000):
            stack.enter_context(bare(d, demand=0))
        granted(d, a, MOST)
        with bare(d, demand=2):
            granted(d, a, 1)
        granted(d, a, MOST)
        assert len(d.list()) == 1001
        a.end()


def standard_descriptors_closed():
    """What is started without input and output gives their numbers to no descriptor of its own."""
    def close():
        for fd in range(3):
            os.close(fd)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        with subprocess.Popen([MLTPD, "--socket", path], preexec_fn=close) as server:
            wait_for(lambda: os.path.exists(path), "mltpd listens")
            links = [os.readlink(f"/proc/{server.pid}/fd/{fd}") for fd in range(3)]
            server.terminate()
    assert links == ["/dev/null"] * 3, links
    script = "for fd in 0 1 2; do test ! -e /proc/$$/fd/$fd || exit 1; done"  # a program finds them closed
    ended = subprocess.run([MLTP, "run", "--", "sh", "-c", script], preexec_fn=close, check=False,
                           env={**os.environ, "MLTP_COORDINATOR": "off"})
    assert ended.returncode == 0, ended


if __name__ == "__main__":
    if CPUS < 2:
        print("faults.py: one CPU, nothing to share: skipped")
        sys.exit(77)
    TESTS = [daemon_killed_under_load, daemon_stopped, programs_killed, held_open_by_a_child,
             program_stopped, program_forks_and_closes, demand_is_a_lie, bells_flood, nobody_reads,
             wrong_messages, random_messages, pages_are_sealed, other_users,
             a_daemon_of_another_user, two_daemons, bad_places, socket_by_systemd, full_disk,
             ten_thousand_connections, a_thousand_programs,
             standard_descriptors_closed]
    run([t for t in TESTS if len(sys.argv) < 5 or t.__name__ in sys.argv[4:]])
