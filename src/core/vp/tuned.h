/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tuned.h
 * The constants of policy/tuning.h as they are in this process.
 *
 * What one CPU can measure alone is measured at start, in some microseconds. The rest is learned
 * from what happens anyway: a VP that was woken knows when its waker began, and a searcher that
 * reads a word which its owner has just changed waits for one line. Nothing is kept for the next
 * start, so there is no file that could be wrong, old, or another user's.
 *
 * Relaxed: each value is a hint by itself, and right or nearly right at any time.
 */
#ifndef MT_CORE_VP_TUNED_H
#define MT_CORE_VP_TUNED_H

#include "base/atomic.h"
#include "policy/tuning.h"

/** [atomic] Written before there are other VPs, and by VPs that learn a cost. */
extern struct mt_tuning mt_tuning __attribute__((visibility("hidden")));

/** Returns a constant. */
static inline uint64_t mt_tuned(enum mt_tunable which) {
  return mt_load_relaxed(&mt_tuning.value[which]);
}

/** Measures, and applies the options and MLTP_TUNING. Called before VPs exist. @return 0; EINVAL
 * after a message: the file is wrong. */
int mt_tuning_init(void);

/** Sets a cost that was measured. */
void mt_tuning_know(enum mt_tunable which, uint64_t value);

/** Takes one more sample of a cost into account. */
void mt_tuning_learn(enum mt_tunable which, uint64_t sample);

/** Writes all rows to fd, one in a line. */
void mt_tuning_print(int fd);

#endif
