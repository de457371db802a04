#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each function of MPI: what it refuses, one wrong argument at a time, and when it may be called.

usage: every_call.py TMPIRUN PROCESS LIBRARY [TEST...], as built.py
The functions and the names of their parameters are those of mpi_functions.h. A name says what is right and what is wrong.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import unittest

import built

PROTOTYPE = re.compile(r"\b(?:int|double|MPI_\w+) (MPI_\w+)\(([^();]*)\);")
# A valid handle of each kind, the null one, and the class of error that a wrong one is.
HANDLES = {
    "MPI_Comm": ("MPI_COMM_SELF", "MPI_COMM_NULL", "COMM"),
    "MPI_Datatype": ("MPI_INT", "MPI_DATATYPE_NULL", "TYPE"),
    "MPI_Errhandler": ("MPI_ERRORS_RETURN", "MPI_ERRHANDLER_NULL", "ERRHANDLER"),
    "MPI_File": ("file", "MPI_FILE_NULL", "FILE"),
    "MPI_Group": ("group", "MPI_GROUP_NULL", "GROUP"),
    "MPI_Info": ("info", None, "INFO"),  # most calls take the null one
    "MPI_Message": ("MPI_MESSAGE_NO_PROC", "MPI_MESSAGE_NULL", "REQUEST"),
    "MPI_Op": ("MPI_SUM", "MPI_OP_NULL", "OP"),
    "MPI_Request": ("MPI_REQUEST_NULL", None, "REQUEST"),  # waiting for none is right
    "MPI_Session": ("session", "MPI_SESSION_NULL", "SESSION"),
    "MPI_Win": ("win", "MPI_WIN_NULL", "WIN"),
}
# Functions whose pointer to a handle, or array, says what they use; elsewhere it says where a result goes.
USES = re.compile(r"MPI_(\w+_(free|finalize|commit|disconnect|close)|Wait\w*|Test(all|any|some)?|Start(all)?|Cancel)$")
RECEIVES = re.compile(r"MPI_(Mrecv|Imrecv)(_c)?$")
COUNTS = re.compile(r"(\w*_?(count|counts|partitions)|length|lengths|incount|outcount)$")
RANKS = re.compile(r"dest|source|target_rank|rank|local_leader|remote_leader|root$")
RIGHT = {
    "amode": "MPI_MODE_RDONLY", "code": "MPI_ERR_OTHER", "combiner": "0", "datarep": '"native"', "disp_unit": "1",
    "errhandler": "MPI_ERRORS_RETURN", "fd": "-1", "filename": "path", "kind": "MPI_COMM_TYPE_SHARED", "logical_size": "4",
    "lock_type": "MPI_LOCK_SHARED", "maxprocs": "1", "order": "MPI_ORDER_C", "size": "8", "typeclass": "MPI_TYPECLASS_REAL",
}
ZEROS = re.compile(r"\w*displs|ranks|starts|coords|periods|remain|sources|dests|edges|ranges")


class Parameter:
    """One of a function's."""

    def __init__(self, function, text):
        text = " ".join(re.sub(r"\*", " * ", text).split())
        match = re.fullmatch(r"(const )?(\w+) ?((?:\* ?)*)(\w*)((?:\[\d*\])*)", text)
        _, self.kind, stars, self.name, arrays = match.groups()
        self.function = function
        self.is_constant = match[1] is not None
        self.depth = stars.count("*") + arrays.count("[")
        self.is_array = "[" in arrays
        self.is_input = self.depth == 0 or self.is_constant or bool(USES.match(function)) or \
            self.kind == "MPI_Message" and bool(RECEIVES.match(function))

    def one(self):
        """A valid value, or element of an array."""
        if self.kind in HANDLES:
            name = self.function
            if self.kind == "MPI_Comm" and name.startswith("MPI_Graph"):
                return "graph"
            if self.kind == "MPI_Comm" and re.match(r"MPI_I?neighbor|MPI_Cart", name, re.I):
                return "cart"
            if self.kind == "MPI_Win" and name.startswith("MPI_R"):
                return "locked"
            return HANDLES[self.kind][0]
        if self.name in RIGHT:
            return RIGHT[self.name]
        if self.name == "keyval":
            return "keyval_of_" + {"Comm": "comm", "Attr": "comm", "Type": "type", "Win": "win", "Keyval": "comm"}[self.function.split("_")[1]]
        return "1" if COUNTS.match(self.name) or not (RANKS.match(self.name) or ZEROS.match(self.name) or self.depth == 0) else "0"

    def valid(self):
        """A valid argument."""
        if self.kind.endswith(("_function", "_function_c", "_fn")):
            return "NULL"
        if self.name == "datarep" and "ack_external" in self.function:
            return '"external32"'
        if self.kind == "char":
            return RIGHT.get(self.name, '"name"') if self.is_constant else "NULL" if self.depth > 1 else "text"
        if self.kind == "MPI_Status":
            return "statuses"
        if self.kind == "void":
            fills = self.name in ("recvbuf", "inout", "outbuf", "result_addr", "buf", "value", "base", "result")
            return "NULL" if self.depth == 0 else "&place" if fills and self.depth == 1 and self.name in ("value", "base") else \
                "buffer + 32" if fills else "buffer"
        if self.kind.startswith("MPI_T_") and self.depth == 0:
            return f"({self.kind})0"
        if self.depth == 0:
            return self.one()
        if self.depth > 1:
            return f"(int[1][3]){{{{0, 0, 1}}}}" if self.name == "ranges" else "NULL"
        return f"({self.kind}[4]){{{', '.join([self.one()] * 4)}}}" if self.is_input or self.is_array else f"&({self.kind}){{0}}"

    def filled_with(self, value):
        return value if self.depth == 0 else f"({self.kind}[4]){{{', '.join([value] * 4)}}}"

    def wrongs(self):
        """Wrong arguments, and the class of each error."""
        if not self.is_input or self.kind in ("char", "void", "MPI_Status") or self.depth > 1:
            return
        if self.kind in HANDLES:
            _, null, name = HANDLES[self.kind]
            yield self.filled_with(f"({self.kind})7"), name
            if null:
                yield self.filled_with(null), name
        elif COUNTS.match(self.name):
            yield self.filled_with("-1"), "COUNT"
        elif self.name == "root":
            yield from (("-7", "ROOT"), ("1", "ROOT"))
        elif RANKS.match(self.name) and self.depth == 0:
            yield from (("-7", "RANK"), ("1", "RANK"))
        elif self.name in ("tag", "sendtag", "recvtag"):
            yield "-5", "TAG"


def functions():
    """Returns the parameters of each function, but not of functions that turn handles into numbers, and that begin or end all."""
    text = (pathlib.Path(built.TMPIRUN).resolve().parent.parent / "include/tmpi/mpi_functions.h").read_text()
    return {name: [Parameter(name, part) for part in arguments.split(",") if part.strip() not in ("void", "...")]
            for name, arguments in PROTOTYPE.findall(" ".join(text.split()))
            if not re.search(r"_(c2f|f2c|toint|fromint)$|^MPI_(Init|Finalize$|Abort)", name)}


def call(name, parameters, changed=None, value=None):
    return f"{name}({', '.join(value if parameter is changed else parameter.valid() for parameter in parameters)})"


START = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int buffer[64], keyval_of_comm, keyval_of_type, keyval_of_win;
static char text[8192], path[] = "/dev/null";
static void *place;
static MPI_Comm cart = MPI_COMM_SELF, graph = MPI_COMM_SELF;
static MPI_File file;
static MPI_Group group = MPI_GROUP_EMPTY;
static MPI_Info info;
static MPI_Session session;
static MPI_Status statuses[4];
static MPI_Win win, locked;
static void make_objects(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){0}, 0, &cart);
  MPI_Graph_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){0}, 0, &graph);
  MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_Comm_group(MPI_COMM_SELF, &group);
  MPI_Info_create(&info);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Win_create(buffer, sizeof buffer, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  MPI_Win_create(buffer, sizeof buffer, 1, MPI_INFO_NULL, MPI_COMM_SELF, &locked);
  MPI_Win_set_errhandler(locked, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, locked);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval_of_comm, NULL);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &keyval_of_type, NULL);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval_of_win, NULL);
}
"""

# Where the class is another one, as (pattern of functions, parameter or value): the class, or None where nothing is wrong.
OTHERS = (
    (r"(Comm|Win|Type)_get_name", "MPI_(COMM|WIN|DATATYPE)_NULL", None),  # which has a name
    (r"File_\w+_errhandler", "MPI_FILE_NULL", None),  # whose handler is that of files to come
    ("Status_set_(source|tag)", "source|tag", None),
    (r"Group_\w+", "count", "ARG"),
    (r"Type_(create_)?(h?vector|h?indexed|h?indexed_block|struct)", "lengths?", "ARG"),
    ("Type_create_darray", "rank", "ARG"),
    ("Type_get_contents", "max_large_counts", "TYPE"),  # the type is none that was made
    ("Info_get", "length", "INFO_VALUE"),
    ("P(send|recv)_init", "partitions", "ARG"),
    ("Pready_list", "length|array_of_partitions", "REQUEST"),  # the request is none of this kind
    ("Comm_spawn_multiple", "count|array_of_info", "ARG"),
)


def kind_of(function, parameter, value, kind):
    """Returns the class of an error that a wrong argument gives, None: it is not wrong."""
    for names, wrong, other in OTHERS:
        if re.fullmatch(f"MPI_({names})(_c)?", function) and (re.fullmatch(wrong, parameter) or re.fullmatch(wrong, value)):
            return other
    return kind


class Arguments(built.Programs):
    def test_one_wrong_argument(self):
        """Each gives its class of error."""
        lines = []
        for name, parameters in functions().items():
            for parameter in parameters if not name.startswith("MPI_T_") else ():
                for value, kind in parameter.wrongs():
                    kind = kind_of(name, parameter.name, value, kind)
                    if kind is not None:
                        lines.append(f'  expect("{name}: {parameter.name} {value}", MPI_ERR_{kind}, {call(name, parameters, parameter, value)});')
        self.assertGreater(len(lines), 1000)
        program = self.build("every", START + """
            static void expect(const char *what, int wanted, int code) {
              int class;
              MPI_Error_class(code, &class);
              if (class != wanted) printf("%s: class %d, not %d\\n", what, class, wanted);
            }
            int main(void) {
              MPI_Init(NULL, NULL);
              make_objects();
            """ + "\n".join(lines) + "\n  MPI_Finalize();\n}\n", "-w")
        done = self.run_it(program, ranks=1)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), done.stdout + done.stderr)


class Tools(built.Programs):
    def test_before(self):
        """Each function of tools returns the same error before MPI_T_init_thread() and after MPI_T_finalize()."""
        lines = [f'  if ((code = {call(name, parameters)}) != MPI_T_ERR_NOT_INITIALIZED) printf("{name}: %d\\n", code);'
                 for name, parameters in functions().items() if re.match("MPI_T_(?!init|finalize$)", name)]
        self.assertGreater(len(lines), 40)
        calls = "\n".join(lines)
        program = self.build("tools", START + f"""
            int main(void) {{
              int code, provided;
              {calls}
              MPI_Init(NULL, NULL);
              {calls}
              MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
              MPI_T_finalize();
              if (MPI_T_finalize() != MPI_T_ERR_NOT_INITIALIZED) puts("finalized twice");
              {calls}
              return MPI_Finalize();
            }}
            """, "-w")
        done = self.run_it(program, ranks=1)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), done.stdout + done.stderr)


# What does not look at the time. The standard allows most of it always; the rest only handles what the caller gives it.
ANYTIME = re.compile(r"MPI_(Abi_\w+|Aint_\w+|Dims_create|Errhandler_free|Error_(class|string)|(File|Session|Win)_create_errhandler|Finalized|"
                     r"Get_(address|library_version|version)|Info_\w+|Parrived|Pcontrol|Session_init|Status_[gs]et_(cancelled|error|source|tag)|"
                     r"Test_cancelled|Wtick|Wtime)")
# Objects whose look-up looks at the time, so that no function can forget it.
CHECKED = {"MPI_Comm", "MPI_File", "MPI_Win"}
# Messages name the function that took the place of a removed one.
SUCCESSORS = {"MPI_Keyval_create": "MPI_Comm_create_keyval"}


class Time(built.Programs):
    def program(self):
        names = {name: parameters for name, parameters in functions().items()
                 if not re.search("_[cx]$|^MPI_T_", name) and not any(parameter.kind in CHECKED and parameter.is_input for parameter in parameters)}
        calls = "\n".join(f"static void call_{name}(void) {{ {call(name, parameters)}; }}" for name, parameters in names.items())
        rows = ",\n".join(f'{{"{name}", call_{name}}}' for name in names)
        return names, self.build("every", START + calls + f"""
            static const struct {{ const char *name; void (*call)(void); }} rows[] = {{ {rows} }};
            int main(int argc, char **argv) {{
              if (argc > 2 && strcmp(argv[1], "late") == 0) {{
                MPI_Init(NULL, NULL);
                MPI_Finalize();
              }}
              for (size_t i = 0; argc > 2 && i < sizeof rows / sizeof rows[0]; i++)
                if (strcmp(rows[i].name, argv[2]) == 0) rows[i].call();
              puts("returned");
            }}
            """, "-w")

    def each(self, when, says):
        names, program = self.program()

        def run(name):
            return subprocess.run([built.TMPIRUN, program, when, name], capture_output=True, text=True, check=False)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, done in zip(names, pool.map(run, names)):
                with self.subTest(name):
                    if ANYTIME.fullmatch(name):
                        self.assertNotRegex(done.stderr, "called (before|after)", done)
                    else:
                        self.assertNotIn("returned", done.stdout, done)
                        self.assertRegex(done.stderr, rf"^tmpi: (rank 0: )?{SUCCESSORS.get(name, name)}: {says}")

    def test_before(self):
        self.each("early", r"called before MPI_Init\(\) \(call that first\)")

    def test_after(self):
        self.each("late", r"called after MPI_Finalize\(\) \(call it before\)")


if __name__ == "__main__":
    built.TMPIRUN, built.PROCESS, built.LIBRARY = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
