#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Fortran interface: constants and sizes as the compiler sees them, and prototypes of the modules mpi and mpi_f08.

usage: abi_fortran.py TMPIFORT TABLE FOLDER
TABLE is what MPI 5.0 says: `constant NAME TYPE VALUE`, `size TYPE BITS`, `kind EXPRESSION KIND`, and for each module
and subroutine the names and the types of its arguments. FOLDER has the sources of the modules: mpi.f90, mpi_f08.f90, and tmpi_types.f90, which both use.
"""
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

TMPIFORT, TABLE, FOLDER = pathlib.Path(), "", pathlib.Path()
INTERFACES = "mpif.h", "mpi", "mpi_f08"
MODULES = INTERFACES[1:]
HANDLES = "Comm Group Datatype Request Message Op Errhandler Info Session Win File".split()
SUBROUTINE = re.compile(r"^ *subroutine (P?MPI_\w+?)(?:_f08ts)?\(([^)]*)\)\n(.*?)^ *end subroutine", re.M | re.S)
WORDS = {"integer": "integer", "logical": "logical", "integer(kind=mpi_address_kind)": "address", "external": "procedure",
         "integer(kind=mpi_count_kind)": "count", "integer(kind=mpi_offset_kind)": "offset", "character(len=*)": "character",
         "type(c_ptr)": "pointer"}
SHAPES = {"": "", "(*)": "[]", "(3, *)": "[3][]", "(MPI_STATUS_SIZE)": "[]", "(MPI_STATUS_SIZE, *)": "[][]", "(..)": ""}
PART = 100  # constants of one subroutine


def word(declared, shape):
    """The table's word for a declaration."""
    kind, *attributes = [part.strip() for part in declared.lower().split(", ")]
    if match := re.fullmatch(r"type\(mpi_(\w+)\)", kind):
        kind = match[1].capitalize()
    kind = "buffer" if kind == "type(*)" else WORDS.get(kind, kind)
    shape = "" if kind == "buffer" else SHAPES.get(shape, shape)
    return kind + shape + ("?" if "optional" in attributes else "")


def prototypes(text):
    """Returns the subroutines of a module, by name: the names and types of their arguments."""
    found = {}
    text = re.sub(r"&\n\s*", "", re.sub(r"^ *!.*\n", "", text, flags=re.M))
    for name, arguments, body in SUBROUTINE.findall(text):
        types = {}
        for declared, variables in re.findall(r"^ *(\S.*?) :: (\w.*)$", body, re.M):
            for variable, shape in re.findall(r"(\w+)(\([^)]*\))?", variables):
                types[variable.lower()] = word(declared, shape)
        found[name] = " ".join(f"{one}:{types.get(one, 'none')}" for one in arguments.lower().replace(" ", "").split(","))
    return found


class Table:
    """What the standard says."""

    def __init__(self):
        rows = [line.split() for line in pathlib.Path(TABLE).read_text(encoding="ascii").splitlines()
                if line and not line.startswith("#")]
        self.constants = {row[1]: (row[2], int(row[3])) for row in rows if row[0] == "constant"}
        self.sizes = {row[1]: int(row[2]) for row in rows if row[0] == "size"}
        self.kinds = {row[1]: int(row[2]) for row in rows if row[0] == "kind"}
        self.rows = {module: {row[1]: " ".join(row[2:]) for row in rows if row[0] == module} for module in MODULES}

    def seen(self, interface):
        """What the program is to print."""
        values = {name: value for name, (_, value) in self.constants.items()} | self.kinds
        return values | (self.sizes if interface in MODULES else {})

    def program(self, interface):
        """Prints what an interface has of the table's names."""
        names, lines, modern = list(self.constants), [], interface == "mpi_f08"
        begin = "implicit none\ninclude 'mpif.h'" if interface == "mpif.h" else f"use {interface}\nimplicit none"
        for start in range(0, len(names), PART):
            lines += [f"subroutine part{start}", begin]
            for name in names[start:start + PART]:
                kind = self.constants[name][0]
                value = f"merge(1, 0, {name})" if kind == "logical" else f"{name}%MPI_VAL" if modern and kind in HANDLES else name
                lines.append(f"call show('{name}', {kind_of(name, kind, modern)}, {value} + 0_8)")
            lines += ["end subroutine"]
        lines += ["subroutine rest", begin, *(f"type({name}) :: x{at}" for at, name in enumerate(self.sizes) if interface in MODULES),
                  *(f"call show('{name}', .true., storage_size(x{at}) + 0_8)" for at, name in enumerate(self.sizes)
                    if interface in MODULES),
                  *(f"call show('{name}', .true., kind({name}) + 0_8)" for name in self.kinds), "end subroutine"]
        lines += ["subroutine show(name, right, value)", "character(len=*) :: name", "logical :: right", "integer(8) :: value",
                  "if (right) print '(a, 1x, i0)', name, value", "end subroutine", "program main",
                  *(f"call part{start}" for start in range(0, len(names), PART)), "call rest", "end program"]
        return "\n".join(lines) + "\n"


def kind_of(name, kind, modern):
    """An expression that is true if an integer constant has its kind; others would not compile."""
    return ".true." if kind == "logical" or (modern and kind in HANDLES) else f"kind({name}) == {8 if kind == 'offset' else 4}"


def compile_and_run(table, interface, folder, *first):
    """Returns what a program sees, and the compiler's errors: a name may be missing or have another type."""
    source, binary = folder / "abi.f90", folder / "abi"
    source.write_text(table.program(interface), encoding="ascii")
    built = subprocess.run([TMPIFORT, "-O0", "-w", "-ffree-line-length-none", *first, source, "-o", binary],
                           capture_output=True, text=True, check=False, cwd=folder)
    if built.returncode != 0:
        return {}, built.stderr
    # by tmpirun: AddressSanitizer refuses a program that is built without it and loads our libraries by itself
    shown = subprocess.run([TMPIFORT.parent / "tmpirun", binary], capture_output=True, text=True, check=True).stdout
    return {name: int(value) for name, value in (line.split() for line in shown.splitlines())}, ""


def differences(table, module, text):
    """Returns the subroutines, under both of their names, that are not as the table says.

    Both modules have the same procedures that convert statuses, which no tool replaces.
    """
    found = prototypes(text)
    wanted = table.rows[module]
    both = wanted | {f"P{name}": row for name, row in wanted.items() if not name.endswith("_function")}
    return {name: (found.get(name), both.get(name)) for name in sorted(set(found) | set(both))
            if found.get(name) != both.get(name) and not name.startswith("PMPI_Status_f")}


def source_of(interface):
    """Returns mpif.h, or a module behind the one with its types."""
    if interface == "mpif.h":
        return (TMPIFORT.parent.parent / "include/tmpi/mpif.h").read_text(encoding="ascii")
    return "".join((FOLDER / f"{name}.f90").read_text(encoding="ascii") for name in ("tmpi_types", interface))


class Fortran(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.table = Table()

    def test_constants(self):
        for interface in INTERFACES:
            with self.subTest(interface), tempfile.TemporaryDirectory() as folder:
                found, errors = compile_and_run(self.table, interface, pathlib.Path(folder))
                self.assertEqual(found, self.table.seen(interface), errors)

    def test_prototypes(self):
        for module in MODULES:
            with self.subTest(module):
                self.assertEqual(differences(self.table, module, source_of(module)), {})

    def places(self, text):
        """Yields what may be changed: values of constants, the size of a status, arguments."""
        for pattern in (r"(?<=\()(MPI_\w+)=-?\d+(?:_8)?(?=\))", r"(?<=parameter :: )(MPI_\w+) = [\w()-]+", r"(MPI_internal)\(5\)"):
            yield from (place for place in re.finditer(pattern, text)
                        if place[1] in self.table.constants or place[1] == "MPI_internal")
        for one in SUBROUTINE.finditer(text):
            if one[1].startswith("PMPI_Status_f"):
                continue
            yield from re.compile(r"(?<=    )(?:integer|logical|type)(?:\([^)*]*\))?(?:, optional)? :: \w+").finditer(
                text, one.start(3), one.end(3))

    def change(self, choose, interface, folder):
        """Changes an interface in one place. @return what was changed, and whether the comparison fails."""
        name = "mpif.h" if interface == "mpif.h" else f"{interface}.f90"
        text = source_of(interface)
        every = list(self.places(text))
        numbers = [place for place in every if "::" not in place[0]]
        place = choose.choice(choose.choice([numbers, every]))
        old, is_argument = place[0], "::" in place[0]
        if is_argument:
            new = choose.choice([old + "_", re.sub(r"^\w+(\([^)]*\))?", "real", old),
                                 old.replace(", optional", "") if ", optional" in old else old.replace(" ::", ", optional ::")])
        else:
            new = re.sub(r"-?\d+(?=(_8)?\D*$)", lambda number: str(int(number[0]) + 1), old)
        text = text[:place.start()] + new + text[place.end():]
        (folder / name).write_text(text, encoding="ascii")
        if is_argument:
            noticed = differences(self.table, interface, text) != {}
        else:
            first = [f"-I{folder}"] + ([] if interface == "mpif.h" else [name])
            noticed = compile_and_run(self.table, interface, folder, *first)[0] != self.table.seen(interface)
        return f"{interface}: {old} -> {new}", noticed

    def test_changes_are_found(self):
        """A number, a size, a name or a type is changed at random, ten times: the comparison fails each time."""
        choose = random.Random(23)
        for interface in choose.choices(INTERFACES, k=10):
            with tempfile.TemporaryDirectory() as folder:
                what, noticed = self.change(choose, interface, pathlib.Path(folder))
                print("changed", what)
                self.assertTrue(noticed, what)


if __name__ == "__main__":
    TMPIFORT, TABLE, FOLDER = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
