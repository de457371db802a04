#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mltp jobs`: a jobserver of make that follows the grant of mltpd; and programs of ours inside of one.

Usage: jobs.py MLTPD MLTP WORKER
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from stage import BELL, TIME_LIMIT, Daemon, Worker, computing, join, message, run, wait_for

MLTPD, MLTP, WORKER = sys.argv[1:4]

# Each of two jobs ends only after the other has begun, so make ends only if both run at once.
PAIR = """all: a b
a b:
\t@touch $@.begun; until test -e a.begun -a -e b.begun -o -e give-up; do sleep .01; done; echo $@
"""
ALONE = """all: a b c d
a b c d:
\t@mkdir running && sleep .02 && rmdir running && echo $@
"""


def words(where, *options):
    """Returns the command before the program."""
    return [MLTP, "jobs", f"--socket={where}", *options, "--"]


def environment(**more):
    """Returns an environment without a jobserver."""
    return {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")} | more


@contextlib.contextmanager
def makefile(text):
    """A directory with a Makefile."""
    with tempfile.TemporaryDirectory(prefix="jobs-") as name:
        (pathlib.Path(name) / "Makefile").write_text(text)
        yield pathlib.Path(name)


def ended(command, **more):
    """Runs a command to its end."""
    return subprocess.run(command, text=True, capture_output=True, check=False, env=environment(), **more)


def as_many_as_asked():
    """Without a daemon there are as many jobs at a time as --jobs says, in both forms of the jobserver."""
    with makefile(PAIR) as folder:
        done = ended([*words("off", "--jobs=2"), "make"], cwd=folder)
        assert done.returncode == 0 and sorted(done.stdout.split()) == ["a", "b"], done
    with makefile(ALONE) as folder:  # mkdir fails if two run at once
        done = ended([*words("off", "--jobs=1"), "make"], cwd=folder)
        assert done.returncode == 0 and done.stdout.split() == ["a", "b", "c", "d"], done
    shown = ended([*words("off", "--jobs=3", "--fifo"), "sh", "-c", "echo $MAKEFLAGS"])
    name = shown.stdout.strip().rpartition("--jobserver-auth=fifo:")[2]
    assert shown.returncode == 0 and name.startswith("/tmp/") and not os.path.exists(name), shown


def follows_the_grant():
    """Beside a busy program there is one job at a time, and a second when that program ends."""
    with Daemon(MLTPD, MLTP, "--cpus", "2") as d, makefile(PAIR) as folder:
        with computing(), d.connect() as other:
            fds = join(other, most=2)[2]
            os.pwrite(fds[1], (2).to_bytes(4, sys.byteorder), 0)
            other.send(message(BELL))
            wait_for(lambda: d.list()[0]["demand"] == 2, "the other program is busy")
            build = subprocess.Popen([*words(d.socket, "--jobs=2"), "make"], cwd=folder, text=True,
                                     stdout=subprocess.PIPE, env=environment())
            entry = wait_for(lambda: next((p for p in d.list() if p["pid"] == build.pid and p["demand"] == 2), None),
                             "the build wants a second job")
            assert entry["granted"] == 1 and entry["role"] == 1, entry
            wait_for(lambda: list(folder.glob("*.begun")), "a job has begun")
            assert build.poll() is None and len(list(folder.glob("*.begun"))) == 1
            for fd in fds:
                os.close(fd)
        out = build.communicate(timeout=TIME_LIMIT)[0]
        assert build.returncode == 0 and sorted(out.split()) == ["a", "b"], (build.returncode, out)
        wait_for(lambda: d.list() == [], "the daemon forgets the build")


def endings():
    """The program's status is the command's, also that of a signal; a program that is absent is 127."""
    assert ended([*words("off"), "sh", "-c", "exit 3"]).returncode == 3
    assert ended([*words("off"), "sh", "-c", "kill -9 $$"]).returncode == 137
    absent = ended([*words("off"), "./no-such-program"])
    assert absent.returncode == 127 and "cannot run" in absent.stderr, absent
    assert "no program given" in ended([MLTP, "jobs"]).stderr
    assert "within 1..4096" in ended([MLTP, "jobs", "--jobs=0", "true"]).stderr
    running = subprocess.Popen([*words("off"), "sleep", "600"], env=environment())
    wait_for(lambda: pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text(), "sleep runs")
    running.send_signal(signal.SIGTERM)
    assert running.wait(TIME_LIMIT) == 128 + signal.SIGTERM


def a_program_that_lies():
    """Bytes that the program did not take are dropped, and that is said once."""
    script = "import array, fcntl, os, re, termios, time\n" \
             "take, give = map(int, re.search(r'auth=([0-9]+),([0-9]+)', os.environ['MAKEFLAGS']).groups())\n" \
             "left = array.array('i', [0])\n" \
             "for _ in range(2):\n" \
             "    os.write(give, b'+' * 100)\n" \
             "    while fcntl.ioctl(take, termios.FIONREAD, left) or left[0] > 1: time.sleep(.01)\n"
    done = ended([*words("off", "--jobs=2"), sys.executable, "-c", script])
    assert done.returncode == 0 and done.stderr.count("more job tokens") == 1, done


def inside_of_another():
    """Inside of a jobserver the program takes part in that one."""
    flags = " -j2 --jobserver-auth=98,99"
    done = subprocess.run([*words("off"), "sh", "-c", "echo $MAKEFLAGS"], text=True, capture_output=True,
                          check=False, env=environment(MAKEFLAGS=flags))
    assert done.stdout.strip() == flags.strip() and "already" in done.stderr, done


@contextlib.contextmanager
def tokens():
    """A FIFO without a token, and what MAKEFLAGS says of it."""
    with tempfile.TemporaryDirectory(prefix="jobs-") as name:
        path = f"{name}/fifo"
        os.mkfifo(path)
        fifo = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        yield fifo, f" -j2 --jobserver-auth=7,8 --jobserver-auth=fifo:{path}"
        os.close(fifo)


def token(fifo):
    """Takes a token; None: there is none."""
    with contextlib.suppress(BlockingIOError):
        return os.read(fifo, 1)
    return None


def vps_are_tokens():
    """A second VP runs while the program holds a token, which goes back when the VP has nothing to do."""
    with tokens() as (fifo, flags), Worker(WORKER, "auto", MAKEFLAGS=flags) as worker:
        worker.ask("busy 2")
        worker.ask("work 100")
        wait_for(lambda: worker.active() == 1, "one VP works")
        os.write(fifo, b"x")
        wait_for(lambda: worker.active() == 2, "a VP runs for the token")
        assert token(fifo) is None
        worker.ask("idle")
        assert wait_for(lambda: token(fifo), "the token is back") == b"x"
        os.write(fifo, b"y")
        worker.ask("busy 2")
        wait_for(lambda: worker.active() == 2, "it is taken again")
        worker.end()
        assert token(fifo) == b"y"


def inherited_ends():
    """The same by two descriptors, as `mltp jobs` offers them. Descriptors that make has closed do not count."""
    with Worker(WORKER, "auto", before=words("off", "--jobs=2")) as worker:
        worker.ask("busy 2")
        wait_for(lambda: worker.active() == 2, "a VP runs for the token")
        worker.end()
    with Worker(WORKER, "auto", before=words("off", "--jobs=1")) as worker:
        worker.ask("busy 2")
        worker.ask("work 100")
        wait_for(lambda: worker.active() == 1, "one VP works")
        worker.end()
    own = subprocess.run([WORKER], input="", text=True, capture_output=True, check=False, timeout=TIME_LIMIT,
                         env=environment(MLTP_COORDINATOR="auto", MAKEFLAGS=" -j2 --jobserver-auth=0,0"))
    assert own.returncode == 0 and own.stdout == "ready\nend\n", own  # its input is no jobserver
    with Daemon(MLTPD, MLTP) as d, Worker(WORKER, "auto", MAKEFLAGS=" -j2 --jobserver-auth=98,99",
                                          XDG_RUNTIME_DIR=d.directory.name) as worker:
        worker.ask("busy 2")
        wait_for(lambda: worker.active() == 2, "as many VPs as without a jobserver")
        worker.end()


def a_path_that_is_no_fifo():
    """A file by that name is no jobserver: the program runs as without one, and the file stays as it is."""
    with tempfile.TemporaryDirectory(prefix="jobs-") as name:
        path = pathlib.Path(name, "file")
        path.write_text("kept")
        for auth in (path, f"{name}/none", name):
            with Daemon(MLTPD, MLTP) as d, Worker(WORKER, "auto", MAKEFLAGS=f" -j2 --jobserver-auth=fifo:{auth}",
                                                  XDG_RUNTIME_DIR=d.directory.name) as worker:
                worker.ask("busy 2")
                wait_for(lambda w=worker: w.active() == 2, "as many VPs as without a jobserver")
                worker.end()
        assert path.read_text() == "kept"


if __name__ == "__main__":
    if shutil.which("make") is None:
        print("skipped: there is no make")
        sys.exit(77)
    of_two_vps = [vps_are_tokens, inherited_ends] if len(os.sched_getaffinity(0)) > 1 else []
    run([as_many_as_asked, follows_the_grant, endings, a_program_that_lies, inside_of_another, a_path_that_is_no_fifo,
         *of_two_vps])
