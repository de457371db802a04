/* SPDX-License-Identifier: Apache-2.0 */
/** @file work.c How fast this CPU computes. */
#include "work.h"

#include "timer.h"

double bench_work_steps_per_us(void) {
  enum { TRIES = 20, STEPS = 100000 };
  double best = 0;
  volatile uint64_t result = 88172645463325252u;
  for (int i = 0; i < TRIES; i++) {
    const double start = bench_clock(CLOCK_THREAD_CPUTIME_ID);
    result = bench_work(result, STEPS);
    const double us = 1e6 * (bench_clock(CLOCK_THREAD_CPUTIME_ID) - start);
    if (STEPS / us > best) best = STEPS / us;
  }
  return best;
}
