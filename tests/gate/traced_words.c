/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What syscall() asks of libc and of the lot (src/gate/word.c, traced.h): waits for words and
 * wakes, by the kernel and in seeded runs. An answer of libc's below 0 is an error.
 */
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate/lend.h"
#include "gate/look_up.h"
#include "traced.h"

enum { WORD, CALL, VALUE, TIME, SECOND, BITS, ARGUMENTS };

static uint32_t word, second_word;
static long seen[ARGUMENTS]; /* of libc's last call */
static struct timespec time_at_call;

static long noted_call(long number, va_list list) {
  static const char *const calls[] = {[FUTEX_WAIT] = "wait",
                                      [FUTEX_WAKE] = "wake",
                                      [FUTEX_REQUEUE] = "requeue",
                                      [FUTEX_CMP_REQUEUE] = "cmp_requeue",
                                      [FUTEX_WAKE_OP] = "wake_op",
                                      [FUTEX_LOCK_PI] = "lock_pi",
                                      [FUTEX_WAIT_BITSET] = "wait_bitset",
                                      [FUTEX_WAKE_BITSET] = "wake_bitset"};
  for (int i = 0; i < ARGUMENTS; i++) seen[i] = va_arg(list, long);
  time_at_call = (struct timespec){-7, -7}; /* none */
  if (number == SYS_futex) note(calls[seen[CALL] & FUTEX_CMD_MASK]);
  if (number == SYS_futex && seen[TIME] > INT_MAX)
    memcpy(&time_at_call, (const void *)seen[TIME], sizeof time_at_call);
  if (number != SYS_futex) note("another");
  int result = answer();
  if (result >= 0) return result;
  errno = -result;
  return -1;
}

static long libc_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long result = noted_call(number, list);
  va_end(list);
  return result;
}

static long found_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  note("found");
  long result = noted_call(number, list);
  va_end(list);
  return result;
}

gt_any *gt_libc_function(const char *name) {
  CHECK(strcmp(name, "syscall") == 0);
  return (gt_any *)found_syscall;
}

void gt_grant(void) { note("grant"); }

static void start(bool seeded) {
  begin();
  gt_seeded = seeded;
  errno = EDOM; /* as before a call that succeeds */
}

/* A call, whose arguments reach libc as they are. */
static long call(int what, long value, const struct timespec *time, long bits) {
  return syscall(SYS_futex, &word, what, value, time, &second_word, bits);
}

static void check_passed_on(int what, long value, const struct timespec *time, long bits) {
  CHECK(seen[WORD] == (long)&word && seen[CALL] == what && seen[VALUE] == value &&
        seen[TIME] == (long)time && seen[SECOND] == (long)&second_word && seen[BITS] == bits);
}

/* ---- without a seed */

static void waiters_lend_their_permits(void) {
  static const struct timespec time = {3, 4};
  static const int waits[] = {FUTEX_WAIT, FUTEX_WAIT_PRIVATE, FUTEX_WAIT_BITSET,
                              FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME};
  static const char *const names[] = {"wait", "wait", "wait_bitset", "wait_bitset"};
  for (int i = 0; i < 4; i++) {
    char expected[64];
    start(false);
    ANSWER(-EAGAIN);
    EQUAL(call(waits[i], 5, &time, 9), -1);
    EQUAL(errno, EAGAIN);
    check_passed_on(waits[i], 5, &time, 9);
    snprintf(expected, sizeof expected, "@call %s", names[i]);
    TRACE(expected);
    gt_gate.eager = 1; /* a thread waits for the permit */
    EQUAL(call(waits[i], 5, &time, 9), 0);
    snprintf(expected, sizeof expected, "@call ( grant ) %s", names[i]);
    TRACE(expected);
    EQUAL(gt_me.lent, 0);
    refuses = true;
    gt_me.open = 0;
    EQUAL(call(waits[i], 5, &time, 9), 0);
    TRACE(names[i]);
  }
}

static void other_calls_are_the_kernels(void) {
  static const int calls[] = {FUTEX_WAKE, FUTEX_WAKE_PRIVATE, FUTEX_LOCK_PI, FUTEX_REQUEUE};
  static const char *const names[] = {"wake", "wake", "lock_pi", "requeue"};
  for (int i = 0; i < 4; i++) {
    start(false);
    ANSWER(3);
    EQUAL(call(calls[i], 5, NULL, 9), 3);
    TRACE(names[i]);
    check_passed_on(calls[i], 5, NULL, 9);
  }
  start(true); /* the gate's own */
  gt_me.locked = true;
  EQUAL(call(FUTEX_WAIT_PRIVATE, 5, NULL, 9), 0);
  TRACE("wait");
  gt_me.locked = false;
  EQUAL(syscall(SYS_futex, &gt_me.wake, FUTEX_WAIT_PRIVATE, 5, NULL, NULL, 0), 0);
  TRACE("wait");
  ANSWER(12);
  EQUAL(syscall(SYS_gettid, 1L, 2L, 3L, 4L, 5L, 6L), 12);
  TRACE("another");
  for (int i = 0; i < ARGUMENTS; i++) EQUAL(seen[i], i + 1);
  gt_next.syscall = NULL; /* while libc's functions are looked for */
  ANSWER(13);
  EQUAL(call(FUTEX_WAIT_PRIVATE, 5, NULL, 9), 13);
  TRACE("found wait");
  check_passed_on(FUTEX_WAIT_PRIVATE, 5, NULL, 9);
  gt_next.syscall = libc_syscall;
}

/* ---- with a seed */

/* A wait that the kernel would begin. @return the result; the lot's answer follows. */
static long wait_seeded(int what, const struct timespec *time, int of_lot) {
  start(true);
  now = UINT64_C(100000000007);
  ANSWER(-ETIMEDOUT, of_lot); /* the kernel has looked at the word */
  long result = call(what, 5, time, 9);
  CHECK(seen[WORD] == (long)&word && seen[CALL] == what && seen[VALUE] == 5 && seen[SECOND] == 0 &&
        seen[BITS] == 9);
  CHECK(time_at_call.tv_sec == 0 && time_at_call.tv_nsec == 0);
  CHECK(key_seen == &word && limit_seen.interruptible && !limit_seen.cancellable);
  return result;
}

static void seeded_waiters_are_in_the_lot(void) {
  static const int calls[] = {FUTEX_WAIT_PRIVATE, FUTEX_WAIT_BITSET_PRIVATE};
  static const char *const names[] = {"@futex ( in wait wait:word",
                                      "@futex ( in wait_bitset wait:word"};
  for (int i = 0; i < 2; i++) {
    EQUAL(wait_seeded(calls[i], NULL, 0), 0);
    EQUAL(errno, EDOM);
    TRACE(names[i]);
    CHECK(limit_seen.until == NULL && limit_seen.clock == CLOCK_MONOTONIC);
    EQUAL(wait_seeded(calls[i], NULL, EINTR), -1);
    EQUAL(errno, EINTR);
    TRACE(names[i]);
  }
}

static void check_end(int what, struct timespec time, clockid_t clock, long sec, long nsec) {
  EQUAL(wait_seeded(what, &time, ETIMEDOUT), -1);
  EQUAL(errno, ETIMEDOUT);
  trace[0] = '\0';
  EQUAL(limit_seen.clock, clock);
  CHECK(limit_seen.until != NULL);
  EQUAL(until_seen.tv_sec, sec);
  EQUAL(until_seen.tv_nsec, nsec);
}

static void seeded_waits_end_by_the_seeds_clock(void) {
  const int until = FUTEX_WAIT_BITSET_PRIVATE, real = FUTEX_CLOCK_REALTIME;
  struct timespec time = {4000000000, 0};
  check_end(FUTEX_WAIT_PRIVATE, (struct timespec){3, 5}, CLOCK_MONOTONIC, 103, 12);
  EQUAL(clock_seen, CLOCK_MONOTONIC);
  check_end(FUTEX_WAIT_PRIVATE, (struct timespec){0, 999999993}, CLOCK_MONOTONIC, 101, 0);
  check_end(FUTEX_WAIT_PRIVATE | real, (struct timespec){3, 999999999}, CLOCK_REALTIME, 104, 6);
  EQUAL(clock_seen, CLOCK_REALTIME);
  check_end(until, (struct timespec){3, 999999999}, CLOCK_MONOTONIC, 3, 999999999);
  check_end(until | real, (struct timespec){3, 0}, CLOCK_REALTIME, 3, 0);
  check_end(until, (struct timespec){3999999999, 0}, CLOCK_MONOTONIC, 3999999999, 0);
  EQUAL(wait_seeded(until, &time, 0), 0); /* too long to be meant */
  TRACE("@futex ( in wait_bitset wait:word");
  CHECK(limit_seen.until == NULL);
}

/* The kernel says what is wrong with a wait, or that the word has changed. */
static void refused_waits_leave_the_lot(void) {
  static const int answered[] = {-EAGAIN, 0, -EFAULT}, errors[] = {EAGAIN, EAGAIN, EFAULT};
  static const struct timespec bad[] = {{0, 1000000000}, {0, -1}, {-1, 0}};
  for (int i = 0; i < 3; i++) {
    start(true);
    ANSWER(answered[i]);
    EQUAL(call(FUTEX_WAIT_PRIVATE, 5, NULL, 9), -1);
    EQUAL(errno, errors[i]);
    TRACE("@futex ( in wait out )");
  }
  for (int i = 0; i < 3; i++) {
    start(true);
    EQUAL(call(FUTEX_WAIT_PRIVATE, 5, &bad[i], 9), -1);
    EQUAL(errno, EINVAL);
    TRACE("@futex ( in out )");
  }
  start(true); /* processes share the word; the thread has left the gate */
  EQUAL(call(FUTEX_WAIT, 5, NULL, 9), 0);
  TRACE("wait");
  refuses = true;
  gt_me.open = 0;
  EQUAL(call(FUTEX_WAIT_PRIVATE, 5, NULL, 9), 0);
  TRACE("wait");
}

static void check_wake(int what, long value, long bits, int there, const char *expected) {
  start(true);
  woken_there = there;
  ANSWER(2); /* the kernel has woken some */
  EQUAL(call(what, value, NULL, bits), 2 + there * (what == FUTEX_WAKE_OP_PRIVATE ? 2 : 1));
  check_passed_on(what, value, NULL, bits);
  CHECK(woken_seen == (what == FUTEX_WAKE_OP_PRIVATE ? &second_word : &word));
  TRACE(expected);
}

static void seeded_wakes_are_in_the_lot_too(void) {
  const long any = FUTEX_BITSET_MATCH_ANY;
  check_wake(FUTEX_WAKE_PRIVATE, 5, 9, 3, "wake ( wake:3 ) @futex");
  check_wake(FUTEX_WAKE_PRIVATE, INT_MAX, 9, 0, "wake ( wake:2147483645 ) @futex");
  check_wake(FUTEX_WAKE_BITSET_PRIVATE, 5, any, 3, "wake_bitset ( wake:3 ) @futex");
  check_wake(FUTEX_WAKE_BITSET_PRIVATE, 5, -1, 3, "wake_bitset ( wake:3 ) @futex");
  check_wake(FUTEX_WAKE_BITSET_PRIVATE, 5, 1, 4, "wake_bitset ( wake:2147483647 ) @futex");
  check_wake(FUTEX_CMP_REQUEUE_PRIVATE, 5, any, 4, "cmp_requeue ( wake:2147483647 ) @futex");
  check_wake(FUTEX_WAKE_OP_PRIVATE, 5, 9, 3, "wake_op ( wake:2147483647 wake:2147483647 ) @futex");
  start(true);
  ANSWER(-EINVAL);
  EQUAL(call(FUTEX_WAKE_PRIVATE, 5, NULL, 9), -1);
  EQUAL(errno, EINVAL);
  TRACE("wake");
  ANSWER(0);
  EQUAL(call(FUTEX_WAKE_PRIVATE, 5, NULL, 9), 0);
  TRACE("wake ( wake:5 ) @futex");
  EQUAL(call(FUTEX_WAKE, 5, NULL, 9), 0); /* processes share the word */
  TRACE("wake");
  refuses = true; /* a thread that has left the gate wakes others */
  gt_me.open = 0;
  EQUAL(call(FUTEX_WAKE_PRIVATE, 5, NULL, 9), 0);
  TRACE("wake ( wake:5 )");
}

int main(void) {
  gt_next.syscall = libc_syscall;
  waiters_lend_their_permits();
  other_calls_are_the_kernels();
  seeded_waiters_are_in_the_lot();
  seeded_waits_end_by_the_seeds_clock();
  refused_waits_leave_the_lot();
  seeded_wakes_are_in_the_lot_too();
}
