/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping: the rank waits, its VP goes on. */
#include <errno.h>
#include <mltp/mltp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tmpi/run/override.h"

enum { SECOND = 1000000000 };

static bool valid(const struct timespec *time) {
  return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < SECOND;
}

static uint64_t nanoseconds(const struct timespec *time) {
  return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

static int nanosleep_rank(const struct timespec *time, struct timespec *left) {
  if (!valid(time)) {
    errno = EINVAL;
    return -1;
  }
  mltp_sleep(nanoseconds(time));
  if (left != NULL) *left = (struct timespec){0, 0};
  return 0;
}

static int clock_nanosleep_rank(clockid_t clock, int flags, const struct timespec *time,
                                struct timespec *left) {
  struct timespec now = {0, 0};
  if (!valid(time)) return EINVAL;
  if ((flags & TIMER_ABSTIME) != 0 && clock_gettime(clock, &now) != 0) return errno;
  if (nanoseconds(time) > nanoseconds(&now)) mltp_sleep(nanoseconds(time) - nanoseconds(&now));
  if (left != NULL && (flags & TIMER_ABSTIME) == 0) *left = (struct timespec){0, 0};
  return 0;
}

static unsigned sleep_rank(unsigned seconds) {
  mltp_sleep((uint64_t)seconds * SECOND);
  return 0;
}

static int usleep_rank(unsigned microseconds) {
  mltp_sleep((uint64_t)microseconds * 1000);
  return 0;
}

static int yield_rank(void) {
  mltp_yield();
  return 0;
}

const struct tm_override tm_override_waiting[] = {
    {"nanosleep", (tm_any *)nanosleep_rank},
    {"clock_nanosleep", (tm_any *)clock_nanosleep_rank},
    {"sleep", (tm_any *)sleep_rank},
    {"usleep", (tm_any *)usleep_rank},
    {"sched_yield", (tm_any *)yield_rank},
    {"thrd_yield", (tm_any *)yield_rank},
    {NULL, NULL},
};
