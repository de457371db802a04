#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the conversions between handles and numbers, which are alike for each kind of handle.

usage: handles.py FUNCTIONS SOURCE
FUNCTIONS is mpi_functions.h. SOURCE gets MPI_X_toint, _c2f, _fromint and _f2c for each X that has a prototype
of MPI_X_toint there; they call what src/tmpi/fortran/handles.h declares.
"""
import pathlib
import re
import sys

TO = """#pragma weak MPI_{x}_{name} = PMPI_{x}_{name}
{number} PMPI_{x}_{name}({type} handle) {{ return {convert}("MPI_{x}_{name}", handle); }}
"""
FROM = """#pragma weak MPI_{x}_{name} = PMPI_{x}_{name}
{type} PMPI_{x}_{name}({number} number) {{ return tm_handle_of(number); }}
"""
FORMS = [(TO, "toint", "int"), (TO, "c2f", "MPI_Fint"), (FROM, "fromint", "int"), (FROM, "f2c", "MPI_Fint")]


def main():
    """Reads the table, writes the definitions."""
    functions, source = map(pathlib.Path, sys.argv[1:])
    kinds = re.findall(r"^int MPI_(\w+)_toint\((MPI_\w+) \w+\);", functions.read_text(), re.M)
    if not kinds:
        sys.exit(f"handles.py: no prototype of MPI_X_toint in {functions}")
    convert = {"Request": "tm_handle_number_of_request"}
    definitions = [form.format(x=x, type=kind, name=name, number=number, convert=convert.get(x, "tm_handle_number"))
                   for x, kind in kinds for form, name, number in FORMS]
    source.write_text("/* made by tools/mpi/handles.py */\n#include \"tmpi/fortran/handles.h\"\n\n" + "\n".join(definitions))


if __name__ == "__main__":
    main()
