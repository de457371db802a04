/* SPDX-License-Identifier: Apache-2.0 */
/** @file work.h Computing for a time that the CPU's speed decides, not the clock. */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include <stdint.h>

/** Steps a generator (xorshift64): each step needs the one before. @return its state. */
static inline uint64_t bench_work(uint64_t state, uint64_t steps) {
  for (uint64_t i = 0; i < steps; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  }
  return state;
}

/** @return steps in a microsecond of this CPU: the most of a few tries. */
double bench_work_steps_per_us(void);

#endif
