#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which libraries each rank has for itself, where they are found, and in which order they start.

usage: loading.py TMPIRUN PROCESS LIBRARY, as built.py
"""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import built

COUNTER = "int counter; int next(void) { return ++counter; }"
# Each rank counts once, when all are there: a shared counter shows others' counts.
COUNTS = """
    #include <mpi.h>
    int next(void);
    int main(int argc, char **argv) {
      MPI_Init(&argc, &argv);
      MPI_Barrier(MPI_COMM_WORLD);
      int mine = next();
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Finalize();
      return mine != 1;
    }"""


class Loading(built.Programs):
    def counting(self, *words):
        self.shared_object("counter", COUNTER)
        return self.build("counts", COUNTS, *(words or self.using("counter")))

    def report(self, program, *options):
        result = self.run_it(program, "--report", *options, ranks=3)
        return result.returncode, {pathlib.Path(line.split()[0]).name: "share it" in line
                                   for line in result.stderr.splitlines() if ".so" in line}


class Private(Loading):
    def test_by_default(self):
        status, shared = self.report(self.counting())
        self.assertEqual(status, 0)
        self.assertEqual([shared["libcounter.so"], shared["libc.so.6"], shared["libmpi_abi.so.1"]], [False, True, True])

    def test_libraries_for_other_processors(self):
        """The search passes over them, also where there is only a header. One with less than a header is damaged."""
        program = self.counting()
        other = self.folder / "other"
        other.mkdir()
        found = (self.folder / "libcounter.so").read_bytes()
        for place, byte, size in ((4, 1, len(found)), (18, 8, len(found)), (18, 8, 64)):  # 32 bits, MIPS
            (other / "libcounter.so").write_bytes((found[:place] + bytes([byte]) + found[place + 1:])[:size])
            result = self.run_it(program, ranks=3, LD_LIBRARY_PATH=str(other))
            self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        (other / "libcounter.so").write_bytes(found[:63])
        result = self.run_it(program, ranks=3, LD_LIBRARY_PATH=str(other))
        self.assertEqual(result.returncode, 1, result)
        self.assertIn(f"{other}/libcounter.so': it is no ELF file", result.stderr)

    def test_options(self):
        program = self.counting()
        for options, expected in ((["--share=libcounter"], True), (["--share=libcount*"], True),
                                  (["--share=libcounter", "--private=libx,libcounter.so"], False),
                                  (["--private=*"], False), (["--share=libcount"], False)):
            status, shared = self.report(program, *options)
            self.assertEqual((status != 0, shared["libcounter.so"]), (expected, expected), options)
            self.assertTrue(shared["libc.so.6"])

    def test_what_a_shared_library_needs_is_shared(self):
        """A program and a library that ranks share have one copy of what both need."""
        self.shared_object("counter", COUNTER)
        self.shared_object("between", "extern int counter; int *where(void) { return &counter; }", *self.using("counter"))
        program = self.build("both", "extern int counter; int *where(void); int main(void) { return where() != &counter; }",
                             *self.using("counter", "between"))
        for options in [], ["--share=libbetween"]:
            status, shared = self.report(program, *options)
            self.assertEqual((status, shared["libcounter.so"]), (0, bool(options)))

    def test_preloaded_tool(self):
        """A tool that stands before functions of MPI counts what one rank does."""
        tool = self.shared_object("tool", """
            #include <mpi.h>
            #include <stdio.h>
            static int barriers;
            int MPI_Barrier(MPI_Comm comm) { barriers++; return PMPI_Barrier(comm); }
            int MPI_Finalize(void) { printf("barriers: %d\\n", barriers); return PMPI_Finalize(); }""")
        program = self.counting()
        for options, counted in (([], ["barriers: 2"] * 3), (["--share=libtool"], ["barriers: 6"] * 3)):
            result = self.run_it(program, *options, ranks=3, LD_PRELOAD=str(tool))
            self.assertEqual((result.returncode, result.stdout.splitlines()), (0, counted), result)

    def test_what_stands_behind_a_preloaded_tool(self):
        """Each rank's copy of a tool finds the library's functions behind it, and not the tool that the process has."""
        tool = self.shared_object("behind", """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <mpi.h>
            #include <stdio.h>
            static int starts, reads;
            #define MPI_Init PMPI_Init
            int MPI_Init(int *argc, char ***argv) {
              int (*next)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_NEXT, "PMPI_Init");
              starts++;
              return next(argc, argv);
            }
            #undef MPI_Init
            int MPI_Init(int *argc, char ***argv) { return PMPI_Init(argc, argv); }
            char *fgets(char *text, int size, FILE *file) {
              char *(*next)(char *, int, FILE *) = (char *(*)(char *, int, FILE *))dlvsym(RTLD_NEXT, "fgets", "GLIBC_2.2.5");
              reads++;
              return next(text, size, file);
            }
            int MPI_Finalize(void) {
              printf("starts: %d, reads: %d\\n", starts, reads);
              return PMPI_Finalize();
            }""")
        program = self.build("reads", """
            #include <mpi.h>
            #include <stdio.h>
            int main(int argc, char **argv) {
              char text[80];
              MPI_Init(&argc, &argv);
              FILE *file = fopen("/proc/self/status", "r");
              for (int i = 0; i < 2; i++) fgets(text, sizeof text, file);
              fclose(file);
              MPI_Finalize();
            }""")
        plain = self.shared_object("plain", "int unrelated;")
        for tools in f"{tool}", f"{plain}:{tool}", f"{tool} {plain}":
            result = self.run_it(program, ranks=3, LD_PRELOAD=tools)
            self.assertEqual((result.returncode, result.stdout.splitlines()), (0, ["starts: 1, reads: 2"] * 3), result)

    def test_constants_are_in_memory_once(self):
        """64 ranks of a library with 4 MiB of constants take little more than one."""
        self.shared_object("large", 'const char large[4 << 20] = "x";')
        program = self.build("user", """
            #include <mpi.h>
            #include <sys/resource.h>
            extern const char large[];
            int main(int argc, char **argv) {
              volatile int sum = 0;
              struct rusage usage;
              MPI_Init(&argc, &argv);
              for (int i = 0; i < 4 << 20; i += 4096) sum += large[i];
              MPI_Barrier(MPI_COMM_WORLD);
              MPI_Finalize();
              long pages = 0, private = 0;
              FILE *f = fopen("/proc/self/statm", "r");
              if (f == 0 || fscanf(f, "%*d %ld %ld", &pages, &private) != 2) return 1;
              return pages - private > 8000;
            }""".replace("#include <mpi.h>", "#include <mpi.h>\n#include <stdio.h>"), *self.using("large"))
        self.runs(program, ranks=64)

    def test_a_hundred_libraries(self):
        one = self.shared_object("0", "")
        for i in range(1, 100):
            shutil.copy(one, self.folder / f"lib{i}.so")
        self.runs(self.build("user", "int main(void) { return 0; }", *self.using(*map(str, range(100)))))


class Found(Loading):
    def test_one_file_under_two_names(self):
        folder = self.folder / "other"
        folder.mkdir()
        self.counting()
        (folder / "libagain.so").symlink_to("../libcounter.so")
        program = self.build("twice", "extern int counter; int next(void); int main(void) { return next() != counter; }",
                             f"-L{self.folder}", f"-L{folder}", "-Wl,--no-as-needed", "-lcounter", "-lagain",
                             f"-Wl,-rpath,{self.folder}/other/..:$ORIGIN/other")
        self.runs(program)
        status, shared = self.report(program)
        self.assertEqual((status, len([name for name in shared if "again" in name or "counter" in name])), (0, 1))

    def test_the_cache_of_the_system(self):
        """A library may be in a folder of which only the cache of ldconfig(8) knows; it is the first entry there."""
        hidden, cache, folders = self.folder / "hidden", self.folder / "cache", self.folder / "folders"
        hidden.mkdir()
        self.shared_object("z99999999", COUNTER).rename(hidden / "libz99999999.so")
        program = self.build("cached", COUNTS, f"-L{hidden}", "-lz99999999")
        folders.write_text(f"{hidden}\ninclude /etc/ld.so.conf\n")
        made = subprocess.run(["/sbin/ldconfig", "-X", "-C", cache, "-f", folders], check=False, capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made)
        listed = subprocess.run(["/sbin/ldconfig", "-p", "-C", cache], check=True, capture_output=True, text=True).stdout
        self.assertIn("libz99999999.so", listed.splitlines()[1])
        self.runs(program, status=1)
        rights = [] if os.geteuid() == 0 else ["--map-root-user"]
        space = ["unshare", *rights, "--mount", "sh", "-c", 'mount --bind "$0" /etc/ld.so.cache && exec "$@"', cache]
        if subprocess.run([*space, "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no namespace of mounts")
        result = subprocess.run([*space, built.TMPIRUN, "-n", "2", program], check=False, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)

    def test_paths(self):
        """$ORIGIN anywhere in a path; LD_LIBRARY_PATH before DT_RUNPATH; DT_RPATH counts for libraries' needs."""
        for name, text in ("good", COUNTER), ("bad", "int counter; int next(void) { return 7; }"):
            folder = self.folder / name
            folder.mkdir()
            self.shared_object("counter", text).rename(folder / "libcounter.so")
        words = [f"-L{self.folder}/good", "-lcounter"]
        self.runs(self.build("origin", COUNTS, *words, "-Wl,-rpath,/none:$ORIGIN/good"))
        bad = self.build("bad-path", COUNTS, *words, "-Wl,-rpath,$ORIGIN/bad")
        self.runs(bad, status=1)
        self.runs(bad, LD_LIBRARY_PATH=f"{self.folder}/good")
        self.runs(self.build("rpath", COUNTS, *words, "-Wl,--disable-new-dtags,-rpath,$ORIGIN/good"),
                  LD_LIBRARY_PATH=f"{self.folder}/bad")
        self.build("libthrough.so", "int next(void); int through(void) { return next(); }", "-shared", "-fPIC", *words,
                   by="cc")  # tmpicc would give it a DT_RUNPATH, and it would inherit nothing
        through = COUNTS.replace("next", "through")
        words = [f"-L{self.folder}", "-lthrough", f"-Wl,-rpath-link,{self.folder}/good"]
        self.runs(self.build("inherited", through, *words, "-Wl,--disable-new-dtags,-rpath,$ORIGIN:$ORIGIN/good"))
        self.refused(self.build("not-inherited", through, *words, "-Wl,--enable-new-dtags,-rpath,$ORIGIN:$ORIGIN/good"),
                     "it needs a library: libcounter.so")

    def test_other_mpi_anywhere(self):
        self.shared_object("mpi", "int ompi;", "-Wl,-soname,libmpi.so.40")
        (self.folder / "libmpi.so.40").symlink_to("libmpi.so")
        self.shared_object("field", "int field(void) { return 1; }", *self.using("mpi"))
        program = self.build("user", "int field(void); int main(void) { return field(); }", *self.using("field"))
        for options in [], ["--share=libfield"]:
            result = self.run_it(program, *options)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, "libfield.so, which it needs, was built for another MPI, libmpi.so.40")


class Symbols(Loading):
    def test_program_before_libc(self):
        """A function of the program's that is called as one that tmpirun has for libc's."""
        self.shared_object("own", "int said; void error(const char *text) { said += text[0]; } void again(void) { error(\"b\"); }")
        self.runs(self.build("user", """extern int said; void error(const char *); void again(void);
            int main(void) { error("a"); again(); return said != 'a' + 'b'; }""", *self.using("own")))

    def test_versions(self):
        """A library that defines a function twice: the version the program was linked for counts."""
        script = self.folder / "versions"
        script.write_text("ONE { global: f; }; TWO { global: f; } ONE;")
        library = """__asm__(".symver one, f@ONE\\n.symver two, f@@TWO\\n");
            int one(void) { return 1; } int two(void) { return 2; }"""
        self.shared_object("versions", "int f(void) { return 0; }", f"-Wl,--version-script={script}")
        script.write_text("ONE { global: f; };")
        self.shared_object("versions", "int f(void) { return 0; }", f"-Wl,--version-script={script}")
        old = self.build("old", "int f(void); int main(void) { return f() != 1; }", *self.using("versions"))
        script.write_text("ONE { global: f; }; TWO { global: f; } ONE;")
        self.shared_object("versions", library, f"-Wl,--version-script={script}")
        self.runs(old)
        self.runs(self.build("new", "int f(void); int main(void) { return f() != 2; }", *self.using("versions")))

    def test_chosen_function_of_libc(self):
        self.runs(self.build("chosen", """
            extern int abs(int); static void *pick(void) { return abs; }
            int chosen(int) __attribute__((ifunc("pick")));
            int main(void) { volatile int x = -3; return chosen(x) != 3; }""", "-fno-builtin"), ranks=3)

    def test_alignment_above_a_page(self):
        self.runs(self.build("aligned", """
            #include <stdint.h>
            static char large[65536] __attribute__((aligned(65536)));
            static _Thread_local char local[8192] __attribute__((aligned(8192)));
            int main(void) {
              uintptr_t a = (uintptr_t)large, b = (uintptr_t)local;
              __asm__("" : "+r"(a), "+r"(b));
              return a % 65536 != 0 || b % 8192 != 0;
            }"""), ranks=3)


class Refused(Loading):
    def test_thread_locals_by_descriptors(self):
        text = "__thread int x = 3; int main(void) { return x - 3; }"
        self.refused(self.build("descriptors", text, "-mtls-dialect=gnu2"), "which change when a rank moves")

    def test_shared_thread_locals_without_room(self):
        """As jemalloc has them."""
        library = self.shared_object("roomy", "static __thread char room[1 << 16]; char *roomy(void) { return room; }",
                                     "-ftls-model=initial-exec")
        program = self.build("guest", "char *roomy(void); int main(void) { return *roomy(); }", *self.using("roomy"))
        result = self.run_it(program, "--share=libroomy")
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"only when a process starts: .*static TLS.* \(start tmpirun with LD_PRELOAD=libroomy.so\)")
        result = self.run_it(program, "--share=libroomy", LD_PRELOAD=str(library))
        self.assertEqual(result.returncode, 0, result)

    def test_heap_of_its_own(self):
        """free() of the program would get what strdup() of libc has allocated."""
        self.refused(self.build("heap", """#include <stddef.h>
            static char heap[1 << 20]; static size_t used;
            void *malloc(size_t n) { used += (n + 15) & ~15ul; return heap + used; }
            void free(void *p) { (void)p; }
            int main(void) { return 0; }""", "-fno-builtin"), "it has a malloc\\(\\) of its own")


class Linkers(Loading):
    """What compilers and linkers make of a program in C++ with all that a loader has to do."""
    TEXT = """
        #include <mpi.h>
        #include <stdexcept>
        #include <string>
        struct made { std::string text; made() : text("made") {} };
        static made object;
        thread_local int local = 5;
        int main(int argc, char **argv) {
          int rank, caught = 0;
          MPI_Init(&argc, &argv);
          MPI_Comm_rank(MPI_COMM_WORLD, &rank);
          local += rank;
          try { throw std::runtime_error("x"); } catch (std::exception &) { caught = 1; }
          MPI_Barrier(MPI_COMM_WORLD);
          bool good = caught == 1 && local == 5 + rank && object.text == "made";
          MPI_Finalize();
          return good ? 0 : 1;
        }"""

    def linker(self, name):
        if shutil.which(f"ld.{name}") is None:
            self.skipTest(f"no ld.{name}")
        for words in (["-O0"], ["-O2", "-ffunction-sections", "-Wl,--gc-sections"], ["-O3", "-static-libstdc++", "-static-libgcc"],
                      ["-O1", "-Wl,-z,max-page-size=65536"]):
            with self.subTest(words=words):
                self.runs(self.build("program", self.TEXT, f"-fuse-ld={name}", *words, by="tmpicxx", language="c++"), ranks=3)

    def test_bfd(self):
        self.linker("bfd")
        self.runs(self.build("program", self.TEXT, "-O2", "-flto", by="tmpicxx", language="c++"), ranks=3)

    def test_gold(self):
        self.linker("gold")

    def test_lld(self):
        self.linker("lld")

    def test_mold(self):
        self.linker("mold")


class Threads(Loading):
    def test_one_number_on_all_processors(self):
        """A rank's thread is itself, wherever it continues; its pthreads are others."""
        self.runs(self.build("self", """
            #include <mpi.h>
            #include <pthread.h>
            static void *other(void *first) { return pthread_equal(pthread_self(), *(pthread_t *)first) ? first : NULL; }
            int main(int argc, char **argv) {
              void *same = NULL;
              pthread_t thread, first = pthread_self();
              MPI_Init(&argc, &argv);
              int wrong = 0;
              for (int i = 0; i < 2000; i++) {
                MPI_Barrier(MPI_COMM_WORLD);
                wrong += !pthread_equal(first, pthread_self());
              }
              pthread_create(&thread, NULL, other, &first);
              pthread_join(thread, &same);
              wrong += same != NULL || pthread_kill(first, 0) != 0;
              MPI_Finalize();
              return wrong != 0;
            }""".replace("#include <pthread.h>", "#include <pthread.h>\n#include <signal.h>"), "-pthread"), ranks=8)


class Constructors(Loading):
    def test_needs_come_first(self):
        """B needs D, D needs X: in the order of the command line X would be last."""
        log = "extern char order[]; __attribute__((constructor)) static void start(void) { int i = 0; while (order[i]) i++; order[i] = '%s'; }"
        self.shared_object("order", "char order[8];")
        self.shared_object("x", log % "x", *self.using("order"))
        self.shared_object("d", log % "d", *self.using("x", "order"))
        self.shared_object("b", log % "b", *self.using("d", "order"))
        self.runs(self.build("user", """#include <string.h>
            extern char order[]; int main(void) { return strcmp(order, "xdb") != 0; }""", *self.using("x", "b", "order")))

    def test_linked_for_an_old_libc(self):
        """Its own constructors are called by __libc_start_main(); those of its libraries have been before."""
        self.shared_object("ready", "int ready; __attribute__((constructor)) static void start(void) { ready++; }")
        text = """#include <stdlib.h>
            extern int ready; static int made; static void init(void) { made = ready; } static void fini(void) {}
            static int start(int argc, char **argv) { (void)argv; return made != 1 || ready != 1 || argc != 1; }
            int __libc_start_main(int (*)(int, char **), int, char **, void (*)(void), void (*)(void),
                                  void (*)(void), void *);
            __attribute__((used)) static void begin(long *stack) {
              __libc_start_main(start, (int)stack[0], (char **)(stack + 1), init, fini, NULL, stack);
            }
            __asm__(".globl own_start\\nown_start: xor %ebp, %ebp\\nmov %rsp, %rdi\\nand $-16, %rsp\\ncall begin\\n");
            int main(void) { return 1; }"""
        self.runs(self.build("old", text, "-Wl,-e,own_start", *self.using("ready")))


if __name__ == "__main__":
    built.TMPIRUN, built.PROCESS, built.LIBRARY = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
