/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for a word, by syscall(SYS_futex): the locks of Rust's and GLib's threads, of C++'s
 * semaphores and of many libraries wait so. A waiter lends its permit (lend.h).
 *
 * In a seeded run a waiter waits in the lot, where its waker wakes it: the seed says which thread
 * runs, and a deadlock is found. Words that processes share stay with the kernel. A waiter may be
 * woken for no reason, as the kernel does, too.
 *
 * Rejected: the lot without a seed, too. A waker may make the system call itself, and would not
 * find the waiter there.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate/lend.h"
#include "gate/look_up.h"
#include "gate/next.h"
#include "gate/seed.h"

/* The arguments behind the number of the call. */
enum { WORD, CALL, VALUE, TIME, SECOND, BITS, ARGUMENTS };

static const void *pointer(long argument) { return (const void *)argument; }

static long call_of(const long arg[]) { return arg[CALL] & FUTEX_CMD_MASK; }

static bool waits(const long arg[]) {
  return call_of(arg) == FUTEX_WAIT || call_of(arg) == FUTEX_WAIT_BITSET;
}

static long by_kernel(const long arg[]) {
  return gt_next.syscall(SYS_futex, arg[WORD], arg[CALL], arg[VALUE], arg[TIME], arg[SECOND],
                         arg[BITS]);
}

/* To look first would read what may not be memory. */
static long wait_lending(const long arg[]) {
  struct gt_thread *me __attribute__((cleanup(gt_take_back))) = gt_lend(true);
  if (gt_is_wanted(me)) gt_give(me);
  return by_kernel(arg);
}

/* ---- seeded runs */

/* The time of FUTEX_WAIT is relative, that of FUTEX_WAIT_BITSET absolute. */
static struct timespec end_of(const long arg[], clockid_t clock) {
  const struct timespec *time = pointer(arg[TIME]);
  if (call_of(arg) == FUTEX_WAIT_BITSET) return *time;
  enum { SECOND_NS = 1000000000 };
  uint64_t now = gt_seed_now(clock), ns = now % SECOND_NS + (uint64_t)time->tv_nsec;
  return (struct timespec){time->tv_sec + (time_t)(now / SECOND_NS + ns / SECOND_NS),
                           (long)(ns % SECOND_NS)};
}

/* The kernel compares, and refuses what it would refuse. @return 0: the word is as expected. */
static int compare(const long arg[]) {
  const struct timespec *time = pointer(arg[TIME]);
  if (time != NULL && (gt_bad_time(time) || time->tv_sec < 0)) return EINVAL;
  long no_wait[ARGUMENTS] = {arg[WORD], arg[CALL], arg[VALUE], (long)&(struct timespec){0},
                             0,         arg[BITS]};
  if (by_kernel(no_wait) == 0) return EAGAIN;
  return errno == ETIMEDOUT ? 0 : errno;
}

static int wait_in_lot(struct gt_thread *me, const long arg[]) {
  const void *word = pointer(arg[WORD]);
  const struct timespec *time = pointer(arg[TIME]);
  struct gt_limit limit = {.interruptible = true};
  struct timespec end;
  gt_point(me, "futex");
  gt_lock(me);
  gt_lot_enter(word);
  int error = compare(arg);
  if (error != 0) {
    gt_lot_leave(word);
    gt_unlock(me);
    return error;
  }
  limit.clock = (arg[CALL] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  if (time != NULL && time->tv_sec < GT_SEED_LONGEST_S) {
    end = end_of(arg, limit.clock);
    limit.until = &end;
  }
  return gt_lot_wait(me, word, GT_WHY_WORD, &limit, false);
}

static long wait_seeded(struct gt_thread *me, const long arg[]) {
  int saved = errno, error = wait_in_lot(me, arg);
  errno = error != 0 ? error : saved;
  return error != 0 ? -1 : 0;
}

/* The kernel has woken some, which are not in the lot. @return how many are woken besides. */
static int wake_in_lot(const long arg[], int woken) {
  int most = INT_MAX; /* more than asked for, where the lot has not what the kernel would look at */
  bool of_any = call_of(arg) == FUTEX_WAKE || (call_of(arg) == FUTEX_WAKE_BITSET &&
                                               (uint32_t)arg[BITS] == FUTEX_BITSET_MATCH_ANY);
  if (of_any) most = (int)arg[VALUE] - woken;
  int more = gt_lot_wake(pointer(arg[WORD]), most);
  return call_of(arg) == FUTEX_WAKE_OP ? more + gt_lot_wake(pointer(arg[SECOND]), most) : more;
}

static long wake_seeded(const long arg[]) {
  struct gt_thread *me = gt_enter();
  long woken = by_kernel(arg);
  if (woken < 0) return woken;
  gt_lock(&gt_me); /* a thread that has left the gate wakes others, too */
  woken += wake_in_lot(arg, (int)woken);
  gt_unlock(&gt_me);
  if (me != NULL) gt_point(me, "futex");
  return woken;
}

/* ---- the call */

static long use_word(const long arg[]) {
  bool seeded = gt_seeded && (arg[CALL] & FUTEX_PRIVATE_FLAG) != 0;
  struct gt_thread *me = seeded && waits(arg) ? gt_enter() : NULL;
  if (me != NULL) return wait_seeded(me, arg);
  if (waits(arg)) return wait_lending(arg);
  return seeded ? wake_seeded(arg) : by_kernel(arg);
}

/* The gate's own waits and wakes come here, too. An allocator may make calls while libc's functions
 * are looked for. */
GT_EXPORT long syscall(long number, ...) {
  long arg[ARGUMENTS];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < ARGUMENTS; i++) arg[i] = va_arg(list, long);
  va_end(list);
  __typeof__(syscall) *next = gt_next.syscall;
  if (mt_unlikely(next == NULL))
    next = (__typeof__(next))gt_libc_function("syscall");
  else if (number == SYS_futex && !gt_me.locked && pointer(arg[WORD]) != &gt_me.wake)
    return use_word(arg);
  return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
