#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the forms of collectives that follow from the blocking ones.

usage: forms.py FUNCTIONS HEADER SOURCE
FUNCTIONS is mpi_functions.h, with the prototypes of the blocking collectives. The standard makes of each
a nonblocking form (MPI_I...), a persistent one (..._init), and all three again with 64-bit counts (..._c).
HEADER gets their prototypes, SOURCE their definitions: each puts its arguments into a struct tm_collective
(src/tmpi/coll/collective.h). Collectives with neighbours have no blocking form by hand: that is made too.
"""
import pathlib
import re
import sys

COLLECTIVES = ("Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw"
               " Reduce Allreduce Scan Exscan Reduce_scatter Reduce_scatter_block Neighbor_allgather"
               " Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw").split()

# Where an argument belongs in the struct. {counts}: ints or large, whichever the form has.
FIELDS = {
    "buffer": "recv.base", "count": "recv.count", "type": "recvtype",
    "sendbuf": "send.base", "sendcount": "send.count", "sendtype": "sendtype",
    "sendcounts": "send.counts", "sdispls": "send.displs", "sendtypes": "send.types",
    "recvbuf": "recv.base", "recvcount": "recv.count", "recvtype": "recvtype",
    "recvcounts": "recv.counts", "rdispls": "recv.displs", "recvtypes": "recv.types",
    "op": "op", "root": "root", "comm": "comm",
}


def find_prototypes(text):
    """Returns {name without MPI_: arguments as text} of the functions that return an error code."""
    return dict(re.findall(r"^int MPI_(\w+)\(([^)]*)\);", text, re.M))


def parse_arguments(text):
    """Returns [(type, name, brackets)...] of a prototype's arguments."""
    if text == "void":
        return []
    return [re.fullmatch(r"(.*?[\s*])(\w+)((?:\[\])?)", " ".join(a.split())).groups() for a in text.split(",")]


def read_prototypes(text):
    """Returns {name: [(type, name, brackets)...]} of the collectives."""
    found = {name: parse_arguments(a) for name, a in find_prototypes(text).items() if name in COLLECTIVES}
    missing = set(COLLECTIVES) - set(found)
    if missing:
        sys.exit(f"forms.py: no prototypes of {', '.join(sorted(missing))}")
    return found


def enlarge(argument):
    """The same argument of a _c form: counts are MPI_Count, displacements MPI_Aint."""
    kind, name, brackets = argument
    if name.endswith(("count", "counts")):
        kind = re.sub(r"\bint\b", "MPI_Count", kind)
    elif name.endswith("displs"):
        kind = re.sub(r"\bint\b", "MPI_Aint", kind)
    return kind, name, brackets


def kind_of(name):
    """The struct tm_collective_kind: those with parts of different sizes are the same kind."""
    return re.sub(r"(gather|scatter|alltoall)[vw]$", r"\1", name.lower()).removesuffix("_block")


def field(name, argument):
    """An initializer of the struct."""
    kind, variable, brackets = argument
    where = FIELDS.get(variable, "send.displs" if name.startswith("Scatter") else "recv.displs")
    if brackets and "MPI_Datatype" not in kind:
        where += ".ints" if re.search(r"\bint\b", kind) else ".large"
    value = f"(void *)(uintptr_t){variable}" if where == "send.base" else variable
    return f".{where} = {value}"


def forms(name, arguments):
    """Yields (function, arguments, call on the struct) of each form that is not written by hand."""
    small, large = arguments, [enlarge(a) for a in arguments]
    request, info = ("MPI_Request *", "request", ""), ("MPI_Info ", "info", "")
    if name.startswith("Neighbor"):
        yield name, small, "tm_collective_perform(&c)"
    if large != small:
        yield f"{name}_c", large, "tm_collective_perform(&c)"
    for suffix, own in [("", small)] + [("_c", large)] * (large != small):
        yield f"I{name.lower()}{suffix}", own + [request], "tm_collective_start(&c, request)"
        yield f"{name}_init{suffix}", own + [info, request], "tm_collective_init(&c, info, request)"


def write(prototypes):
    """Returns the texts of the header and of the source."""
    header = ["/* SPDX-License-Identifier: Apache-2.0 */",
              "/* Forms of collectives; made from mpi_functions.h by tools/mpi/forms.py. */",
              "#ifndef TMPI_COLLECTIVES_H", "#define TMPI_COLLECTIVES_H", "", '#include "mpi.h"', ""]
    source = ["/* SPDX-License-Identifier: Apache-2.0 */",
              "/* Forms of collectives; made from mpi_functions.h by tools/mpi/forms.py. */",
              '#include "tmpi/coll/collective.h"']
    for name in COLLECTIVES:
        for function, arguments, call in forms(name, prototypes[name]):
            listed = ", ".join("".join(a) for a in arguments)
            if function != name: # a blocking one is in mpi_functions.h
                header += [f"int MPI_{function}({listed});", f"int PMPI_{function}({listed});"]
            own = [a for a in arguments if a[1] not in ("info", "request")]
            fields = "".join(f",\n      {field(name, a)}" for a in own)
            source += ["", f"#pragma weak MPI_{function} = PMPI_{function}",
                       f"int PMPI_{function}({listed}) {{",
                       f'  struct tm_collective c = {{.call = "MPI_{function}", .kind = &tm_{kind_of(name)}_kind{fields}}};',
                       f"  return {call};", "}"]
    return "\n".join([*header, "", "#endif", ""]), "\n".join([*source, ""])


def main(functions, header, source):
    texts = write(read_prototypes(pathlib.Path(functions).read_text()))
    for path, text in zip((header, source), texts):
        pathlib.Path(path).write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
