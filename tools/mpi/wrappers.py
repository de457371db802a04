#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a wrapper of each function of MPI that looks at its arguments; check.h says what for.

An argument is known by its type and name: the header keeps to one name for each thing.
"""
import argparse
import pathlib
import re

PROTOTYPE = re.compile(r"^int MPI_(\w+)\(([^;]*)\);", re.M)
PARAMETER = re.compile(r"(?P<type>.*?[\s*])(?P<name>\w+)(?P<array>(\[\d*\])*)")

# Name and type of an argument -> field.
SCALARS = {("comm", "MPI_Comm"): "comm", ("local", "MPI_Comm"): "comm", ("op", "MPI_Op"): "op",
           ("root", "int"): "root", ("dest", "int"): "peer", ("source", "int"): "peer",
           ("tag", "int"): "tag", ("sendtag", "int"): "tag", ("win", "MPI_Win"): "win",
           ("target_rank", "int"): "peer"}
ABSENT = {"comm": "0", "op": "0", "win": "0", "root": "TM_NONE", "peer": "TM_NONE", "tag": "TM_NONE"}
# Names of buffer, count and type that belong together.
DATA = {"data": [("buffer", "count", "type"), ("sendbuf", "sendcount", "sendtype"),
                 ("sendbuf", "count", "type"), ("sendbuf", "recvcount", "type"),
                 ("origin_addr", "origin_count", "origin_datatype")],
        "other": [("recvbuf", "recvcount", "recvtype"), ("recvbuf", "count", "type")]}
COUNTS = ("int", "MPI_Count")
OBJECTS = {"MPI_Comm": "COMM", "MPI_Group": "GROUP", "MPI_Datatype": "TYPE", "MPI_Op": "OP",
           "MPI_Errhandler": "ERRHANDLER", "MPI_Info": "INFO", "MPI_Request": "REQUEST",
           "MPI_Win": "WIN", "MPI_File": "FILE"}
# What takes a handle's address and makes none.
MAKES_NONE = re.compile(r"(Wait|Test|Start|Cancel|Type_commit|Comm_disconnect|Comm_get_parent|Request_get_status)|\w*_free\b|File_close")
# What finds requests complete and leaves them to the program.
LOOKS = re.compile(r"Request_get_status")


def parameters(text):
    """The parameters of a prototype: (type, name, what of arrays follows the name)."""
    text = " ".join(text.split())
    if text == "void":
        return []
    return [(match["type"].strip(), match["name"], match["array"])
            for match in map(PARAMETER.fullmatch, map(str.strip, text.split(",")))]


def data(fields, names):
    """The initializer of the first of some data whose parts are all there."""
    for parts in fields:
        if all(part in names and "[" not in names[part] for part in parts) and names[parts[1]] in COUNTS:
            return "{%s, %s, %s}" % parts
    return "{NULL, -1, 0}"


def object_of(params):
    """A handle that is made, changed or freed: address, kind, how many."""
    for kind, argument, array in reversed(params):
        base = kind.removesuffix("*").strip()
        if base in OBJECTS and "const" not in kind and (kind.endswith("*") or array == "[]"):
            if array == "[]" and base != "MPI_Request":
                continue
            return argument, "TM_" + OBJECTS[base], "count" if array == "[]" else "1"
    return "NULL", "TM_NO_OBJECT", "0"


def looked_at(params):
    """The requests of a call that leaves them, as object_of()."""
    argument, array = next((argument, array) for kind, argument, array in params if kind.removeprefix("const ") == "MPI_Request")
    return (f"(void *)(uintptr_t){argument}", "TM_REQUEST", "count") if array else (f"&{argument}", "TM_REQUEST", "1")


def wrapper(number, name, params):
    """The text of one."""
    names = {argument: kind + array for kind, argument, array in params}
    scalars = dict(ABSENT)
    for kind, argument, array in reversed(params):
        if (argument, kind) in SCALARS and not array:
            scalars[SCALARS[argument, kind]] = argument
        if name.startswith("Win_") and (argument, kind) == ("rank", "int"):
            scalars["peer"] = argument
    address, kind, count = (looked_at if LOOKS.match(name) else object_of)(params)
    declared = ", ".join(f"{k}{' ' if not k.endswith('*') else ''}{a}{b}" for k, a, b in params)
    fields = "".join(f", .{field} = {value}" for field, value in scalars.items())
    return f"""
static int wrap_{name}({declared or "void"}) {{
  struct tm_seen seen = {{.call = {number}, .site = __builtin_return_address(0){fields},
    .data = {data(DATA["data"], names)}, .other = {data(DATA["other"], names)},
    .object = {address}, .kind = {kind}, .makes = {"false" if MAKES_NONE.match(name) else "true"},
    .count = {count}}};
  tm_seen_begin(&seen);
  return tm_seen_end(&seen, PMPI_{name}({", ".join(argument for _, argument, _ in params)}));
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("headers", type=pathlib.Path, nargs="+")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    functions = [(name, parameters(text)) for header in args.headers
                 for name, text in PROTOTYPE.findall(header.read_text()) if "..." not in text]
    functions.sort()
    text = '#include <stdlib.h>\n#include <string.h>\n\n#include "tmpi/check/check.h"\n'
    text += "".join(wrapper(number, *function) for number, function in enumerate(functions))
    text += "\nconst char *const tm_calls[] = {\n"
    text += "".join(f'  "MPI_{name}",\n' for name, _ in functions)
    text += f"}};\nconst int tm_call_count = {len(functions)};\n"
    text += "\ntypedef void any(void);\nstatic any *const wrappers[] = {\n"
    text += "".join(f"  (any *)wrap_{name},\n" for name, _ in functions)
    text += """};

static int by_name(const void *name, const void *call) {
  return strcmp(name, *(const char *const *)call);
}

const void *tm_wrapper(const char *name) {
  if (*name == 'P') name++;
  const char *const *call = bsearch(name, tm_calls, tm_call_count, sizeof *tm_calls, by_name);
  return call != NULL ? (const void *)(uintptr_t)wrappers[call - tm_calls] : NULL;
}
"""
    args.out.write_text(text)


if __name__ == "__main__":
    main()
