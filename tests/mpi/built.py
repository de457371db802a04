#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of unusual make: tmpirun runs them, or says why it cannot.

usage: built.py TMPIRUN PROCESS LIBRARY; process.c built, and a library that is slow on demand (refuse.c)
"""
import errno
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

TMPIRUN, PROCESS, LIBRARY = "", "", ""
DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_STRSZ, DT_INIT, DT_FINI, DT_JMPREL = 5, 6, 7, 8, 10, 12, 13, 23
DT_INIT_ARRAY, DT_FINI_ARRAY, DT_RELR, DT_GNU_HASH, DT_VERSYM, DT_VERNEED = 25, 26, 36, 0x6ffffef5, 0x6ffffff0, 0x6ffffffe
PT_LOAD, PT_DYNAMIC, PT_TLS, PT_GNU_EH_FRAME, PT_GNU_RELRO = 1, 2, 7, 0x6474e550, 0x6474e552
OFFSET, ADDRESS, FILE_SIZE, SIZE, ALIGN = 8, 16, 32, 40, 48  # places in a program header
PAGE = 4096
COPY, GLOB_DAT = 5, 6  # R_X86_64_


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, name, text, *words, by="tmpicc", language="c"):
        program = self.folder / name
        compiler = "cc" if by == "cc" else pathlib.Path(TMPIRUN).parent / by
        done = subprocess.run([compiler, "-x", language, "-", "-x", "none", *words, "-o", program], input=text, text=True,
                              check=False, capture_output=True)
        return program if done.returncode == 0 else self.skipTest(done.stderr)

    def shared_object(self, name, text, *words):
        return self.build(f"lib{name}.so", text, "-shared", *words)

    def using(self, *names):
        return [f"-L{self.folder}", "-Wl,--no-as-needed", *(f"-l{name}" for name in names),
                f"-Wl,-rpath,{self.folder}"]

    def run_it(self, program, *options, ranks=2, **environment):
        return subprocess.run([TMPIRUN, "-n", str(ranks), *options, program], capture_output=True, text=True,
                              check=False, env={**os.environ, **environment})

    def runs(self, program, status=0, **settings):
        result = self.run_it(program, **settings)
        self.assertEqual(result.returncode, status, result)

    def refused(self, program, why, **settings):
        result = self.run_it(program, **settings)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, f"^tmpirun: cannot run .*{why}.*\\(.*\\)\n")

    def change(self, program, change):
        """Lets change() alter the file's bytes; it gets a dictionary of the dynamic section, too."""
        data = bytearray(program.read_bytes())
        table, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        dynamic, loads = {}, []
        for at in range(table, table + size * count, size):
            kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, at)
            if kind == PT_LOAD:
                loads.append((address, length, offset))
            if kind == PT_DYNAMIC:
                dynamic["header"] = at
                for entry in range(offset, offset + length, 16):
                    tag, value = struct.unpack_from("<QQ", data, entry)
                    dynamic.setdefault(tag, (value, entry + 8))

        def place(address):
            return next(offset + address - start for start, length, offset in loads if start <= address < start + length)
        change(data, dynamic, place)
        program.write_bytes(data)
        return program


class Run(Programs):
    def test_c_that_loads_cxx(self):
        """Each rank handles an exception of its own while the others do."""
        loaded = self.build("loaded.so", """
            extern "C" int handle(int rank, void (*wait)(void)) {
              try { throw rank; } catch (int) {
                wait();
                try { throw; } catch (int mine) { return mine; }
              }
            }""", "-shared", "-fPIC", by="tmpicxx", language="c++")
        self.runs(self.build("loads", f"""
            #include <dlfcn.h>
            #include <mpi.h>
            #include <stddef.h>
            static void wait(void) {{ MPI_Barrier(MPI_COMM_WORLD); }}
            int main(int argc, char **argv) {{
              int rank;
              MPI_Init(&argc, &argv);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              void *loaded = dlopen("{loaded}", RTLD_NOW);
              int (*handle)(int, void (*)(void)) = loaded == NULL ? NULL : dlsym(loaded, "handle");
              if (handle == NULL || handle(rank, wait) != rank) return 1;
              return MPI_Finalize();
            }}"""), ranks=4)

    def test_packed_relocations(self):
        pointers = ", ".join(f"&x[{i % 7}]" for i in range(200))
        text = (f"static int x[7]; int *all[] = {{{pointers}}}; char odd[8]; int *more = &x[3];"
                "int main(void) { for (int i = 0; i < 200; i++) if (all[i] != &x[i % 7]) return 1;"
                "return more != &x[3]; }")
        words = ["-Wl,-z,pack-relative-relocs"]
        if subprocess.run(["ld", "--help"], capture_output=True, text=True,
                          check=False).stdout.find("pack-relative-relocs") < 0:
            self.skipTest("no such linker")
        self.runs(self.build("packed", text, *words))

        def outside(data, dynamic, place):
            struct.pack_into("<Q", data, place(dynamic[DT_RELR][0]), 1 << 30)
        self.refused(self.change(self.build("packed", text, *words), outside), "a relocation lies outside")

    def test_data_is_in_few_pages(self):
        """Linkers put what may be read-only into pages apart, which each rank would have for nothing."""
        data = self.build("small", "static int x = 3; int main(void) { return x - 3; }").read_bytes()
        table, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        kinds = [struct.unpack_from("<I", data, table + size * i)[0] for i in range(count)]
        self.assertIn(PT_LOAD, kinds)
        self.assertNotIn(PT_GNU_RELRO, kinds)

    def test_words_of_the_linker_twice(self):
        """A build system may take them from several of the libraries that a program needs."""
        tmpicc = pathlib.Path(TMPIRUN).parent / "tmpicc"
        compiling, linking = (subprocess.run([tmpicc, f"-showme:{what}"], capture_output=True, text=True, check=True).stdout.split()
                              for what in ("compile", "link"))
        self.runs(self.build("twice", "#include <mpi.h>\nint main(void) { return MPI_Init(0, 0) || MPI_Finalize(); }",
                             *compiling, *linking, *linking, by="cc"))

    def test_thread_locals_that_do_not_link(self):
        """The linker names a relocation, and tmpicc the remedy."""
        self.build("fixed.o", "static _Thread_local int x; int *get(void) { return &x; }", "-c", "-fPIE", "-ftls-model=local-exec", by="cc")
        (self.folder / "main.c").write_text("int *get(void); int main(void) { return *get(); }")
        for name in "fixed.o", "libfixed.a":
            subprocess.run(["ar", "crs", "libfixed.a", "fixed.o"], cwd=self.folder, check=True)
            done = subprocess.run([pathlib.Path(TMPIRUN).parent / "tmpicc", "main.c", name, "-o", "main"], cwd=self.folder,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr, rf"\ntmpicc: {name}: its thread-local variables are at fixed places, .*\(.*global-dynamic.*\)\n$")

    def test_functions_that_are_chosen(self):
        chosen = ("static int here(void) { return 7; } static void *pick(void) { return here; }"
                  "int chosen(void) __attribute__((ifunc(\"pick\")));")
        user = "int main(void) { return chosen() != 7 || chosen() != 7; }"
        self.runs(self.build("own", chosen + user))
        self.shared_object("chosen", chosen)
        self.runs(self.build("user", "int chosen(void);" + user, *self.using("chosen")))

    def test_variables_that_are_copied(self):
        library = self.shared_object("variable", "int variable = 3; int get(void) { return variable; }")
        text = "extern int variable; int get(void); int main(void) { return variable++ != 3 || get() != 4; }"
        words = ["-fPIE", "-pie", *self.using("variable")]
        self.runs(self.build("copies", text, *words, by="cc"))

        def outside(data, dynamic, place):
            start = place(dynamic[DT_RELA][0])
            for at in range(start, start + dynamic[DT_RELASZ][0], 24):
                if struct.unpack_from("<I", data, at + 8)[0] == COPY:
                    struct.pack_into("<Q", data, at, (1 << 30))
        program = self.change(self.build("copies", text, *words, by="cc"), outside)
        self.refused(program, "a relocation lies outside")

        def far_away(data, dynamic, place):
            names, at = place(dynamic[DT_STRTAB][0]), place(dynamic[DT_SYMTAB][0])
            while not data.startswith(b"variable\0", names + struct.unpack_from("<I", data, at)[0]):
                at += 24
            struct.pack_into("<Q", data, at + 8, 1 << 30)
        program = self.build("copies", text, *words, by="cc")
        self.change(library, far_away)
        self.refused(program, "the file is damaged: 'variable' lies outside")

    def test_large_frames_are_probed(self):
        """Below the guard of a stack is another rank's, so the wrapper keeps the probes."""
        text = """int main(int argc, char **argv) {
                    volatile char frame[argc * (200 << 20)];
                    frame[0] = 1;
                    return frame[0] - 1;
                  }"""
        result = self.run_it(self.build("frame", text, "-fno-stack-clash-protection"))
        self.assertLess(result.returncode, 0, result)
        self.assertIn("stack overflow", result.stderr)

    def test_library_beside_the_program(self):
        self.shared_object("beside", "int beside(void) { return 5; }")
        for origin in ("$ORIGIN", "${ORIGIN}/."):
            program = self.build("user", "int beside(void); int main(void) { return beside() != 5; }",
                                 f"-L{self.folder}", "-lbeside", f"-Wl,-rpath,{origin}")
            self.runs(program)

    def test_folders_named_by_tokens(self):
        """$LIB and $PLATFORM are what ld.so takes for them."""
        for token, folder in (("$LIB", "lib/x86_64-linux-gnu"), ("${LIB}", "lib/x86_64-linux-gnu"), ("${PLATFORM}", "x86_64")):
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
            self.shared_object("named", "int named(void) { return 6; }")
            program = self.build("user", "int named(void); int main(void) { return named() != 6; }",
                                 f"-L{self.folder}", "-lnamed", f"-Wl,-rpath,$ORIGIN/{token}")
            shutil.move(self.folder / "libnamed.so", self.folder / folder / "libnamed.so")
            self.runs(program)
            shutil.rmtree(self.folder / folder)

    def test_linked_for_an_old_libc(self):
        """Before 2.34 a program gave its constructors to __libc_start_main()."""
        text = """#include <stdlib.h>
            static int made; static void init(void) { made = 4; } static void fini(void) {}
            static int start(int argc, char **argv) { (void)argv; return made != 4 || argc != 1; }
            int __libc_start_main(int (*)(int, char **), int, char **, void (*)(void), void (*)(void),
                                  void (*)(void), void *);
            __attribute__((used)) static void begin(long *stack) {
              __libc_start_main(start, (int)stack[0], (char **)(stack + 1), init, fini, NULL, stack);
            }
            __asm__(".globl own_start\\nown_start: xor %ebp, %ebp\\nmov %rsp, %rdi\\nand $-16, %rsp\\ncall begin\\n");
            int main(void) { return 1; }"""
        self.runs(self.build("old", text, "-Wl,-e,own_start"))

    def test_found_on_path(self):
        shutil.copy(PROCESS, self.folder / "on-path")
        self.runs("on-path", PATH=f"/no/such/folder:{self.folder}")
        self.refused_by_name("not-on-path", PATH=f"{self.folder}")

    def refused_by_name(self, name, **environment):
        result = self.run_it(name, **environment)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, f"cannot run '{name}': No such file or directory \\(check the name\\)")

    def test_progress_of_a_slow_start(self):
        result = self.run_it(PROCESS, ranks=40, LD_PRELOAD=LIBRARY, SLOW="50")
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, "(?m)^tmpirun: [0-9]+ of 40 ranks started$")


class Refused(Programs):
    def test_thread_locals_at_fixed_places(self):
        self.shared_object("fixed", "static __thread int x; int *fixed(void) { return &x; }",
                           "-ftls-model=initial-exec")
        program = self.build("user", "int *fixed(void); int main(void) { return *fixed(); }", *self.using("fixed"))
        self.refused(program, "its thread-local variables are at fixed places")

    def test_thread_locals_that_all_ranks_would_share(self):
        shared = self.shared_object("shared", "__thread int shared;", "-Wl,-soname,libshared.so")
        program = self.build("user", "extern __thread int shared; int main(void) { return shared; }",
                             *self.using("shared"))
        self.refused(program, "it uses a thread-local variable of a library that all ranks share",
                     LD_PRELOAD=str(shared))

    def test_sanitizer(self):
        program = self.build("sanitized", "int main(void) { return 0; }", "-fsanitize=address")
        self.refused(program, "it was built with -fsanitize=address, and this tmpirun was not")

    def test_other_mpi(self):
        self.shared_object("mpi", "int MPI_Init(void) { return 0; }", "-Wl,-soname,libmpi.so.40")
        program = self.build("other", "int MPI_Init(void); int main(void) { return MPI_Init(); }", f"-L{self.folder}",
                             "-Wl,--no-as-needed", "-lmpi", "-pie", by="cc")
        self.refused(program, "it was built for another MPI, libmpi.so.40, without the standard ABI")

    def test_more_memory_than_there_is(self):
        large = "static int large[1 << 21] = {1}; int main(void) { return large[0]; }"
        self.refused(self.build("large", large), "20000 ranks need [0-9]+ MiB at least, and [0-9]+ MiB", ranks=20000)

    def test_tables_that_are_not_aligned(self):
        def dynamic_section(data, dynamic, _):
            at = dynamic["header"] + 16  # its address
            struct.pack_into("<Q", data, at, struct.unpack_from("<Q", data, at)[0] + 4)

        def symbols(data, dynamic, _):
            struct.pack_into("<Q", data, dynamic[DT_GNU_HASH][1], dynamic[DT_GNU_HASH][0] + 2)
        for change in dynamic_section, symbols:
            program = self.change(self.build("plain", "int main(void) { return 0; }"), change)
            self.refused(program, "the file is damaged: a table is not aligned")

    def test_relocations_that_make_no_sense(self):
        """Kinds that no program of this processor has, and symbols that are not there."""
        for kind, index, why in ((200, 0, "relocations of type 200 are not known"),
                                 (GLOB_DAT, 1 << 20, "its table of symbols lies outside"),
                                 (COPY, 1 << 20, "its table of symbols lies outside")):
            def first(data, dynamic, place, info=index << 32 | kind):
                struct.pack_into("<Q", data, place(dynamic[DT_RELA][0]) + 8, info)
            program = self.change(self.build("plain", "int x, *y = &x; int main(void) { return y != &x; }"), first)
            self.refused(program, why)

    def test_variable_that_is_no_longer_there(self):
        """A program copies it from a library, which has changed since."""
        self.shared_object("changed", "int variable = 3;")
        program = self.build("copies", "extern int variable; int main(void) { return variable != 3; }", "-fPIE", "-pie",
                             *self.using("changed"), by="cc")
        self.runs(program)
        self.shared_object("changed", "int other = 3;")
        self.refused(program, "it needs 'variable': no library has it")

    def test_variable_that_has_become_smaller(self):
        """The program has more room for it than the library has bytes: the rest is 0, not what follows in the library."""
        self.shared_object("sized", 'char text[64] = "first";')
        program = self.build("copies", """extern char text[64];
            int main(void) { return text[0] != 's' || text[8] != 0 || text[63] != 0; }""", "-fPIE", "-pie",
                             *self.using("sized"), by="cc")
        self.shared_object("sized", r"""__asm__(".data\n.globl text\n.type text,@object\n.size text,8\n"
            "text: .asciz \"seconds\"\n.fill 56,1,'x'\n");""")
        self.runs(program)

    def test_way_to_wait(self):
        result = self.run_it(PROCESS, "--wait=long")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, "--wait: 'long' is none of conscious, spin, spin:US, park")


class Damaged(Programs):
    """Headers and tables that no linker makes: what tmpirun says, and that it says it before a rank runs."""
    FAR = 1 << 40  # no program is that large

    def setUp(self):
        super().setUp()
        self.good = self.build("good", "_Thread_local int own = 3; int main(void) { return own - 3; }").read_bytes()

    def damaged(self, *changes):
        """The program with other values: (format, place in the file, value)."""
        data = bytearray(self.good)
        for form, at, value in changes:
            struct.pack_into(form, data, at, value)
        program = self.folder / "damaged"
        program.write_bytes(data)
        program.chmod(0o755)
        return program

    def each(self, why, *changes):
        for change in changes:
            with self.subTest(why, change=change):
                self.refused(self.damaged(change), why)

    def word(self, at):
        return struct.unpack_from("<Q", self.good, at)[0]

    def headers(self, kind):
        """Where the program headers of a kind are."""
        size, count = struct.unpack_from("<HH", self.good, 54)
        return [at for at in range(self.word(32), self.word(32) + size * count, size)
                if struct.unpack_from("<I", self.good, at)[0] == kind]

    def entries(self, *tags):
        """Where the values of entries of the dynamic section are."""
        start, = (self.word(at + OFFSET) for at in self.headers(PT_DYNAMIC))
        found = {}
        while self.word(start) != 0:
            found.setdefault(self.word(start), start + 8)
            start += 16
        return [found[tag] for tag in tags if tag in found]

    def test_headers(self):
        self.each("it is not for this processor", ("B", 5, 2))  # big-endian
        self.each("its entry lies outside of it", ("<Q", 24, self.FAR))
        self.each("its program headers cannot be read", ("<Q", 32, len(self.good)), ("<H", 54, 57), ("<H", 56, 65))

    def test_segments(self):
        loads = self.headers(PT_LOAD)
        first, last = loads[0], loads[-1]
        self.each("a segment lies outside of it", *(("<Q", last + field, value) for field, value in (
            (FILE_SIZE, self.word(last + SIZE) + 1), (SIZE, self.FAR), (OFFSET, self.word(last + OFFSET) + (1 << 30)),
            (ADDRESS, self.word(last + ADDRESS) + self.FAR), (ADDRESS, self.word(last + ADDRESS) + 8),
            (ADDRESS, self.word(last + ADDRESS) % PAGE))))
        self.refused(self.damaged(*(("<Q", last + field, 1 << 30) for field in (FILE_SIZE, SIZE))), "a segment lies outside of it")
        self.each("its alignment makes no sense", ("<Q", last + ALIGN, 3 * PAGE), ("<Q", last + ALIGN, 2 * self.FAR))
        self.each("it was linked for a fixed address", ("<Q", first + ADDRESS, PAGE))
        self.refused(self.damaged(*(("<I", at, 0) for at in loads)), "it has nothing to load")
        self.refused(self.damaged(("<I", self.headers(PT_DYNAMIC)[0], 0)), "it is statically linked")

    def test_too_many_segments(self):
        start, (size, count) = self.word(32), struct.unpack_from("<HH", self.good, 54)
        end = max(self.word(at + ADDRESS) + self.word(at + SIZE) for at in self.headers(PT_LOAD))
        empty = [struct.pack("<IIQQQQQQ", PT_LOAD, 4, 0, (end // PAGE + 1 + i) * PAGE, 0, 0, 0, PAGE) for i in range(16)]
        program = self.damaged(("<Q", 32, len(self.good)), ("<H", 56, count + len(empty)))
        with program.open("ab") as file:
            file.write(self.good[start:start + size * count] + b"".join(empty))
        self.refused(program, "the file is damaged: too many segments")

    def test_nothing_behind_the_last_segment(self):
        """Neither sections nor their headers are needed."""
        end = max(self.word(at + OFFSET) + self.word(at + FILE_SIZE) for at in self.headers(PT_LOAD))
        program = self.damaged()
        program.write_bytes(self.good[:end])
        self.runs(program)

    def test_tables(self):
        self.each("a table lies outside of it",
                  *(("<Q", self.headers(kind)[0] + ADDRESS, self.FAR) for kind in (PT_DYNAMIC, PT_TLS, PT_GNU_EH_FRAME)),
                  *(("<Q", at, self.FAR) for at in self.entries(DT_STRTAB, DT_STRSZ, DT_RELA, DT_RELASZ, DT_JMPREL, DT_INIT, DT_FINI,
                                                                DT_INIT_ARRAY, DT_FINI_ARRAY, DT_VERSYM)),
                  *(("<Q", at, self.word(at) + 1) for at in self.entries(DT_RELA, DT_INIT_ARRAY, DT_VERSYM)))
        self.each("its table of symbols lies outside of it", *(("<Q", at, self.FAR) for at in self.entries(DT_SYMTAB, DT_GNU_HASH)),
                  *(("<Q", at, self.word(at) + 4) for at in self.entries(DT_SYMTAB)))
        self.each("its table of versions lies outside of it", *(("<Q", at, self.FAR) for at in self.entries(DT_VERNEED)))

    def test_thread_locals(self):
        at, = self.headers(PT_TLS)
        self.each("its thread-locals make no sense", ("<Q", at + SIZE, self.word(at + FILE_SIZE) - 1), ("<Q", at + SIZE, (1 << 32) + 1),
                  ("<Q", at + ALIGN, 3), ("<Q", at + ALIGN, 1 << 31))
        self.runs(self.damaged(("<Q", at + ALIGN, 0)))


class Ends(Programs):
    """Also on a thread of libc's: it belongs to no rank, and ends the process."""

    def test_what_fortran_has_written(self):
        """It comes before the message of a rank that ends the job, also from within an output."""
        program = self.build("reason", """
            subroutine fail(what)
              use mpi
              character(len=*) :: what
              integer :: error, rank
              call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
              write(*, '(a, i0)') 'reason ', rank
              if (rank == 1 .and. what == 'abort') call MPI_Abort(MPI_COMM_WORLD, 3, error)
              if (rank == 1 .and. what == 'error') call MPI_Send(rank, -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, error)
              call MPI_Barrier(MPI_COMM_WORLD, error)
            end subroutine
            integer function ends()
              use mpi
              integer :: error
              call MPI_Abort(MPI_COMM_WORLD, 4, error)
              ends = error
            end function
            program main
              use mpi
              integer, external :: ends
              integer :: error
              character(len=20) :: what
              call MPI_Init(error)
              call get_environment_variable('WHAT', what)
              if (what == 'within') write(*, '(a, i0)') 'reason 1', ends()
              call fail(trim(what))
            end program""", by="tmpifort", language="f95")
        for options in [], ["--label"], ["--one-to-one"]:
            for what, status, message in (("abort", 3, "called MPI_Abort"), ("error", 2, "MPI_Send on MPI_COMM_WORLD: count -1")):
                result = self.run_it(program, *options, WHAT=what)
                self.assertEqual(result.returncode, status, result)
                self.assertRegex(result.stdout, "(?m)^(\\[1\\] )?reason 1$")
                self.assertIn(message, result.stderr)
            self.assertEqual(self.run_it(program, *options, WHAT="within").returncode, 4)

    def ends(self, how, status):
        result = subprocess.run([TMPIRUN, "-n", "2", PROCESS, how], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, status, result)
        return result.stderr

    def test_exit(self):
        self.assertEqual(self.ends("exit", 5), "handler ran\n")

    def test_err_of_a_rank(self):
        self.assertRegex(self.ends("err", 9), "no file 1: No such file or directory\n(.*\n)*tmpirun: rank 1 ended with status 9")

    def test_exits_of_argp(self):
        """libc's exit() would end all ranks, without their handlers, and print tmpirun's version."""
        program = self.build("own", """
            #include <argp.h>
            #include <errno.h>
            #include <mpi.h>
            #include <stdio.h>
            #include <stdlib.h>
            const char *argp_program_version = "own 1.2", *argp_program_bug_address = "<own@example.org>";
            static int rank, number;
            static void said(void) { printf("handler of %d\\n", rank); }
            static error_t parse(int key, char *text, struct argp_state *state) {
              if (key == 'n') *(int *)state->input = atoi(text);
              if (key == 'n') return number == 7 ? EINVAL : 0;
              if (key == 'f' && rank == 1) argp_failure(state, 9, ENOENT, "file %s", text);
              if (key == 'e') argp_error(state, "bad %s", text);
              if (key == 'u') argp_usage(state);
              return key == 'f' ? 0 : ARGP_ERR_UNKNOWN;
            }
            static const struct argp_option options[] = {
                {"number", 'n', "N", 0, "a number", 0}, {"fail", 'f', "FILE", 0, "fails in rank 1", 0},
                {"error", 'e', "TEXT", 0, "is an error", 0}, {"use", 'u', 0, 0, "prints a line", 0}, {0}};
            static const struct argp argp = {options, parse, "", "Parses.", 0, 0, 0};
            int main(int argc, char **argv) {
              rank = atoi(getenv("PMI_RANK"));
              atexit(said);
              int error = argp_parse(&argp, argc, argv, getenv("SILENT") ? ARGP_NO_ERRS : 0, NULL, &number);
              printf("parsed %d, %d\\n", number, error);
              MPI_Init(&argc, &argv);
              return MPI_Finalize();
            }""")

        def ends(status, *words, printed=(), said="", **settings):
            done = subprocess.run([TMPIRUN, "-n", "2", program, *words], capture_output=True, text=True, check=False,
                                  env={**os.environ, **settings})
            self.assertEqual(done.returncode, status, done)
            self.assertRegex(done.stderr, said)
            for text in printed:
                self.assertEqual(done.stdout.count(text), 2, done)
            self.assertIn("handler of ", done.stdout)
        both = "handler of "
        ends(0, "--help", printed=["Usage: own [OPTION...]", "-e, --error=TEXT", "Report bugs to <own@example.org>", both], said="^$")
        ends(0, "--version", printed=["own 1.2\n", both], said="^$")
        ends(0, "--usage", printed=["Usage: own [-u?V]", both], said="^$")
        ends(0, "--usage", printed=["parsed 0, 0\n", both], said="^$", SILENT="1")  # as libc: it parses on
        ends(0, "-n", "3", printed=["parsed 3, 0\n", both], said="^$")
        ends(0, "-n", "7", printed=[f"parsed 7, {errno.EINVAL}\n", both], said="^$")
        ends(64, "-x", said="own: invalid option -- 'x'\n(?s:.*)Try `own --help'(?s:.*)tmpirun: rank [01] ended with status 64")
        ends(64, "more", said="own: Too many arguments\n")
        ends(64, "-e", "x", said="own: bad x\nTry `own --help'")
        ends(64, "-u", said="Usage: own")
        ends(9, "-f", "x", said="own: file x: No such file or directory\n(?s:.*)rank 1 ended with status 9")

    def test_obstacks_without_memory(self):
        """libc's exit() would end all ranks, and a handler would be that of the rank which has set it last."""
        text = """
            #include <mpi.h>
            #include <obstack.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <string.h>
            #define obstack_chunk_alloc no_memory
            #define obstack_chunk_free free
            static int rank;
            static void *no_memory(long size) { return rank == 1 ? 0 : malloc(size); }
            static void said(void) { printf("handler of %d\\n", rank); }
            static void fail(void) { printf("failed in %d\\n", rank); exit(7); }
            static void none(void) { exit(8); }
            int main(int argc, char **argv) {
              struct obstack some;
              MPI_Init(&argc, &argv);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              atexit(said);
              if (strcmp(argv[1], "status") == 0) obstack_exit_failure = 5 + rank;
              if (strcmp(argv[1], "handler") == 0) obstack_alloc_failed_handler = rank == 1 ? fail : none;
              MPI_Barrier(MPI_COMM_WORLD);
              obstack_init(&some);
              obstack_free(&some, 0);
              MPI_Finalize();
              printf("rank %d\\n", rank);
              return 0;
            }"""
        for way in ([], ["-fPIC", "-mno-direct-extern-access"]):
            program = self.build("own", text, *way)
            for word, status, said in ("default", 1, "memory exhausted\n"), ("status", 6, "memory exhausted\n"), ("handler", 7, ""):
                done = subprocess.run([TMPIRUN, "-n", "3", program, word], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout.count("handler of 1\n")), (status, 1), done)
                self.assertEqual("failed in 1\n" in done.stdout, word == "handler", done)
                self.assertTrue(done.stderr.startswith(said), done)

    def test_exit_at_once(self):
        self.ends("_exit", 6)
        self.ends("quick_exit", 7)


if __name__ == "__main__":
    TMPIRUN, PROCESS, LIBRARY = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
