#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps what a start of ranks executes in neighbouring pages of tmpirun and its libraries.

The kernel maps 16 pages at each fault in a file. If the functions of a start lay among all others, a start would map
most of each file, and pay for it in time and memory.

usage: start_order.py record [BUILD]: writes the names of these functions, which callgrind tells, into src/start.order
       start_order.py script OUT COMPILER [FLAG...]: writes the linker's own script with these functions first
Status 1: the linker shows no script that can be changed.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
ORDER = ROOT / "src/start.order"
OBJECTS = re.compile(r"/(tmpirun|libmltp\.so\.[0-9.]+|libmpi_abi\.so\.[0-9.]+)$")
LINE = re.compile(r"(ob|fn)=\((\d+)\)(?: .*)?$")
NAMES = re.compile(r"^c?(ob|fn)=\((\d+)\) (.*)$", re.M)  # the first time that a number occurs
TEXT = re.compile(r"^  \.text +:\n  \{\n", re.M)
CONSTANTS = re.compile(r"^  \.rodata +: \{.*\}\n", re.M)
FINI = re.compile(r"^  \.fini +:\n  \{\n.*\n  \}\n", re.M)
STARTS = ("    *crt1.o(.text) *crti.o(.text) *crtbegin*.o(.text) *libc_nonshared.a:*(.text .text.*)\n"
          "    *(.text.startup .text.startup.*)\n")  # main() and constructors


def executed(text):
    """The functions of our objects in what callgrind has written."""
    names = {(kind, number): name for kind, number, name in NAMES.findall(text)}
    ours, found = False, set()
    for line in text.splitlines():
        match = LINE.match(line)
        if match and match[1] == "ob":
            ours = OBJECTS.search(names["ob", match[2]]) is not None
        elif match and ours:
            found.add(re.sub(r"('|\.(isra|part|constprop|cold)\b).*", "", names["fn", match[2]]))
    return {name for name in found if re.fullmatch(r"[A-Za-z_]\w*", name)}


def in_order(found, build):
    """The names in the order in which functions lie in the files: neighbours in a source file call each other, and
    collectives take 4 % longer when these are in the order of the alphabet."""
    names = []
    for file in "bin/tmpirun", "lib/libmltp.so", "lib/libmpi_abi.so":
        shown = subprocess.run(["nm", "-n", "--defined-only", build / file], capture_output=True, text=True, check=True)
        names += re.findall(r"^[0-9a-f]+ [tT] (\w+)", shown.stdout, re.M)
    return [name for name in dict.fromkeys(names) if name in found]


def record(build="build"):
    programs, found = ROOT / "bench/mpi/programs", set()
    build = pathlib.Path(build).resolve()
    with tempfile.TemporaryDirectory() as folder:
        program, out = f"{folder}/single", pathlib.Path(folder, "out")
        sources = [programs / "single.c", programs / "measure.c"]
        subprocess.run([build / "bin/tmpicc", "-O2", *sources, "-o", program, "-lm"], check=True)
        for vps, ranks in (1, 2), (2, 2), (2, 64):
            subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", build / "bin/tmpirun",
                            f"--vps={vps}", "-n", str(ranks), program, "memory", "0", "1"],
                           check=True, stdout=subprocess.DEVNULL)
            found |= executed(out.read_text())
    if len(found) < 100:
        sys.exit(f"start_order: only {len(found)} functions, and there are some 400 (is {build} a release build?)")
    head = [line for line in ORDER.read_text().splitlines() if line.startswith("#")]
    ORDER.write_text("\n".join([*head, *in_order(found, build)]) + "\n")


def script(out, *compiler):
    """Constants and .fini go in front of the code: what a start reads and what it executes are neighbours."""
    shown = subprocess.run([*compiler, "-nostdlib", "-Wl,--verbose", "-x", "c", "/dev/null", "-o", "/dev/null"],
                           capture_output=True, text=True, check=False).stdout
    parts = re.split(r"^={20,}\n", shown, flags=re.M)
    if len(parts) != 3 or any(len(part.findall(parts[1])) != 1 for part in (TEXT, CONSTANTS, FINI)):
        return 1
    names = [line for line in ORDER.read_text().split("\n") if line and not line.startswith("#")]
    functions = STARTS + "".join(f"    *(.text.{name} .text.{name}.*)\n" for name in names)
    front = FINI.search(parts[1])[0] + CONSTANTS.search(parts[1])[0]
    text = FINI.sub("", CONSTANTS.sub("", parts[1]))
    text = TEXT.sub(lambda match: front + match[0] + functions, text)
    if not (out := pathlib.Path(out)).exists() or out.read_text() != text:  # a new one would link everything again
        out.write_text(text)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("record", "script"):
        sys.exit(__doc__)
    sys.exit({"record": record, "script": script}[sys.argv[1]](*sys.argv[2:]))
