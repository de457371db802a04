/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reactive lock (thesis 5.1): waits the way that suits what the holder does.
 *
 * Word: the holder's descriptor, or 0; the lowest bit says that the queue may
 * have waiters. Acquire: 0 -> self. Release: self -> 0. Both one locked
 * instruction, and the release finds out a caller that is not the holder.
 *
 * Contended: while the holder runs, and awake VPs do not exceed CPUs, spin for at
 * most MLTP_LOCK_SPIN_NS; then set the bit under the queue's guard and park. The
 * holder, finding the bit, takes the guard, wakes the first waiter and leaves the
 * lock free, so that a running thread may take it first: throughput. A waiter
 * that was woken in vain enters at the front and asks to be handed the lock: the
 * next release gives it to it. So nobody is overtaken for ever.
 *
 * No lost wake-up: the bit is set under the guard while the word names a holder;
 * that holder's release then fails its compare-and-swap and comes for the guard.
 *
 * Rejected: handing over at every release (a convoy when the next holder is not
 * running); spinning without regard to the holder (thesis 4.4: 1.3 s -> 448 s).
 *
 * Relaxed: the word as a hint; the compare-and-swap that follows checks it.
 */
#include <errno.h>

#include "core/types.h"
#include "sync/lock.h"
#include "sync/patience.h"

enum { HANDED_NO, HANDED_WANTED, HANDED_GIVEN };

static struct mltp_thread *holder_in(uint64_t word) {
  return (struct mltp_thread *)(uintptr_t)(word & ~(uint64_t)MT_LOCK_WAITERS);
}

static struct mltp_thread *holder(const mltp_lock_t *lock) {
  return holder_in(mt_load_relaxed(&lock->word_)); /* relaxed: a hint */
}

/* Takes the lock if nobody holds it; leaves the waiters' bit as it is. */
static bool take_free(mltp_lock_t *lock, struct mltp_thread *self, uint64_t word) {
  if (holder_in(word) != NULL) return false;
  /* LK-4 acquire: pairs LK-2 LK-3 */
  return mt_cas_acquire(&lock->word_, &word, (uint64_t)(uintptr_t)self | (word & MT_LOCK_WAITERS));
}

static bool trylock(mltp_lock_t *lock, struct mltp_thread *self) {
  return take_free(lock, self, mt_load_relaxed(&lock->word_)); /* relaxed: the swap acquires */
}

/* Waits on the processor while that may pay. @return true: acquired. */
static bool spin(mltp_lock_t *lock, struct mltp_thread *self) {
  struct mt_patience patience = mt_patience_begin();
  struct mltp_thread *owner;
  do {
    uint64_t word = mt_load_relaxed(&lock->word_); /* relaxed: the swap acquires */
    owner = holder_in(word);
    if (owner == NULL && take_free(lock, self, word)) return true;
  } while (mt_patience_left(&patience, owner));
  return false;
}

/* Under the guard: acquires, or makes sure that the holder will come for us.
 * @return true: acquired. */
static bool take_or_mark(mltp_lock_t *lock, struct mltp_thread *self) {
  while (true) {
    uint64_t word = mt_load_relaxed(&lock->word_); /* relaxed: the swaps check it */
    if (holder_in(word) == NULL) {
      if (take_free(lock, self, word)) return true;
    } else if ((word & MT_LOCK_WAITERS) != 0 ||
               mt_cas_relaxed(&lock->word_, &word, word | MT_LOCK_WAITERS)) {
      return false; /* relaxed: the guard orders the queue */
    }
  }
}

static int lock_slow(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer) {
  if (holder(lock) == self) return EDEADLK;
  for (bool again = false;; again = true) {
    if (spin(lock, self)) return 0;
    mt_spin_lock(&lock->queue_.guard_);
    if (take_or_mark(lock, self)) {
      mt_spin_unlock(&lock->queue_.guard_);
      return 0;
    }
    self->wish = again ? HANDED_WANTED : HANDED_NO;
    int error = mt_wait(self, &lock->queue_, again, MT_WHY_LOCK, timer);
    if (error != 0 || self->wish == HANDED_GIVEN) return error;
  }
}

static int unlock(mltp_lock_t *lock, struct mltp_thread *self) {
  if (holder(lock) != self) return EPERM;
  if (mt_lock_reactive_release(lock, self)) return 0;
  mt_spin_lock(&lock->queue_.guard_);
  struct mltp_thread *first = mt_waitq_pop(&lock->queue_);
  uint64_t next = 0;
  if (first != NULL && first->wish == HANDED_WANTED) {
    first->wish = HANDED_GIVEN;
    next = (uint64_t)(uintptr_t)first;
  }
  if (lock->queue_.count_ != 0) next |= MT_LOCK_WAITERS;
  mt_store_release(&lock->word_, next); /* LK-3 release: pairs LK-1 LK-4 */
  mt_spin_unlock(&lock->queue_.guard_);
  if (first != NULL) mt_resume(first);
  return 0;
}

const struct mt_lock_ops mt_lock_reactive = {"reactive", lock_slow, trylock, unlock, holder};
