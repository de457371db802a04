#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs built by other compilers with other C++ libraries: right, or refused in one line, on 1, 2 and 8 VPs.

usage: compilers.py SOURCE_DIR LIBRARY_DIR PROGRAM COMPILER [FLAG ...]
Each program runs in deterministic mode, too, where a caller that waits in the kernel would wait forever.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# For each program: its argument, its exit status, and what stands in the first line of its errors.
EXPECTED = {
    "statics": [("all", 0, r"\Z")],
    "ordinary": [
        ("right", 0, r"\Z"),
        ("body", -6, r"mltp: thread \d+ 'worker': an exception left its function: body-x \(catch it there\)\n"),
        ("exit", -6, r"mltp: thread \d+ 'worker': pthread_exit\(\) or pthread_cancel\(\) ends its VP's kernel thread .*\n\Z"),
        ("overflow", -6, r"mltp: stack overflow: thread \d+ 'worker' used all 256 KiB of its stack .*\n"),
    ],
}
SETTINGS = [{"MLTP_VPS": vps} for vps in ("1", "2", "8")] + [{"MLTP_SEED": seed} for seed in ("1", "2")]

source, library, name, compiler, *flags = sys.argv[1:]
if "-stdlib=libc++" in flags:
    # glibc unwinds by libgcc and libc++abi asks LLVM's libunwind: pthread_exit() in a C++ function crashes any program.
    EXPECTED["ordinary"] = [row for row in EXPECTED["ordinary"] if row[0] != "exit"]
with tempfile.TemporaryDirectory() as folder:
    program = pathlib.Path(folder) / name
    subprocess.run([compiler, *flags, "-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Werror", f"-I{source}/include",
                    f"{source}/tests/interop/{name}.cpp", "-o", program, f"-L{library}", "-lmltp", f"-Wl,-rpath,{library}",
                    "-pthread"], check=True)
    failed = False
    for argument, status, errors in EXPECTED[name]:
        for settings in SETTINGS:
            result = subprocess.run([program, argument], env={**os.environ, "MLTP_OVERSUBSCRIBE": "1", **settings},
                                    capture_output=True, text=True, check=False, timeout=60)
            if result.returncode != status or not re.match(errors, result.stderr):
                print(argument, settings, result.returncode, result.stdout, result.stderr)
                failed = True
sys.exit(failed)
