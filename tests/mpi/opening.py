#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dlopen() and its kin in ranks.

usage: opening.py TMPIRUN PROCESS LIBRARY, as built.py
"""
import shutil
import subprocess
import sys
import unittest

import built

# CHECK() ends a rank with the number of the line that failed.
START = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <link.h>
    #include <mpi.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s: %s\\n", __LINE__, #what, dlerror()); exit(1); } } while (0)
    #line 1
    """


class Opening(built.Programs):
    def program(self, body, *words, before=""):
        return self.build("program", START + before + """
            int main(int argc, char **argv) {
              int rank;
              MPI_Init(&argc, &argv);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              """ + body + "return MPI_Finalize(); }", *words)

    def works(self, body, *words, before="", ranks=4):
        self.runs(self.program(body, *words, before=before), ranks=ranks)

    def opened(self, name="plug.so", mode="RTLD_NOW"):
        return f'void *plug = dlopen("{self.folder}/{name}", {mode}); CHECK(plug != NULL);'


class Objects(Opening):
    def test_each_rank_has_its_own(self):
        self.build("plug.so", "static int calls; int call(void) { return ++calls; }", "-shared")
        self.works(self.opened() + """
            int (*call)(void) = dlsym(plug, "call");
            CHECK(call != NULL);
            MPI_Barrier(MPI_COMM_WORLD);
            CHECK(call() == 1);
            MPI_Barrier(MPI_COMM_WORLD);
            CHECK(call() == 2);""")

    def test_code_on_the_stack(self):
        """Stacks are there when the object comes: it is refused, unless the program asked for executable stacks."""
        self.build("plug.so", "int call(void) { return 3; }", "-shared", "-Wl,-z,execstack")
        self.works(f'CHECK(dlopen("{self.folder}/plug.so", RTLD_NOW) == NULL);'
                   'CHECK(strstr(dlerror(), "it needs executable stacks") != NULL);')
        self.works(self.opened(), "-Wl,-z,execstack")

    def test_descriptor_of_stdout(self):
        """The program's streams follow no plug-in, unless each rank has streams: the job ends before it prints elsewhere."""
        for body in ("close(1); return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);",
                     "return dup2(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);"):
            with self.subTest(body):
                self.build("plug.so", f"#include <fcntl.h>\n#include <unistd.h>\nint call(const char *path) {{ {body} }}", "-shared")
                program = self.program(self.opened() + f"""
                    int (*call)(const char *) = dlsym(plug, "call");
                    CHECK(rank == 0 || call("{self.folder}/out") == 1);
                    printf("rank %d", rank);
                    fflush(stdout);""")
                done = self.run_it(program)
                self.assertEqual(done.returncode, 1, done)
                self.assertIn("of its own, but the stream stdout is that of all ranks (start the program with --label", done.stderr)
                self.assertNotIn("rank 1", done.stdout)
                done = self.run_it(program, "--label")
                self.assertEqual((done.returncode, done.stdout), (0, "[0] rank 0\n"), done)
                self.assertEqual((self.folder / "out").read_text(), "rank 1")

    def test_a_new_namespace_is_refused(self):
        self.works('CHECK(dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW) == NULL);'
                   'CHECK(strstr(dlerror(), "ranks have no namespaces") != NULL);')

    def test_another_mpi(self):
        """A package of an interpreter opens the MPI it knows by name, and each rank would be rank 0 of 1."""
        self.build("libmpi.so.40", "int MPI_Init(void) { return 0; }", "-shared", by="cc")
        self.works(f"""
            CHECK(dlopen("{self.folder}/libmpi.so.40", RTLD_NOW | RTLD_GLOBAL) == NULL);
            CHECK(strstr(dlerror(), "it is another MPI, in which each rank would be a job of its own") != NULL);
            CHECK(dlopen("{self.folder}/libmpi.so.41", RTLD_NOW) == NULL);
            CHECK(strstr(dlerror(), "No such file") != NULL);""")

    def test_function_of_mpi_that_is_missing(self):
        """It ends the job when it is called; a binding of a language names all of MPI."""
        self.build("plug.so", "int MPI_Not_in_any_standard(void); int call(int bad) { return bad ? MPI_Not_in_any_standard() : 3; }",
                   "-shared", "-Wl,-z,undefs")
        program = self.program(self.opened() + """
            int (*call)(int) = dlsym(plug, "call");
            CHECK(call(0) == 3);
            MPI_Barrier(MPI_COMM_WORLD);
            if (argc > 1 && rank == 1) call(1);""")
        result = self.run_it(program, ranks=3)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(result.stderr.count("names 1 functions of MPI that tmpi does not have yet"), 1, result)
        result = subprocess.run([built.TMPIRUN, "-n", "2", program, "bad"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"rank 1 called a function of MPI that tmpi does not have, in call of '.*plug.so'")

    def test_thread_local_variables(self):
        """Each rank finds its own by name, in an object and in the program."""
        self.build("plug.so", "__thread int local = 7; int get(void) { return local; }", "-shared")
        self.works(self.opened() + """
            int *local = dlsym(plug, "local"), (*get)(void) = dlsym(plug, "get");
            CHECK(local != NULL && get != NULL && *local == 7);
            *local = rank;
            MPI_Barrier(MPI_COMM_WORLD);
            CHECK(*local == rank && get() == rank && dlsym(plug, "local") == local);
            int *of_program = dlsym(RTLD_DEFAULT, "of_program");
            CHECK(of_program == of_program_here());""", "-rdynamic",
                   before="__thread int of_program; int *of_program_here(void) { return &of_program; }\n")

    def test_thread_local_variables_of_threads_that_run(self):
        """A thread that is older than the object has its variables, with the values that they begin with."""
        self.build("plug.so", "__thread int local = 7; int get(void) { return local++; }", "-shared")
        self.works("""
            pthread_t threads[2];
            pthread_barrier_init(&both, NULL, 3);
            for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, NULL);
            pthread_barrier_wait(&both);
            """ + self.opened() + """
            CHECK((get = dlsym(plug, "get")) != NULL && get() == 7 && get() == 8);
            pthread_barrier_wait(&both);
            for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);""", before="""
            #include <pthread.h>
            static pthread_barrier_t both;
            static int (*get)(void);
            static void *run(void *unused) {
              pthread_barrier_wait(&both);
              pthread_barrier_wait(&both);
              CHECK(get() == 7 && get() == 8);
              return unused;
            }
            """)

    def test_functions_that_are_chosen(self):
        """dlsym() finds what the resolver of an indirect function has chosen."""
        self.build("plug.so", """
            static int three(void) { return 3; }
            static int (*choose(void))(void) { return three; }
            int chosen(void) __attribute__((ifunc("choose")));""", "-shared")
        self.works(self.opened() + """
            int (*chosen)(void) = dlsym(plug, "chosen");
            CHECK(chosen != NULL && chosen() == 3);""")

    def test_objects_that_are_too_large(self):
        """They are refused with the reason, and the rank continues."""
        for text, why in (("__thread char large[1 << 20]; char *get(void) { return large; }", "thread-local variables are too large"),
                          ("char large[1ul << 34]; char *get(void) { return large; }", "no address space for it in each rank")):
            with self.subTest(why):
                self.build("plug.so", text, "-shared")
                self.works(f"""
                    CHECK(dlopen("{self.folder}/plug.so", RTLD_NOW) == NULL);
                    CHECK(strstr(dlerror(), "{why}") != NULL);""")

    def test_what_is_not_placed_leaves_nothing(self):
        """An object that is refused, and one that the rank has by another name: no mapping stays, and no descriptor."""
        self.build("large.so", "__thread char large[1 << 20]; char *get(void) { return large; }", "-shared")
        self.build("plug.so", "int number = 1;", "-shared")
        (self.folder / "same.so").hardlink_to(self.folder / "plug.so")
        self.works(self.opened() + f"""
            int maps = lines_of("/proc/self/maps"), files = entries_of("/proc/self/fd");
            for (int i = 0; i < 100; i++) {{
              CHECK(dlopen("{self.folder}/large.so", RTLD_NOW) == NULL);
              CHECK(dlopen("{self.folder}/same.so", RTLD_NOW) == plug);
            }}
            CHECK(lines_of("/proc/self/maps") < maps + 50);
            CHECK(entries_of("/proc/self/fd") < files + 50);""", ranks=1, before="""
            #include <dirent.h>
            static int lines_of(const char *path) {
              FILE *file = fopen(path, "r");
              int lines = 0;
              for (int c; file != NULL && (c = getc(file)) != EOF;) lines += c == '\\n';
              fclose(file);
              return lines;
            }
            static int entries_of(const char *path) {
              DIR *folder = opendir(path);
              int entries = 0;
              while (readdir(folder) != NULL) entries++;
              closedir(folder);
              return entries;
            }
            """)

    def test_next_symbols_of_an_object(self):
        """RTLD_NEXT in an object that is not global goes through what it needs."""
        self.shared_object("need", "int number(void) { return 1; }")
        self.build("plug.so", """#define _GNU_SOURCE
            #include <dlfcn.h>
            int number(void) { int (*next)(void) = dlsym(RTLD_NEXT, "number"); return next == 0 ? -1 : 10 + next(); }""",
                   "-shared", *self.using("need"))
        self.works(self.opened() + 'int (*number)(void) = dlsym(plug, "number"); CHECK(number() == 11);')

    def test_versions_of_symbols(self):
        """In what an object needs, also if all ranks share that."""
        self.build("plug.so", "#include <stdlib.h>\nint call(void) { return getenv(\"HOME\") != NULL; }", "-shared")
        self.works(self.opened() + """
            CHECK(dlvsym(plug, "qsort", "GLIBC_2.2.5") == dlsym(plug, "qsort"));
            CHECK(dlvsym(plug, "gnu_get_libc_version", "GLIBC_2.2.5") != NULL);
            CHECK(dlvsym(plug, "gnu_get_libc_version", "NONE_1") == NULL && dlerror() != NULL);""")

    def test_symbols_of_the_program(self):
        self.build("plug.so", "extern int value; int own(void); int call(void) { value++; return own(); }", "-shared",
                   "-Wl,-z,undefs")
        for mode in "RTLD_NOW", "RTLD_LAZY":
            self.works(self.opened(mode=mode) + """
                int (*call)(void) = dlsym(plug, "call");
                CHECK(call() == 43 && value == 43);""", before="int value = 42; int own(void) { return value; }")

    def test_search_path_of_the_program(self):
        """By name: DT_RUNPATH of the caller; what the object needs, and a library that the program has already."""
        self.shared_object("kept", "int kept; void keep(void) { kept++; }")
        self.shared_object("deep", "int deep(void) { return 5; }")
        self.shared_object("plug", "void keep(void); int deep(void); int call(void) { keep(); return deep(); }",
                           *self.using("kept", "deep"))
        self.works("""
            void *plug = dlopen("libplug.so", RTLD_NOW), *again = dlopen("libkept.so", RTLD_NOW | RTLD_NOLOAD);
            CHECK(plug != NULL && again != NULL);
            int (*call)(void) = dlsym(plug, "call"), (*deep)(void) = dlsym(plug, "deep");
            CHECK(call() == 5 && deep != NULL && kept == 1 && dlsym(again, "kept") == &kept);""",
                   *self.using("kept"), before="extern int kept;")

    def test_constructors_and_destructors(self):
        """Those of what is needed first; at the end in the other direction."""
        self.shared_object("need", """#include <stdio.h>
            int ready; __attribute__((constructor)) static void start(void) { ready++; }
            __attribute__((destructor)) static void stop(void) { puts("need ends"); }""")
        self.build("plug.so", """#include <stdio.h>
            extern int ready; int seen; __attribute__((constructor)) static void start(void) { seen = ready; }
            __attribute__((destructor)) static void stop(void) { puts("plug ends"); }""", "-shared", *self.using("need"))
        program = self.program(self.opened() + """int *seen = dlsym(plug, "seen"); CHECK(*seen == 1);
            CHECK(dlopen("%s/plug.so", RTLD_LAZY) == plug && dlclose(plug) == 0 && dlclose(plug) == 0 && *seen == 1);
            """ % self.folder)
        result = self.run_it(program, ranks=1)
        self.assertEqual((result.returncode, result.stdout), (0, "plug ends\nneed ends\n"), result)
        result = self.run_it(self.program(self.opened()), ranks=1)  # it is open until the rank ends
        self.assertEqual((result.returncode, result.stdout), (0, "plug ends\nneed ends\n"), result)

    def test_global_symbols(self):
        """RTLD_GLOBAL shows an object to objects that are opened later; RTLD_LOCAL does not."""
        self.build("first.so", "int first(void) { return 3; }", "-shared")
        self.build("plug.so", "int first(void); int call(void) { return first(); }", "-shared", "-Wl,-z,undefs")
        self.works(f"""
            CHECK(dlopen("{self.folder}/first.so", RTLD_NOW | RTLD_LOCAL) != NULL);
            CHECK(dlopen("{self.folder}/plug.so", RTLD_NOW) == NULL);
            CHECK(strstr(dlerror(), "it needs 'first'") != NULL && dlerror() == NULL);
            CHECK(dlopen("{self.folder}/first.so", RTLD_NOW | RTLD_GLOBAL) != NULL);
            CHECK(dlsym(RTLD_DEFAULT, "first") != NULL);
            """ + self.opened() + """
            int (*call)(void) = dlsym(plug, "call"); CHECK(call() == 3);""")

    def test_thread_locals(self):
        """Of an object that is opened when a thread runs already: each thread has its own."""
        self.build("plug.so", "static __thread int local = 7; int call(void) { return local++; }", "-shared")
        self.works("""
            pthread_barrier_init(&barrier, NULL, 2);
            pthread_t thread;
            pthread_create(&thread, NULL, work, NULL);
            """ + self.opened() + """
            call = dlsym(plug, "call");
            CHECK(call() == 7 && call() == 8);
            pthread_barrier_wait(&barrier);
            pthread_join(thread, NULL);
            CHECK(call() == 9 && of_thread == 7);""", "-pthread", before="""
            #include <pthread.h>
            static pthread_barrier_t barrier; static int (*call)(void); static int of_thread;
            static void *work(void *a) { pthread_barrier_wait(&barrier); of_thread = call(); return a; }
            """)

    def test_thread_locals_of_several_objects(self):
        """Each object has a place of its own for them, also behind one that has none."""
        for name, number in ("first", 7), ("none", None), ("second", 8):
            variable = f"__thread int local[64] = {{[63] = {number}}}; int *where(void) {{ return local; }}" if number else "int data;"
            self.build(f"{name}.so", variable, "-shared")
        self.works(f"""
            int *(*where[2])(void);
            for (int i = 0; i < 3; i++) {{
              void *plug = dlopen((const char *[]){{"{self.folder}/first.so", "{self.folder}/none.so", "{self.folder}/second.so"}}[i], RTLD_NOW);
              CHECK(plug != NULL);
              if (i != 1) where[i / 2] = dlsym(plug, "where");
            }}
            for (int i = 0; i < 2; i++) {{
              CHECK(where[i]()[63] == 7 + i && where[i]()[0] == 0);
              for (int k = 0; k < 64; k++) where[i]()[k] = 100 * rank + i;
            }}
            MPI_Barrier(MPI_COMM_WORLD);
            for (int i = 0; i < 2; i++)
              for (int k = 0; k < 64; k++) CHECK(where[i]()[k] == 100 * rank + i);""")

    def test_exceptions_of_cxx(self):
        self.build("plug.so", """extern "C" int call(int x) { try { throw x; } catch (int y) { return y; } }""", "-shared",
                   by="tmpicxx", language="c++")
        self.works(self.opened() + """int (*call)(int) = dlsym(plug, "call"); CHECK(call(rank) == rank);""")

    def test_each_rank_another(self):
        """In another order, and some only in one rank."""
        for name in "abcd":
            self.build(f"{name}.so", f"int x = '{name}'; int *where(void) {{ return &x; }}", "-shared")
        self.works(f"""
            for (int i = 0; i < 3; i++) {{
              char path[500], name = "abcd"[(rank + i) % 4];
              sprintf(path, "{self.folder}/%c.so", name);
              void *plug = dlopen(path, RTLD_NOW);
              CHECK(plug != NULL);
              int *(*where)(void) = dlsym(plug, "where"), *x = dlsym(plug, "x");
              CHECK(where() == x && *x == name);
            }}
            char path[500];
            sprintf(path, "{self.folder}/%c.so", "abcd"[(rank + 3) % 4]);
            CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);""", ranks=8)

    def test_alignment(self):
        """Of old linkers, to 2 MiB, which nothing needs; of a variable, which an object of a rank must have."""
        self.build("plug.so", "int data = 4; int call(void) { return data++; }", "-shared", "-Wl,-z,max-page-size=0x200000",
                   "-Wl,-z,noseparate-code")
        self.works(self.opened() + 'int (*call)(void) = dlsym(plug, "call"); CHECK(call() == 4 && call() == 5);')
        aligned = "static char page[65536] __attribute__((aligned(65536))); char *%s(void) { return page; }"
        self.build("plug.so", aligned % "call", "-shared")
        self.works(f'''CHECK(dlopen("{self.folder}/plug.so", RTLD_NOW) == NULL);
            CHECK(strstr(dlerror(), "it needs a multiple of 64 KiB as address (link it to the program)") != NULL);''')
        self.works(self.opened() + """
            char *(*call)(void) = dlsym(plug, "call");
            CHECK((size_t)call() % 65536 == 0 && (size_t)own() % 65536 == 0);""", before=aligned % "own")


class Symbols(Opening):
    def test_handles_of_all_kinds(self):
        self.works("""
            CHECK(dlsym(RTLD_DEFAULT, "own") == (void *)own);
            CHECK(dlsym(dlopen(NULL, RTLD_NOW), "own") == (void *)own);
            CHECK(dlsym(RTLD_DEFAULT, "no_such_symbol") == NULL && dlerror() != NULL);
            CHECK(dlsym(dlopen("libc.so.6", RTLD_NOW), "strlen") != NULL);
            CHECK(dlsym(RTLD_DEFAULT, "exit") == dlsym(dlopen("libc.so.6", RTLD_NOW), "exit"));
            CHECK(dlopen("no such object", RTLD_NOW) == NULL && strstr(dlerror(), "cannot open shared object file") != NULL);
            CHECK(dlopen("libc.so.6", 0) == NULL && dlerror() != NULL);""", before="int own(void) { return 1; }")

    def test_next(self):
        """A function that stands before libc's finds that one; a rank's exit() ends the rank alone."""
        program = self.program("""
            char *text = strdup("x");
            CHECK(strcmp(text, "x") == 0 && calls >= 1);
            if (rank == 1) { MPI_Finalize(); exit(5); }
            """, "-fno-builtin", before="""
            static int calls;
            char *strdup(const char *text) {
              char *(*next)(const char *) = dlsym(RTLD_NEXT, "strdup");
              calls++;
              return next(text);
            }
            void exit(int status) {
              void (*next)(int) __attribute__((noreturn)) = dlsym(RTLD_NEXT, "exit");
              next(status + 1);
            }""")
        result = self.run_it(program, ranks=3)
        self.assertEqual(result.returncode, 6, result)
        self.assertIn("1 of 3 ranks failed", result.stderr)

    def test_addresses(self):
        self.build("plug.so", "int call(void) { return 0; }", "-shared")
        self.works(self.opened() + f"""
            Dl_info info;
            struct link_map *map;
            char *call = dlsym(plug, "call");
            CHECK(dladdr(call, &info) != 0 && info.dli_saddr == call && strcmp(info.dli_sname, "call") == 0);
            CHECK(strcmp(info.dli_fname, "{self.folder}/plug.so") == 0);
            const ElfW(Sym) *symbol = NULL;
            CHECK(dladdr1(call, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL);
            CHECK(ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_value == (size_t)(call - (char *)info.dli_fbase));
            CHECK(dladdr((void *)own, &info) != 0 && strcmp(info.dli_sname, "own") == 0);
            CHECK(dladdr((void *)&printf, &info) != 0 && strstr(info.dli_fname, "libc.so") != NULL);
            CHECK(dlinfo(plug, RTLD_DI_LINKMAP, &map) == 0 && map->l_addr + (call - (char *)map->l_addr) == (size_t)call);
            const char *mine = call;
            CHECK(dl_iterate_phdr(find, &mine) == 1);""", before="""
            int own(void) { return 1; }
            static int find(struct dl_phdr_info *info, size_t size, void *address) {
              (void)size;
              for (int i = 0; i < info->dlpi_phnum; i++) {
                size_t offset = *(size_t *)address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr;
                if (info->dlpi_phdr[i].p_type == PT_LOAD && offset < info->dlpi_phdr[i].p_memsz) return 1;
              }
              return 0;
            }""")


class Python(Opening):
    def test_embedded(self):
        """Modules in C are objects that use symbols of libpython; each rank has its own interpreter and threads."""
        config = shutil.which("python3-config")
        if config is None:
            self.skipTest("no python3-dev")
        words = subprocess.run([config, "--includes", "--ldflags", "--embed"], capture_output=True, text=True,
                               check=True).stdout.split()
        program = self.build("python", "#include <Python.h>\nint main(int argc, char **argv) { return Py_BytesMain(argc, argv); }",
                             *words)
        script = self.folder / "script.py"
        script.write_text("import array, ctypes, json, math, os, threading\n"
                          "seen = []\n"
                          "t = threading.Thread(target=lambda: seen.append(math.sqrt(json.loads('16'))))\n"
                          "t.start(); t.join()\n"
                          "os.write(1, b'%d %d\\n' % (seen[0], len(seen)))\n")
        result = subprocess.run([built.TMPIRUN, "-n", "4", program, script], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, "4 1\n" * 4), result)


if __name__ == "__main__":
    built.TMPIRUN, built.PROCESS, built.LIBRARY = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
