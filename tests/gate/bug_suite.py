#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many bugs of a public benchmark of concurrency bugs `mltp explore --accesses` finds.

Usage: bug_suite.py MLTP BENCHMARKS [--runs N] [--strategy NAME] [--only WORD ...] [--built FILE]

BENCHMARKS is the folder benchmarks/ of SCTBench's sources, which this tree does not hold. Of each
folder in FOLDERS the C and C++ files that benchmarks/buggy.txt names are compiled as they are,
with no instrumentation, and explored. A bug counts as found if the command that explore prints
fails, too. The exit status says whether all were found.

Programs of several files or with libraries are built by hand. Each line of FILE names one of them,
as buggy.txt does, then its folder and its command: "splash2/lu /tmp/lu ./LU -p2 -n2 -b1".
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

FOLDERS = ("concurrent-software-benchmarks", "chess", "inspect_examples", "inspect_benchmarks",
           "conc-bugs", "safestack")


STATUS_IGNORED = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>
static void at_end(int status, void *unused) { if (status < 86 || status > 87) _exit(0); }
__attribute__((constructor)) static void start(void) { on_exit(at_end, NULL); }
"""
NAMES = {"safestack/bug1": "SafeStack", "conc-bugs/stringbuffer-jdk1.4": "main"}


def sources(folder, only):
    """The bugs' main files; of the others a few lie beside them."""
    for line in (folder / "buggy.txt").read_text().splitlines():
        words = line.split()
        if len(words) < 2 or words[0] not in FOLDERS or (only and not set(only) & set(words[:2])):
            continue
        name = f"{words[0]}/{words[1]}"
        place = folder / name if (folder / name).is_dir() else folder / words[0]
        files = sorted(place.rglob(f"{NAMES.get(name, words[1])}.c*"))
        yield name, files[0] if files else None, int(words[2]) - 1


def always_fails(command, directory):
    """Returns whether a plain run ends with an exit status, which then says nothing of the bug."""
    try:
        return subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=20).returncode > 0
    except subprocess.TimeoutExpired:
        return False


def compile_program(file, program, *more):
    """Returns whether it could be built."""
    compiler = ["gcc", "-std=gnu99"] if file.suffix == ".c" else ["g++", "-std=c++11"]
    others = sorted(file.parent.glob("*.cpp")) if file.stem == "main" else []
    words = [*compiler, "-w", "-g", "-O0", "-pthread", "-o", program, file.name,
             *(other.name for other in others if other != file), *more, "-lm"]
    return subprocess.run(words, cwd=file.parent, capture_output=True, check=False).returncode == 0


def replays(mltp, command, directory):
    """Runs the command that explore printed; returns whether it fails."""
    words = shlex.split(command)
    settings = [word for word in words if re.match(r"MLTP_\w+=", word)]
    rest = [str(mltp) if word == "mltp" else word for word in words[len(settings):]]
    environment = {**os.environ, **dict(word.split("=", 1) for word in settings)}
    try:
        return subprocess.run(rest, env=environment, cwd=directory, capture_output=True, check=False,
                              timeout=20).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def arguments_of(file, threads):
    """Returns the words with which the benchmark runs it; its first line says which."""
    with open(file, encoding="utf-8", errors="replace") as text:
        found = re.search(r"args: *(.*)", text.readline())
    words = found[1].replace("*/", "").split() if found else []
    return [word.format(NUMTHREADS=threads, OUTFILE="output.txt") for word in words]


def explore(arguments, command, directory):
    """Returns what was found, as one line, and whether it was found."""
    words = [arguments.mltp, "explore", "--accesses", f"--runs={arguments.runs}", f"--timeout={arguments.timeout}",
             f"--steps={arguments.steps}", f"--strategy={arguments.strategy}", "--jobs=2", "--", *command]
    said = ""
    with subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=directory,
                          errors="replace") as process:
        for line in process.stdout:
            said += line
            found = re.search(r"explore: (run (\d+)|the default order) failed: (.*)\nexplore: replay: (.*)\n", said)
            if found:
                process.terminate()  # it would make the schedule shorter
                again = replays(arguments.mltp, found[4], directory)
                return f"schedule {found[2] or 0}: {found[3]}{'' if again else ' (NOT REPLAYED)'}", again
    return said.strip().splitlines()[-1:], False


def built_programs(file, only):
    """Returns name, folder and command of each program in a file of programs built by hand."""
    lines = file.read_text().splitlines() if file else []
    rows = [shlex.split(line, comments=True) for line in lines]
    return [(row[0], row[1], row[2:]) for row in rows if row and (not only or set(only) & set(row[0].split("/")))]


def explore_sources(arguments, directory):
    """Compiles and explores the programs of one file each; yields whether each bug was found."""
    ignored = directory / "ignored.c"
    ignored.write_text(STATUS_IGNORED)
    for name, file, threads in sources(arguments.benchmarks, arguments.only):
        program = directory / name.replace("/", "-")
        if file is None or not compile_program(file, program):
            print(f"{name}: not built", flush=True)
            continue
        command = [program, *arguments_of(file, threads)]
        if always_fails(command, directory) and file.suffix == ".c":
            compile_program(file, program, ignored)
        line, good = explore(arguments, command, directory)
        print(f"{name}: {line}", flush=True)
        yield good


def explore_built(arguments):
    """Explores the programs built by hand; yields whether each bug was found."""
    for name, folder, command in built_programs(arguments.built, arguments.only):
        line, good = explore(arguments, command, folder)
        print(f"{name}: {line}", flush=True)
        yield good


def main():
    """Explores all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("mltp", type=pathlib.Path)
    parser.add_argument("benchmarks", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--strategy", default="mix")
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--built", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.mltp = arguments.mltp.resolve()
    with tempfile.TemporaryDirectory() as directory:
        results = [*explore_sources(arguments, pathlib.Path(directory)), *explore_built(arguments)]
    found, count = sum(results), len(results)
    print(f"{found} of {count} bugs found and replayed within {arguments.runs} schedules")
    return found != count


if __name__ == "__main__":
    sys.exit(main())
