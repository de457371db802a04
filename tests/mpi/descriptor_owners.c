/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rank has which descriptor (src/tmpi/run/owners.c). The process's descriptors are an array:
 * one thread plays ranks, tmpirun, and the libraries that open and close some without a call that
 * a rank sees.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "captured.h"
#include "counted_blocks.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/owners.h"
#include "traced_calls.h"

enum { RANKS = 3, MOST = 1 << 20 /* descriptors from here on have no owner */, FREE = 8 };

/* What a descriptor stands for; 0: it is closed. From `FREE` on, tmpirun has made none. */
static struct {
  int file;
  bool on_exec; /* it is closed then */
} table[MOST + 2];
static int rank; /* the calling one */

int tm_rank_number(void) { return rank; }

static bool is_open(int fd) { return fd >= 0 && fd < MOST + 2 && table[fd].file != 0; }

static void put(int fd, int file, bool on_exec) {
  table[fd].file = file;
  table[fd].on_exec = on_exec;
}

int __wrap_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status) {
  *status = (struct stat){.st_dev = 77};
  if (!is_open(fd)) return -1;
  *status = (struct stat){.st_dev = (dev_t)table[fd].file % 2, .st_ino = (ino_t)table[fd].file / 2};
  return 0;
}

static bool has_descriptors = true;

int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  int argument = va_arg(list, int);
  va_end(list);
  if (command == F_GETFD) return is_open(fd) ? (table[fd].on_exec ? FD_CLOEXEC : 0) : -1;
  if (command == F_SETFD) {
    assert_int_equal(argument, FD_CLOEXEC);
    note("on_exec:%d", fd);
    table[fd].on_exec = true;
    return 0;
  }
  assert_true(fd == STDERR_FILENO && command == F_DUPFD_CLOEXEC && argument == STDERR_FILENO + 1);
  if (!has_descriptors) return -1;
  table[FREE].file = 1;
  return FREE;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
  if (!is_open(fd)) return __real_close(fd); /* the test's own */
  note("close:%d", fd);
  table[fd].file = 0;
  return 0;
}

int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  assert_string_equal(path, "/dev/null");
  assert_int_equal(flags, O_RDWR | O_CLOEXEC);
  note("null");
  if (!has_descriptors) return -1;
  put(900, 1000, true);
  return 900;
}

int __wrap_dup3(int from, int to, int flags);
int __wrap_dup3(int from, int to, int flags) {
  assert_true(from == 900 && flags == O_CLOEXEC);
  note("replace:%d", to);
  put(to, table[from].file, true);
  return to;
}

static int actions_left; /* before there is no memory for one */

int __wrap_posix_spawn_file_actions_addclose(posix_spawn_file_actions_t *actions, int fd);
int __wrap_posix_spawn_file_actions_addclose(posix_spawn_file_actions_t *actions, int fd) {
  assert_non_null(actions);
  note("action:%d", fd);
  return actions_left-- > 0 ? 0 : ENOMEM;
}

/* ---- what ranks do */

static void make_as(int maker, int fd, int file) {
  put(fd, file, false);
  rank = maker;
  assert_int_equal(tm_owner_note(fd), fd);
}

static int other_of(int caller, int fd) {
  rank = caller;
  return tm_owner_other(fd);
}

static void check_owner(int fd, int owner) {
  int caller = rank;
  for (int i = 0; i < RANKS; i++)
    assert_int_equal(other_of(i, fd), i == owner ? TM_OWNER_NONE : owner);
  rank = caller;
}

static void spawn_as(int caller, int expected) {
  posix_spawn_file_actions_t actions;
  rank = caller;
  assert_int_equal(tm_owners_spawn(&actions), expected);
}

static int start(void **state) {
  (void)state;
  has_descriptors = true;
  actions_left = 99;
  trace[0] = '\0';
  return 0;
}

/* All ranks end, and the numbers are free again. */
static int end(void **state) {
  (void)state;
  has_descriptors = true;
  for (int i = 0; i < RANKS; i++) tm_owners_end(i);
  for (int fd = FREE; fd < MOST + 2; fd++) table[fd].file = 0;
  return 0;
}

/* ---- tests */

/* In a job of one rank, which has all of them. */
static void test_one_rank(void **state) {
  (void)state;
  tm_owners_begin();
  make_as(0, 10, 5);
  tm_owner_forget(10);
  assert_int_equal(tm_owner_other(10), TM_OWNER_NONE);
  tm_owners_close_own(3, 99, false);
  tm_owners_close_others(0);
  tm_owners_end(0);
  spawn_as(0, 0);
  check_trace("");
}

static void start_without_memory(const void *unused) {
  (void)unused;
  for (int i = 0; i < 3; i++) {
    allocations_left = i;
    if (tm_owners_start(RANKS)) _exit(98);
  }
}

/* tmpirun ends then. */
static void test_no_memory(void **state) {
  (void)state;
  char text[10];
  assert_true(captured_in_child(start_without_memory, NULL, text, sizeof text));
  assert_true(tm_owners_start(RANKS)); /* for the tests that follow */
  has_descriptors = false;
  tm_owners_begin(); /* it knows none of tmpirun's then */
  put(3, 30, true);
  assert_int_equal(other_of(0, 3), TM_OWNER_NONE);
  check_trace("");
}

/* What tmpirun was started with stays open in programs that it starts, and is anyone's. */
static void test_descriptors_of_tmpirun(void **state) {
  (void)state;
  put(3, 30, true);
  put(4, 40, false);
  put(6, 60, true);
  put(7, 70, true);
  tm_owners_begin();
  check_trace("close:8 ");
  check_owner(3, TM_OWNER_TMPIRUN);
  check_owner(4, TM_OWNER_NONE);
  check_owner(5, TM_OWNER_NONE); /* closed */
  check_owner(7, TM_OWNER_TMPIRUN);
  put(FREE, 80, true); /* a library's */
  check_owner(FREE, TM_OWNER_NONE);
  put(6, 61, true); /* one has closed it, and another one has the number */
  check_owner(6, TM_OWNER_NONE);
  put(7, 71, true);
  check_owner(7, TM_OWNER_NONE);
  put(7, 70, true);
  table[3].file = 0;
  check_owner(3, TM_OWNER_NONE);
  assert_int_equal(other_of(-1, 7), TM_OWNER_NONE); /* the caller is no rank */
  for (int fd = 0; fd < 3; fd++) put(fd, 90, true);
  for (int fd = 0; fd < 3; fd++) check_owner(fd, TM_OWNER_NONE); /* streams have other owners */
}

static void test_the_maker_has_it(void **state) {
  (void)state;
  make_as(0, 20, 200);
  make_as(2, 21, 210);
  check_owner(20, 0);
  check_owner(21, 2);
  check_owner(22, TM_OWNER_NONE);
  make_as(1, 20, 201); /* the next maker */
  check_owner(20, 1);
  tm_owner_forget(20);
  check_owner(20, TM_OWNER_NONE);
  put(21, 211, false); /* by a library */
  check_owner(21, TM_OWNER_NONE);
  table[21].file = 0;
  check_owner(21, TM_OWNER_NONE);
  make_as(-1, 22, 220); /* no rank has made it */
  check_owner(22, TM_OWNER_NONE);
}

static void test_numbers_without_owners(void **state) {
  (void)state;
  rank = 1;
  assert_int_equal(tm_owner_note(-1), -1);
  tm_owner_forget(-1);
  make_as(1, 2, 30);
  check_owner(2, TM_OWNER_NONE);
  make_as(1, MOST, 31);
  check_owner(MOST, TM_OWNER_NONE);
  make_as(1, MOST - 1, 32);
  check_owner(MOST - 1, 1);
  make_as(1, 3, 33);
  check_owner(3, 1);
}

/* ---- streams without a descriptor */

static FILE *stream_of(int maker, char *room) {
  FILE *stream = fmemopen(room, 4, "w");
  assert_non_null(stream);
  rank = maker;
  tm_owner_note_stream(stream);
  return stream;
}

/* @return the ranks for which the stream is another's, a bit each. */
static int others_of(FILE *stream) {
  int found = 0;
  for (rank = 0; rank < RANKS; rank++) found |= tm_owner_is_others_stream(stream) << rank;
  return found;
}

static void test_streams_without_a_descriptor(void **state) {
  char rooms[3][4];
  (void)state;
  FILE *first = stream_of(0, rooms[0]), *second = stream_of(2, rooms[1]);
  assert_int_equal(others_of(first), 6);
  assert_int_equal(others_of(second), 3);
  rank = -1;
  assert_false(tm_owner_is_others_stream(first));
  rank = 1;
  tm_owner_note_stream(first); /* another one at that address, which a library has closed */
  assert_int_equal(others_of(first), 5);
  tm_owner_forget_stream(first);
  tm_owner_forget_stream(first);
  assert_int_equal(others_of(first), 0);
  assert_int_equal(others_of(second), 3);
  int before = blocks;
  FILE *third = stream_of(1, rooms[2]); /* its rank has noted one before */
  assert_int_equal(blocks, before);
  assert_int_equal(others_of(third), 5);
  memory_is_out = true;
  rank = 2;
  tm_owner_note_stream(first);
  memory_is_out = false;
  assert_int_equal(others_of(first), 0);
  rank = -1;
  tm_owner_note_stream(first); /* no rank's */
  assert_int_equal(others_of(first), 0);
  for (int i = 0; i < 3; i++) fclose(i == 0 ? first : i == 1 ? second : third);
}

static void test_a_stream_is_its_descriptor_s(void **state) {
  (void)state;
  FILE *stream = fopen("/dev/null", "w");
  assert_non_null(stream);
  int fd = fileno(stream);
  make_as(1, fd, 50);
  assert_int_equal(others_of(stream), 5);
  tm_owner_forget(fd);
  assert_int_equal(others_of(stream), 0);
  table[fd].file = 0;
  fclose(stream);
}

/* ---- what a rank closes */

static void make_some(void) {
  for (int fd = 20; fd < 26; fd++) make_as(fd % 2, fd, 10 * fd);
}

static void test_a_rank_closes_a_range_of_its_own(void **state) {
  (void)state;
  make_some();
  rank = 0;
  tm_owners_close_own(22, 24, true);
  check_trace("on_exec:22 on_exec:24 ");
  check_owner(22, 0);
  tm_owners_close_own(21, 23, false);
  check_trace("close:22 ");
  check_owner(22, TM_OWNER_NONE);
  tm_owners_close_own(0, ~0U, false);
  check_trace("close:20 close:24 ");
  tm_owners_close_own(0, ~0U, false);
  tm_owners_close_own(MOST, ~0U, false);
  rank = 1;
  tm_owners_close_own(22, 22, false);
  rank = -1;
  tm_owners_close_own(0, ~0U, false);
  rank = 1;
  put(23, 231, false); /* a library has the number */
  tm_owners_close_own(21, 23, false);
  check_trace("close:21 ");
}

/* Its numbers stay in use: a stream that is left would write to what another rank opens. */
static void test_a_rank_ends(void **state) {
  (void)state;
  make_some();
  put(24, 241, false); /* a library has the number */
  tm_owners_end(0);
  check_trace("null replace:20 replace:22 close:900 ");
  check_owner(20, TM_OWNER_NONE);
  check_owner(21, 1);
  tm_owners_end(0);
  tm_owners_end(2); /* it has none */
  check_trace("");
  has_descriptors = false;
  tm_owners_end(1);
  check_trace("null ");
}

static void end_with_one(const void *unused) {
  (void)unused;
  make_as(2, 30, 300);
  tm_owners_end(2);
  if (strcmp(trace, "null replace:30 close:900 ") != 0) _exit(98);
}

/* Its first descriptor is enough. In a job in which no rank has had one. */
static void test_a_rank_that_ends_with_its_first_descriptor(void **state) {
  (void)state;
  char text[10];
  assert_true(captured_in_child(end_with_one, NULL, text, sizeof text));
}

/* It has taken a number that was another rank's, which has none any more. */
static void test_counts_of_descriptors(void **state) {
  (void)state;
  make_as(0, 30, 300);
  make_as(0, 30, 300); /* the same again */
  make_as(1, 30, 301);
  put(30, 300, false);
  tm_owners_end(0);
  check_trace("");
  put(30, 301, false);
  tm_owners_end(1);
  check_trace("null replace:30 close:900 ");
  make_as(2, 30, 302);
  tm_owner_forget(30);
  tm_owner_forget(30);
  tm_owners_end(2);
  check_trace("");
}

/* ---- what a rank starts */

static void test_children_of_a_rank(void **state) {
  (void)state;
  make_some();
  put(23, 231, false); /* the next maker's */
  spawn_as(0, 0);
  check_trace("action:21 action:25 ");
  spawn_as(2, 0);
  check_trace("action:20 action:21 action:22 action:24 action:25 ");
  spawn_as(-1, 0);
  check_trace("");
  actions_left = 1;
  spawn_as(2, ENOMEM);
  check_trace("action:20 action:21 ");
  tm_owners_close_others(1);
  check_trace("close:20 close:22 close:24 ");
  tm_owners_close_others(1);
  check_trace("");
}

int main(void) {
#define ROW(name) cmocka_unit_test_setup_teardown(name, start, end)
  const struct CMUnitTest tests[] = {
      ROW(test_one_rank), /* the first one */
      ROW(test_no_memory),
      ROW(test_a_rank_that_ends_with_its_first_descriptor), /* before the others */
      ROW(test_descriptors_of_tmpirun),
      ROW(test_the_maker_has_it),
      ROW(test_numbers_without_owners),
      ROW(test_streams_without_a_descriptor),
      ROW(test_a_stream_is_its_descriptor_s),
      ROW(test_a_rank_closes_a_range_of_its_own),
      ROW(test_a_rank_ends),
      ROW(test_counts_of_descriptors),
      ROW(test_children_of_a_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
