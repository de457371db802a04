#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mltp run`: teams of a program that was not written for MLTP follow its grant.

usage: teams.py MLTPD MLTP WORKER TEAM LOOPS [LIBRARY=PROGRAM...]
TEAM and LOOPS are programs of OpenMP; each other program is one of a library that is here.
"""
import contextlib
import os
import subprocess
import sys

from stage import Daemon, computing, join, message, run, wait_for, BELL

MLTPD, MLTP, _, TEAM, LOOPS = sys.argv[1:6]
LIBRARIES = dict(word.split("=", 1) for word in sys.argv[6:])
CPUS = len(os.sched_getaffinity(0))


def team(where, *words, expect=0, own=None):
    """Runs a program by `mltp run`; returns its words and its messages."""
    environment = {**os.environ, "MLTP_COORDINATOR": where}
    for name in ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC"):
        environment.pop(name, None)
    environment.update(own or {})
    ended = subprocess.run([MLTP, "run", "--", *words], text=True, capture_output=True, check=False,
                           env=environment)
    assert ended.returncode == expect, ended
    return ended.stdout.split(), ended.stderr


def alone_has_all():
    """A program alone, or without a daemon, has teams as large as without us."""
    with Daemon(MLTPD, MLTP) as d:
        for where in (d.socket, "off"):
            assert team(where, TEAM, "5") == ([str(CPUS), str(CPUS), "right"], "")


@contextlib.contextmanager
def busy_neighbour():
    """Two CPUs, a daemon, and another program that wants both; yields the daemon."""
    with Daemon(MLTPD, MLTP, "--cpus", "2") as d, computing(), d.connect() as connection:
        fds = join(connection, most=2)[2]
        os.pwrite(fds[1], (2).to_bytes(4, sys.byteorder), 0)
        connection.send(message(BELL))
        wait_for(lambda: d.list()[0]["demand"] == 2, "the other program is busy")
        yield d
        for fd in fds:
            with contextlib.suppress(OSError):
                os.close(fd)


def beside_another():
    """Beside a busy program its teams have its share; what it was promised stays the same."""
    with busy_neighbour() as d:
        words, errors = team(d.socket, TEAM, "5")
        assert words == ["1", str(CPUS), "right"] and errors == "", (words, errors)


def each_way_to_start_a_team():
    """Loops of each schedule, sections and tasks have the grant; a size that is asked for stays."""
    own = {"OMP_NUM_THREADS": "2"}
    with busy_neighbour() as d:
        for where, size in ((d.socket, "1"), ("off", "2")):
            words, errors = team(where, LOOPS, own=own)
            sizes = dict(zip(words[::3], words[1::3]))
            assert set(words[2::3]) == {"right"} and errors == "", (words, errors)
            assert sizes.pop("inner") == "3" and len(sizes) == 10, words
            assert set(sizes.values()) == {size}, (where, words)


def between_teams():
    """When its teams have ended a program asks for one CPU, whichever way they were started."""
    with Daemon(MLTPD, MLTP, "--cpus", "2") as d, \
            subprocess.Popen([MLTP, "run", "--", LOOPS, "wait"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             env={**os.environ, "MLTP_COORDINATOR": d.socket, "OMP_NUM_THREADS": "2"}) as program:
        assert all(program.stdout.readline() for _ in range(11))
        wait_for(lambda: [entry["demand"] for entry in d.list()] == [1], "it asks for one CPU")
        program.communicate("\n")
        assert program.returncode == 0, program


def a_library_that_is_loaded_for_itself():
    """OpenMP that came with a library of one caller, as Python loads its modules, is found from that caller."""
    if "module" in LIBRARIES:
        load = f"import ctypes; ctypes.CDLL({LIBRARIES['module']!r}).main(1, None)"
        with busy_neighbour() as d:
            for where, size in ((d.socket, "1"), ("off", str(CPUS))):
                words, errors = team(where, sys.executable, "-c", load)
                assert words == [size, str(CPUS), "right"] and errors == "", (where, words, errors)


def each_product_of_matrices():
    """OpenBLAS and BLIS have the grant in each call that is not small, and compute the same."""
    with busy_neighbour() as d:
        for library, count in (("openblas", 20), ("blis", 17)):
            own = {"OPENBLAS_NUM_THREADS": "2", "BLIS_NUM_THREADS": "2"}
            for where, size in ((d.socket, "1"), ("off", "2")) if library in LIBRARIES else ():
                words, errors = team(where, LIBRARIES[library], own=own)
                assert len(words) == 3 * count and set(words[2::3]) == {"right"}, (library, words)
                assert words[:2] == ["small", "2"] and set(words[4::3]) == {size}, (where, words)
                assert errors == "", errors


def each_work_of_tasks():
    """oneTBB's work runs on as many threads as granted, and the program's own limit holds."""
    if "tbb" not in LIBRARIES:
        return
    with busy_neighbour() as d:
        for where, size, wait in ((d.socket, "1", "20"), ("off", "2", "10000")):
            words, errors = team(where, LIBRARIES["tbb"], wait)
            sizes = dict(zip(words[::3], words[1::3]))
            assert set(words[2::3]) == {"right"} and errors == "", (words, errors)
            assert sizes.pop("own_limit") == "1" and len(sizes) == 6, words
            assert set(sizes.values()) == {size}, (where, words)


def nothing_to_adjust():
    """A program without teams runs as it is, and that is said; so are programs that are absent."""
    words, errors = team("off", sys.executable, "-c", "print('as it is'); raise SystemExit(3)",
                         expect=3)
    assert words == ["as", "it", "is"] and "nothing was adjusted" in errors, errors
    words, errors = team("off", "sh", "-c", f"(echo a); (echo b); exec {sys.executable} -c 'print()'")
    assert words == ["a", "b"] and errors.count("nothing was adjusted") == 1, errors
    assert "cannot run" in team("off", "./no-such-program", expect=127)[1]
    assert "no program given" in subprocess.run([MLTP, "run"], text=True, capture_output=True,
                                                check=False).stderr


if __name__ == "__main__":
    if CPUS < 2:
        print("teams.py: one CPU, nothing to share: skipped")
        sys.exit(77)
    run([alone_has_all, beside_another, each_way_to_start_a_team, between_teams, a_library_that_is_loaded_for_itself, each_product_of_matrices,
         each_work_of_tasks, nothing_to_adjust])
