#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what every file of the repository owes its readers.

Every header compiles alone, a public one as C and as C++ (one of C++ as C++20); every public function has a docstring
that says in what context it may be called; every file names its licence in its first lines; no
line speaks of one machine's home folders.
"""
import argparse
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/man"))
import docstrings  # noqa: E402  (found through the line above)

PRIVATE_C = ["cc", "-std=gnu17", "-D_GNU_SOURCE", "-DMLTP_CHECKED=1", "-x", "c"]
C17 = ["cc", "-std=c17", "-x", "c"]
CXX = ["c++", "-std=c++17", "-x", "c++"]
CXX20 = ["c++", "-std=c++20", "-x", "c++"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
NO_LICENCE_LINE = re.compile(r"LICENSE|.*\.(md|json|svg|png|mod|txt|abi)")
HOME = re.compile(r"(?<![\w.])/(?:home|root|Users)/\w")


def compiles(compiler, folders, header):
    """Compiles a file that includes one header; returns the compiler's words if it fails."""
    command = [*compiler, *WARNINGS, *(f"-I{folder}" for folder in folders), "-"]
    result = subprocess.run(command, input=f'#include "{header}"\n', capture_output=True, text=True,
                            check=False)
    return result.stderr.strip() if result.returncode else ""


def check_headers(root):
    """Every header compiles alone."""
    include, src = root / "include", root / "src"
    # The build made it: ./dev lint builds one of these first.
    made = next((made for build in ("build/ci", "build") if (made := root / build / "include/tmpi").exists()), root)
    jobs = []
    for path in sorted(include.rglob("*.h")):
        jobs += [(path, C17, [include, made]), (path, CXX, [include, made])]
    jobs += [(path, CXX20, [include]) for path in sorted(include.rglob("*.hpp"))]
    # What differs between processors is reached through arch/arch.h only.
    jobs += [(path, PRIVATE_C, [include, src, made]) for path in sorted(src.rglob("*.h"))
             if path.parent.parent.name != "arch"]
    with ThreadPoolExecutor() as pool:
        outputs = pool.map(lambda job: compiles(job[1], job[2], job[0]), jobs)
    return [f"{path}:1: does not compile alone with {compiler[0]}:\n{output}"
            for (path, compiler, _), output in zip(jobs, outputs) if output]


def check_docstrings(root):
    """Every public function has a docstring with a context."""
    errors = []
    for path in sorted((root / "include").rglob("*.h")):
        for function in docstrings.read(path.read_text()).functions:
            if not function.documented:
                errors.append(f"{path}: {function.name} has no docstring")
            elif not function.alias and "Context" not in function.notes:
                errors.append(f'{path}: {function.name} says no context ("Context: ...")')
    return errors


def check_text(path):
    """One file's licence line and freedom of home folders."""
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError:
        return []
    errors = [f"{path}:{number}: names a home folder of one machine"
              for number, line in enumerate(lines, start=1) if HOME.search(line)]
    licensed = any("SPDX-License-Identifier: " in line for line in lines[:3])
    if lines and not licensed and not NO_LICENCE_LINE.fullmatch(path.name):
        errors.append(f"{path}:1: no SPDX-License-Identifier line")
    return errors


def check(root, files):
    errors = check_headers(root) + check_docstrings(root)
    for path in files:
        errors += check_text(path)
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", type=pathlib.Path, nargs="*", help="files to look at line by line")
    errors = check(ROOT, parser.parse_args().files)
    for error in errors:
        print(error, file=sys.stderr)
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
