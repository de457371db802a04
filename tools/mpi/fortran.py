#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the Fortran bindings that follow from the C prototypes.

usage: fortran.py MPI_H NAMES FUNCTIONS COLLECTIVES SOURCE INCLUDE TYPES MODULE MODERN
FUNCTIONS and COLLECTIVES have the C prototypes, MPI_H and NAMES the constants. SOURCE gets a subroutine for each
function, under its name and its profiling name: it converts handles, strings, indices and special
addresses, and calls the C function. INCLUDE gets mpif.h, MODULE the Fortran module mpi, MODERN mpi_f08, whose interfaces
are of the same subroutines: handles and statuses are structures of the same bytes, and ierror may be absent. Both modules
have these structures, which TYPES gets, so that a program may use both. Its generic names choose the form with 64-bit counts (MPI_X_c in C)
where a program gives counts of the kind MPI_COUNT_KIND. Functions with
callbacks, attributes or argument vectors are written by hand in src/tmpi/bindings; a function that is
in neither place is absent when a program is linked.
"""
import pathlib
import re
import sys

HANDLES = "Comm Group Datatype Request Message Op Errhandler Info Session Win File".split()

# Written by hand, and declared in the module without an interface of their own.
BY_HAND = """Init Init_thread Pcontrol Op_create Comm_create_keyval Type_create_keyval Win_create_keyval Keyval_create
 Comm_get_attr Comm_set_attr Type_get_attr Type_set_attr Win_get_attr Win_set_attr Attr_get Attr_put
 Comm_create_errhandler Win_create_errhandler File_create_errhandler Grequest_start Info_create_env Info_get_string
 Session_get_nth_pset Comm_spawn Comm_spawn_multiple Register_datarep Session_create_errhandler""".split()

# Absent in Fortran: the standard has no such subroutine.
ABSENT = re.compile(r"\w+_(?:c2f|f2c|toint|fromint)$|Status_\w*2\w*|Op_create_c|T_\w+", re.I)

# The count and the type of a buffer. A function whose buffers all have them takes array sections in mpi_f08.
DESCRIBED = {"buffer": ("count", "type"), "buf": ("count", "datatype"), "origin_addr": ("origin_count", "origin_datatype"),
             "result_addr": ("result_count", "result_datatype"), "sendbuf": ("sendcount", "sendtype"),
             "recvbuf": ("recvcount", "recvtype")}
# Among collectives the count of a buffer is often that of a rank's part.
SECTIONED = re.compile(r"\w*(?:send|recv)(?:_init|_replace)?|Bcast\w*|Ibcast|Fetch\w+|R?(?:put|get)|R?(?:get_)?accumulate|File_\w+",
                       re.I)
# Functions without a request whose buffer is used after they have returned.
EXPOSING = ("Win_create", "Win_attach")

# The others that have a request at an address only store one there.
READS_REQUEST = ("Wait", "Test", "Start", "Cancel", "Request_free")

CHOICE = re.compile(r"(?:const )?void \*$")
RAW = {"Alloc_mem": "base", "Buffer_detach": "base"}  # the address of an address


def read(path):
    """Yields (returned type, name, arguments) of each prototype."""
    text = pathlib.Path(path).read_text()
    for returned, name, arguments in re.findall(r"^(int|double|MPI_Aint) MPI_(\w+)\(([^)]*)\);", text, re.M):
        parsed = []
        for one in arguments.split(","):
            one = " ".join(one.split())
            if one == "void":
                continue
            match = re.fullmatch(r"(.*?[\s*])(\w+)((?:\[\d*\])*)", one)
            if match is None:
                parsed = None
                break
            parsed.append((match[1].strip(), match[2], match[3]))
        if parsed is not None:
            yield returned, name, parsed


def length_of(name, kind, arguments):
    """How many elements an array of handles has, as a C expression."""
    names = [argument[1] for argument in arguments]
    if kind == "MPI_Datatype" and "alltoallw" in name.lower():
        number = "tmf_neighbors" if "eighbor" in name else "tmf_size"
        return f"{number}(tmf_Comm(*comm))"
    for count in ("count", "incount", "max_types", "ntypes"):
        if count in names:
            return f"*{count}"
    return None


def keywords():
    """By function: the keyword of each name in the prototype that has another one in Fortran."""
    found = {}
    for line in pathlib.Path(__file__).with_name("keywords.txt").read_text(encoding="ascii").splitlines():
        if not line.startswith("#"):
            function, *pairs = line.split()
            found.setdefault(function, {}).update(pair.split("=") for pair in pairs)
    return found


KEYWORDS = keywords()


def number_of(short, handle):
    """Returns the expression for the number of a handle. A request that is complete has become a predefined one."""
    return f"tmf_number_of_request({handle})" if short == "Request" else f"MPI_{short}_toint({handle})"


class Binding:
    """The C subroutine of a function and its Fortran interface."""

    def __init__(self, returned, name, arguments):
        self.returned, self.name = returned, name
        self.arguments = [(kind, f"{variable}_" if variable == "error" else variable, brackets)  # what the call returns is `error`
                          for kind, variable, brackets in arguments]
        self.base = name.removesuffix("_c")  # what both forms have in common
        self.parameters, self.before, self.call, self.after, self.lengths = [], [], [], [], []
        self.possible = True
        for kind, variable, brackets in self.arguments:
            self.add(kind, variable, brackets)

    def add(self, kind, variable, brackets):
        base = kind.removeprefix("const ").removesuffix("*").strip()
        pointer, array = kind.endswith("*"), brackets != ""
        handle = base.removeprefix("MPI_") if base.removeprefix("MPI_") in HANDLES else None
        short = {"Datatype": "Type"}.get(handle, handle)
        if handle and array:
            self.handles(kind, variable, short)
        elif handle and pointer:
            self.parameters.append(f"MPI_Fint *{variable}")
            stores = handle == "Request" and self.base not in READS_REQUEST
            self.before.append(f"{base} {variable}_;" if stores else f"{base} {variable}_ = tmf_{short}(*{variable});")
            self.call.append(f"&{variable}_")
            always = handle == "Message" or handle == "Request" and not stores
            self.after.append(f"{'' if always else 'if (error == MPI_SUCCESS) '}*{variable} = {number_of(short, f'{variable}_')};")
        elif handle:
            self.parameters.append(f"MPI_Fint *{variable}")
            self.before.append(f"{base} {variable}_ = tmf_{short}(*{variable});")
            self.call.append(f"{variable}_")
        elif base == "MPI_Status":
            self.parameters.append(f"MPI_Fint *{variable}")
            self.call.append(f"tmf_status{'es' if array else ''}({variable})")
        elif base == "char" and not array:
            self.string(kind, variable)
        elif CHOICE.match(kind):
            self.parameters.append(f"void *{variable}")
            self.call.append(variable if RAW.get(self.base) == variable else f"tmf_address({variable})")
        elif base == "int" and brackets == "[][3]":
            self.parameters.append(f"MPI_Fint {variable}[][3]")
            self.call.append(variable)
        elif base in ("int", "MPI_Aint", "MPI_Count", "MPI_Offset"):
            self.number(base, variable, pointer or array, array, kind.startswith("const"))
        else:
            self.possible = False

    def number(self, base, variable, by_reference, array, constant):
        kind = "MPI_Fint" if base == "int" else base
        self.parameters.append(f"{kind} *{variable}")
        weights = "weights" in variable
        self.call.append(f"tmf_weights({variable})" if weights else variable if by_reference else f"*{variable}")
        if variable == "index" and not array and by_reference:
            self.after.append("if (*index != MPI_UNDEFINED) (*index)++;")
        if variable == "indices":
            self.after.append("for (int i = 0; *done != MPI_UNDEFINED && i < *done; i++) indices[i]++;")

    def handles(self, kind, variable, short):
        base = kind.removeprefix("const ").strip()
        length = length_of(self.name, base, self.arguments)
        if length is None:
            self.possible = False
            return
        if variable == "sendtypes":
            length = f"tmf_address(sendbuf) == MPI_IN_PLACE ? 0 : {length}"
        self.parameters.append(f"MPI_Fint *{variable}")
        self.before.append(f"const int {variable}_n = (int)({length});")
        self.before.append(f"{base} *{variable}_ = tmf_array({variable}_n, sizeof *{variable}_);")
        self.before.append(f"for (int i = 0; i < {variable}_n; i++) {variable}_[i] = tmf_{short}({variable}[i]);")
        self.call.append(f"{variable}_")
        if not kind.startswith("const"):
            valid = "" if short == "Request" else " && error == MPI_SUCCESS"
            self.after.append(f"for (int i = 0; i < {variable}_n{valid}; i++) {variable}[i] = {number_of(short, f'{variable}_[i]')};")
        self.after.append(f"free({variable}_);")

    def string(self, kind, variable):
        self.parameters.append(f"char *{variable}")
        self.lengths.append(f"size_t {variable}_n")
        if kind.startswith("const"):
            self.before.append(f"char *{variable}_ = tmf_string({variable}, {variable}_n);")
            self.call.append(f"{variable}_")
            self.after.append(f"free({variable}_);")
        else:
            self.before.append(f"char {variable}_[MPI_MAX_LIBRARY_VERSION_STRING] = \"\";")
            self.call.append(f"{variable}_")
            found = " && *flag" if any(argument[1] == "flag" for argument in self.arguments) else ""
            self.after.append(f"if (error == MPI_SUCCESS{found}) tmf_pad({variable}, {variable}_n, {variable}_);")

    def described(self):
        """Yields the choice buffers with their counts and types; None in place of both where one is absent."""
        names = {variable: (kind, brackets) for kind, variable, brackets in self.arguments}
        for kind, variable, _ in self.arguments:
            if not CHOICE.match(kind) or RAW.get(self.base) == variable:
                continue
            pair = DESCRIBED.get(variable, ("", ""))
            absent = any(name not in names or "*" in names[name][0] or names[name][1] for name in pair)
            yield variable, None if absent or "partitions" in names else pair

    def buffers(self):
        """Returns the buffers that are descriptors in mpi_f08: (name, its count and type).

        None in place of both: the count does not tell all elements, and the library reads or writes them after the call, so
        the array has to be contiguous. An empty list: gfortran's copy of a section does, since the call ends with it.
        """
        found = list(self.described())
        if SECTIONED.fullmatch(self.base) and all(pair for _, pair in found):
            return found
        lasting = self.base in EXPOSING or any(kind == "MPI_Request *" for kind, _, _ in self.arguments)
        if not lasting:
            return []
        return [(variable, None) for variable, _ in found]

    def name_in_f08(self):
        """Returns the name of the interface in mpi_f08: the standard's, where buffers may be array sections."""
        return f"{self.name}_f08ts" if self.buffers() else self.name

    def refusal(self):
        """The C expression that raises the error of a buffer that is not contiguous, where the standard has it raised."""
        return "tmf_refuse_comm(*comm)" if any(name == "comm" for _, name, _ in self.arguments) else "tmf_refuse_win(*win)"

    def c_of_sections(self, prefix):
        """The C definition for mpi_f08 whose buffers are descriptors of arrays."""
        buffers = self.buffers()
        symbol = f"{prefix.lower()}{self.name.lower()}_f08ts_"
        weak = f"#pragma weak {symbol}\n" if prefix == "MPI_" else ""
        parameters, before, call, after = list(self.parameters), list(self.before), list(self.call), []
        for variable, pair in buffers:
            parameters[parameters.index(f"void *{variable}")] = f"const struct tmf_array *{variable}"
            before = [line.replace(f"tmf_address({variable})", f"tmf_address({variable}->base)") for line in before]
            if pair is None:
                call[call.index(f"tmf_address({variable})")] = f"tmf_address({variable}->base)"
                before.insert(0, f"if (!tmf_is_whole({variable}, \"MPI_{self.name}\")) {{ "
                                 f"tmf_end(ierror, {self.refusal()}); return; }}")
                continue
            count, kind = pair
            before.append(f"struct tmf_section {variable}_ = tmf_section({variable}, *{count}, {kind}_);")
            cast = "" if self.name.endswith("_c") else "(int)"
            call[call.index(f"tmf_address({variable})")] = f"{variable}_.at"
            call[call.index(f"*{count}")] = f"{cast}{variable}_.count"
            call[call.index(f"{kind}_")] = f"{variable}_.type"
            after.append(f"tmf_section_end(&{variable}_);")
        listed = ", ".join(parameters + ["MPI_Fint *ierror"] + self.lengths)
        lines = [f"{weak}void {symbol}({listed}) {{", *(f"  {line}" for line in before),
                 f"  int error = {prefix}{self.name}({', '.join(call)});",
                 *(f"  {line}" for line in self.after + after), "  tmf_end(ierror, error);", "}"]
        return "\n".join(lines) + "\n"

    def c(self, prefix):
        """The C definition under the names of MPI_, which a tool may replace, or of PMPI_."""
        symbol = f"{prefix.lower()}{self.name.lower()}_"
        weak = f"#pragma weak {symbol}\n" if prefix == "MPI_" else ""
        if self.returned != "int":
            parameters = ", ".join(self.parameters) or "void"
            return f"{weak}{self.returned} {symbol}({parameters}) {{ return {prefix}{self.name}({', '.join(self.call)}); }}\n"
        parameters = ", ".join(self.parameters + ["MPI_Fint *ierror"] + self.lengths)
        lines = [f"{weak}void {symbol}({parameters}) {{", *(f"  {line}" for line in self.before),
                 f"  int error = {prefix}{self.name}({', '.join(self.call)});",
                 *(f"  {line}" for line in self.after), "  tmf_end(ierror, error);", "}"]
        return "\n".join(lines) + "\n"

    def kinds(self):
        """What tells this form from another in Fortran: the kinds of the arguments."""
        return [re.sub(r"MPI_(?:Aint|Count|Offset)", "wide", kind) for kind, _, _ in self.arguments]

    def keyword(self, variable):
        """Returns the name that the standard gives an argument in Fortran."""
        return KEYWORDS.get(self.base, {}).get(variable) or KEYWORDS["*"].get(variable, variable)

    def fortran(self, prefix, modern=False):
        """The interface for a module: choice buffers match any type and rank. modern: for mpi_f08."""
        names = [self.keyword(argument[1]) for argument in self.arguments] + ["ierror"]
        listed = ", &\n      ".join(names)
        name = self.name_in_f08() if modern else self.name
        sections = [buffer for buffer, _ in self.buffers()] if modern else []
        lines = [f"subroutine {prefix}{name}({listed})", "  import"]
        for kind, variable, brackets in self.arguments:
            name_of = self.keyword(variable)
            lines += typed(kind, name_of, brackets) if modern else []
            if variable in sections:
                lines.append(f"  type(*), dimension(..) :: {name_of}")
            elif not modern or handle_of(kind) is None:
                lines += declaration(self.base, kind, variable, brackets, name_of)
        lines += ["  integer, optional :: ierror" if modern else "  integer :: ierror", f"end subroutine {prefix}{name}"]
        return "\n".join("    " + line for line in lines) + "\n"


def handle_of(kind):
    """The type that mpi_f08 has for a handle or a status; None: for another argument."""
    base = kind.removeprefix("const ").removesuffix("*").strip()
    return base if base == "MPI_Status" or base.removeprefix("MPI_") in HANDLES and base.startswith("MPI_") else None


def typed(kind, name, brackets):
    """The declaration of a handle or a status in mpi_f08."""
    kind = handle_of(kind)
    return [] if kind is None else [f"  type({kind}) :: {name}{'(*)' if brackets else ''}"]


def declaration(function, kind, variable, brackets, name):
    """The Fortran declaration of an argument, by its name there."""
    base = kind.removeprefix("const ").removesuffix("*").strip()
    logical = LOGICALS.get(function, ())
    if CHOICE.match(kind) and variable in logical:
        return [f"  logical :: {name}"]
    if CHOICE.match(kind) and RAW.get(function) != variable:
        return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}", f"  type(*), dimension(*) :: {name}"]
    if CHOICE.match(kind):
        return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}", f"  type(*) :: {name}"]
    if base == "char":
        return [f"  character(len=*) :: {name}"]
    if base == "MPI_Status":
        return [f"  integer :: {name}({'MPI_STATUS_SIZE, *' if brackets else 'MPI_STATUS_SIZE'})"]
    if brackets == "[][3]":
        return [f"  integer :: {name}(3, *)"]
    shape = "(*)" if brackets or base == "int" and (kind == "const int *" or "weights" in variable) else ""
    wide = {"MPI_Aint": "(kind=MPI_ADDRESS_KIND)", "MPI_Count": "(kind=MPI_COUNT_KIND)", "MPI_Offset": "(kind=MPI_OFFSET_KIND)"}
    what = "logical" if variable in logical or variable == "flag" else "integer" + wide.get(base, "")
    return [f"  {what} :: {name}{shape}"]


# Arguments that are logicals in Fortran; .true. is 1 and .false. is 0, as in C.
LOGICALS = {
    "Cart_create": ("periods", "reorder"), "Cart_get": ("periods",), "Cart_map": ("periods",), "Cart_sub": ("remain",),
    "Graph_create": ("reorder",), "Dist_graph_create": ("reorder",), "Dist_graph_create_adjacent": ("reorder",),
    "Dist_graph_neighbors_count": ("weighted",), "Intercomm_merge": ("high",), "Op_commutative": ("commute",),
    "Abi_set_fortran_booleans": ("logical_true", "logical_false"),
    "Abi_get_fortran_booleans": ("logical_true", "logical_false", "is_set"),
}


def constants(text):
    """Yields (name, Fortran type, value) of the constants in mpi.h."""
    for body in re.findall(r"enum \{(.*?)\};", text, re.S):
        for name, value in re.findall(r"(MPI_\w+) = (-?\w+)", body):
            yield name, int(value, 0)
    for name, value in re.findall(r"#define (MPI_\w+) (\d+)$", text, re.M):
        if "_F_" not in name:
            yield name, int(value) - (1 if name.startswith("MPI_MAX_") else 0)
    for name, _, value in handle_constants(text):
        yield name, value


def handle_constants(text):
    """Yields (name, kind, value) of the handles in mpi.h, and of other names for them."""
    found = {}
    for name, kind, value in re.findall(r"#define (MPI_\w+) \(\(MPI_(\w+)\)(0x\w+)\)", text):
        if kind in HANDLES:
            found[name] = kind, int(value, 16)
    for name, other in re.findall(r"#define (MPI_\w+) (MPI_\w+)$", text, re.M):
        if other in found:
            found[name] = found[other]
    for name, (kind, value) in found.items():
        yield name, kind, value


EXTRA = [("MPI_STATUS_SIZE", 8), ("MPI_SOURCE", 1), ("MPI_TAG", 2), ("MPI_ERROR", 3), ("MPI_ADDRESS_KIND", 8),
         ("MPI_OFFSET_KIND", 8), ("MPI_COUNT_KIND", 8), ("MPI_INTEGER_KIND", 4)]

# Types that MPI 3.0 removed: mpi_removed.h has them for C.
REMOVED_TYPES = {"MPI_LB": 0x2fe, "MPI_UB": 0x2ff}

# Names that MPI 3.0 removed; no type has these combiners. Modern programs do not see them.
REMOVED = [("MPI_COMBINER_HVECTOR_INTEGER", 181), ("MPI_COMBINER_HINDEXED_INTEGER", 182), ("MPI_COMBINER_STRUCT_INTEGER", 183)]

# The kind is that of a displacement. For mpif.h and both modules.
WIDE = """      integer(kind=8) MPI_DISPLACEMENT_CURRENT
      parameter (MPI_DISPLACEMENT_CURRENT=-1_8)
"""

# mpif.h and mpi take no array sections, mpi_f08 takes some.
UNSUPPORTED = """      logical MPI_SUBARRAYS_SUPPORTED
      logical MPI_ASYNC_PROTECTS_NONBLOCKING
      parameter (MPI_SUBARRAYS_SUPPORTED=.false.)
      parameter (MPI_ASYNC_PROTECTS_NONBLOCKING=.false.)
"""

# Keeps a compiler from moving accesses to a buffer across it, and has no ierror.
SYNC_REG = "".join(f"""    subroutine {prefix}F_sync_reg(buf)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
      type(*), dimension(*) :: buf
    end subroutine {prefix}F_sync_reg
""" for prefix in ("MPI_", "PMPI_"))

# MPI_Sizeof of what the modules can tell apart: (type, kinds).
SIZED = (("integer", (1, 2, 4, 8)), ("real", (4, 8)), ("complex", (4, 8)), ("logical", (1, 2, 4, 8)), ("character", (1,)))


def sized(optional):
    """The interfaces of MPI_Sizeof, for scalars and arrays. optional: ierror's attribute."""
    lines, names = ["  interface mpi_sizeof"], []
    for kind, bytes_of in SIZED:
        for number in bytes_of:
            shown = "character(len=*)" if kind == "character" else f"{kind}({number})"
            names.append(f"tmpi_sizeof_{kind}{number}")
            lines += [f"    subroutine {names[-1]}(x, size_, ierror)", f"      {shown} :: x(..)", "      integer :: size_",
                      f"      integer{optional} :: ierror", f"    end subroutine {names[-1]}"]
    lines += ["  end interface mpi_sizeof", "  interface pmpi_sizeof", *(f"    procedure {name}" for name in names),
              "  end interface pmpi_sizeof"]
    return "\n".join(lines) + "\n"


# Addresses with a meaning are those of variables in COMMON: the bindings know them by address.
SENTINELS = """      integer MPI_BOTTOM, MPI_IN_PLACE, MPI_UNWEIGHTED(1)
      integer MPI_WEIGHTS_EMPTY(1), MPI_ERRCODES_IGNORE(1)
      integer MPI_BUFFER_AUTOMATIC
      character MPI_ARGV_NULL(1), MPI_ARGVS_NULL(1,1)
      integer MPI_STATUS_IGNORE(8), MPI_STATUSES_IGNORE(8,1)
      common /tmpi_bottom/ MPI_BOTTOM
      common /tmpi_in_place/ MPI_IN_PLACE
      common /tmpi_buffer_automatic/ MPI_BUFFER_AUTOMATIC
      common /tmpi_unweighted/ MPI_UNWEIGHTED
      common /tmpi_weights_empty/ MPI_WEIGHTS_EMPTY
      common /tmpi_errcodes_ignore/ MPI_ERRCODES_IGNORE
      common /tmpi_argv_null/ MPI_ARGV_NULL
      common /tmpi_argvs_null/ MPI_ARGVS_NULL
      common /tmpi_status_ignore/ MPI_STATUS_IGNORE
      common /tmpi_statuses_ignore/ MPI_STATUSES_IGNORE
"""

FUNCTIONS_OF_REAL = """      double precision MPI_WTIME, MPI_WTICK, PMPI_WTIME, PMPI_WTICK
      external MPI_WTIME, MPI_WTICK, PMPI_WTIME, PMPI_WTICK
      integer(kind=8) MPI_AINT_ADD, MPI_AINT_DIFF
      integer(kind=8) PMPI_AINT_ADD, PMPI_AINT_DIFF
      external MPI_AINT_ADD, MPI_AINT_DIFF
      external PMPI_AINT_ADD, PMPI_AINT_DIFF
"""

CALLBACKS = [f"MPI_{kind}{name}" for kind in ("COMM_", "TYPE_", "WIN_") for name in ("NULL_COPY_FN", "DUP_FN", "NULL_DELETE_FN")]
CALLBACKS += ["MPI_CONVERSION_FN_NULL"]
CALLBACKS_OF_MPI_1 = ["MPI_NULL_COPY_FN", "MPI_DUP_FN", "MPI_NULL_DELETE_FN"]


def parameters(header):
    """The constants, in lines that are right in fixed and in free form."""
    lines = []
    for name, value in EXTRA + REMOVED + list((dict(constants(header)) | REMOVED_TYPES).items()):
        lines += [f"      integer {name}", f"      parameter ({name}={value})"]
    return ("\n".join(lines) + "\n" + WIDE + UNSUPPORTED + SENTINELS
            + "".join(f"      external {name}\n" for name in CALLBACKS + CALLBACKS_OF_MPI_1))


# Interfaces in mpi_f08 of what is written by hand. {p}: MPI_ or PMPI_.
MODERN_BY_HAND = [("Init", ""), ("Init_thread", "integer required, integer provided"),
                  ("Op_create", "external user_fn, logical commute, type(MPI_Op) op"),
                  ("Info_get_string", "type(MPI_Info) info, character(len=*) key, integer buflen, character(len=*) value, logical flag"),
                  ("Session_get_nth_pset", "type(MPI_Session) session, type(MPI_Info) info, integer n, integer pset_len, character(len=*) pset_name"),
                  ("Comm_create_errhandler", "external comm_errhandler_fn, type(MPI_Errhandler) errhandler"),
                  ("Win_create_errhandler", "external win_errhandler_fn, type(MPI_Errhandler) errhandler"),
                  ("Session_create_errhandler", "external session_errhandler_fn, type(MPI_Errhandler) errhandler"),
                  ("File_create_errhandler", "external file_errhandler_fn, type(MPI_Errhandler) errhandler"),
                  ("Grequest_start", "external query_fn, external free_fn, external cancel_fn, "
                   "integer(kind=MPI_ADDRESS_KIND) extra_state, type(MPI_Request) request"),
                  ("Register_datarep", "character(len=*) datarep, external read_conversion_fn, external write_conversion_fn, "
                   "external dtype_file_extent_fn, integer(kind=MPI_ADDRESS_KIND) extra_state"),
                  ("Info_create_env", "type(MPI_Info) info"),
                  ("Comm_spawn", "character(len=*) command, character(len=*) argv(*), integer maxprocs, type(MPI_Info) info, "
                   "integer root, type(MPI_Comm) comm, type(MPI_Comm) intercomm, integer array_of_errcodes(*)"),
                  ("Comm_spawn_multiple", "integer count, character(len=*) array_of_commands(*), character(len=*) array_of_argv(*), "
                   "integer array_of_maxprocs(*), type(MPI_Info) array_of_info(*), integer root, type(MPI_Comm) comm, "
                   "type(MPI_Comm) intercomm, integer array_of_errcodes(*)")]
for _kind, _type, _object in (("Comm", "MPI_Comm", "comm"), ("Type", "MPI_Datatype", "datatype"), ("Win", "MPI_Win", "win")):
    _low = _kind.lower()
    _wide = "integer(kind=MPI_ADDRESS_KIND)"
    MODERN_BY_HAND += [
        (f"{_kind}_create_keyval", f"external {_low}_copy_attr_fn, external {_low}_delete_attr_fn, integer {_low}_keyval, "
         f"{_wide} extra_state"),
        (f"{_kind}_set_attr", f"type({_type}) {_object}, integer {_low}_keyval, {_wide} attribute_val"),
        (f"{_kind}_get_attr", f"type({_type}) {_object}, integer {_low}_keyval, {_wide} attribute_val, logical flag")]


def modern_by_hand(prefix, name, arguments):
    """The interface of a function that is written by hand."""
    declared = [one.strip().rsplit(" ", 1) for one in arguments.split(",") if one.strip()]
    listed = ", &\n      ".join([variable.removesuffix("(*)") for _, variable in declared] + ["ierror"])
    lines = [f"subroutine {prefix}{name}({listed})", "  import", *(f"  {kind} :: {variable}" for kind, variable in declared),
             "  integer, optional :: ierror", f"end subroutine {prefix}{name}"]
    return "\n".join("    " + line for line in lines) + "\n"


# Interfaces that a program may declare its subroutines with.
MODERN_CALLBACKS = "  abstract interface\n" + "".join(
    f"""    subroutine MPI_{kind}_errhandler_function(object, error_code)
      import
      type(MPI_{kind}) :: object
      integer :: error_code
    end subroutine MPI_{kind}_errhandler_function
""" for kind in ("Comm", "Win", "File", "Session")) + """    subroutine MPI_Datarep_extent_function(datatype, extent, extra_state, ierror)
      import
      type(MPI_Datatype) :: datatype
      integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
      integer :: ierror
    end subroutine MPI_Datarep_extent_function
    subroutine MPI_Datarep_conversion_function(userbuf, datatype, count, filebuf, position, extra_state, ierror)
      use, intrinsic :: iso_c_binding, only: c_ptr
      import
      type(c_ptr), value :: userbuf, filebuf
      type(MPI_Datatype) :: datatype
      integer :: count, ierror
      integer(kind=MPI_OFFSET_KIND) :: position
      integer(kind=MPI_ADDRESS_KIND) :: extra_state
    end subroutine MPI_Datarep_conversion_function
  end interface
"""

MODERN_TYPES = """  type, bind(C) :: MPI_Status
    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR, MPI_internal(5)
  end type MPI_Status
"""


def modern_parameters(header):
    """The constants of mpi_f08: those of handles have their types."""
    handles = {name: kind for name, kind, _ in handle_constants(header)} | dict.fromkeys(REMOVED_TYPES, "Datatype")
    lines = []
    for name, value in EXTRA + list((dict(constants(header)) | REMOVED_TYPES).items()):
        kind = f"type(MPI_{handles[name]})" if name in handles else "integer"
        value = f"MPI_{handles[name]}({value})" if name in handles else value
        lines.append(f"  {kind}, parameter :: {name} = {value}")
    special = SENTINELS.replace("      integer MPI_STATUS_IGNORE(8), MPI_STATUSES_IGNORE(8,1)\n",
                                "      type(MPI_Status) MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE(1)\n")
    return "\n".join(lines) + "\n" + WIDE + UNSUPPORTED + special + "".join(f"      external {name}\n" for name in CALLBACKS)


def modern_interfaces(bindings, large):
    """The interfaces of mpi_f08. large: by name, the forms with 64-bit counts, which share a generic name with the others."""
    plain, generic = "", ""
    for one in bindings:
        if one.returned != "int":
            continue
        other = large.get(one.name)
        for prefix in ("MPI_", "PMPI_"):
            forms = one.fortran(prefix, True)
            if other is not None and other.kinds() != one.kinds():
                forms += other.fortran(prefix, True)
            elif not one.buffers():
                plain += forms
                continue
            generic += f"  interface {prefix}{one.name}\n{forms}  end interface {prefix}{one.name}\n"
    plain += "".join(modern_by_hand(prefix, name, arguments) for name, arguments in MODERN_BY_HAND for prefix in ("MPI_", "PMPI_"))
    plain += SYNC_REG.replace("dimension(*)", "dimension(..)").replace("!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf\n", "")
    return f"  interface\n{plain}  end interface\n{generic}"


def types_module(notice):
    """The text of the module tmpi_types: handles and statuses as mpi_f08 has them. Its procedures compare handles and convert statuses."""
    types = "".join(f"  type, bind(C) :: MPI_{kind}\n    integer :: MPI_VAL\n  end type MPI_{kind}\n" for kind in HANDLES)
    compared = {op: [f"{word}_{kind}" for kind in HANDLES] for op, word in (("==", "eq"), ("/=", "ne"))}
    operators = "".join(f"  interface operator({op})\n" + "".join(f"    module procedure {name}\n" for name in names)
                        + "  end interface\n" for op, names in compared.items())
    hidden = "".join(f"  private :: {name}\n" for names in compared.values() for name in names)
    bodies = "".join(f"  elemental logical function {word}_{kind}(a, b) result(answer)\n    type(MPI_{kind}), intent(in) :: a, b\n"
                     f"    answer = a%MPI_VAL {op} b%MPI_VAL\n  end function {word}_{kind}\n"
                     for op, word in (("==", "eq"), ("/=", "ne")) for kind in HANDLES)
    for name, order in (("Status_f2f08", ("f_status", "f08_status")), ("Status_f082f", ("f08_status", "f_status"))):
        assign = ("f08_status = transfer(f_status, f08_status)" if order[0] == "f_status" else "f_status = transfer(f08_status, f_status)")
        bodies += "".join(f"  subroutine {prefix}{name}({order[0]}, {order[1]}, ierror)\n    integer :: f_status(MPI_STATUS_SIZE)\n"
                          f"    type(MPI_Status) :: f08_status\n    integer, optional :: ierror\n    {assign}\n"
                          f"    if (present(ierror)) ierror = 0 ! MPI_SUCCESS\n  end subroutine {prefix}{name}\n"
                          for prefix in ("MPI_", "PMPI_"))
    return (f"! {notice}\nmodule tmpi_types\n  implicit none\n  integer, parameter, private :: MPI_STATUS_SIZE = 8\n" + types
            + MODERN_TYPES + operators + hidden + "contains\n" + bodies + "end module tmpi_types\n")


def modern_module(notice, header, interfaces):
    """The text of the module mpi_f08."""
    return (f"! {notice}\nmodule mpi_f08\n  use tmpi_types\n  implicit none\n" + modern_parameters(header) + FUNCTIONS_OF_REAL
            + MODERN_CALLBACKS + sized(", optional") + interfaces + "end module mpi_f08\n")


def main():
    """Reads the table, writes the five files."""
    mpi_h, names, functions, collectives, source, include, types, module, modern = map(pathlib.Path, sys.argv[1:])
    header = mpi_h.read_text() + names.read_text()
    bindings, large = [], {}
    for returned, name, arguments in [*read(functions), *read(collectives)]:
        if name.removesuffix("_c") in BY_HAND or ABSENT.fullmatch(name):
            continue
        binding = Binding(returned, name, arguments)
        if not binding.possible:
            sys.exit(f"fortran.py: MPI_{name} has an argument without a rule (write it by hand or add a rule)")
        if name.endswith("_c"):
            large[binding.base] = binding
        else:
            bindings.append(binding)
    notice = "made by tools/mpi/fortran.py"
    source.write_text(f"/* {notice} */\n#include \"tmpi/bindings/section.h\"\n\n"
                      + "\n".join(b.c(prefix) + (b.c_of_sections(prefix) if b.buffers() else "")
                                  for b in [*bindings, *large.values()] for prefix in ("MPI_", "PMPI_")))
    include.write_text(f"! {notice}\n" + parameters(header) + FUNCTIONS_OF_REAL)
    interfaces = "".join(b.fortran(prefix) for b in bindings if b.returned == "int" for prefix in ("MPI_", "PMPI_"))
    types.write_text(types_module(notice))
    module.write_text(f"! {notice}\nmodule mpi\n  use tmpi_types\n  implicit none\n" + parameters(header) + FUNCTIONS_OF_REAL + sized("")
                      + "  interface\n" + interfaces + SYNC_REG + "  end interface\nend module mpi\n")
    modern.write_text(modern_module(notice, header, modern_interfaces(bindings, large)))


if __name__ == "__main__":
    main()
