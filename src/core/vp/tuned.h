/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tuned.h
 * The constants of policy/tuning.h as they are in this process.
 *
 * Relaxed: each value is a hint by itself, and right or nearly right at any time.
 */
#ifndef MT_CORE_VP_TUNED_H
#define MT_CORE_VP_TUNED_H

#include "base/atomic.h"
#include "policy/tuning.h"

/** [atomic] Written before there are other VPs, and by VPs that learn a cost. */
extern struct mt_tuning mt_tuning;

/** Returns a constant. */
static inline uint64_t mt_tuned(enum mt_tunable which) {
  return mt_load_relaxed(&mt_tuning.value[which]);
}

/** Sets the constants for this process from the options. Called once, before VPs exist. */
void mt_tuning_init(void);

#endif
