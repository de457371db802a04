/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spin locks of src/spin as lock classes. What they add: the holder is known (word_), so
 * that a waiter can yield its VP while it does not run, and who unlocks can be checked.
 *
 * The holder is in the cache line that all contenders change, and a waiter of a queue has
 * its word elsewhere so as not to touch that one: it asks who holds the lock at its first
 * step, and every LOOK_EVERY after that.
 *
 * A place in a queue cannot be given back, so a timed waiter takes none: it looks and tries
 * like the waiter of class read, whatever the class.
 *
 * Relaxed: the holder is a hint to all but the holder.
 */
#include <errno.h>

#include "core/det/det.h"
#include "sync/lock.h"
#include "sync/lock_step.h"

enum { LOOK_EVERY = 16 };

static struct mltp_thread *holder(const mltp_lock_t *lock) {
  return (struct mltp_thread *)(uintptr_t)mt_load_relaxed(&lock->word_);
}

static void note_holder(mltp_lock_t *lock, const struct mltp_thread *holder) {
  mt_store_relaxed(&lock->word_, (uint64_t)(uintptr_t)holder);
}

static const struct mt_spin_ops *kind_of(const mltp_lock_t *lock) {
  return mt_lock_ops(lock)->spin;
}

struct lock_wait {
  struct mt_spin_wait wait; /* first */
  const mltp_lock_t *lock;  /* [const] */
  unsigned pauses;
};

static bool step(struct mt_spin_wait *wait) {
  struct lock_wait *self = (struct lock_wait *)wait;
  if (self->pauses++ % LOOK_EVERY == 0)
    return mt_lock_wait_step(holder(self->lock), &wait->round, LOOK_EVERY);
  mt_arch_pause();
  return false;
}

/* A spare cell (kind clh) is the VP's, which the thread may leave while it waits; one with
 * a kernel thread of its own has none. */
static struct mt_spin_node borrow(struct mltp_thread *self) {
  struct mt_spin_node node = {NULL};
  if (self->vp == NULL) return node;
  node = self->vp->spin;
  self->vp->spin.cell = NULL;
  return node;
}

static void give_back(struct mltp_thread *self, struct mt_spin_node *node) {
  if (self->vp != NULL && self->vp->spin.cell == NULL)
    self->vp->spin = *node;
  else
    mt_spin_node_end(node);
}

static bool trylock(mltp_lock_t *lock, struct mltp_thread *self) {
  struct mt_spin_node none = {NULL}; /* trying needs nothing */
  if (!kind_of(lock)->trylock(&lock->spin_, &none)) return false;
  note_holder(lock, self);
  return true;
}

static int lock_timed(mltp_lock_t *lock, struct mltp_thread *self, const struct mt_timer *timer) {
  struct lock_wait wait = {{step, 0}, lock, 0};
  while (holder(lock) != NULL || !trylock(lock, self)) {
    if (mt_timer_passed(timer)) return ETIMEDOUT;
    step(&wait.wait);
  }
  return 0;
}

static int lock_slow(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer) {
  if (holder(lock) == self) return EDEADLK;
  if (timer != NULL) return lock_timed(lock, self, timer);
  struct lock_wait wait = {{step, 0}, lock, 0};
  struct mt_spin_node node = borrow(self);
  kind_of(lock)->lock(&lock->spin_, &node, &wait.wait);
  give_back(self, &node);
  note_holder(lock, self);
  return 0;
}

static int unlock(mltp_lock_t *lock, struct mltp_thread *self) {
  if (holder(lock) != self) return EPERM;
  note_holder(lock, NULL);
  mt_step("unlock: hand over");
  struct mt_spin_node node = borrow(self);
  kind_of(lock)->unlock(&lock->spin_, &node);
  give_back(self, &node);
  return 0;
}

const struct mt_lock_ops mt_lock_spins[MT_SPIN_KINDS] = {
    {"exchange", lock_slow, trylock, unlock, holder, &mt_spin_exchange},
    {"read", lock_slow, trylock, unlock, holder, &mt_spin_read},
    {"backoff", lock_slow, trylock, unlock, holder, &mt_spin_backoff},
    {"persistent", lock_slow, trylock, unlock, holder, &mt_spin_persistent},
    {"array", lock_slow, trylock, unlock, holder, &mt_spin_array},
    {"mcs", lock_slow, trylock, unlock, holder, &mt_spin_mcs},
    {"clh", lock_slow, trylock, unlock, holder, &mt_spin_clh},
};
