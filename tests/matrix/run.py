#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and tests the library in every environment it is made for: the cells of a matrix.

Each cell is a command of its own (--list shows them, --only runs some); what it wrote is in
build/matrix/CELL.log, and all verdicts, each with the commit it was seen on, are in
build/matrix/results.json. Cells that have passed on the same commit, or on one from which this one
differs in documents only, are not run again, so that an interrupted matrix continues. All of it takes
hours: while others commit, run it in a worktree of one commit (git worktree add --detach). Within
each cell the tests run on 1, 2 and 8 VPs and on the kernel backend (by emulation on 2).
"""
import argparse
import dataclasses
import fcntl
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "matrix"
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang-19", "clang++-19")}
DEBIAN = {"debian12": "bookworm", "debian13": "trixie"}
SHOWN = 60  # lines of a failed cell's log
DEBIAN_PACKAGES = ("gcc g++ libc6-dev cmake ninja-build pkgconf python3 libcmocka-dev libsystemc-dev "
                   "libjansson-dev libdw-dev systemtap-sdt-dev python3-lark python3-hypothesis "
                   "mandoc gdb gfortran util-linux")


@dataclasses.dataclass
class Cell:
    name: str
    what: str
    script: str  # for sh -e, in the root of the project; TESTS stands for ctest's choice of tests
    needs: str = ""  # a program; without it the cell is skipped


def tests(cell, before="", after=""):
    return (f"{before}ctest --test-dir build/matrix/{cell} -j$(nproc) --timeout 600 "
            f"--output-on-failure TESTS{after}")


def build(cell, preset, compiler):
    cc, cxx = COMPILERS[compiler]
    return (f"CC={cc} CXX={cxx} cmake --preset {preset} -B build/matrix/{cell}\n"
            f"cmake --build build/matrix/{cell}\n")


def compiled(compiler, preset):
    name = f"{compiler}-{preset}"
    # ThreadSanitizer knows no address layout as random as that of newer kernels
    fixed = "setarch $(uname -m) --addr-no-randomize " if preset == "tsan" else ""
    return Cell(name, f"{compiler}, preset {preset}",
                build(name, preset, compiler) + tests(name, fixed), COMPILERS[compiler][0])


def without(name, what, setting):
    """The gcc-ci build again, with a mechanism taken out: the tests in which the runtime runs."""
    running = " -L 'unit|fault|stress|scale|examples|explore|inspect|mpi'"
    return Cell(name, what, build("gcc-ci", "ci", "gcc") +
                tests("gcc-ci", f"env {setting} ", running))


def archive(name):
    """The lines that put the files of the project into build/matrix/NAME.tar."""
    return f"""
git ls-files -z --cached --others --exclude-standard |
  tar --null --verbatim-files-from --files-from=- --create --file=build/matrix/{name}.tar
"""


def debian(name):
    """A system of its own, made from Debian's mirror; the tests in it have no network."""
    inside = ("cd /src && cmake --preset release && cmake --build --preset release && "
              'unshare --net ctest --preset release -j"$(nproc)" --timeout 600 TESTS')
    return Cell(name, f"Debian {DEBIAN[name]}, its gcc and libc", f"""{archive(name)}
mmdebstrap --variant=apt --include="{DEBIAN_PACKAGES}" \\
  --customize-hook='mkdir "$1/src"' --customize-hook='tar-in build/matrix/{name}.tar /src' \\
  --chrooted-customize-hook="{inside.replace('"', chr(92) + '"')}" \\
  {DEBIAN[name]} /dev/null
""", "mmdebstrap")


def bare(name):
    """Two systems that have nothing but git: one builds, the other gets the packages that the first has made."""
    system, suite = f"bare-{name}", DEBIAN[name]
    into = f"""mmdebstrap --variant=apt --include=git \\
  --customize-hook='mkdir "$1/src"' --customize-hook='tar-in build/matrix/{system}.tar /src'"""
    return Cell(system, f"README and handbook on a bare Debian {suite}: build tree, prefix, packages", f"""{archive(system)}
rm -rf build/matrix/{system}-packages && mkdir build/matrix/{system}-packages
{into} \\
  --chrooted-customize-hook="/src/tests/install/bare.sh build" \\
  --customize-hook='cp "$1"/src/build/deb/*.deb build/matrix/{system}-packages/' \\
  {suite} /dev/null
{into} \\
  --customize-hook='cp -r build/matrix/{system}-packages "$1/packages"' \\
  --chrooted-customize-hook="/src/tests/install/bare.sh packages /packages" \\
  {suite} /dev/null
""", "mmdebstrap")


def cells():
    yield from (compiled(c, p) for c in COMPILERS for p in ("ci", "debug", "asan", "tsan"))
    yield without("guard-mprotect", "guards without MADV_GUARD_INSTALL", "MLTP_GUARD=mprotect")
    yield without("guard-canary", "no guard pages", "MLTP_GUARD=canary")
    yield without("membarrier-off", "without membarrier(2)", "MLTP_MEMBARRIER=off")
    yield Cell("aarch64", "aarch64, by emulation", "./dev aarch64 TESTS")
    yield Cell("deb", "Debian packages", "./dev deb")
    yield from map(debian, DEBIAN)
    yield from map(bare, DEBIAN)


# ------------------------------------------------------------------------- running

def summary(log):
    """What ctest said last: numbers, and which tests failed."""
    text = log.read_text(errors="replace")
    counts = re.findall(r"(\d+)% tests passed, (\d+) tests failed out of (\d+)", text)
    failed = re.findall(r"^\s+\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Not Run|\w+ aborted).*$",
                        text, re.M)
    said = f"{counts[-1][2]} tests" if counts else ""
    return said + (f"; failed: {' '.join(sorted(set(failed)))}" if failed else "")


def script_of(cell, test_arguments):
    return cell.script.strip().replace("TESTS", shlex.join(test_arguments))


def run(cell, test_arguments):
    """Returns the verdict as (passed | failed | skipped, reason or summary)."""
    if cell.needs and shutil.which(cell.needs) is None:
        return "skipped", f"no {cell.needs} here"
    log = OUT / f"{cell.name}.log"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MLTP_")}
    with open(log, "wb") as file:
        status = subprocess.run(["sh", "-ec", script_of(cell, test_arguments)], cwd=ROOT,
                                env=environment, stdout=file, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL, check=False).returncode
    said = summary(log)
    return ("passed", said) if status == 0 else ("failed", f"status {status}; {said}; see {log}")


def git(*arguments):
    result = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True,
                            check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def identity(test_arguments):
    """What verdicts must have in common to be one matrix."""
    return {"commit": git("describe", "--always", "--abbrev=40", "--dirty") or "unknown-dirty",
            "kernel": platform.release(), "machine": platform.machine(), "tests": test_arguments}


def same_code(commit, other):
    """Whether two commits differ in nothing but documents, of which no test reads any."""
    if any(c.endswith("-dirty") for c in (commit, other)):
        return False
    changed = git("diff", "--name-only", "--no-renames", commit, other)
    return changed is not None and all(name.endswith(".md") for name in changed.splitlines())


def counts(row, wanted):
    """Whether an earlier verdict is one about what is here now."""
    return (all(row["of"][k] == wanted[k] for k in wanted if k != "commit") and
            same_code(row["of"]["commit"], wanted["commit"]))


def earlier(path):
    """The last row of each cell, by its name."""
    rows = json.loads(path.read_text())["cells"] if path.exists() else []
    return {row["cell"]: row for row in rows if "of" in row}


def record(path, row):
    """In one step: an interrupted run leaves the old rows or the new ones. Two runs may record."""
    with open(path.with_suffix(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = earlier(path) | {row["cell"]: row}
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps({"cells": list(rows.values())}, indent=1) + "\n")
        temporary.replace(path)


def line(row):
    return (f"{row['cell']:16} {row['verdict']:8} {row['seconds']:5} s  "
            f"{row['of']['commit'][:12]}  {row['said']}")


def parse(argv, names):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--list", action="store_true", help="show the cells and their commands")
    parser.add_argument("--only", metavar="CELL", action="append", choices=names,
                        help="run this cell (may be repeated)")
    parser.add_argument("--quick", action="store_true", help="only the tests of label quick")
    return parser.parse_args(argv)


def main(argv):
    matrix = {cell.name: cell for cell in cells()}
    args = parse(argv, list(matrix))
    # models, and tests of tests and pages, say nothing about compilers or systems; benchmarks'
    # peers are not ours
    test_arguments = (["-L", "quick"] if args.quick else
                      ["-E", "^(models?|report|peer)[.]", "-LE", "mutations"])
    if args.list:
        for cell in matrix.values():
            script = script_of(cell, test_arguments).replace("\n", "\n    ")
            print(f"{cell.name:16} {cell.what}\n    {script}")
        return 0
    OUT.mkdir(parents=True, exist_ok=True)
    path, wanted = OUT / "results.json", identity(test_arguments)
    rows = {name: row for name, row in earlier(path).items() if counts(row, wanted)}
    failed = False
    for name in args.only or matrix:
        if not args.only and rows.get(name, {}).get("verdict") == "passed":
            print(f"{line(rows[name])}  (on {rows[name]['date']})", flush=True)
            continue
        begin = time.monotonic()
        verdict, said = run(matrix[name], test_arguments)
        row = {"cell": name, "what": matrix[name].what, "verdict": verdict, "said": said,
               "seconds": round(time.monotonic() - begin), "of": wanted,
               "date": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime())}
        if identity(test_arguments) != wanted:
            row["of"] = wanted | {"commit": f"{wanted['commit']}-dirty"}  # the tree changed meanwhile
        record(path, row)
        failed |= verdict == "failed"
        if verdict == "failed":
            sys.stdout.writelines((OUT / f"{name}.log").read_text(errors="replace")
                                  .splitlines(keepends=True)[-SHOWN:])
        print(line(row), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
