#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs built by other compilers with other C++ libraries: right, or refused in one line, on 1, 2 and 8 VPs.

usage: compilers.py SOURCE_DIR LIBRARY_DIR PROGRAM COMPILER [FLAG ...]
Each program runs in deterministic mode, too, where a caller that waits in the kernel would wait forever. The last line says
how many runs were right.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LEFT = r"mltp: thread \d+ 'worker': an exception left its function: "
ENDED = r"destroyed\nmltp: thread \d+ 'worker': pthread_exit\(\) or pthread_cancel\(\) ends its (VP's )?kernel thread .*\n\Z"
# For each program: its argument, its exit status, and what its errors begin with.
EXPECTED = {
    "statics": [("all", 0, r"\Z")],
    "ordinary": [
        ("right", 0, r"\Z"),
        ("body", -6, r"mltp: thread \d+ 'worker': an exception left its function: body-x \(catch it there\)\n"),
        ("exit", -6, r"mltp: thread \d+ 'worker': pthread_exit\(\) or pthread_cancel\(\) ends its VP's kernel thread .*\n\Z"),
        ("overflow", -6, r"mltp: stack overflow: thread \d+ 'worker' used all 256 KiB of its stack .*\n"),
        ("bound-overflow", -6, r"mltp: stack overflow: thread \d+ 'worker' used all 256 KiB of its stack .*\n"),
        ("main-overflow", -6, r"mltp: stack overflow: thread \d+ 'main' used all \d+ KiB of its stack .*\n"),
    ],
    "endings": [
        ("return", 0, r"\Z"),
        ("mltp_exit", 0, r"\Z"),
        ("detach", 0, r"\Z"),
        *((f"{kind}{how}", -6, ENDED) for kind in ("", "bound-") for how in ("pthread_exit", "cancel", "cancel_sleep")),
        ("noexcept", -6, LEFT + "noexcept-x"),
        ("body", -6, LEFT + "body-x"),
        ("bound-body", -6, LEFT + "body-x"),
        ("destructor", -6, LEFT + "(first|destructor)-x"),
        ("rethrow", -6, r"(libc\+\+abi: )?terminat(e called without an active exception|ing)\n"),
        ("pure", -6, r"(?i)(libc\+\+abi: )?pure virtual (method|function) called"),
        ("main", -6, r"(?s)(libc\+\+abi: )?terminat.*main-x\n\Z"),
        ("handler", 5, LEFT + r"handler-x .*\nhandler\nwhat handler-x\n\Z"),
        ("handler_yields", 6, LEFT + r"noexcept-x .*\nyielded\n\Z"),
        ("exit", 3, r"\Z"),
        ("quick_exit", 4, r"at quick_exit\n\Z"),
        ("atexit", 9, r"thread at exit\n\Z"),
        ("abort", -6, r"\Z"),
    ],
}
SETTINGS = [{"MLTP_VPS": vps} for vps in ("1", "2", "8")] + [{"MLTP_SEED": seed} for seed in ("1", "2")]

source, library, name, compiler, *flags = sys.argv[1:]
if "-stdlib=libc++" in flags:
    # glibc unwinds by libgcc and libc++abi asks LLVM's libunwind: pthread_exit() in a C++ function crashes any program.
    EXPECTED["ordinary"] = [row for row in EXPECTED["ordinary"] if row[0] != "exit"]
    EXPECTED["endings"] = [row for row in EXPECTED["endings"] if row[2] != ENDED]
with tempfile.TemporaryDirectory() as folder:
    program = pathlib.Path(folder) / name
    subprocess.run([compiler, *flags, "-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Werror", f"-I{source}/include",
                    f"{source}/tests/interop/{name}.cpp", "-o", program, f"-L{library}", "-lmltp", f"-Wl,-rpath,{library}",
                    "-pthread"], check=True)
    wrong = right = 0
    for argument, status, errors in EXPECTED[name]:
        for settings in SETTINGS:
            result = subprocess.run([program, argument], env={**os.environ, "MLTP_OVERSUBSCRIBE": "1", **settings},
                                    capture_output=True, text=True, check=False, timeout=550)
            if result.returncode != status or not re.match(errors, result.stderr):
                print(argument, settings, result.returncode, result.stdout, result.stderr)
                wrong += 1
            else:
                right += 1
print(f"{name}, {compiler} {' '.join(flags)}: {right} of {right + wrong} runs right")
sys.exit(wrong != 0)
