/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Record locks of ranks (src/tmpi/run/record_locks.c): which requests of fcntl() and lockf() become
 * those of open file descriptions, and which calls say that they wait. The test is the kernel.
 */
#include "traced_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <mltp/mltp.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "overridden.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"

enum { FD = 5, MEANT = 15 };

static struct tm_program program;
struct tm_program *tm_the_program = &program;
static int rank;
static bool waiting, kernel_fails;
static short found_type; /* what F_OFD_GETLK finds */

int tm_rank_number(void) { return rank; }
int tm_streams_meant(int fd) { return fd == FD ? MEANT : fd; }

int tm_streams_give(int fd, int least, const char *call) {
  note("give:%d,%d,%s", fd, least, call);
  return fd + 100;
}

void tm_set_errno(int error) { errno = error; }

void mltp_blocking_begin(void) {
  waiting = true;
  errno = 0;
}

void mltp_blocking_end(void) {
  waiting = false;
  errno = 0;
}

static const char *name_of(int command) {
  static const struct {
    int command;
    const char *name;
  } names[] = {{F_OFD_SETLK, "set"}, {F_OFD_SETLKW, "wait"}, {F_OFD_GETLK, "get"},
               {F_SETLK, "SET"},     {F_SETLKW, "WAIT"},     {F_GETLK, "GET"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (names[i].command == command) return names[i].name;
  return NULL;
}

int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  const char *name = name_of(command);
  if (name == NULL) {
    note("%d:%d,%d", command, fd, (int)(intptr_t)argument);
    return 41;
  }
  struct flock *lock = argument;
  note("%s%s:%d,%d,%d,%d,%d", waiting ? "waits-" : "", name, fd, lock->l_type, lock->l_whence,
       (int)lock->l_len, (int)lock->l_pid);
  errno = EAGAIN;
  if (kernel_fails) return -1;
  if (command == F_OFD_GETLK) *lock = (struct flock){.l_type = found_type, .l_pid = -1};
  return 0;
}

int __wrap_lockf(int fd, int command, off_t length);
int __wrap_lockf(int fd, int command, off_t length) {
  note("lockf:%d,%d,%d", fd, command, (int)length);
  return 42;
}

#define CALL(name) ((__typeof__(name) *)overridden(tm_override_files, #name))

static int start(void **state) {
  (void)state;
  program.ranks = 2;
  rank = 0;
  waiting = kernel_fails = false;
  found_type = F_UNLCK;
  trace[0] = '\0';
  return 0;
}

static void test_locks_are_of_open_files(void **state) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 9, .l_pid = 77};
  (void)state;
  assert_int_equal(CALL(fcntl)(FD, F_SETLK, &lock), 0);
  assert_int_equal(CALL(fcntl)(FD, F_SETLKW, &lock), 0);
  assert_int_equal(CALL(fcntl)(FD, F_OFD_SETLKW, &lock), 0);
  check_trace("set:15,1,0,9,0 waits-wait:15,1,0,9,0 waits-wait:15,1,0,9,0 ");
  assert_int_equal(lock.l_pid, 77); /* it stays the program's */
  found_type = F_RDLCK;
  assert_int_equal(CALL(fcntl)(FD, F_GETLK, &lock), 0);
  check_trace("get:15,1,0,9,0 ");
  assert_true(lock.l_type == F_RDLCK && lock.l_pid == -1);
  kernel_fails = true;
  errno = 0;
  assert_int_equal(CALL(fcntl)(FD, F_SETLKW, &lock), -1);
  assert_int_equal(errno, EAGAIN);
  assert_false(waiting);
}

static void test_other_requests(void **state) {
  char expected[100];
  (void)state;
  assert_int_equal(CALL(fcntl)(FD, F_DUPFD, 3), 141);
  assert_int_equal(CALL(fcntl)(FD, F_DUPFD_CLOEXEC, 4), 141);
  snprintf(expected, sizeof expected, "%d:15,3 give:41,3,fcntl %d:15,4 give:41,4,fcntl ", F_DUPFD,
           F_DUPFD_CLOEXEC);
  check_trace(expected);
  assert_int_equal(CALL(fcntl)(FD, F_GETFL, 6), 41);
  snprintf(expected, sizeof expected, "%d:15,6 ", F_GETFL);
  check_trace(expected);
}

static void test_lockf(void **state) {
  (void)state;
  assert_int_equal(CALL(lockf)(FD, F_LOCK, 7), 0);
  assert_int_equal(CALL(lockf)(FD, F_TLOCK, 7), 0);
  assert_int_equal(CALL(lockf)(FD, F_ULOCK, 7), 0);
  check_trace("waits-wait:15,1,1,7,0 set:15,1,1,7,0 set:15,2,1,7,0 ");
  assert_int_equal(CALL(lockf)(FD, F_TEST, 7), 0);
  check_trace("get:15,1,1,7,0 ");
  found_type = F_WRLCK; /* another's */
  assert_int_equal(CALL(lockf)(FD, F_TEST, 7), -1);
  assert_int_equal(errno, EACCES);
  trace[0] = '\0';
  kernel_fails = true;
  assert_int_equal(CALL(lockf)(FD, F_TEST, 7), -1);
  assert_int_equal(errno, EAGAIN);
  assert_int_equal(CALL(lockf)(FD, F_TLOCK, 7), -1);
  assert_int_equal(errno, EAGAIN);
  trace[0] = '\0';
  assert_int_equal(CALL(lockf)(FD, 99, 7), -1);
  assert_int_equal(errno, EINVAL);
  check_trace("");
}

/* Without other ranks a lock of the process is right. */
static void test_locks_of_a_process(void **state) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 9};
  (void)state;
  for (int i = 0; i < 2; i++) {
    program.ranks = i == 0 ? 1 : 2;
    rank = i == 0 ? 0 : -1;
    assert_int_equal(CALL(fcntl)(FD, F_SETLKW, &lock), 0);
    assert_int_equal(CALL(lockf)(FD, 99, 7), 42);
    check_trace("WAIT:5,1,0,9,0 lockf:5,99,7 ");
  }
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup(test, start)
  const struct CMUnitTest tests[] = {
      ROW(test_locks_are_of_open_files),
      ROW(test_other_requests),
      ROW(test_lockf),
      ROW(test_locks_of_a_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
