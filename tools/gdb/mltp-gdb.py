# SPDX-License-Identifier: Apache-2.0
"""gdb commands for programs that use MLTP, running or dead (cores):

  info mltp threads              all threads: what each is, waits for, and where it is
  mltp thread N                  selects thread N: bt, up, frame, info locals show its frames
  mltp rank N                    selects the thread of rank N of MPI
  mltp thread off                goes back to the kernel thread gdb has selected
  mltp thread apply all bt       a command for every thread
  mltp thread apply 3 7 bt full  the same for some
  print $mltp_own("counter")     a global variable of the rank whose frame is selected (tmpirun)

gdb loads this file by itself with libmltp.so where it trusts the place; otherwise, and for static
programs: source PREFIX/share/mltp/mltp-gdb.py

The library describes its structures in memory (src/debug/layout.h), so no debug information of it is
needed. A thread that does not run is shown by an unwinder: below the innermost frame of the selected
kernel thread, which a filter hides, lies its own. No register of the program is changed, so this works
on cores as well.
"""
import re
import struct

import gdb
import gdb.unwinder

NOTE_VERSION = 1
FRAMES_LOOKED_AT = 12  # for the function a thread is in


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def number_at(address, size=8):
    return int.from_bytes(read(address, size), "little")


def text_at(address):
    return gdb.Value(address).cast(gdb.lookup_type("char").pointer()).string(errors="replace")


class Layout:
    """What the library says of its structures; see struct mt_layout."""

    def __init__(self):
        note = self._find_note()
        owner_size, _, version = struct.unpack("<III", read(note, 12))
        if version != NOTE_VERSION:
            raise gdb.GdbError(f"This libmltp describes itself in version {version}, and mltp-gdb.py"
                               f" knows {NOTE_VERSION} (load the script of that library).")
        at = note + 12 + (owner_size + 3) // 4 * 4
        address = at + struct.unpack("<i", read(at, 4))[0]
        _, count, self.runtime, self.slabs, kinds, states, reasons, rows = struct.unpack(
            "<IIQQQQQQ", read(address, 56))
        self.kinds, self.states, self.reasons = map(self._words, (kinds, states, reasons))
        self.rows = {}
        self.registers = []  # (name, offset): stack pointer, frame pointer, ..., program counter
        for name, value, more in struct.iter_unpack("<24sII", read(rows, 32 * count)):
            name = name.rstrip(b"\0").decode()
            self.rows[name] = (value, more)
            if name.startswith("register."):
                self.registers.append((name.partition(".")[2], value))

    @staticmethod
    def _find_note():
        found = re.search(r"(0x[0-9a-f]+) - 0x[0-9a-f]+ is \.note\.mltp\b",
                          gdb.execute("info files", to_string=True))
        if not found or not gdb.selected_inferior().pid:
            raise gdb.GdbError("No program that uses MLTP runs here, and no core of one is loaded"
                               " (start it, attach to it, or load its core).")
        return int(found[1], 16)

    @staticmethod
    def _words(address):
        texts, count = struct.unpack("<QQ", read(address, 16))
        return [text_at(text) if text else "?"
                for (text,) in struct.iter_unpack("<Q", read(texts, 8 * count))]

    def field(self, data, name):
        """A field of a structure whose bytes are given."""
        offset, size = self.rows[name]
        return int.from_bytes(data[offset:offset + size], "little")

    def field_at(self, address, name):
        offset, size = self.rows[name]
        return number_at(address + offset, size)

    def name_of(self, data):
        return text_at(self.field(data, "thread.name")) if self.field(data, "thread.named") else ""


class Thread:
    """A thread, as its descriptor has it."""

    def __init__(self, layout, address, data):
        self.layout = layout
        self.address = address
        bits = layout.rows["where.state_bits"][0]
        where = layout.field(data, "thread.where")
        self.number = layout.field(data, "thread.id")
        self.name = layout.name_of(data)
        self.kind = layout.kinds[layout.field(data, "thread.kind")]
        self.state = layout.states[where & ((1 << bits) - 1)]
        self.fresh = bool(layout.field(data, "thread.special") & layout.rows["special.fresh"][0])
        self.vp = where >> bits if self.kind == "unbound" and self.state != "ended" else None
        why = layout.field(data, "thread.why")
        self.reason = layout.reasons[why] if why else ""
        self.queue = layout.field(data, "thread.waitq")
        has_call = self.reason + ".text" in layout.rows
        self.call = layout.field(data, self.reason + ".text") if has_call else 0
        self.kernel_thread = None  # gdb's, when it is on one
        stack = layout.field(data, "thread.stack")
        if self.state == "ended":
            self.stack = range(0)
        elif stack:
            low = layout.field_at(stack, "stack.low")
            self.stack = range(low, low + (1 << layout.field_at(stack, "stack.class_log2")))
        elif address == layout.field_at(layout.runtime, "runtime.main"):
            low = layout.field_at(layout.runtime, "runtime.main_low")
            self.stack = range(low, low + layout.field_at(layout.runtime, "runtime.main_size"))
        elif self.kind == "unbound":  # fresh: it has none yet
            self.stack = range(0)
        else:
            low = layout.field(data, "thread.stack_low")
            self.stack = range(low, low + layout.field(data, "thread.stack_size"))

    @property
    def is_suspended(self):
        return self.kind == "unbound" and self.state in ("parked", "ready") and not self.fresh

    def registers(self):
        """Name -> value, of a suspended thread."""
        context = self.address + self.layout.rows["thread.context"][0]
        return {name: number_at(context + offset) for name, offset in self.layout.registers}

    def waits_for(self):
        """What it waits for, in words."""
        layout, reason = self.layout, self.reason
        if self.call:
            return text_at(self.call)
        if not self.queue or not reason:
            return reason
        if reason + ".thread" in layout.rows:
            return f"{reason} {self._describe(self.queue)}"
        if reason + ".queue" not in layout.rows:
            return reason
        thing = self.queue - layout.rows[reason + ".queue"][0]
        words = f"{reason} {thing:#x}"
        if reason + ".name" in layout.rows:
            name = number_at(thing + layout.rows[reason + ".name"][0])
            words += f" '{text_at(name) if name else ''}'"
        if reason + ".holder" in layout.rows:
            offset, other_bits = layout.rows[reason + ".holder"]
            holder = number_at(thing + offset) & ~other_bits
            if holder:
                words += f", held by thread {self._describe(holder)}"
        return words

    def _describe(self, address):
        data = read(address, self.layout.rows["thread"][0])
        return f"{self.layout.field(data, 'thread.id')} '{self.layout.name_of(data)}'"


def threads_of(layout):
    """All threads, by number."""
    found = []
    size, per_chunk = layout.rows["thread"][0], layout.rows["slab.per_chunk"][0]
    if not layout.field_at(layout.runtime, "runtime.running"):
        raise gdb.GdbError("MLTP is not running: the program is not between mltp_init() and"
                           " mltp_finalize().")
    for slab in (layout.slabs, layout.slabs + layout.rows["slab"][0]):
        used = layout.field_at(slab, "slab.used")
        for index in range(0, used, per_chunk):
            chunk = number_at(slab + layout.rows["slab.chunks"][0] + index // per_chunk * 8)
            count = min(per_chunk, used - index)
            data = read(chunk, size * count)
            for i in range(count):
                thread = Thread(layout, chunk + i * size, data[i * size:(i + 1) * size])
                if thread.state != "free":
                    found.append(thread)
    return sorted(found, key=lambda thread: thread.number)


def select_frame(level):
    frame = gdb.newest_frame()
    while frame.level() < level and frame.older() is not None:
        frame = frame.older()
    frame.select()


class KeptSelection:
    """Gives gdb's selected thread and frame back, and ours."""

    def __enter__(self):
        self.thread, self.chosen = gdb.selected_thread(), chosen.thread
        self.host, self.level = chosen.host, None
        try:
            self.level = gdb.selected_frame().level()
        except gdb.error:
            pass

    def __exit__(self, *_):
        chosen.set(self.chosen, self.host)
        if self.thread is not None and self.thread.is_valid():
            self.thread.switch()
            if self.level is not None:
                select_frame(self.level)


def attach_kernel_threads(threads):
    """Finds the thread of ours on whose stack each kernel thread is."""
    running = [thread for thread in threads if not thread.is_suspended and len(thread.stack)]
    chosen.set(None)
    for kernel_thread in gdb.selected_inferior().threads():
        kernel_thread.switch()
        sp = int(gdb.newest_frame().read_register("sp"))
        for thread in running:
            if sp in thread.stack:
                thread.kernel_thread = kernel_thread
                break


# ---- where a thread is

class Places:
    """Names of functions at addresses, and whether they are the library's own."""

    def __init__(self):
        self.known = {}
        self.solib = self.sources = None

    def note_own(self, pc):
        """pc is an address in the library."""
        self.solib = gdb.current_progspace().solib_name(pc)
        symtab = gdb.find_pc_line(pc).symtab
        if symtab is not None:  # .../src/core/wait/park.c, .../src/arch/x86_64/arch_impl.h
            self.sources = re.sub(r"(.*/src/).*", r"\1", symtab.fullname())

    def at(self, pc):
        """@return (function, True when it is the library's)."""
        if pc not in self.known:
            self.known[pc] = (self._function(pc), self._is_own(pc))
        return self.known[pc]

    def _is_own(self, pc):
        if self.solib is not None:
            return gdb.current_progspace().solib_name(pc) == self.solib
        symtab = gdb.find_pc_line(pc).symtab
        return bool(symtab and self.sources and symtab.fullname().startswith(self.sources))

    @staticmethod
    def _function(pc):
        block = gdb.block_for_pc(pc)
        while block is not None and block.function is None:
            block = block.superblock
        if block is not None:
            return block.function.print_name
        symbol = gdb.execute(f"info symbol {pc:#x}", to_string=True)
        return f"{pc:#x}" if symbol.startswith("No symbol") else symbol.split(" ", maxsplit=1)[0]


def function_of_suspended(thread, places):
    """The innermost function that is not the library's, by frame pointers: quick."""
    *_, pc = values = list(thread.registers().values())
    bp = values[1]
    if places.solib is None and places.sources is None:
        places.note_own(pc)
    function = places.at(pc)[0]
    for _ in range(FRAMES_LOOKED_AT):
        if bp not in thread.stack:
            return function
        bp, pc = struct.unpack("<QQ", read(bp, 16))
        if not pc:
            return function
        function, own = places.at(pc - 1)
        if not own:
            return function
    return function


def function_of_running(thread, places):
    thread.kernel_thread.switch()
    frame = innermost = gdb.newest_frame()
    for _ in range(FRAMES_LOOKED_AT):
        if frame is None:
            break
        if thread.state == "running" or not places.at(frame.pc())[1] and frame != innermost:
            return frame.name() or hex(frame.pc())
        frame = frame.older()
    return innermost.name() or hex(innermost.pc())


def function_of(thread, places):
    if thread.is_suspended:
        return function_of_suspended(thread, places)
    if thread.kernel_thread is not None:
        return function_of_running(thread, places)
    return "(not started)" if thread.fresh else ""


# ---- the chosen thread

def sp_of(frame):
    return int(frame.read_register("sp"))


class Chosen(gdb.unwinder.Unwinder):
    """Shows the frames of a suspended thread below the innermost of a kernel thread, its host."""

    def __init__(self):
        super().__init__("mltp")
        self.thread = self.host = None
        self.host_sp = 0  # tells the host's innermost frame, in which gdb may see inlined ones
        self.level = 0    # of the thread's innermost frame
        self.saved = {}

    def set(self, thread, host=None):
        """Shows a thread with the stack of the selected kernel thread, None: no more."""
        if thread is None and self.thread is None:
            return
        self.thread = None
        gdb.invalidate_cached_frames()
        if thread is None:
            return
        if host is not None:
            host.switch()
        frame = gdb.newest_frame()
        self.host, self.host_sp = gdb.selected_thread(), sp_of(frame)
        self.saved = thread.registers()
        self.thread = thread
        gdb.invalidate_cached_frames()
        frame = gdb.newest_frame()
        while frame is not None and sp_of(frame) == self.host_sp:
            frame = frame.older()
        self.level = frame.level() if frame is not None else 0

    @property
    def is_shown(self):
        now = gdb.selected_thread()
        return self.thread is not None and now is not None and now.ptid == self.host.ptid

    def __call__(self, pending_frame):
        if not self.is_shown or sp_of(pending_frame) != self.host_sp:
            return None
        values = list(self.saved.values())
        # deeper than the chosen frames, or gdb would take their chain for a corrupt one
        frame_id = FrameId(gdb.Value(values[0] - 256), gdb.Value(values[-1]))
        unwound = pending_frame.create_unwind_info(frame_id)
        for name, value in self.saved.items():
            kind = pending_frame.read_register(name).type
            unwound.add_saved_register(name, gdb.Value(value).cast(kind))
        return unwound


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Filter:
    """Hides the host's own frames from backtraces."""

    def __init__(self):
        self.name, self.priority, self.enabled = "mltp", 100, True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        if chosen.is_shown:
            frames = (frame for frame in frames if frame.inferior_frame().level() >= chosen.level)
        return frames


chosen = Chosen()
gdb.unwinder.register_unwinder(None, chosen, replace=True)
Filter()
gdb.events.cont.connect(lambda event: chosen.set(None))
gdb.events.exited.connect(lambda event: chosen.set(None))


def select(thread):
    """Makes it the thread whose frames gdb shows. @return what it is, in words."""
    is_what = f"MLTP thread {thread.number} '{thread.name}' ({thread.kind}, {thread.state}"
    is_what += f": {thread.waits_for()})" if thread.reason else ")"
    chosen.set(None)
    if thread.is_suspended:
        chosen.set(thread)
        select_frame(chosen.level)
    elif thread.kernel_thread is not None:
        thread.kernel_thread.switch()
    else:
        raise gdb.GdbError(f"{is_what} has no stack: it has "
                           + ("not run yet." if thread.fresh else "ended."))
    return is_what


# ---- commands

class InfoMltp(gdb.Command):
    """Shows what the MLTP library of the program does."""

    def __init__(self):
        super().__init__("info mltp", gdb.COMMAND_STATUS, prefix=True)


class InfoMltpThreads(gdb.Command):
    """Lists all MLTP threads: number, name, kind, state, VP, function, what it waits for."""

    def __init__(self):
        super().__init__("info mltp threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        shown = chosen.thread.number if chosen.is_shown else None
        rows = [("", "Id", "Name", "Kind", "State", "VP", "Function", "Waits for")]
        with KeptSelection():
            threads = threads_of(Layout())
            attach_kernel_threads(threads)
            places = Places()
            for thread in sorted(threads, key=lambda t: not t.is_suspended):
                thread.function = function_of(thread, places)
        for thread in threads:
            rows.append(("*" if thread.number == shown else "", str(thread.number), thread.name,
                         thread.kind, thread.state, "" if thread.vp is None else str(thread.vp),
                         thread.function, thread.waits_for()))
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            line = " ".join(cell.ljust(width) for cell, width in zip(row, widths))
            gdb.write(line.rstrip() + "\n")


class Mltp(gdb.Command):
    """Commands for MLTP threads."""

    def __init__(self):
        super().__init__("mltp", gdb.COMMAND_STACK, prefix=True)


class MltpThread(gdb.Command):
    """Selects an MLTP thread by its number: mltp thread N. Its frames are shown until the
program continues, or until: mltp thread off.
mltp thread apply all COMMAND, mltp thread apply N ... COMMAND: a command for several."""

    def __init__(self):
        super().__init__("mltp thread", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        words = argument.split()
        if words and words[0] == "apply":
            self._apply(words[1:])
        elif words == ["off"]:
            chosen.set(None)
        elif len(words) == 1 and words[0].isdigit():
            thread, = self._find([int(words[0])])
            gdb.write(f"[Selected {select(thread)}]\n")
            gdb.execute("frame")
        elif not words and chosen.is_shown:
            gdb.write(f"[{select(chosen.thread)} is selected]\n")
        else:
            raise gdb.GdbError("Which thread? (mltp thread N, mltp thread off, mltp thread apply"
                               " all|N ... COMMAND; numbers are those of: info mltp threads)")

    @staticmethod
    def _find(numbers):
        """The threads of these numbers, None: all."""
        selected = gdb.selected_thread()
        threads = threads_of(Layout())
        attach_kernel_threads(threads)
        selected.switch()
        if numbers is None:
            return threads
        by_number = {thread.number: thread for thread in threads}
        for number in numbers:
            if number not in by_number:
                raise gdb.GdbError(f"No MLTP thread has the number {number} (see: info mltp"
                                   " threads).")
        return [by_number[number] for number in numbers]

    def _apply(self, words):
        numbers = []
        while words and words[0].isdigit():
            numbers.append(int(words.pop(0)))
        if not numbers and words and words[0] == "all":
            numbers = None
            words.pop(0)
        if numbers == [] or not words:
            raise gdb.GdbError("To which threads, and what? (mltp thread apply all bt, or mltp thread"
                               " apply 3 7 bt full)")
        with KeptSelection():
            host = gdb.selected_thread()
            for thread in self._find(numbers):
                host.switch()
                try:
                    gdb.write(f"\n{select(thread)}:\n")
                    gdb.execute(" ".join(words))
                except gdb.GdbError as error:
                    gdb.write(f"{error}\n")


class MltpRank(gdb.Command):
    """Selects the thread of a rank of MPI: mltp rank N. See mltp thread."""

    def __init__(self):
        super().__init__("mltp rank", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        if not argument.strip().isdigit():
            raise gdb.GdbError("Which rank? (mltp rank N)")
        name = f"rank {int(argument)}"
        found = [thread.number for thread in threads_of(Layout()) if thread.name == name]
        if not found:
            raise gdb.GdbError(f"No thread is called {name} (see: info mltp threads).")
        gdb.execute(f"mltp thread {found[0]}", from_tty)


class Own(gdb.Function):
    """A global variable of the copy of an MPI program that the selected frame is in.

tmpirun places a program once for each rank, and of a symbol that several objects have gdb takes the
first: rank 0's. All copies are alike, so the same variable is as far from main() in each of them."""

    def __init__(self):
        super().__init__("mltp_own")

    def invoke(self, name):  # pylint: disable=arguments-differ
        name = name.string()
        frame = gdb.selected_frame()
        while frame is not None and frame.name() != "main":
            frame = frame.older()
        if frame is None:
            raise gdb.GdbError("No main() is on this stack (select a rank: info mltp threads).")
        file = frame.find_sal().symtab.objfile.filename
        first = next(objfile for objfile in gdb.objfiles() if objfile.filename == file)
        symbol = first.lookup_global_symbol(name)
        if symbol is None:
            raise gdb.GdbError(f"{file} has no global variable {name} (static ones are the frame's own).")
        distance = self._address(frame.function().value()) \
            - self._address(first.lookup_global_symbol("main").value())
        here = gdb.Value(self._address(symbol.value()) + distance)
        return here.cast(symbol.type.pointer()).dereference()

    @staticmethod
    def _address(value):
        return int(value.address.cast(gdb.lookup_type("long")))


for command in (InfoMltp, InfoMltpThreads, Mltp, MltpThread, MltpRank):
    command()
Own()
