/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping: the rank waits, its VP runs other ranks. A thread that belongs to no rank, such as a
 * child of fork(), sleeps in libc. A handler of the rank's that is called meanwhile ends the sleep,
 * as in a process. No handler can make a thread ready, so a rank that has handlers checks at
 * intervals. */
#include <errno.h>
#include <mltp/mltp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tmpi/run/override.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"

enum { SECOND = 1000000000, LOOK_FIRST = 500000, LOOK_LAST = 10000000 };

static bool valid(const struct timespec *time) {
  return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < SECOND;
}

/* A time of more than two centuries is cut to that: a rank that sleeps as long as it can has a
 * timer, as any sleeper has, and is in no deadlock. */
static uint64_t nanoseconds(const struct timespec *time) {
  const uint64_t most = MLTP_NEVER / 2;
  if ((uint64_t)time->tv_sec >= most / SECOND) return most;
  return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

/* @return the nanoseconds that are left when a handler has ended the sleep; 0. */
static uint64_t sleep_for(uint64_t ns) {
  const struct tm_process *process = tm_process_self();
  const struct tm_signals *signals = process != NULL ? process->signals : NULL;
  uint32_t calls = tm_signals_calls(signals);
  uint64_t end = mltp_now() + ns, left = ns, pause = signals != NULL ? LOOK_FIRST : ns;
  do {
    mltp_sleep(left < pause ? left : pause);
    uint64_t now = mltp_now();
    left = now < end ? end - now : 0;
    if (pause < LOOK_LAST) pause *= 2;
  } while (left > 0 && signals != NULL && tm_signals_calls(signals) == calls);
  return signals != NULL ? left : 0;
}

static bool is_outside(void) { return tm_process_self() == NULL; }

static struct timespec as_time(uint64_t ns) {
  return (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)};
}

static int nanosleep_rank(const struct timespec *time, struct timespec *left) {
  if (is_outside()) return nanosleep(time, left);
  if (time == NULL || !valid(time)) {
    errno = time == NULL ? EFAULT : EINVAL;
    return -1;
  }
  uint64_t rest = sleep_for(nanoseconds(time));
  if (left != NULL) *left = as_time(rest);
  if (rest == 0) return 0;
  tm_set_errno(EINTR);
  return -1;
}

/* @return whether the kernel wakes nobody by that clock. */
static bool is_only_read(clockid_t clock) {
  return clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE ||
         clock == CLOCK_REALTIME_COARSE;
}

static int clock_nanosleep_rank(clockid_t clock, int flags, const struct timespec *time,
                                struct timespec *left) {
  struct timespec now;
  uint64_t rest = 0;
  if (is_outside()) return clock_nanosleep(clock, flags, time, left);
  if (is_only_read(clock)) return EOPNOTSUPP;
  if (time == NULL) return EFAULT;
  if (!valid(time)) return EINVAL;
  if (clock == CLOCK_THREAD_CPUTIME_ID) return EINVAL; /* as in libc */
  if (clock_gettime(clock, &now) != 0) return errno;
  uint64_t begin = (flags & TIMER_ABSTIME) != 0 ? nanoseconds(&now) : 0;
  if (nanoseconds(time) > begin) rest = sleep_for(nanoseconds(time) - begin);
  if (left != NULL && (flags & TIMER_ABSTIME) == 0) *left = as_time(rest);
  return rest == 0 ? 0 : EINTR;
}

static unsigned sleep_rank(unsigned seconds) {
  if (is_outside()) return sleep(seconds);
  uint64_t rest = sleep_for((uint64_t)seconds * SECOND);
  return (unsigned)((rest + SECOND - 1) / SECOND);
}

static int usleep_rank(unsigned microseconds) {
  if (is_outside()) return usleep(microseconds);
  if (sleep_for((uint64_t)microseconds * 1000) == 0) return 0;
  tm_set_errno(EINTR);
  return -1;
}

/* C11 has numbers of its own. */
static int thrd_sleep_rank(const struct timespec *time, struct timespec *left) {
  int error = clock_nanosleep_rank(CLOCK_REALTIME, 0, time, left);
  return error == 0 ? 0 : error == EINTR ? -1 : -2;
}

static int yield_rank(void) {
  if (is_outside()) return sched_yield();
  mltp_yield();
  return 0;
}

const struct tm_override tm_override_waiting[] = {
    {"nanosleep", (tm_any *)nanosleep_rank},   {"clock_nanosleep", (tm_any *)clock_nanosleep_rank},
    {"sleep", (tm_any *)sleep_rank},           {"usleep", (tm_any *)usleep_rank},
    {"thrd_sleep", (tm_any *)thrd_sleep_rank}, {"sched_yield", (tm_any *)yield_rank},
    {"thrd_yield", (tm_any *)yield_rank},      {NULL, NULL},
};
