/* SPDX-License-Identifier: Apache-2.0 */
/** @file timer.h Wall and CPU time of a span of this process. */
#ifndef BENCH_TIMER_H
#define BENCH_TIMER_H

#include <time.h>

#include "experiment.h"

static inline double bench_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void bench_timer_start(struct bench_outcome *outcome) {
  outcome->cpu_seconds = -bench_clock(CLOCK_PROCESS_CPUTIME_ID);
  outcome->seconds = -bench_clock(CLOCK_MONOTONIC);
}

static inline void bench_timer_stop(struct bench_outcome *outcome) {
  outcome->seconds += bench_clock(CLOCK_MONOTONIC);
  outcome->cpu_seconds += bench_clock(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
