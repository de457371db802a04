#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mltp run --cgroup`: any program is held to its grant by a control group of version 2.

usage: cgroup.py MLTPD MLTP
Where groups cannot limit CPU time (no version 2, no controller, no right to write), only refusals are tested.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from stage import TIME_LIMIT, BELL, Daemon, computing, join, message, run, wait_for

MLTPD, MLTP = sys.argv[1:3]
CPUS = sorted(os.sched_getaffinity(0))
# Two processes that compute until they are ended; the first ends with a status of its own.
BUSY = """import os, signal, sys
def stop(*_):
    if child: os.kill(child, signal.SIGKILL); os.wait()
    print("ended", flush=True); os._exit(5)
child = os.fork()
if child: signal.signal(signal.SIGTERM, stop); print("begun", flush=True)
while True: pass
"""


def find_mount():
    """Returns the folder of the topmost group of version 2 that can limit CPU time, or None."""
    for name in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        with contextlib.suppress(OSError):
            mount = pathlib.Path(name)
            if "cpu" in (mount / "cgroup.controllers").read_text().split():
                (mount / "cgroup.subtree_control").write_text("+cpu")
                return mount
    return None


MOUNT = find_mount()


@contextlib.contextmanager
def group():
    """An empty group that `mltp run` may make groups in."""
    folder = MOUNT / f"mltp-test-{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        for inner in folder.glob("mltp-*"):
            inner.rmdir()
        folder.rmdir()


@contextlib.contextmanager
def program(where, folder, *words):
    """A program in a group of its own; ends it by SIGTERM and checks its status."""
    with subprocess.Popen([MLTP, "run", f"--socket={where}", f"--cgroup={folder}", "--", *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == "begun\n", process.stderr.read()
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=TIME_LIMIT)
        assert (process.returncode, out, errors) == (5, "ended\n", ""), (process.returncode, out, errors)


def limit(folder):
    """Returns the quota of the program's group, as the kernel has it."""
    return next(folder.glob("mltp-program-*/cpu.max")).read_text().split()[0]


def follows_the_grant():
    """Alone it has no limit; beside a busy program it has its share, and afterwards none again."""
    with group() as folder, Daemon(MLTPD, MLTP, "--cpus", "2") as d:
        with program(d.socket, folder, sys.executable, "-c", BUSY):
            wait_for(lambda: d.list() and d.list()[0]["demand"] == 2, "it wants two CPUs")
            assert d.list()[0]["role"] == 3, d.list()
            assert limit(folder) == "max"
            with computing(), d.connect() as connection:
                fds = join(connection, most=2)[2]
                os.pwrite(fds[1], (2).to_bytes(4, sys.byteorder), 0)
                connection.send(message(BELL))
                wait_for(lambda: limit(folder) == "10000", "it has one CPU")
                for fd in fds:
                    os.close(fd)
            wait_for(lambda: limit(folder) == "max", "it has both again")
        assert not list(folder.glob("mltp-*")), "its group is gone"


def keeps_what_stays_behind():
    """A process that the program leaves behind keeps its group, without a limit."""
    with group() as folder, Daemon(MLTPD, MLTP) as d:
        script = f"{sys.executable} -c 'import time; time.sleep(1000)' >/dev/null 2>&1 & echo $!; exit 3"
        done = subprocess.run([MLTP, "run", f"--socket={d.socket}", f"--cgroup={folder}", "--", "sh", "-c", script],
                              text=True, capture_output=True, check=False)
        assert done.returncode == 3 and done.stderr == "", done
        assert limit(folder) == "max"
        os.kill(int(done.stdout), signal.SIGKILL)
        wait_for(lambda: next(folder.glob("mltp-program-*/cgroup.procs")).read_text() == "", "it has ended")


def has_its_own_group():
    """Without a folder the command's own group is used, and it is as before when the program has ended."""
    with group() as folder:
        script = f"echo 0 >{folder}/cgroup.procs && exec {MLTP} run --socket=off --cgroup -- sh -c \"$0\""
        inside = "read line </proc/self/cgroup; echo $line; exit 4"
        done = subprocess.run(["sh", "-c", script, inside], text=True, capture_output=True, check=False)
        assert done.returncode == 4 and done.stderr == "", done
        assert f"{folder.name}/mltp-program-" in done.stdout, done.stdout
        assert not list(folder.glob("mltp-*")), "its groups are gone"
        assert (folder / "cgroup.subtree_control").read_text().split() == [], "the controller is off again"


def is_refused():
    """A folder that is no group, or that cannot be written, is a message and status 1 before the program starts."""
    with tempfile.TemporaryDirectory(prefix="cgroup-") as folder:
        done = subprocess.run([MLTP, "run", f"--cgroup={folder}", "--", "echo", "started"], text=True,
                              capture_output=True, check=False)
        assert done.returncode == 1 and done.stdout == "" and "no group of version 2" in done.stderr, done
        assert os.listdir(folder) == [], os.listdir(folder)
        done = subprocess.run([MLTP, "run", f"--cgroup={folder}/none", "--", "echo", "started"], text=True,
                              capture_output=True, check=False)
        assert done.returncode == 1 and done.stdout == "" and "cannot limit CPU time" in done.stderr, done
    for other in ("--threads", "--seed=1"):
        done = subprocess.run([MLTP, "run", "--cgroup", other, "--", "echo", "started"], text=True, capture_output=True,
                              check=False)
        assert done.returncode != 0 and done.stdout == "" and "choose one" in done.stderr, done


if __name__ == "__main__":
    TESTS = [is_refused]
    if MOUNT is not None and len(CPUS) >= 2:
        os.sched_setaffinity(0, CPUS[:2])
        TESTS += [follows_the_grant, keeps_what_stays_behind, has_its_own_group]
    else:
        print("cgroup.py: no group here limits CPU time: refusals only")
    run(TESTS)
