#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the functions of MPI that hand their arguments on, from a table of what each calls.

usage: calls.py FUNCTIONS TABLE SOURCE
FUNCTIONS is mpi_functions.h, with the prototypes. TABLE is src/tmpi/calls.table, which explains its form. SOURCE
gets a definition of each function in the table, and of its forms MPI_X_c and MPI_X_x that FUNCTIONS declares.
"""
import pathlib
import re
import sys

import forms

PLACES = {"int *", "MPI_Count *", "MPI_Aint *", "MPI_Datatype *", "MPI_Request *", "MPI_Win *"}  # of results
LET = re.compile(r"\$(\w+)(\((?:[^()]|\([^()]*\))*\))?")


class Table:
    """What the table says: the headers, and a list of (function, call) with the words of `let` replaced."""

    def __init__(self, path):
        self.path, self.includes, self.rows, self.words = path, [], [], {}
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            first, _, rest = line.partition(" ")
            if first == "include":
                self.includes.append(rest)
            elif first == "let":
                word, _, text = rest.partition(" ")
                self.words[word] = text
            elif first.startswith("MPI_"):
                self.rows.append((first, self.expand(rest.strip())))
            elif first not in ("", "#"):
                sys.exit(f"calls.py: {path}:{number}: '{first}' begins no row (write MPI_X, include, let or #)")

    def expand(self, text):
        """Replaces words until none is left but $call, $large and $counts."""
        def replace(match):
            word, arguments = match[1], match[2]
            if word not in self.words:
                return match[0]
            first, comma, rest = (arguments or "()")[1:-1].partition(",")
            new = self.words[word].replace("$1", first).replace("$2", rest.strip()).replace("$rest", comma + rest)
            return new + (arguments if arguments and "$1" not in self.words[word] else "")
        while (new := LET.sub(replace, text)) != text:
            text = new
        return text


def fill(call, name, arguments):
    """Returns the call of one form, and the arguments that point to an int where the call wants an MPI_Count."""
    ints = {variable for kind, variable, brackets in arguments if "int" in kind.split() and brackets}
    call = re.sub(r"\$counts\((\w+)\)",
                  lambda m: f"(struct tm_counts){{{f'{m[1]}, NULL' if m[1] in ints else f'NULL, {m[1]}'}}}", call)
    call = call.replace("$call", f'"{name}"').replace("$large", "true" if name.endswith("_c") else "false")
    if "$" in call:
        sys.exit(f"calls.py: {name}: a word of the row is not known: {call}")
    return call


def define(name, arguments, call, outputs):
    """Returns the definition of a form. outputs: its arguments of type int * that a large form has as MPI_Count *."""
    unused = [v for _, v, _ in arguments if not re.search(rf"(?<![.\w]){v}\b", call)]
    places = [v for kind, v, brackets in arguments if kind in PLACES and not brackets]
    for variable in outputs:
        call = re.sub(rf"(?<![.\w]){variable}\b", f"&large_{variable}", call)
    listed = ", ".join("".join(a) for a in arguments) or "void"
    lines = ["", f"#pragma weak {name} = P{name}", f"int P{name}({listed}) {{", *(f"  (void){v};" for v in unused)]
    lines += [f'  if ({v} == NULL) return tm_no_place("{name}", "{v}");' for v in places]
    if not outputs:
        return lines + [f"  return {call};", "}"]
    # A position is read, too; other results may point to memory that nothing was stored in.
    lines += [f"  MPI_Count large_{v} = {'*' + v if v == 'position' else 0};" for v in outputs]
    lines += [f"  int error = {call};", "  if (error != MPI_SUCCESS) return error;"]
    return lines + [f"  *{v} = tm_count_as_int(large_{v});" for v in outputs] + ["  return MPI_SUCCESS;", "}"]


def write(prototypes, table):
    """Returns the text of the source."""
    source = ["/* SPDX-License-Identifier: Apache-2.0 */",
              f"/* Made from {table.path.name} and mpi_functions.h by tools/mpi/calls.py. */", "#include <stdint.h>", "",
              *(f'#include "{header}"' for header in ["tmpi/error/errors.h", "tmpi/layout/counts.h", *table.includes])]
    for function, call in table.rows:
        names = [n for n in (function, f"{function}_c", f"{function}_x") if n.removeprefix("MPI_") in prototypes]
        if function not in names:
            sys.exit(f"calls.py: {function}: mpi_functions.h has no prototype (write one, or remove the row)")
        parsed = {n: forms.parse_arguments(prototypes[n.removeprefix("MPI_")]) for n in names}
        for name, arguments in parsed.items():
            large = parsed.get(f"{function}_c", arguments)
            outputs = [v for (kind, v, _), other in zip(arguments, large)
                       if kind == "int *" and other[0] in ("MPI_Count *", "MPI_Aint *")]
            source += define(name, arguments, fill(call, name, arguments), outputs)
    return "\n".join([*source, ""])


def main(functions, table, source):
    prototypes = forms.find_prototypes(pathlib.Path(functions).read_text())
    pathlib.Path(source).write_text(write(prototypes, Table(pathlib.Path(table))))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
