/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fence.h
 * An asymmetric fence: nearly free on the side that runs often, costly on the side that
 * runs seldom. Two sides that each store, fence and load the other's word see at
 * least one of the two stores when one side uses mt_fence_light() and the other
 * mt_fence_heavy(). membarrier(2) makes every processor that runs this process
 * execute a full barrier. Where the kernel has no membarrier, both are full fences.
 */
#ifndef MT_BASE_FENCE_H
#define MT_BASE_FENCE_H

#include "base/atomic.h"

/** [const after mt_fence_init()] membarrier is used. */
extern bool mt_fence_asymmetric __attribute__((visibility("hidden")));

/** Decides once, before the second kernel thread of the runtime exists. */
void mt_fence_init(bool allow_membarrier);

static inline void mt_fence_light(void) {
  if (mt_likely(mt_fence_asymmetric))
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void mt_fence_heavy(void);

/** A fence of this processor alone, for two sides that run equally often. */
static inline void mt_fence_full(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#endif
