/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of ranks, step by step (src/tmpi/run/output.c): whose text goes where, that lines are
 * whole, what is written where there is no memory for a line, and what is said of output that was
 * lost. Writes are noted; the streams are those of the file. Each case is a process of its own,
 * since a job starts its output once.
 */
#include "traced_calls.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "captured.h"
#include "os/map.h"
#include "os/os.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/output.h"

enum { RANKS = 12, TEXT = 1200, FILES = 100, OWN = 50 };

/* ---- the rest of the library */

static int rank = -1; /* that prints */
static void (*at_write)(void);
static int write_error; /* of all writes; 0: they succeed */
static int file_error[RANKS + 2];
static int own_stdout = TM_OUTPUT_SHARED; /* what rank 3 has in the place of stdout */

int tm_rank_number(void) { return rank; }

int os_write(int fd, const char *text, size_t length) {
  char line[200];
  snprintf(line, sizeof line, "%.*s", (int)length, text);
  for (char *end = line; (end = strchr(end, '\n')) != NULL;) *end = '/';
  note("%d:%s", fd, line);
  if (at_write != NULL) at_write();
  errno = EDOM; /* of no meaning */
  return write_error;
}

int os_file_make(const char *path, int *fd) {
  int number = atoi(strrchr(path, '.') + 1);
  note("make:%s", path);
  *fd = FILES + number;
  return file_error[number];
}

void os_raise_file_limit(void) { note("limit"); }

int __wrap_raise(int signo);
int __wrap_raise(int signo) {
  note("raise:%d", signo == SIGPIPE);
  return 0;
}

/* ---- memory */

static int allocations_left = -1; /* before one fails; -1: none does */

static bool fails(void) { return allocations_left >= 0 && allocations_left-- == 0; }

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size) {
  return fails() ? NULL : __real_realloc(block, size);
}

FILE *__real_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions);
FILE *__wrap_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions);
FILE *__wrap_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions) {
  return fails() ? NULL : __real_fopencookie(cookie, mode, functions);
}

/* ---- a case runs in a child, since it changes stdout; what it prints last comes back */

static char seen[TEXT]; /* what the case has checked, "": all was right */

#define SEE(condition) see(condition, __LINE__)
static void see(bool right, int line) {
  if (!right && seen[0] == '\0') snprintf(seen, sizeof seen, "line %d, trace \"%s\"", line, trace);
}

#define SEE_TRACE(expected)                                                                        \
  do {                                                                                             \
    SEE(strcmp(trace, expected) == 0);                                                             \
    trace[0] = '\0';                                                                               \
  } while (0)

static void in_child(void (*function)(void)) {
  int ends[2], status;
  char text[TEXT] = "";
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    function();
    _exit(write(ends[1], seen, strlen(seen)) != (ssize_t)strlen(seen));
  }
  close(ends[1]);
  assert_true(read(ends[0], text, sizeof text - 1) >= 0);
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_string_equal(text, "");
  assert_int_equal(status, 0);
}

/* @return whether a call returns this, and what it says on a stderr that is not ours. */
static bool says(bool (*call)(void), bool expected, const char *message) {
  char text[TEXT];
  struct captured captured = captured_begin();
  FILE *ours = stderr, *plain = fdopen(dup(STDERR_FILENO), "w");
  stderr = plain;
  bool result = call();
  if (stderr == plain) stderr = ours; /* otherwise the call has routed it */
  fclose(plain);
  captured_end(&captured, text, sizeof text);
  if (strcmp(text, message) != 0) note("said:%s", text);
  return result == expected && strcmp(text, message) == 0;
}

static void print(int by, const char *text) {
  rank = by;
  SEE(fputs(text, stdout) >= 0);
}

/* ---- labels */

static void whole_lines(void) {
  SEE(tm_output_start(RANKS, true, NULL) && tm_output_is_routed());
  print(3, "a");
  print(11, "b\n");
  SEE_TRACE("1:[11] b/ ");
  print(3, "c\nd\ne");
  SEE_TRACE("1:[ 3] ac/ 1:[ 3] d/ ");
  SEE(fputs("f\n", stderr) >= 0);
  SEE_TRACE("2:[ 3] f/ ");
  tm_output_end(11);
  SEE_TRACE("");
  tm_output_end(3);
  SEE_TRACE("1:[ 3] e/ ");
  print(0, "g");
  print(11, "h");
  fputs("i", stderr);
  tm_output_end_all();
  SEE_TRACE("1:[ 0] g/ 1:[11] h/ 2:[11] i/ ");
  tm_output_end_all();
  print(-1, "j"); /* tmpirun */
  SEE_TRACE("1:j ");
  SEE(tm_output_file(3) == -1 && tm_output_add(3) == 0);
}

static void lines_are_whole(void **state) {
  (void)state;
  in_child(whole_lines);
}

/* Room is made for the line and its label, and for the end that tm_output_end() adds. */
static void a_long_line(void) {
  char text[100], expected[120];
  SEE(tm_output_start(11, true, NULL)); /* the last one has two digits */
  for (int length = 1; length < 90; length++) {
    for (int piece = 0; piece < length; piece++) print(7, "x");
    memset(text, 'x', (size_t)length);
    text[length] = '\0';
    snprintf(expected, sizeof expected, "1:[ 7] %s/ ", text);
    tm_output_end(7);
    SEE_TRACE(expected);
  }
}

static void lines_of_any_length_have_room(void **state) {
  (void)state;
  in_child(a_long_line);
}

/* Better torn than lost. */
static void without_memory(void) {
  SEE(tm_output_start(RANKS, true, NULL));
  print(3, "abc");
  allocations_left = 0;
  print(3, "0123456789012345678901234567890123456789012345678901234567890123456789");
  SEE_TRACE(
      "1:[ 3] abc "
      "1:0123456789012345678901234567890123456789012345678901234567890123456789 ");
  print(3, "z\n");
  SEE_TRACE("1:[ 3] z/ ");
  allocations_left = 0;
  print(4, "d\n"); /* it has printed nothing yet */
  SEE_TRACE("1: 1:d/ 1: ");
  print(4, "e\n");
  SEE_TRACE("1:[ 4] e/ ");
}

static void where_there_is_no_memory_lines_are_torn(void **state) {
  (void)state;
  in_child(without_memory);
}

/* ---- files */

static void files(void) {
  SEE(tm_output_start(RANKS, false, "out"));
  trace[0] = '\0';
  print(3, "a");
  SEE_TRACE("103:a ");
  print(-1, "b");
  SEE_TRACE("1:b ");
  SEE(fputs("c\n", stderr) >= 0);
  SEE(tm_output_file(0) == FILES && tm_output_file(3) == FILES + 3 && tm_output_file(-1) == -1);
  SEE_TRACE("2:c/ ");
  tm_output_end_all();
  SEE(tm_output_reserve(RANKS + 2) && tm_output_file(3) == FILES + 3);
  SEE_TRACE("");
  SEE(tm_output_add(RANKS) == 0 && tm_output_file(RANKS) == FILES + RANKS);
  SEE_TRACE("make:out.12 ");
  file_error[RANKS + 1] = ENOSPC;
  SEE(tm_output_add(RANKS + 1) == ENOSPC);
}

static void a_rank_has_a_file(void **state) {
  (void)state;
  in_child(files);
}

static bool start_files(void) { return tm_output_start(2, false, "out"); }

static void refused_files(void) {
  SEE(says(start_files, true, ""));
  SEE_TRACE("limit make:out.0 make:out.1 ");
  file_error[1] = ENOENT;
  SEE(says(start_files, false,
           "tmpirun: cannot write 'out.1': No such file or directory (another --output)\n"));
  file_error[0] = EMFILE;
  SEE(says(start_files, false,
           "tmpirun: cannot write 'out.0': Too many open files (fewer ranks, or a higher ulimit "
           "-n)\n"));
}

static void files_that_cannot_be_written(void **state) {
  (void)state;
  in_child(refused_files);
}

/* ---- neither: what a rank has redirected goes there */

static int own_of(int of, int fd) {
  return of == 3 && fd == STDOUT_FILENO ? own_stdout : TM_OUTPUT_SHARED;
}

static void redirected(void) {
  char *before = NULL;
  size_t length = 0;
  stdout = open_memstream(&before, &length);
  fputs("before", stdout);
  SEE(tm_output_start(RANKS, false, NULL) && !tm_output_is_routed());
  SEE(tm_output_route(RANKS) && tm_output_is_routed() && length == 6);
  FILE *ours = stdout;
  SEE(tm_output_route(RANKS) && stdout == ours);
  print(3, "a");
  tm_output_follow(own_of);
  print(3, "b");
  own_stdout = OWN;
  print(3, "c");
  print(4, "d");
  SEE(tm_output_write(STDERR_FILENO, "ef", 2) == 2);
  rank = 3;
  SEE(tm_output_write(STDOUT_FILENO, "gh", 2) == 2);
  SEE_TRACE("1:a 1:b 50:c 1:d 2:ef 50:gh ");
  own_stdout = 0;
  print(3, "k");
  SEE_TRACE("0:k ");
  own_stdout = TM_OUTPUT_CLOSED;
  print(3, "lost"); /* as it stays in a process's buffer */
  errno = 0;
  SEE(tm_output_write(STDOUT_FILENO, "lost", 4) == -1 && errno == EBADF);
  SEE(fputs("i", stderr) >= 0 && tm_output_write(STDERR_FILENO, "j", 1) == 1);
  SEE_TRACE("2:i 2:j ");
  tm_output_end_all();
}

static void *try_lock(void *stream) { return ftrylockfile(stream) == 0 ? stream : NULL; }

/* @return whether another thread finds a stream locked. */
static bool is_locked(FILE *stream) {
  pthread_t thread;
  void *free_stream;
  SEE(pthread_create(&thread, NULL, try_lock, stream) == 0);
  SEE(pthread_join(thread, &free_stream) == 0);
  return free_stream == NULL;
}

static void look_at_lock(void) { note("locked:%d", is_locked(stdout)); }

/* What write(2) writes is not within another rank's line. */
static void one_at_a_time(void) {
  SEE(tm_output_route(RANKS));
  at_write = look_at_lock;
  SEE(tm_output_write(STDOUT_FILENO, "a", 1) == 1);
  SEE_TRACE("1:a locked:1 ");
  SEE(!is_locked(stdout));
}

static void a_write_has_the_lock_of_the_stream(void **state) {
  (void)state;
  in_child(one_at_a_time);
}

static void a_rank_redirects_its_output(void **state) {
  (void)state;
  in_child(redirected);
}

static void redirected_before_labels(void) {
  SEE(tm_output_start(RANKS, true, NULL));
  tm_output_follow(own_of);
  own_stdout = OWN;
  print(3, "a\n");
  print(4, "a\n");
  SEE_TRACE("50:a/ 1:[ 4] a/ ");
}

static void what_is_redirected_has_no_label(void **state) {
  (void)state;
  in_child(redirected_before_labels);
}

/* ---- memory at the start */

static bool start_labels(void) { return tm_output_start(RANKS, true, NULL); }
static bool reserve(void) { return tm_output_reserve(RANKS + 2); }

#define NO_MEMORY "tmpirun: no memory to tell the output of ranks apart (fewer ranks)\n"

static void refused_labels(void) {
  for (int most = 0; most < 3; most++) {
    allocations_left = most;
    SEE(says(start_labels, false, NO_MEMORY) && !tm_output_is_routed());
  }
  allocations_left = -1;
  SEE(start_labels() && tm_output_is_routed());
  allocations_left = 0;
  SEE(says(reserve, false, NO_MEMORY));
  allocations_left = -1;
  SEE(reserve());
  print(RANKS + 1, "a\nb");
  tm_output_end_all();
  SEE_TRACE("1:[13] a/ 1:[13] b/ ");
}

static void labels_take_memory(void **state) {
  (void)state;
  in_child(refused_labels);
}

static void refused_file_lists(void) {
  allocations_left = 0;
  SEE(says(start_files, false, NO_MEMORY));
  allocations_left = -1;
  SEE(start_files());
  allocations_left = 0;
  SEE(says(reserve, false, NO_MEMORY));
  SEE(tm_output_file(1) == FILES + 1);
}

static void files_take_memory(void **state) {
  (void)state;
  in_child(refused_file_lists);
}

/* ---- output that was lost */

#define LOST(why) "tmpirun: output of ranks was lost: " why " (make room, or another file)\n"

static void the_first_refusal(void) {
  SEE(tm_output_start(2, true, NULL));
  SEE(says(tm_output_is_complete, true, ""));
  write_error = ENOSPC;
  rank = 1;
  errno = 0;
  SEE(tm_output_write(STDOUT_FILENO, "a\nb\n", 4) == -1 && errno == ENOSPC);
  SEE_TRACE("1:[1] a/ 1:[1] b/ ");
  write_error = EPIPE; /* a reader that has gone ends the job */
  SEE(tm_output_write(STDOUT_FILENO, "c\n", 2) == -1 && errno == EPIPE);
  SEE_TRACE("1:[1] c/ raise:1 ");
  write_error = 0;
  SEE(tm_output_write(STDOUT_FILENO, "d\n", 2) == 2);
  SEE(says(tm_output_is_complete, false, LOST("No space left on device")));
}

static void the_first_error_of_a_write_is_said(void **state) {
  (void)state;
  in_child(the_first_refusal);
}

/* A line of which a part was lost. */
static void a_refused_line(void) {
  SEE(tm_output_start(2, true, NULL));
  rank = 1;
  write_error = EIO;
  fputs("a\n", stdout);
  write_error = 0;
  SEE(says(tm_output_is_complete, false, LOST("Input/output error")));
}

static void a_line_that_is_refused(void **state) {
  (void)state;
  in_child(a_refused_line);
}

static ssize_t refuse(void *cookie, const char *text, size_t length) {
  (void)cookie, (void)text, (void)length;
  errno = EFBIG;
  return -1;
}

/* stdout as a program without --label has it. */
static FILE *broken_stdout(void) {
  const cookie_io_functions_t functions = {.write = refuse};
  return __real_fopencookie(NULL, "w", functions);
}

static bool print_and_look(void) {
  fputs("a", stdout);
  return tm_output_is_complete();
}

static void at_the_end(void) {
  stdout = broken_stdout();
  SEE(says(tm_output_is_complete, true, ""));
  SEE(says(print_and_look, false, LOST("File too large")));
  SEE(says(tm_output_is_complete, false, LOST("Input/output error"))); /* an error of before */
  tm_output_flush_failed(ENOSPC);
  tm_output_flush_failed(EDQUOT);
  SEE(says(tm_output_is_complete, false, LOST("No space left on device")));
  clearerr(stdout); /* the program knows of it */
  SEE(says(tm_output_is_complete, true, ""));
}

static void errors_that_the_end_of_the_job_finds(void **state) {
  (void)state;
  in_child(at_the_end);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_whole),
      cmocka_unit_test(lines_of_any_length_have_room),
      cmocka_unit_test(where_there_is_no_memory_lines_are_torn),
      cmocka_unit_test(a_rank_has_a_file),
      cmocka_unit_test(files_that_cannot_be_written),
      cmocka_unit_test(a_rank_redirects_its_output),
      cmocka_unit_test(a_write_has_the_lock_of_the_stream),
      cmocka_unit_test(what_is_redirected_has_no_label),
      cmocka_unit_test(labels_take_memory),
      cmocka_unit_test(files_take_memory),
      cmocka_unit_test(the_first_error_of_a_write_is_said),
      cmocka_unit_test(a_line_that_is_refused),
      cmocka_unit_test(errors_that_the_end_of_the_job_finds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
