/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls by which a rank would replace or end all ranks, and the file that a rank's program is
 * (src/tmpi/run/programs.c, shared.c): when exec() is the process's and what it is given, what is
 * refused, and what readlink() and realpath() say of /proc/self/exe.
 */
#include "traced_calls.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "captured.h"
#include "overridden.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"

enum { RANK = 2, PID = 4000 };

static char said[300];
static char *own_environment[] = {(char[]){"A=own"}, NULL}, *given[] = {(char[]){"B=given"}, NULL},
            *libcs[] = {(char[]){"C=libc's"}, NULL};
static struct tm_image app = {.path = (char[]){"/srv/app"}}, *images[] = {&app};
static struct tm_program program = {.images = images, .image_count = 1};
struct tm_program *tm_the_program = &program;
struct tm_job tm_job;
static struct tm_process process = {.number = RANK}, *caller;

struct tm_process *tm_process_self(void) { return caller; }
int tm_rank_number(void) { return caller != NULL ? caller->number : -1; }
void tm_streams_expose(int rank) { note("expose:%d", rank); }

char **tm_process_environment(const struct tm_process *of) {
  assert_ptr_equal(of, &process);
  return own_environment;
}

/* ---- libc: each call notes its words, and the environment */

static void note_words(char *const *argv) {
  for (; *argv != NULL; argv++) note("%s", *argv);
}

int __wrap_execve(const char *path, char *const *argv, char *const *environment);
int __wrap_execve(const char *path, char *const *argv, char *const *environment) {
  note("execve:%s,%s", path, environment[0]);
  note_words(argv);
  return 11;
}

int __wrap_execv(const char *path, char *const *argv);
int __wrap_execv(const char *path, char *const *argv) {
  note("execv:%s,%s", path, environ[0]);
  note_words(argv);
  return 12;
}

int __wrap_execvp(const char *file, char *const *argv);
int __wrap_execvp(const char *file, char *const *argv) {
  note("execvp:%s,%s", file, environ[0]);
  note_words(argv);
  return 13;
}

int __wrap_execvpe(const char *file, char *const *argv, char *const *environment);
int __wrap_execvpe(const char *file, char *const *argv, char *const *environment) {
  note("execvpe:%s,%s", file, environment[0]);
  note_words(argv);
  return 14;
}

int __wrap_fexecve(int fd, char *const *argv, char *const *environment);
int __wrap_fexecve(int fd, char *const *argv, char *const *environment) {
  note("fexecve:%d,%s", fd, environment[0]);
  note_words(argv);
  return 15;
}

int __wrap_execveat(int folder, const char *path, char *const *argv, char *const *environment,
                    int flags);
int __wrap_execveat(int folder, const char *path, char *const *argv, char *const *environment,
                    int flags) {
  note("execveat:%d,%s,%s,%d", folder, path, environment[0], flags);
  note_words(argv);
  return 16;
}

int __wrap_daemon(int keeps_folder, int keeps_streams);
int __wrap_daemon(int keeps_folder, int keeps_streams) {
  note("daemon:%d,%d", keeps_folder, keeps_streams);
  return 17;
}

pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void) { return PID; }

ssize_t __wrap_readlink(const char *path, char *text, size_t size);
ssize_t __wrap_readlink(const char *path, char *text, size_t size) {
  note("readlink:%s,%d", path, (int)size);
  text[0] = 'L';
  return 21;
}

ssize_t __wrap_readlinkat(int folder, const char *path, char *text, size_t size);
ssize_t __wrap_readlinkat(int folder, const char *path, char *text, size_t size) {
  note("readlinkat:%d,%s,%d", folder, path, (int)size);
  text[0] = 'L';
  return 22;
}

char *__wrap_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved) {
  note("realpath:%s,%d", path != NULL ? path : "null", resolved != NULL);
  return resolved;
}

static char **environ_before;

static int start(void **state) {
  (void)state;
  caller = &process;
  tm_job.size = 4;
  process.number = RANK;
  environ_before = environ;
  environ = libcs;
  trace[0] = said[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  environ = environ_before;
  return 0;
}

/* ---- exec() */

#define CALL(name) ((__typeof__(name) *)overridden(tm_override_programs, #name))

static char *words[] = {(char[]){"p"}, (char[]){"x"}, NULL};

/* Makes the call of this number. */
static int exec(int call) {
  switch (call) {
    case 0: return CALL(execve)("/p", words, given);
    case 1: return CALL(execv)("/p", words);
    case 2: return CALL(execvp)("/p", words);
    case 3: return CALL(execvpe)("/p", words, given);
    case 4: return CALL(execveat)(8, "/p", words, given, 9);
    case 5: return CALL(execl)("/p", "p", "x", (char *)NULL);
    case 6: return CALL(execlp)("/p", "p", "x", (char *)NULL);
    case 7: return CALL(execle)("/p", "p", "x", (char *)NULL, given);
    default: return CALL(fexecve)(7, words, given);
  }
}

static const struct {
  const char *name, *said, *rank, *libc;
  int result;
} calls[] = {
    {"execve", "/p", "execve:/p,B=given p x ", "execve:/p,B=given p x ", 11},
    {"execv", "/p", "execv:/p,A=own p x ", "execv:/p,C=libc's p x ", 12},
    {"execvp", "/p", "execvp:/p,A=own p x ", "execvp:/p,C=libc's p x ", 13},
    {"execvpe", "/p", "execvpe:/p,B=given p x ", "execvpe:/p,B=given p x ", 14},
    {"execveat", "/p", "execveat:8,/p,B=given,9 p x ", "execveat:8,/p,B=given,9 p x ", 16},
    {"execl", "/p", "execv:/p,A=own p x ", "execv:/p,C=libc's p x ", 12},
    {"execlp", "/p", "execvp:/p,A=own p x ", "execvp:/p,C=libc's p x ", 13},
    {"execle", "/p", "execve:/p,B=given p x ", "execve:/p,B=given p x ", 11},
    {"fexecve", "a descriptor", "fexecve:7,B=given p x ", "fexecve:7,B=given p x ", 15},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static void test_several_ranks_are_not_replaced(void **state) {
  char expected[300];
  (void)state;
  for (int i = 0; i < CALLS; i++) {
    struct captured captured = captured_begin();
    errno = 0;
    assert_int_equal(exec(i), -1);
    int error = errno;
    captured_end(&captured, said, sizeof said);
    assert_int_equal(error, ENOTSUP);
    snprintf(expected, sizeof expected,
             "tmpirun: rank 2: %s(\"%s\") is refused: it would replace all 4 ranks (start that "
             "program by tmpirun, or in a child of fork())\n",
             calls[i].name, calls[i].said);
    assert_string_equal(said, expected);
  }
  tm_job.size = 2;
  struct captured captured = captured_begin();
  assert_int_equal(exec(1), -1);
  captured_end(&captured, said, sizeof said);
  check_trace("");
  assert_ptr_equal(environ, libcs);
}

/* It has its own environment, and its own descriptors. */
static void test_the_only_rank_is_replaced(void **state) {
  char expected[100];
  (void)state;
  tm_job.size = 1;
  for (int i = 0; i < CALLS; i++) {
    environ = libcs;
    assert_int_equal(exec(i), calls[i].result);
    snprintf(expected, sizeof expected, "expose:2 %s", calls[i].rank);
    check_trace(expected);
  }
}

static void test_a_child_is_replaced(void **state) {
  (void)state;
  caller = NULL;
  for (int i = 0; i < CALLS; i++) {
    assert_int_equal(exec(i), calls[i].result);
    check_trace(calls[i].libc);
  }
  assert_ptr_equal(environ, libcs);
}

static void test_daemons(void **state) {
  (void)state;
  struct captured captured = captured_begin();
  errno = 0;
  assert_int_equal(CALL(daemon)(1, 0), -1);
  int error = errno;
  captured_end(&captured, said, sizeof said);
  assert_int_equal(error, ENOTSUP);
  assert_string_equal(
      said,
      "tmpirun: rank 2: daemon() is refused: it would end all 4 ranks (call it in a "
      "child of fork())\n");
  check_trace("");
  caller = NULL;
  assert_int_equal(CALL(daemon)(1, 0), 17);
  check_trace("daemon:1,0 ");
}

/* ---- the program's file */

#undef CALL
#define CALL(name) ((__typeof__(name) *)overridden(tm_override_shared, #name))

static const char *const own_files[] = {"/proc/self/exe", "/proc/4000/exe"};

static void test_a_rank_s_file_is_its_program(void **state) {
  typedef ssize_t checked(const char *, char *, size_t, size_t);
  typedef ssize_t checked_at(int, const char *, char *, size_t, size_t);
  checked *read_checked = (checked *)overridden(tm_override_shared, "__readlink_chk");
  checked_at *read_at_checked = (checked_at *)overridden(tm_override_shared, "__readlinkat_chk");
  char text[20];
  (void)state;
  for (int i = 0; i < 2; i++) {
    process.number = i == 0 ? RANK : 0;
    memset(text, '.', sizeof text);
    assert_int_equal(CALL(readlink)(own_files[i], text, sizeof text), 8);
    assert_memory_equal(text, "/srv/app.", 9); /* as in readlink(2), nothing is behind it */
    memset(text, '.', sizeof text);
    assert_int_equal(CALL(readlinkat)(5, own_files[i], text, 3), 3);
    assert_memory_equal(text, "/sr.", 4);
    memset(text, '.', sizeof text);
    assert_int_equal(read_checked(own_files[i], text, 5, 4), 4);
    assert_int_equal(read_checked(own_files[i], text, 4, 5), 4);
    assert_memory_equal(text, "/srv.", 5);
    memset(text, '.', sizeof text);
    assert_int_equal(read_at_checked(5, own_files[i], text, 5, 4), 4);
    assert_int_equal(read_at_checked(5, own_files[i], text, 4, 5), 4);
    assert_memory_equal(text, "/srv.", 5);
    check_trace("");
    CALL(realpath)(own_files[i], text);
    ((char *(*)(const char *, char *, size_t))overridden(tm_override_shared, "__realpath_chk"))(
        own_files[i], NULL, 0);
    check_trace("realpath:/srv/app,1 realpath:/srv/app,0 ");
  }
}

static void test_other_files_are_libc_s(void **state) {
  static const char *const paths[] = {"/proc/4001/exe", "/proc/self/ex", "/proc/self/exe"};
  char text[20], expected[100];
  (void)state;
  ((char *(*)(const char *, char *))overridden(tm_override_shared, "realpath"))(NULL, text);
  check_trace("realpath:null,1 ");
  for (int i = 0; i < 3; i++) {
    if (i == 2) caller = NULL; /* tmpirun itself asks */
    assert_int_equal(CALL(readlink)(paths[i], text, 9), 21);
    assert_int_equal(CALL(readlinkat)(6, paths[i], text, 9), 22);
    CALL(realpath)(paths[i], text);
    snprintf(expected, sizeof expected, "readlink:%s,9 readlinkat:6,%s,9 realpath:%s,1 ", paths[i],
             paths[i], paths[i]);
    check_trace(expected);
  }
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup_teardown(test, start, end)
  const struct CMUnitTest tests[] = {
      ROW(test_several_ranks_are_not_replaced),
      ROW(test_the_only_rank_is_replaced),
      ROW(test_a_child_is_replaced),
      ROW(test_daemons),
      ROW(test_a_rank_s_file_is_its_program),
      ROW(test_other_files_are_libc_s),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
