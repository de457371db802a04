/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file pool.h
 * The locks of the pools of free descriptors and stacks.
 */
#ifndef MT_CORE_MEMORY_POOL_H
#define MT_CORE_MEMORY_POOL_H

#include "core/thread/thread.h"
#include "core/vp/alternative.h"

/** Locks a pool. descriptors: which of the two kinds it is. */
static inline void mt_pool_lock(struct mt_pool *pool, bool descriptors) {
  if (mt_has_alternative()) {
    struct mltp_thread *self = mt_current();
    mt_alternative->lock_pool(self != NULL ? self->vp : NULL, descriptors);
  } else {
    mt_ilock_lock(&pool->ilock);
  }
}

/** Unlocks it. */
static inline void mt_pool_unlock(struct mt_pool *pool, bool descriptors) {
  if (mt_has_alternative()) {
    struct mltp_thread *self = mt_current();
    mt_alternative->unlock_pool(self != NULL ? self->vp : NULL, descriptors);
  } else {
    mt_ilock_unlock(&pool->ilock);
  }
}

#endif
