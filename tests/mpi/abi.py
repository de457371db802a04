#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The binary interface: constants, sizes and prototypes of mpi.h, and the functions that the library has.

usage: abi.py TMPICC LIBRARY TABLE
TABLE is what MPI 5.0 says, a row each: `constant NAME VALUE`, `size TYPE BYTES`, `function RETURNED NAME(TYPES)`.
"""
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TMPICC, LIBRARY, TABLE = "", "", ""
PROTOTYPE = re.compile(r"\b(int|double|MPI_\w+) (MPI_\w+)\(([^();]*)\);")


def normal(argument):
    """The type of a parameter, without its name; an array is a pointer, a function is a pointer to it."""
    argument = " ".join(re.sub(r"\*", " * ", argument).split())
    rows = "(*)[3]" if argument.endswith("[][3]") else "*" if argument.endswith("[]") else ""
    argument = re.sub(r"\[\d*\]", "", argument).strip()
    if argument in ("void", "..."):
        return argument
    kind = re.sub(r"\s*\b\w+$", "", argument) if re.search(r"[\w*] \w+$", argument) else argument
    kind = re.sub(r"(_function(?:_c)?|_fn) \*$", r"\1", kind)
    kind = kind.removeprefix("const ") if "*" not in kind + rows else kind
    return (kind + rows).replace(" ", "_").replace("_*", "*")


def functions(text):
    """The rows of the prototypes in a header that is preprocessed."""
    return {name: f"{returned} {name}({','.join(map(normal, arguments.split(',')))})"
            for returned, name, arguments in PROTOTYPE.findall(" ".join(text.split()))}


def read_table():
    """Returns the constants, the sizes and the functions."""
    rows = [line.split(" ", 1) for line in pathlib.Path(TABLE).read_text(encoding="ascii").splitlines()
            if line and not line.startswith("#")]
    numbers = [{name: int(value) for name, value in (rest.split() for kind, rest in rows if kind == wanted)}
               for wanted in ("constant", "size")]
    return *numbers, {re.search(r"(MPI_\w+)\(", rest)[1]: rest for kind, rest in rows if kind == "function"}


def look(headers=None):
    """Returns what a header has of the table's names, as the compiler sees it."""
    constants, sizes, _ = read_table()
    lines = [f'  printf("constant {name} %lld\\n", (long long)(intptr_t){name});' for name in constants]
    lines += [f'  printf("size {name} %zu\\n", sizeof({name}));' for name in sizes]
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "abi.c"), pathlib.Path(folder, "abi")
        header = f'"{headers}/mpi.h"' if headers else "<mpi.h>"  # tmpicc's own folder comes before any -I
        source.write_text(f"#include {header}\n#include <stdint.h>\n#include <stdio.h>\nint main(void) {{\n"
                          + "\n".join(lines) + "\n}\n", encoding="ascii")
        built = subprocess.run([TMPICC, "-w", source, "-o", program], capture_output=True, text=True, check=False)
        if built.returncode != 0:
            return {}, {}, {}
        shown = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n")
        text = subprocess.run([TMPICC, "-E", "-P", source], capture_output=True, text=True, check=True).stdout
    found = [{}, {}]
    for line in filter(None, shown):
        kind, name, value = line.split()
        found[kind == "size"][name] = int(value)
    return *found, functions(text)


class Abi(unittest.TestCase):
    maxDiff = None

    def test_header(self):
        for wanted, found in zip(read_table(), look()):
            self.assertEqual({name: found.get(name) for name in wanted}, wanted)

    def test_library(self):
        """Each function is there under both of its names, and no other but conversions of Fortran's handles."""
        listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
        there = {name for name in re.findall(r" [TVW] (P?MPI_\w+)$", listed, re.M) if name[-4:] not in ("_c2f", "_f2c")}
        wanted = set(read_table()[2])
        self.assertEqual(sorted(there), sorted(wanted | {"P" + name for name in wanted}))

    def test_the_library_calls_its_own_functions(self):
        """Another library of MPI that the process has loaded before may have functions of the same names."""
        calls = subprocess.run(["readelf", "-rW", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertIn("JUMP_SLOT", calls)
        self.assertEqual(re.findall(r"JUMP_SLOT.* (P?MPI_\w+|tm_\w+)", calls), [])

    def test_changes_are_found(self):
        """A number or a type of the header is changed at random, ten times: each change is a difference."""
        include = pathlib.Path(TMPICC).resolve().parent.parent / "include/tmpi"
        there, choose = look(), random.Random(5)
        for _ in range(10):
            with tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder, "tmpi")
                shutil.copytree(include, copy)
                file = copy / choose.choice(["mpi.h", "mpi_names.h", "mpi_functions.h"])
                text = file.read_text()
                pattern = (r"(?<=[(,] )int(?= \w)|MPI_Count(?= \w)" if file.name == "mpi_functions.h"
                           else r"(?<== )\w+(?=[,\n])|(?<=\))0x\w+(?=\))")
                places = list(re.finditer(pattern, text))
                place = choose.choice(places)
                new = {"int": "long", "MPI_Count": "short"}.get(place[0]) or str(int(place[0], 0) + 1)
                file.write_text(text[:place.start()] + new + text[place.end():])
                shown = text[text.rfind("\n", 0, place.start()):text.find("\n", place.end())].strip()
                print(f"changed {file.name}: {shown}: {place[0]} -> {new}")
                self.assertNotEqual(look(copy), there, shown)


if __name__ == "__main__":
    TMPICC, LIBRARY, TABLE = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
