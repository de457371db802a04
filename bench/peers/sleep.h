/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sleep.h
 * The row of one thread that sleeps 1 ms again and again, for libraries that can sleep; valid C and
 * C++. A peer first defines p_sleep_ms(), which sleeps that many milliseconds.
 */
#ifndef MLTP_BENCH_SLEEP_H
#define MLTP_BENCH_SLEEP_H

#include "peer.h"

static inline bool row_sleep(struct peer_run *run) {
  peer_clock_start(run);
  for (uint64_t i = 0; i < run->ops; i++) p_sleep_ms(1);
  peer_clock_stop(run);
  return run->wall_ns >= run->ops * 1000000;
}

#endif
