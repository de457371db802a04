#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that tax the loader, end in odd ways, or cannot be run: the right result, or a message that says why."""
import os
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import environments

TMPIRUN, PROGRAM, RING = "", "", ""
BIN = pathlib.Path()


def run(program, *arguments, ranks=4, options=(), environment=None, address_space=None):
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if address_space:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    return subprocess.run([TMPIRUN, "-n", str(ranks), *options, str(program), *arguments],
                          capture_output=True, text=True, errors="replace", check=False,
                          preexec_fn=limit, env={**os.environ, **(environment or {})})


def headers(data):
    """Place, kind, flags, offset, address and length of each program header of an ELF file."""
    table, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(table, table + size * count, size):
        kind, flags, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, at)
        yield at, kind, flags, offset, address, length


def end_of_segments(data):
    """How much of an ELF file is loaded."""
    return max(offset + length for _, kind, _, offset, _, length in headers(data) if kind == 1)


def place_of_hash_table(data):
    """Where a program says at which address its table of symbols is (DT_GNU_HASH)."""
    for _, kind, _, offset, _, length in headers(data):
        if kind == 2:  # PT_DYNAMIC
            return next(at + 8 for at in range(offset, offset + length, 16) if struct.unpack_from("<Q", data, at)[0] == 0x6ffffef5)
    raise AssertionError("no dynamic section")


class Ends(unittest.TestCase):
    def ends(self, how, status, *said, **settings):
        for options in [(), ("--one-to-one",)]:
            with self.subTest(how=how, options=options):
                result = run(PROGRAM, how, options=options, **settings)
                self.assertEqual(result.returncode, status, result.stderr[:2000])
                for pattern in said:
                    self.assertRegex(result.stderr, pattern)
        return result

    def test_gibibyte_of_globals(self):
        self.assertEqual(self.ends("large", 0, ranks=16).stderr, "")

    def test_crash_names_rank_address_and_function(self):
        self.ends("segv", -11, "rank 1 crashed: SIGSEGV at address 0x8", r"\n    #0  abuse\.c:\d+ \(write_to\)\n    #1  ")

    def test_crash_in_the_library_names_the_call(self):
        self.ends("bad-buffer", -11, "rank 1 crashed: SIGSEGV at address 0x8",
                  r"#\d+ +abuse\.c:\d+ \((bad_buffer|main)\)", "--check looks")
        self.assertNotIn("--check looks", run(PROGRAM, "bad-buffer", options=("--check",)).stderr)

    def test_crash_whose_frames_cannot_be_printed(self):
        """Where no child may be made to read its lines, the message says how to find the line."""
        refused = environments.refuse(environments.numbers()["clone"], environments.EPERM)
        for how, place in (("segv", "in write_to at"), ("bad-buffer", r"in a library that was called (?:in \w+ )?at")):
            result = subprocess.run([TMPIRUN, "-n", "4", PROGRAM, how], capture_output=True, text=True, check=False, preexec_fn=refused)
            if result.returncode == 1:
                self.skipTest("threads cannot be made without this call")
            self.assertEqual(result.returncode, -11, result)
            said = rf"tmpirun: rank 1 was {place} (0x[0-9a-f]+) of '(.*)' \(its line: addr2line -f -e '\2' \1\)\n"
            self.assertRegex(result.stderr, said)
            self.assertEqual("--check looks" in result.stderr, how == "bad-buffer", result)

    @unittest.skipIf(os.environ.get("MLTP_GUARD") == "canary", "stacks have no guards")
    def test_stack_overflow_names_the_rank(self):
        result = run(PROGRAM, "overflow")
        self.assertLess(result.returncode, 0)
        self.assertRegex(result.stderr, "rank 1: stack overflow: all [0-9]+ KiB .*--stack")
        self.assertRegex(result.stderr, r"#\d+ +abuse\.c:\d+ \([a-z_]+\)")

    def test_division_by_zero(self):
        self.ends("divide", -8, "rank 1 crashed: SIGFPE")

    def test_signal_handler_is_the_ranks(self):
        result = self.ends("divide-caught", 6, "caught 8", "rank 1 ended with status 6")
        self.assertNotIn("crashed", result.stderr)

    def test_thread_that_waits_is_stopped(self):
        result = run(PROGRAM, "stop-waiting", ranks=2)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"tmpirun: rank 1: sigsuspend\(\) in a handler .*--one-to-one\)")

    def test_raise_without_handler(self):
        self.ends("raise", -15)

    def test_abort(self):
        result = self.ends("abort", -6, r"rank 1 called abort\(\)")
        self.assertEqual(result.stderr.count("called abort()"), 1)
        self.assertRegex(result.stderr, r"#\d+ +abuse\.c:\d+ \(main\)")

    def test_exit_at_once(self):
        self.ends("_exit", 4, "rank 1 ended with status 4")

    def test_functions_of_libc_that_exit(self):
        self.ends("err", 9, "no such thing", "rank 1 ended with status 9")
        self.ends("error", 10, "no such other thing", "rank 1 ended with status 10")
        self.ends("verr", 9, "no such thing: No such file or directory", "rank 1 ended with status 9")
        self.ends("verrx", 9, "no such thing", "rank 1 ended with status 9")
        self.ends("error-at-line", 10, "some.c:7: no such thing", "rank 1 ended with status 10")

    def test_exit_in_a_handler(self):
        result = self.ends("exit-in-handler", 5, "registered last", "rank 1 ended with status 5")
        self.assertEqual(result.stderr.count("registered last"), 1)

    def test_quick_exit(self):
        self.assertNotIn("first registered", self.ends("quick", 4, "quick handler").stderr)

    def test_robust_mutex_over_a_switch(self):
        two_vps = {"MLTP_OVERSUBSCRIBE": "eager"}  # also where there is one CPU
        result = run(PROGRAM, "robust", ranks=8, options=["--vps=2"], environment=two_vps)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"rank \d cannot release a robust mutex: .* \(run with --one-to-one\)")
        self.assertEqual(run(PROGRAM, "robust-stays", options=["--one-to-one"]).returncode, 0)

    def test_pthread_exit_in_main(self):
        self.ends("pthread-exit", 0)

    def test_chdir_without_unshare(self):
        self.assertEqual(self.ends("chdir", 0).stderr, "")
        refused = environments.refuse(environments.numbers()["unshare"], environments.EPERM)
        result = subprocess.run([TMPIRUN, "-n", "4", PROGRAM, "chdir"], capture_output=True, text=True, check=False,
                                preexec_fn=refused)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"rank 1 called chdir\(\): all ranks share working directory and umask")
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_output_without_end_of_line(self):
        output = self.ends("unflushed", 0, ranks=20).stdout
        self.assertEqual(sum(len(f"rank {i}") for i in range(20)), len(output))


class Refused(unittest.TestCase):
    """Nothing of what is refused has run, and nothing crashes."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def refused(self, program, why, **settings):
        result = run(program, **settings)
        self.assertEqual(result.returncode, 1, (program, result.stderr[:2000]))
        self.assertRegex(result.stderr, f"^tmpirun: .*{why}.*\\(.*\\)\n")
        return result

    def build(self, name, *words, text="int main(void) { return 0; }", by="cc", language="c"):
        program = self.folder / name
        done = subprocess.run([*str(by).split(), "-x", language, "-", "-x", "none", *words, "-o",
                               str(program)], input=text, text=True, capture_output=True, check=False)
        return program if done.returncode == 0 else self.skipTest(done.stderr)

    def changed(self, offset, layout, value):
        """The program, a number in its header changed."""
        data = bytearray(pathlib.Path(PROGRAM).read_bytes())
        struct.pack_into(layout, data, offset, value)
        (self.folder / "changed").write_bytes(data)
        return self.folder / "changed"

    def test_fifo(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo, 0o777)
        self.refused(fifo, "it is no plain file")

    def test_no_program(self):
        script = self.folder / "script"
        script.write_text("echo ran\n")
        script.chmod(0o755)
        self.refused(script, "it is no ELF file")
        self.refused(self.folder, "it is no plain file")
        self.refused("/dev/null", "it is no plain file")

    def test_other_processors(self):
        e_class, e_machine, x86, aarch64 = 4, 18, 3, 183
        self.refused(self.changed(e_class, "<B", 1), "it is not for this processor")
        self.refused(self.changed(e_machine, "<H", x86), "it is not for this processor")
        self.refused(self.changed(e_machine, "<H", aarch64), "it is not for this processor")

    def test_static(self):
        self.refused(self.build("static", "-static"), "it has a fixed address")

    def test_static_pie(self):
        self.refused(self.build("static", "-static-pie"), "it is statically linked")

    def test_fixed_address(self):
        self.refused(self.build("fixed", "-no-pie"), "it has a fixed address")

    def test_object(self):
        self.refused(self.build("object", "-c"), "it is not linked")

    def test_relocations_in_text(self):
        text = 'int x; int *f(void) { return &x; } int main(void) { return f() != &x; }'
        program = self.build("text", "-Wl,-z,notext", text=text, by=f"{BIN}/tmpicc -fno-pic -mcmodel=large")
        self.refused(program, "its code has to be changed to run at another address")

    def test_thread_locals_of_a_stock_program(self):
        text = "static __thread int x; int main(void) { return x++; }"
        self.refused(self.build("locals", "-pie", text=text), "it has thread-local variables")

    def test_missing_symbol_and_library(self):
        library = self.build("libown.so", "-shared", by=f"{BIN}/tmpicc", text="int own(void) { return 0; }")
        program = self.build("user", f"-L{self.folder}", "-lown", f"-Wl,-rpath,{self.folder}",
                             by=f"{BIN}/tmpicc", text="int own(void); int main(void) { return own(); }")
        self.assertEqual(run(program).returncode, 0)
        self.build("libown.so", "-shared", by=f"{BIN}/tmpicc", text="int other(void) { return 0; }")
        self.refused(program, "it needs 'own': no library has it")
        library.write_text("no library")
        self.refused(program, "libown.so': it is no ELF file")
        library.unlink()
        self.refused(program, "it needs a library: libown.so")

    def test_function_of_mpi_that_is_not_there(self):
        text = "int MPI_No_such(void); int main(void) { return MPI_No_such(); }"
        program = self.build("user", "-Wl,-z,undefs", by=f"{BIN}/tmpicc", text=text)
        self.refused(program, "it needs 'MPI_No_such': tmpi does not have it yet")

    def test_too_little_address_space(self):
        self.refused(PROGRAM, "no address space for", ranks=64, address_space=8 << 30)
        self.refused(RING, "no address space for 1000 stacks", ranks=1000, address_space=1 << 30)

    def test_too_many_ranks(self):
        limit = int(pathlib.Path("/proc/sys/vm/max_map_count").read_text())
        if limit > 70000:
            self.skipTest("vm.max_map_count is very high here")
        result = self.refused(RING, "100000 ranks need 200200 mappings, and the system allows", ranks=100000)
        self.assertIn(f"(at most {(limit - 200) // 2} ranks", result.stderr)  # mltp-limits(7)

    def test_truncated(self):
        whole = pathlib.Path(RING).read_bytes()
        damaged = self.folder / "damaged"
        for length in range(0, end_of_segments(whole), 97):
            damaged.write_bytes(whole[:length])
            self.refused(damaged, "cannot run")

    def test_tables_outside_of_the_file(self):
        """A table of symbols in a TiB of zeroes, which was searched (found by the fuzzer)."""
        data = bytearray(pathlib.Path(RING).read_bytes())
        zeroes = 0
        for at, kind, flags, offset, address, length in headers(data):
            if kind == 1 and flags & 2:  # PT_LOAD, writable
                zeroes = address + length + 64 & ~7
                struct.pack_into("<Q", data, at + 40, 1 << 39)
        struct.pack_into("<Q", data, place_of_hash_table(data), zeroes)
        (self.folder / "damaged").write_bytes(data)
        self.refused(self.folder / "damaged", "the file is damaged", ranks=1)

    def test_tables_larger_than_the_file(self):
        """As a table of symbols says: its buckets end behind the file."""
        data = bytearray(pathlib.Path(RING).read_bytes())
        table, = struct.unpack_from("<Q", data, place_of_hash_table(data))  # in the first segment, so it is an offset, too
        for buckets in (len(data), 1 << 31):
            struct.pack_into("<I", data, table, buckets)
            (self.folder / "damaged").write_bytes(data)
            self.refused(self.folder / "damaged", "its table of symbols lies outside of it", ranks=1)

    def test_flipped_bits(self):
        """In headers and tables, where a program's first page has them: it is refused or runs, in its own way."""
        whole = pathlib.Path(RING).read_bytes()
        damaged = self.folder / "damaged"
        chance = random.Random(1)
        for _ in range(100):
            data = bytearray(whole)
            for _ in range(chance.randint(1, 4)):
                data[chance.randrange(4, 1500)] ^= 1 << chance.randrange(8)
            damaged.write_bytes(data)
            result = run(damaged, ranks=2, options=["--vps", "1"])
            if result.returncode == 1 and "cannot run" in result.stderr:
                self.assertRegex(result.stderr, r"\(.*\)\n")
            elif result.returncode < 0:  # an address was changed that only the program follows
                self.assertRegex(result.stderr, "rank [01] ")


if __name__ == "__main__":
    TMPIRUN, PROGRAM, RING = sys.argv[1:4]
    BIN = pathlib.Path(TMPIRUN).parent
    unittest.main(argv=sys.argv[:1], verbosity=2)
