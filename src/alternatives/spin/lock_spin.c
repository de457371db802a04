/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spin locks of this directory as lock classes. A class also records the holder (word_), so
 * that a waiter can yield its VP while the holder does not run, and unlock can check its caller.
 *
 * The holder is in the cache line that all contenders change, and a waiter of a queue has
 * its word elsewhere so as not to touch that line. So it reads the holder at its first step,
 * and at every LOOK_EVERY steps after that.
 *
 * A waiter cannot give back its position in a queue, so a timed waiter takes none. It looks and
 * tries like the waiter of class read in every class.
 *
 * Relaxed: the holder is a hint to all but the holder.
 */
#include <errno.h>

#include "alternatives/spin/vp_state.h"
#include "core/det/det.h"
#include "mltp/alternatives.h"
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
  return mt_spin_kinds[mt_lock_class_of(lock) - MLTP_LOCK_ALT_EXCHANGE];
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
  node = self->vp->alternative->spin;
  self->vp->alternative->spin.cell = NULL;
  return node;
}

static void give_back(struct mltp_thread *self, struct mt_spin_node *node) {
  if (self->vp != NULL && self->vp->alternative->spin.cell == NULL)
    self->vp->alternative->spin = *node;
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

/* The classes are in the order of enum mt_spin_kind. */
static_assert(MLTP_LOCK_ALT_CLH - MLTP_LOCK_ALT_EXCHANGE == MT_SPIN_CLH && MT_SPIN_EXCHANGE == 0,
              "one class for each kind");

#define CLASS(name) {name, lock_slow, trylock, unlock, holder, true}
static const struct mt_lock_ops classes[MT_SPIN_KINDS] = {
    [MT_SPIN_EXCHANGE] = CLASS("exchange"), [MT_SPIN_READ] = CLASS("read"),
    [MT_SPIN_BACKOFF] = CLASS("backoff"),   [MT_SPIN_PERSISTENT] = CLASS("persistent"),
    [MT_SPIN_ARRAY] = CLASS("array"),       [MT_SPIN_MCS] = CLASS("mcs"),
    [MT_SPIN_CLH] = CLASS("clh"),
};
#undef CLASS

const struct mt_lock_ops *mt_lock_alternative(uint32_t lock_class) {
  uint32_t kind = lock_class - MLTP_LOCK_ALT_EXCHANGE;
  return kind < MT_SPIN_KINDS ? &classes[kind] : NULL;
}
