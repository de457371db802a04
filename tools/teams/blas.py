#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the functions of BLAS and LAPACK that libmltp-teams stands in front of.

usage: blas.py TABLE SOURCE
TABLE is src/teams/blas.table. SOURCE gets a function for each row, kind of number, interface and build of
OpenBLAS: the common one, that with 64-bit integers, and the two that Python's packages bring along.
"""
import pathlib
import sys

BUILDS = (("", ""), ("", "64_"), ("scipy_", ""), ("scipy_", "64_"))
KINDS = {"s": "float", "d": "double", "c": None, "z": None}  # scalars of complex numbers are passed by address


def read_table(text):
    """Returns [(name, letters of its arguments, forms)...]."""
    rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for row in rows:
        if len(row) != 3 or set(row[1]) - set("FNLSP") or row[2] not in ("both", "fortran"):
            sys.exit(f"blas.py: not a row of a name, arguments and forms: {' '.join(row)}")
    return rows


def write_function(name, build, types, sizes):
    """A function of these argument types; sizes are expressions whose product tells the work."""
    arguments = ", ".join(f"{kind} a{i}" for i, kind in enumerate(types))
    passed = ", ".join(f"a{i}" for i in range(len(types)))
    return (f"EXPORT void {name}({arguments}) {{\n"
            f"  static void (*next)({', '.join(types)});\n"
            f"  if (next == NULL) *(void **)&next = mt_team_find(\"{name}\", CALLER);\n"
            f"  bool small = {' * '.join(f'(double){size}' for size in sizes)} < MT_BLAS_SMALL;\n"
            f"  if (!small) mt_blas_begin(&build_{build}, CALLER);\n"
            f"  next({passed});\n"
            "  if (!small) mt_team_end();\n}\n")


def work_of(letters, reference):
    """Three sizes whose product is about the work; the first one again where there are fewer."""
    sizes = [reference.format(i) for i, letter in enumerate(letters) if letter == "N"]
    return sizes + sizes[:1] * (3 - len(sizes))


def write_fortran(name, kind, letters, build):
    prefix, suffix = BUILDS[build]
    integer = "int64_t" if suffix else "int"
    types = [f"const {integer} *" if letter in "NL" else "void *" for letter in letters]
    # OpenBLAS takes no lengths of character arguments, but a LAPACK in Fortran may.
    types += ["size_t"] * letters.count("F")
    symbol = f"{prefix}{kind}{name}_{suffix}"
    return write_function(symbol, build, types, work_of(letters, "*a{}"))


def write_c(name, kind, letters, build):
    prefix, suffix = BUILDS[build]
    integer = "int64_t" if suffix else "int"
    types = ["int"]  # the order of rows and columns
    for letter in letters:
        types.append({"F": "int", "N": integer, "L": integer, "S": KINDS[kind] or "void *", "P": "void *"}[letter])
    sizes = work_of("O" + letters, "a{}")
    return write_function(f"{prefix}cblas_{kind}{name}{suffix}", build, types, sizes)


def main(table, source):
    parts = ["/* Made by tools/teams/blas.py from src/teams/blas.table. */\n"
             "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
             "#include \"teams/blas.h\"\n#include \"teams/teams.h\"\n"]
    for number, (prefix, suffix) in enumerate(BUILDS):
        parts.append(f"static struct mt_blas build_{number} = {{.get_name = \"{prefix}openblas_get_num_threads{suffix}\",\n"
                     f"    .set_name = \"{prefix}openblas_set_num_threads{suffix}\"}};\n")
    for name, letters, forms in read_table(pathlib.Path(table).read_text(encoding="utf-8")):
        for kind in KINDS:
            for build in range(len(BUILDS)):
                parts.append(write_fortran(name, kind, letters, build))
                if forms == "both":
                    parts.append(write_c(name, kind, letters, build))
    pathlib.Path(source).write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
