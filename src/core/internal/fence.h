/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fence.h
 * Internal API: the halves of an asymmetric fence (base/fence.h), for a side that runs often and
 * one that runs seldom.
 */
#ifndef MT_CORE_INTERNAL_FENCE_H
#define MT_CORE_INTERNAL_FENCE_H

#include <stdbool.h>

#include "core/internal/export.h"

/** The half of the side that runs often. */
static inline void mti_fence_light(void) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST); /* DF-6 seq_cst: for the caller; pairs DF-5 */
}

/** The half of the side that runs seldom: microseconds. */
MTI_EXPORT void mti_fence_heavy(void);

/** @return whether the pair orders; false: the kernel has no membarrier(2). Never changes while
 * the runtime is up. */
MTI_EXPORT bool mti_fence_works(void);

#endif
