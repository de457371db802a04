/* SPDX-License-Identifier: Apache-2.0 */
/** @file sync.h What one file of primitives offers to the others. */
#ifndef MT_GATE_SYNC_H
#define MT_GATE_SYNC_H

#include "gate/lot.h"
#include "gate/next.h"
#include "gate/quick.h"

/** Locks a mutex that was found busy, up to a limit. @return libc's errors, or ETIMEDOUT. */
int gt_mutex_lock_busy(struct gt_thread *me, pthread_mutex_t *m, const struct gt_limit *limit);

/** Locks a mutex as pthread_mutex_lock(), up to a limit. @return libc's errors, or ETIMEDOUT. */
static inline int gt_mutex_lock(struct gt_thread *me, pthread_mutex_t *m,
                                const struct gt_limit *limit) {
  if (mt_likely(gt_quick_lock(me->tid, m))) return 0;
  int error = gt_next.mutex_trylock(m);
  return mt_likely(error != EBUSY) ? error : gt_mutex_lock_busy(me, m, limit);
}

/** Unlocks as pthread_mutex_unlock(), but wakes no thread that waits in the lot. */
int gt_mutex_unlock(struct gt_thread *me, pthread_mutex_t *m);

/** pthread_cond_wait(), up to a limit. */
int gt_cond_wait(pthread_cond_t *c, pthread_mutex_t *m, const struct gt_limit *limit);
int gt_cond_wake(pthread_cond_t *c, int most);

/** Tries something again until it works or the limit is reached: `try` returns 0 when it worked,
 * EBUSY to wait, or an error that ends it. */
int gt_try_or_wait(struct gt_thread *me, void *object, int (*try)(void *object), enum gt_why why,
                   const struct gt_limit *limit);

#endif
