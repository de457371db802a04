#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Initialisers that wait, built by other compilers with other C++ libraries, on 1, 2 and 8 VPs.

usage: statics.py SOURCE_DIR LIBRARY_DIR COMPILER [FLAG ...]
Each program runs in deterministic mode, too, where a caller that waits in the kernel would wait forever.
Exit status 77: the compiler cannot build C++20 that way.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

source, library, compiler, *flags = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    empty = subprocess.run([compiler, *flags, "-std=c++20", "-x", "c++", "-", "-include", "mutex", "-o", f"{folder}/empty"],
                           input="int main() {}", text=True, capture_output=True, check=False)
    if empty.returncode != 0:
        print(f"{compiler} {' '.join(flags)}: cannot build programs here")
        sys.exit(77)
    program = pathlib.Path(folder) / "statics"
    subprocess.run([compiler, *flags, "-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Werror", f"-I{source}/include",
                    f"{source}/tests/interop/statics.cpp", "-o", program, f"-L{library}", "-lmltp", f"-Wl,-rpath,{library}",
                    "-pthread"], check=True)
    failed = False
    for settings in [{"MLTP_VPS": vps} for vps in ("1", "2", "8")] + [{"MLTP_SEED": seed} for seed in ("1", "2")]:
        result = subprocess.run([program], env={**os.environ, "MLTP_OVERSUBSCRIBE": "1", **settings}, capture_output=True,
                                text=True, check=False, timeout=60)
        if (result.returncode, result.stderr) != (0, ""):
            print(settings, result.returncode, result.stdout, result.stderr)
            failed = True
sys.exit(failed)
