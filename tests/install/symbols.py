#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A shared library shows the functions its headers declare, with a version, and nothing else.

usage: symbols.py INCLUDE_DIR LIBRARY
The header sim.h belongs to libmltp-sim, all others to libmltp.
"""
import pathlib
import re
import subprocess
import sys

include_dir, library = sys.argv[1:]
of_simulation = "mltp-sim" in pathlib.Path(library).name
# What the C++ runtime's and libc's headers declare, and libmltp replaces.
replaced = {"__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort", "pthread_once",
            "_ZNSt3__111__call_onceERVmPvPFvS2_E"}
declared = set() if of_simulation else set(replaced)
for header in pathlib.Path(include_dir).glob("*.h"):
    if (header.name == "sim.h") == of_simulation:
        declared.update(re.findall(r"^(?:extern )?MLTP_API [^(;]*?\b(mltp_\w+)(?:\(|;)",
                                   header.read_text(), re.M))
listing = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library],
                         check=True, capture_output=True, text=True).stdout
fields = [line.split() for line in listing.splitlines()]
# What is private belongs to the other libraries of the project: src/core/internal/.
fields = [field for field in fields if not field[0].endswith("@@MLTP_PRIVATE")]
exported = {name.split("@")[0] for name, kind, *_ in fields if kind != "A"}
unversioned = sorted(name for name, kind, *_ in fields if kind != "A" and "@@MLTP_" not in name)
if unversioned:
    print("symbols.py: without a version:", *unversioned, file=sys.stderr)
if missing := sorted(declared - exported):
    print("symbols.py: declared but not in the library:", *missing, file=sys.stderr)
if extra := sorted(exported - declared):
    print("symbols.py: in the library but in no header:", *extra, file=sys.stderr)
sys.exit(bool(unversioned or missing or extra or not declared))
