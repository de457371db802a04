#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Words of any kind on the command lines of mltpd, `mltp jobs`, `ps` and `top`, and in MLTP_COORDINATOR and MAKEFLAGS:
a program does what the words say, or says what is wrong. It never crashes, and never waits.

Usage: options.py MLTPD MLTP WORKER [EXAMPLES]
"""
import os
import subprocess
import sys
import tempfile

from stage import TIME_LIMIT

try:
    from hypothesis import HealthCheck, given, settings, strategies as st
except ImportError:
    print("options.py: no hypothesis here (install python3-hypothesis): skipped")
    sys.exit(77)

MLTPD, MLTP, WORKER = sys.argv[1:4]
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 40

TEXT = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=12)
NUMBERS = st.one_of(st.integers(-2, 5).map(str),
                    st.sampled_from(["", "4096", "4097", "20001", "1e3", "0x2", " 2", "2 ", "+2", "99999999999999999999"]))
PLACES = st.one_of(st.sampled_from(["", "off", "auto", "/", ".", "/dev/null", "no/such", "x" * 107, "x" * 108, "y" * 5000]), TEXT)
DAEMON = st.lists(st.one_of(NUMBERS.map("--cpus={}".format), NUMBERS.map("--per-user={}".format),
                            PLACES.map("--socket={}".format), TEXT,
                            st.sampled_from(["--machine=1", "--cpus", "--socket", "--", "-", "--c=2", "--machin=x"])), max_size=4)
TOOL = st.tuples(st.sampled_from(["ps", "top", "jobs"]),
                 st.lists(st.one_of(NUMBERS.map("--jobs={}".format), NUMBERS.map("--delay={}".format),
                                    PLACES.map("--socket={}".format), TEXT,
                                    st.sampled_from(["--fifo", "--jobs", "--", "--nonsense"])), max_size=4))
AUTH = st.one_of(st.tuples(NUMBERS, NUMBERS).map(",".join), PLACES.map("fifo:{}".format), TEXT)
FLAGS = st.one_of(TEXT, st.lists(AUTH.map("--jobserver-auth={}".format), max_size=3).map(" ".join))


def ended(words, folder, **more):
    """Runs a program to its end in an empty folder."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("XDG_RUNTIME_DIR", "MAKEFLAGS", "MLTP_COORDINATOR")}
    return subprocess.run(words, input=b"", capture_output=True, check=False, timeout=TIME_LIMIT, cwd=folder,
                          env=environment | more)


def judge(done, good):
    """An exit status that means something, and words where it is not 0."""
    assert done.returncode in good, done
    assert done.returncode == 0 or done.stderr.strip(), done
    for line in done.stderr.decode(errors="replace").splitlines():
        assert "Sanitizer" not in line and "runtime error" not in line, done


def many(strategy):
    """A test that draws examples."""
    def wrap(function):
        return settings(max_examples=COUNT, deadline=None, database=None, derandomize=COUNT == 40,
                        suppress_health_check=list(HealthCheck))(given(strategy)(function))
    return wrap


@many(DAEMON)
def daemon(words):
    """What is right would serve, so a wrong word follows, twice: one may be the other's value."""
    with tempfile.TemporaryDirectory() as folder:
        judge(ended([MLTPD, *words, "--per-user=0", "--per-user=0"], folder), (0, 2) if wants_help(words) else (2,))


def wants_help(words):
    """True where a word, or letters behind a dash, ask for help or the version."""
    return any(word.startswith("-") and ("?" in word or "V" in word or "--h" in word or "--v" in word or "--u" in word)
               for word in words)


@many(TOOL)
def tool(words):
    """Nobody listens, and the program is short."""
    with tempfile.TemporaryDirectory() as folder:
        name, rest = words
        end = {"jobs": ["--", "/bin/true"], "top": ["--count=1"], "ps": []}[name]
        judge(ended([MLTP, name, *rest, *end], folder, PATH=folder), range(128))


@many(st.tuples(PLACES, FLAGS))
def program(words):
    """A program starts, or refuses with a message; the descriptors that a jobserver names are not there."""
    place, flags = words
    with tempfile.TemporaryDirectory() as folder:
        done = ended([WORKER], folder, MLTP_COORDINATOR=place, MAKEFLAGS=flags)
        judge(done, (0, 1))
        assert done.returncode == 0 or b"MLTP_COORDINATOR" in done.stderr, done


def numbers():
    """A number is digits alone. With a space or a sign it would be another word's, or a typing error."""
    for words in ([MLTPD, "--cpus="], [MLTPD, "--per-user="], [MLTP, "jobs", "--jobs="], [MLTP, "top", "--count="],
                  [MLTP, "top", "--count=1", "--delay="],
                  [MLTP, "explore", "--runs="], [MLTP, "dump", "--", ""]):
        for number in (" 2", "+2", "2 ", "", "0"):
            done = ended([*words[:-1], words[-1] + number, "/bin/true"][:-1 if "dump" in words else None], "/")
            judge(done, (2, 64))
            assert f"'{number}'" in done.stderr.decode() or f"{words[-1][:-1]} {number}" in done.stderr.decode(), done


if __name__ == "__main__":
    numbers()
    for test in (daemon, tool, program):
        test()
        print(f"{test.__name__}: {COUNT} examples", flush=True)
