#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random compilers, linkers, flags and start files for one C++ program with constructors, thread-locals and exceptions:
tmpirun runs what was built, with the right output, or refuses it with a reason.

usage: links.py TMPIRUN [COUNT [SEED]]
"""
import collections
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

RANKS = 3
LIBRARY = """
    #include <stdexcept>
    struct Counter { int value; Counter() : value(40) {} ~Counter() { value = -1; } };
    Counter counter;
    thread_local int local = 7;
    thread_local Counter constructed;
    int fails(int rank) { if (rank >= 0) throw std::runtime_error("expected"); return rank; }
    int unused(int x) { return x + local; }
"""
PROGRAM = """
    #include <mpi.h>
    #include <cstdio>
    #include <iostream>
    #include <stdexcept>
    #include <string>
    struct Counter { int value; Counter(); ~Counter(); };
    extern Counter counter;
    extern thread_local int local;
    extern thread_local Counter constructed;
    int fails(int rank);
    static int starts;
    __attribute__((constructor)) static void start() { starts++; }
    static std::string text = std::to_string(12345);
    static thread_local long own = 3;
    int main(int argc, char **argv) {
      int rank, caught = 0;
      MPI_Init(&argc, &argv);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      counter.value += rank; local += rank; constructed.value += rank; own += rank;
      MPI_Barrier(MPI_COMM_WORLD);
      try { fails(rank); } catch (const std::runtime_error &error) { caught = error.what() == std::string("expected"); }
      MPI_Barrier(MPI_COMM_WORLD);
      char line[100];
      snprintf(line, sizeof line, "%d %d %d %d %ld %d %d ", rank, counter.value, local, constructed.value, own, caught,
               starts);
      std::cout << line + text + "\\n" << std::flush;
      MPI_Finalize();
      return 0;
    }
"""
EXPECTED = [f"{rank} {40 + rank} {7 + rank} {40 + rank} {3 + rank} 1 1 12345" for rank in range(RANKS)]
REFUSED = re.compile(r"(?m)^tmpirun: cannot run '.*': .+ \(.+\)$")


def choose(number):
    """What the program is built with: a dictionary, and words for the compiler and for the linker."""
    compilers = [name for name in ("g++", "g++-12", "g++-14", "clang++-19", "clang++") if shutil.which(name)]
    linkers = [name for name in ("bfd", "gold", "lld", "mold") if shutil.which("ld." + name) or shutil.which(name)]
    compiler, linker = number.choice(compilers), number.choice(linkers)
    relative = {"lld": ["-Wl,--pack-dyn-relocs=relr"], "gold": []}.get(linker, ["-Wl,-z,pack-relative-relocs"])
    separate = {"gold": []}.get(linker, ["-Wl,-z,separate-code"])
    together = ["-flto"] if "clang" not in compiler and linker != "lld" else []  # others lack the plug-in, or its version
    compile_words = [f"-O{number.randrange(4)}", *number.choice([[], together, ["-fno-plt"]]),
                     *number.choice([[], [], ["-ffunction-sections", "-fdata-sections"]]),
                     *number.choice([[], ["-fPIC"], ["-fPIE"], ["-fpie"], ["-fno-pie"]]),
                     *number.choice([[], [], [], [], [], ["-mtls-dialect=gnu2"], ["-ftls-model=initial-exec"]]),
                     *number.choice([[], ["-g"], ["-fvisibility=hidden"]])]
    link_words = [f"-fuse-ld={linker}", *number.choice([[], [], ["-Wl,--gc-sections"]]), *number.choice([[], [], relative]),
                  *number.choice([[], [], ["-pie"], ["-no-pie"], ["-static-libstdc++", "-static-libgcc"]]),
                  *number.choice([[], [], ["-Wl,--as-needed"], ["-Wl,-z,lazy"], ["-rdynamic"], separate]),
                  *number.choice([[], [], ["-Wl,--hash-style=sysv"], ["-Wl,--hash-style=both"]])]
    return compiler, number.choice(["wrapper", "wrapper", "stock"]), number.choice([True, False]), compile_words, link_words


def build(folder, bin_folder, choice):
    """@return the program, or what the compiler said."""
    compiler, by, archive, compile_words, link_words = choice
    base = [bin_folder / "tmpicxx"] if by == "wrapper" else [compiler, f"-I{bin_folder.parent}/include/tmpi"]
    libraries = [] if by == "wrapper" else [f"-L{bin_folder.parent}/lib", f"-Wl,-rpath,{bin_folder.parent}/lib", "-lmpi_abi"]
    environment = {**os.environ, "TMPI_CXX": compiler}
    steps = []
    for name, text in ("library", LIBRARY), ("program", PROGRAM):
        (folder / f"{name}.cpp").write_text(text)
        steps.append([*base, *compile_words, "-c", folder / f"{name}.cpp", "-o", folder / f"{name}.o"])
    second = folder / "library.o"
    if archive:
        steps.append(["gcc-ar" if "clang" not in compiler else "ar", "rcs", folder / "library.a", second])
        second = folder / "library.a"
    steps.append([*base, *compile_words, *link_words, folder / "program.o", second, *libraries, "-o", folder / "program"])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False, env=environment)
        if done.returncode != 0:
            return done.stderr
    return folder / "program"


def judge(tmpirun, program):
    """@return what became of it, and what tmpirun said."""
    try:
        result = subprocess.run([tmpirun, "-n", str(RANKS), program], capture_output=True, text=True, check=False, timeout=550)
    except subprocess.TimeoutExpired:
        return "HANGS", ""
    if result.returncode == 0 and sorted(result.stdout.splitlines()) == EXPECTED:
        return "runs", ""
    if result.returncode == 1 and result.stdout == "" and REFUSED.search(result.stderr):
        return "refused", REFUSED.search(result.stderr).group().partition("': ")[2]
    return f"WRONG ({result.returncode})", result.stdout + result.stderr


def main():
    tmpirun, count, seed = sys.argv[1], int((sys.argv[2:] or [3])[0]), int((sys.argv[3:] or [1])[0])
    number, ends = random.Random(seed), collections.Counter()
    for _ in range(count):
        choice = choose(number)
        with tempfile.TemporaryDirectory() as folder:
            program = build(pathlib.Path(folder), pathlib.Path(tmpirun).resolve().parent, choice)
            end, why = judge(tmpirun, program) if isinstance(program, pathlib.Path) else ("not linked", program)
        ends[end.partition(" (")[0]] += 1
        words = " ".join([choice[0], choice[1], "archive" if choice[2] else "object", *choice[3], *choice[4]])
        print(f"{end}: {words}", *([why.strip().splitlines()[0]] if why.strip() else []), sep="\n    ", flush=True)
        if end.isupper() or end.startswith("WRONG"):
            print(why)
    print(f"seed {seed}:", ", ".join(f"{how} {times}" for how, times in sorted(ends.items())))
    return 1 if any(how in ("HANGS", "WRONG") for how in ends) or (count >= 20 and not ends["runs"]) else 0


if __name__ == "__main__":
    sys.exit(main())
