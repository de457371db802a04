/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lock_step.h
 * Waiting on the processor for a holder that one knows: the VP is yielded while the holder
 * does not run, and when waiting has not helped for a while (its VP may have no CPU).
 */
#ifndef MT_SYNC_LOCK_STEP_H
#define MT_SYNC_LOCK_STEP_H

#include "core/thread/thread.h"

/**
 * One step.
 * @param holder NULL: the next in turn has not noticed yet; perhaps it cannot run
 * @param round  steps so far; 0 at first
 * @param steps  how many steps this one stands for
 * @return true: the VP was yielded
 */
bool mt_lock_wait_step(const struct mltp_thread *holder, unsigned *round, unsigned steps);

#endif
