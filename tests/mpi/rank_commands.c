/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of the shell that ranks start, call by call (src/tmpi/run/children.c): system(), popen()
 * and pclose(), and what they undo where something fails. The test is the shell.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "children_kernel.h"

static int ends[2], pipe_error, stream_error, add_error, shell_end, shell_as, exit_status;

int __real_pipe2(int made[2], int flags);
int __wrap_pipe2(int made[2], int flags);
int __wrap_pipe2(int made[2], int flags) {
  assert_int_equal(flags, O_CLOEXEC);
  errno = pipe_error;
  if (pipe_error != 0) return -1;
  assert_int_equal(__real_pipe2(ends, flags), 0);
  made[0] = ends[0], made[1] = ends[1];
  return 0;
}

FILE *__real_fdopen(int fd, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode) {
  errno = stream_error;
  return stream_error != 0 ? NULL : __real_fdopen(fd, mode);
}

int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *list, int fd, int to);
int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *list, int fd, int to) {
  assert_int_equal(*(unsigned char *)list, 0xa5);
  note("dup");
  shell_end = dup(fd);
  shell_as = to;
  return add_error;
}

int __wrap_posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *list,
                       const posix_spawnattr_t *attributes, char *const *words,
                       char *const *environment);
int __wrap_posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *list,
                       const posix_spawnattr_t *attributes, char *const *words,
                       char *const *environment) {
  assert_int_equal(*(const unsigned char *)list, 0xa5);
  assert_true(attributes == NULL && environment == rank_environment && words[3] == NULL);
  note("%s:%s,%s,%s", path, words[0], words[1], words[2]);
  int error = spawn(child, 0);
  if (error == 0) kids[kid_count - 1].status = exit_status << 8;
  return error;
}

int __wrap_system(const char *command);
int __wrap_system(const char *command) {
  note("system:%s", command != NULL ? command : "(null)");
  return 55;
}

FILE *__wrap_popen(const char *command, const char *mode);
FILE *__wrap_popen(const char *command, const char *mode) {
  note("popen:%s,%s", command, mode);
  return stderr;
}

int __wrap_pclose(FILE *stream);
int __wrap_pclose(FILE *stream) {
  assert_ptr_equal(stream, stderr);
  note("pclose");
  return 66;
}

static bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

static int set_up(void **state) {
  (void)state;
  memset(processes, 0, sizeof processes);
  self = &processes[0];
  kid_count = interruptions = start_error = list_error = pipe_error = stream_error = add_error = 0;
  libcs = false;
  exit_status = 0;
  given_list = NULL;
  shell_end = -1;
  trace[0] = '\0';
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  if (shell_end >= 0) close(shell_end);
  assert_int_equal(blocks, 0);
  assert_int_equal(lists, 0);
  assert_null(processes[0].children);
  return 0;
}

/* ---- system() */

/* A handler does not end the wait, and wait() of the program does not find the shell. */
static void test_a_command(void **state) {
  (void)state;
  interruptions = 2;
  assert_int_equal(CALL(system)("command"), 0);
  check_trace(
      "/bin/sh:sh,-c,command wait:100 [ wait:100 ] wait:100 [ wait:100 ] wait:100 [ wait:100 ] ");
  trace[0] = '\0';
  exit_status = 3;
  assert_int_equal(CALL(system)("command"), 3 << 8);
  assert_null(self->children);
}

static void test_commands_that_cannot_start(void **state) {
  (void)state;
  start_error = EAGAIN;
  assert_int_equal(CALL(system)("command"), -1);
  assert_int_equal(errno, EAGAIN);
  check_trace("/bin/sh:sh,-c,command ");
  list_error = ENOMEM;
  assert_int_equal(CALL(system)("command"), -1);
  assert_int_equal(errno, ENOMEM);
  check_trace("");
}

/* ---- popen() */

static void test_what_a_command_prints(void **state) {
  char text[8] = "";
  (void)state;
  FILE *stream = CALL(popen)("command", "r");
  assert_non_null(stream);
  char expected[64];
  snprintf(expected, sizeof expected, "dup /bin/sh:sh,-c,command own:%d ", ends[0]);
  check_trace(expected);
  assert_int_equal(shell_as, STDOUT_FILENO);
  assert_int_equal(fileno(stream), ends[0]);
  assert_true(is_open(ends[0]) && !is_open(ends[1]));
  assert_int_equal(write(shell_end, "text\n", 5), 5);
  assert_string_equal(fgets(text, sizeof text, stream), "text\n");
  errno = 0;
  assert_int_equal(CALL(wait)(NULL), -1); /* it does not find the command */
  assert_int_equal(errno, ECHILD);
  kids[0].status = 7 << 8;
  assert_int_equal(CALL(pclose)(stream), 7 << 8);
  snprintf(expected, sizeof expected, "forget:%d wait:100 [ wait:100 ] ", ends[0]);
  check_trace(expected);
  assert_false(is_open(ends[0]));
}

static void test_what_a_command_reads(void **state) {
  char text[8] = "";
  (void)state;
  FILE *stream = CALL(popen)("command", "w"), *other = CALL(popen)("other", "r");
  assert_int_equal(shell_as, STDOUT_FILENO);
  close(shell_end);
  assert_int_equal(CALL(pclose)(other), 0);
  assert_true(kids[1].is_gone && !kids[0].is_gone);
  assert_int_equal(CALL(pclose)(stream), 0);
  stream = CALL(popen)("command", "w");
  assert_int_equal(shell_as, STDIN_FILENO);
  assert_int_equal(fileno(stream), ends[1]);
  assert_true(is_open(ends[1]) && !is_open(ends[0]));
  assert_true(fputs("text\n", stream) >= 0);
  kids[2].is_gone = true; /* the program has waited for it by its number */
  assert_int_equal(CALL(pclose)(stream), -1);
  assert_int_equal(errno, ECHILD);
  assert_int_equal(read(shell_end, text, sizeof text), 5);
  assert_string_equal(text, "text\n");
}

static void check_no_stream(const char *mode, int error, bool has_pipe) {
  ends[0] = ends[1] = -1;
  errno = 0;
  assert_null(CALL(popen)("command", mode));
  assert_int_equal(errno, error);
  assert_int_equal(ends[0] >= 0, has_pipe);
  assert_false(is_open(ends[0]));
  assert_false(is_open(ends[1]));
  assert_int_equal(blocks, 0);
  if (shell_end >= 0) close(shell_end);
  shell_end = -1;
}

static void test_streams_that_cannot_be_made(void **state) {
  (void)state;
  check_no_stream("x", EINVAL, false);
  check_no_stream("rw", EINVAL, false);
  check_trace("");
  pipe_error = EMFILE;
  check_no_stream("r", EMFILE, false);
  pipe_error = 0;
  for (int i = 0; i < 2; i++) {
    const char *mode = i == 0 ? "r" : "w";
    memory_is_out = true;
    check_no_stream(mode, 0, true); /* the test's malloc() leaves errno alone */
    memory_is_out = false;
    stream_error = EMFILE;
    check_no_stream(mode, EMFILE, true);
    stream_error = 0;
    check_trace("");
    add_error = ENOMEM;
    check_no_stream(mode, ENOMEM, true);
    add_error = 0;
    check_trace("dup ");
    start_error = EAGAIN;
    check_no_stream(mode, EAGAIN, true);
    start_error = 0;
    check_trace("dup /bin/sh:sh,-c,command ");
    list_error = ENOMEM;
    check_no_stream(mode, ENOMEM, true);
    list_error = 0;
    check_trace("");
  }
}

/* ---- libc's */

static void test_what_is_left_to_libc(void **state) {
  (void)state;
  assert_int_equal(CALL(system)(NULL), 55);
  assert_int_equal(CALL(pclose)(stderr), 66); /* libc's popen() has made it */
  self = NULL;
  assert_int_equal(CALL(system)("command"), 55);
  assert_ptr_equal(CALL(popen)("command", "r"), stderr);
  assert_int_equal(CALL(pclose)(stderr), 66);
  check_trace("system:(null) pclose system:command popen:command,r pclose ");
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      ROW(test_a_command),
      ROW(test_commands_that_cannot_start),
      ROW(test_what_a_command_prints),
      ROW(test_what_a_command_reads),
      ROW(test_streams_that_cannot_be_made),
      ROW(test_what_is_left_to_libc),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
