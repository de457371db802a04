/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping, yielding, and asking for the time: in a seeded run the clock is its own. */
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "gate/next.h"
#include "gate/seed.h"

/* Sleeps by the clock of a seeded run. @return 0 or EINTR. */
static int sleep_seeded(struct gt_thread *me, clockid_t clock, uint64_t until) {
  struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
  struct gt_limit limit = {&at, clock, .cancellable = true, .interruptible = true};
  int ended;
  do {
    pthread_testcancel();
    gt_lock(me);
    gt_lot_enter(me);
    ended = gt_lot_wait(me, me, GT_WHY_SLEEP, &limit, false);
  } while (ended == EAGAIN);
  if (ended == ECANCELED) pthread_testcancel();
  return ended == EINTR ? EINTR : 0;
}

/* The kernel has further clocks, and some that no thread can sleep by. */
static bool seed_has(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static int sleep_for(struct gt_thread *me, uint64_t ns) {
  return sleep_seeded(me, CLOCK_MONOTONIC, gt_seed_now(CLOCK_MONOTONIC) + ns);
}

/* What is longer has no limit: gt_seed_deadline() sees that. */
static uint64_t ns_of(const struct timespec *time) {
  int64_t seconds = time->tv_sec < GT_SEED_LONGEST_S ? time->tv_sec : GT_SEED_LONGEST_S;
  return (uint64_t)seconds * 1000000000 + (uint64_t)time->tv_nsec;
}

GT_EXPORT int nanosleep(const struct timespec *time, struct timespec *left) {
  struct gt_thread *me = gt_enter();
  if (me == NULL || gt_bad_time(time) || time->tv_sec < 0) return gt_next.nanosleep(time, left);
  if (gt_seeded) {
    if (sleep_for(me, ns_of(time)) == 0) return 0;
    if (left != NULL) *left = *time;
    errno = EINTR;
    return -1;
  }
  struct gt_thread *away __attribute__((cleanup(gt_returned))) = me;
  gt_leave(away);
  return gt_next.nanosleep(time, left);
}

GT_EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                              struct timespec *left) {
  struct gt_thread *me = gt_enter();
  if (me == NULL || gt_bad_time(time) || time->tv_sec < 0 || (gt_seeded && !seed_has(clock)))
    return gt_next.clock_nanosleep(clock, flags, time, left);
  if (gt_seeded && (flags & TIMER_ABSTIME) != 0) return sleep_seeded(me, clock, ns_of(time));
  if (gt_seeded) return sleep_for(me, ns_of(time));
  struct gt_thread *away __attribute__((cleanup(gt_returned))) = me;
  gt_leave(away);
  return gt_next.clock_nanosleep(clock, flags, time, left);
}

GT_EXPORT int usleep(useconds_t time) {
  struct timespec ts = {(time_t)(time / 1000000), (long)(time % 1000000) * 1000};
  return nanosleep(&ts, NULL);
}

GT_EXPORT unsigned sleep(unsigned seconds) {
  struct gt_thread *me = gt_enter();
  if (me == NULL) return gt_next.sleep(seconds);
  if (gt_seeded) return sleep_for(me, seconds * 1000000000ull) == 0 ? 0 : seconds;
  struct gt_thread *away __attribute__((cleanup(gt_returned))) = me;
  gt_leave(away);
  return gt_next.sleep(seconds);
}

GT_EXPORT int sched_yield(void) {
  struct gt_thread *me = gt_enter();
  if (me != NULL) {
    if (!gt_seeded) gt_point(me, "sched_yield");
    if (gt_yield(me)) return 0;
  }
  return gt_next.sched_yield();
}

GT_OLD_NAME(__nanosleep, nanosleep);
GT_OLD_NAME(__sched_yield, sched_yield);
GT_OLD_NAME(pthread_yield, sched_yield);

/* ---- time; a thread that polls the clock lets others run */

static struct gt_thread *enter_seeded(const char *call) {
  struct gt_thread *me = gt_seeded ? gt_enter() : NULL;
  if (me != NULL) gt_point(me, call);
  return me;
}

GT_EXPORT int clock_gettime(clockid_t clock, struct timespec *time) {
  if (gt_next.clock_gettime == NULL) gt_next_find();
  if (gt_next.clock_gettime == NULL) return (int)syscall(SYS_clock_gettime, clock, time);
  if (!seed_has(clock) || enter_seeded("clock_gettime") == NULL)
    return gt_next.clock_gettime(clock, time);
  uint64_t now = gt_seed_now(clock);
  *time = (struct timespec){(time_t)(now / 1000000000), (long)(now % 1000000000)};
  return 0;
}

GT_EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  if (gt_next.clock_gettime == NULL) gt_next_find();
  if (enter_seeded("gettimeofday") == NULL) return gt_next.gettimeofday(time, zone);
  uint64_t now = gt_seed_now(CLOCK_REALTIME);
  *time = (struct timeval){(time_t)(now / 1000000000), (suseconds_t)(now % 1000000000 / 1000)};
  return 0;
}

GT_EXPORT time_t time(time_t *at) {
  if (gt_next.clock_gettime == NULL) gt_next_find();
  if (enter_seeded("time") == NULL) return gt_next.time(at);
  time_t now = (time_t)(gt_seed_now(CLOCK_REALTIME) / 1000000000);
  if (at != NULL) *at = now;
  return now;
}
