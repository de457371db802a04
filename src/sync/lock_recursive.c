/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recursive lock: a reactive lock and the number of times that its holder locked it again.
 *
 * Invariant: depth_ is 0 unless the lock is held; only the holder reads or writes it.
 */
#include <errno.h>

#include "sync/lock.h"
#include "sync/lock_word.h"

static int lock_again_or_wait(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer) {
  if (mt_lock_holder(lock) != self) return mt_lock_reactive.lock(lock, self, timer);
  lock->depth_++;
  return 0;
}

static bool try_again_or_take(mltp_lock_t *lock, struct mltp_thread *self) {
  if (mt_lock_holder(lock) != self) return mt_lock_reactive.trylock(lock, self);
  lock->depth_++;
  return true;
}

static int unlock_once(mltp_lock_t *lock, struct mltp_thread *self) {
  if (mt_lock_holder(lock) != self) return EPERM;
  if (lock->depth_ == 0) return mt_lock_reactive.unlock(lock, self);
  lock->depth_--;
  return 0;
}

const struct mt_lock_ops mt_lock_recursive = {"recursive", lock_again_or_wait, try_again_or_take,
                                              unlock_once, mt_lock_holder,     false};
