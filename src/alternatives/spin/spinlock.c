/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds, and the library's own lock. */
#include "alternatives/spin/spinlock.h"

const struct mt_spin_ops *const mt_spin_kinds[MT_SPIN_KINDS] = {
    [MT_SPIN_EXCHANGE] = &mt_spin_exchange, [MT_SPIN_READ] = &mt_spin_read,
    [MT_SPIN_BACKOFF] = &mt_spin_backoff,   [MT_SPIN_PERSISTENT] = &mt_spin_persistent,
    [MT_SPIN_ARRAY] = &mt_spin_array,       [MT_SPIN_MCS] = &mt_spin_mcs,
    [MT_SPIN_CLH] = &mt_spin_clh,
};

static bool relax(struct mt_spin_wait *wait) { return mt_relax(&wait->round); }

void mt_spin_acquire(const struct mt_spin_ops *ops, mltp_spin_t *state, struct mt_spin_node *node) {
  struct mt_spin_wait wait = {relax, 0};
  ops->lock(state, node, &wait);
  mt_ilocks_add(1);
}

void mt_spin_release(const struct mt_spin_ops *ops, mltp_spin_t *state, struct mt_spin_node *node) {
  mt_ilocks_add(-1);
  ops->unlock(state, node);
}

void mt_spinlock_lock(struct mt_spinlock *lock, struct mt_spin_node *node) {
  mt_spin_acquire(lock->ops, &lock->state, node);
}

bool mt_spinlock_trylock(struct mt_spinlock *lock, struct mt_spin_node *node) {
  bool entered = lock->ops->trylock(&lock->state, node);
  mt_ilocks_add(entered);
  return entered;
}

void mt_spinlock_unlock(struct mt_spinlock *lock, struct mt_spin_node *node) {
  mt_spin_release(lock->ops, &lock->state, node);
}
