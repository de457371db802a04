#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank changes what all ranks share, or does what no rank can do alone: tmpirun says so once, and the call has its
effect.

usage: warned.py TMPIRUN PROCESS LIBRARY, as built.py
"""
import subprocess
import sys
import unittest

import built
import environments

HEADERS = """
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <mpi.h>
    #include <pthread.h>
    #include <setjmp.h>
    #include <signal.h>
    #include <spawn.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/stat.h>
    #include <sys/time.h>
    #include <sys/wait.h>
    #include <unistd.h>
    #define CHECK(what) do { if (!(what)) { printf("line %d: %s\\n", __LINE__, #what); exit(1); } } while (0)
    extern char **environ;
    #line 1
    """


class Warned(built.Programs):
    def program(self, body, before=""):
        """All ranks but the last one wait until that has done it."""
        return self.build("program", HEADERS + before + """
            int main(int argc, char **argv) {
              int rank, size;
              (void)argc, (void)argv;
              MPI_Init(NULL, NULL);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              MPI_Comm_size(MPI_COMM_WORLD, &size);
              if (rank == size - 1) {""" + body + """}
              MPI_Barrier(MPI_COMM_WORLD);
              MPI_Finalize();
              return 0;
            }""", "-pthread")

    def warns(self, words, body, *options, ranks=3, refused=None, before=""):
        """The words come once, in a line of their own; None: there is no word."""
        result = subprocess.run([built.TMPIRUN, "-n", str(ranks), *options, self.program(body, before)], text=True,
                                check=False, capture_output=True, preexec_fn=refused, stdin=subprocess.DEVNULL)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result)
        if words is None:
            self.assertEqual(result.stderr, "")
        else:
            self.assertRegex(result.stderr, rf"\Atmpirun: rank {ranks - 1} {words} \(.*\)\n\Z")


class Shared(Warned):
    def test_timer_of_cpu_time(self):
        """It counts all ranks' time, and its signal comes to the rank that has set it."""
        for which, signo in ("PROF", "SIGPROF"), ("VIRTUAL", "SIGVTALRM"):
            with self.subTest(which):
                self.warns(r"called setitimer\(\) for CPU time: its timer counts that of all ranks", f"""
                    struct itimerval soon = {{{{0, 0}}, {{0, 1000}}}};
                    signal({signo}, note);
                    CHECK(setitimer(ITIMER_{which}, &soon, NULL) == 0);
                    while (noted != rank + 1) continue;
                    CHECK(setitimer(ITIMER_{which}, &soon, NULL) == 0);
                    CHECK(setitimer(ITIMER_{which}, NULL, NULL) == 0);""", before="""
                    static volatile sig_atomic_t noted;
                    static void note(int signo) { int rank; (void)signo; MPI_Comm_rank(MPI_COMM_WORLD, &rank); noted = rank + 1; }
                    """)

    def test_signals_by_a_descriptor(self):
        """The first rank is warned as well, and once."""
        program = self.program("""
            sigset_t set;
            sigemptyset(&set);
            CHECK(signalfd(-1, &set, 0) >= 0 && signalfd(-1, &set, 0) >= 0);""", before="#include <sys/signalfd.h>\n")
        result = subprocess.run([built.TMPIRUN, "-n", "1", program], text=True, check=False, capture_output=True,
                                stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, r"\Atmpirun: rank 0: signalfd\(\) reads no signal that a rank blocks \(.*\)\n\Z")

    def test_input_of_a_program_that_reads(self):
        """The stream stdin is one for all ranks, so its descriptor is as well."""
        words = r"redirected its input by {}\(\): all ranks share it"
        for call, name in (("dup2(file, 0) == 0", "dup2"), ("dup3(file, 0, 0) == 0", "dup3"),
                           ('freopen("/etc/passwd", "r", stdin) == stdin', "freopen")):
            with self.subTest(name):
                self.warns(words.format(name), f"""
                    char word[100];
                    int file = open("/etc/passwd", O_RDONLY);
                    CHECK(file > 2 && {call});
                    CHECK(scanf("%99s", word) == 1 && strchr(word, ':') != NULL);""")

    def test_input_that_a_library_takes(self):
        """A rank may have a descriptor 0 of its own where its program reads nothing from stdin."""
        for call in ("dup2(file, 0) == 0", "dup3(file, 0, 0) == 0"):
            self.warns(None, f"""
                char byte;
                int file = open("/etc/passwd", O_RDONLY);
                CHECK(file > 2 && {call} && read(0, &byte, 1) == 1);""")

    def test_working_directory_and_umask_without_unshare(self):
        """Where unshare(2) is refused all ranks have one."""
        refused = environments.refuse(environments.numbers()["unshare"], environments.EPERM)
        for call, name in (('fchdir(open("/proc", O_RDONLY)) == 0 && access("self", F_OK) == 0', "fchdir"),
                           ("umask(027) != 027 && umask(027) == 027", "umask")):
            self.warns(rf"called {name}\(\): all ranks share working directory and umask, since .* is refused here",
                       f"CHECK({call});", refused=refused)

    def test_working_directory_of_pthreads(self):
        """Threads that run already keep theirs."""
        self.warns(r"called chdir\(\) while it has pthreads: its other threads keep what they had", """
            pthread_t thread;
            CHECK(pthread_create(&thread, NULL, read_byte, NULL) == 0);
            CHECK(chdir("/proc") == 0 && access("self", F_OK) == 0);
            CHECK(write(ends[1], "x", 1) == 1 && pthread_join(thread, NULL) == 0);""", before="""
            static int ends[2];
            static void *read_byte(void *p0) { char byte; CHECK(read(ends[0], &byte, 1) == 1); return p0; }
            __attribute__((constructor)) static void make(void) { CHECK(pipe(ends) == 0); }""")

    def test_a_working_directory_that_is_not_readable_stays(self):
        """A rank's working directory is kept by a descriptor. Without one chdir() fails, and the rank stays where it was."""
        self.warns(None, """
            struct rlimit limit, none;
            CHECK(chdir("/proc") == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
            none = limit;
            none.rlim_cur = 0;
            CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
            int result = chdir("/");
            CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
            CHECK(result == -1 && access("self", F_OK) == 0);""", before="#include <sys/resource.h>\n")


class Alone(Warned):
    """Calls of a rank that is the only one, or of a child."""

    def test_other_programs_of_the_only_rank(self):
        """exec() replaces it, with its own environment and its own streams."""
        for call in ('execl("/bin/sh", "sh", "-c", "echo $WORD", NULL)', 'execlp("sh", "sh", "-c", "echo $WORD", NULL)',
                     'execle("/bin/sh", "sh", "-c", "echo $WORD", NULL, environ)',
                     'execv("/bin/sh", words)', 'execvp("sh", words)', 'execve("/bin/sh", words, environ)',
                     'execvpe("sh", words, environ)'):
            with self.subTest(call):
                program = self.program(f"""
                    char *const words[] = {{"sh", "-c", "echo $WORD", NULL}};
                    (void)words;
                    setenv("WORD", "of the rank", 1);
                    {call};
                    CHECK(!"replaced");""")
                result = self.run_it(program, ranks=1)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "of the rank\n", ""), call)

    def test_parts_to_the_shared_output(self):
        """writev() of a rank whose streams are those of all."""
        program = self.program("""
            struct iovec parts[] = {{"one ", 4}, {"two\\n", 4}};
            CHECK(writev(1, parts, 2) == 8);""", "#include <sys/uio.h>\n")
        result = self.run_it(program, ranks=2)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "one two\n", ""))

    def test_children_by_posix_spawn(self):
        """By a path and by a name; a program that is not there has a status of its own."""
        self.warns(None, """
            char *const words[] = {"sh", "-c", "exit 7", NULL};
            pid_t pid;
            int status;
            CHECK(posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ) == 0);
            CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
            CHECK(posix_spawnp(&pid, "sh", NULL, NULL, words, environ) == 0);
            CHECK(wait(&status) == pid && WEXITSTATUS(status) == 7);
            CHECK(posix_spawn(&pid, "/no/such/program", NULL, NULL, words, environ) == ENOENT);
            CHECK(posix_spawnp(&pid, "no such program", NULL, NULL, words, environ) == ENOENT);""",
                   before="#include <errno.h>\n")

    def test_children_without_descriptors(self):
        """popen() of a process that may open no more files fails, and leaves nothing."""
        self.warns(None, """
            struct rlimit limit, none;
            CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
            none = limit;
            none.rlim_cur = 0;
            CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
            FILE *pipe_ = popen("true", "r");
            CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0 && pipe_ == NULL && errno == EMFILE);
            CHECK(wait(NULL) == -1 && errno == ECHILD);""", before="#include <errno.h>\n#include <sys/resource.h>\n")


if __name__ == "__main__":
    built.TMPIRUN, built.PROCESS, built.LIBRARY = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
