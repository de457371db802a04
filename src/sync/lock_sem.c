/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The semaphore lock (thesis 3.3.3.3): a waiter sleeps in the kernel, VP and all.
 * Where the thesis has a System V semaphore this has a futex, and while the VP
 * sleeps another may be active in its place, or a holder in its queue would never
 * run.
 *
 * word_: FREE, or HELD and two bits for its waiters: SLEEPERS, perhaps, on the futex (Drepper,
 * "Futexes are tricky", mutex 2) and QUEUED threads, perhaps, in queue_.
 *
 * A VP that sleeps needs another one in its place. So VPS_ASLEEP_MAX of them sleep at most; a
 * waiter that comes then parks in the queue, and the holder hands it the lock. Without that bound
 * thousands of waiters would need thousands of kernel threads. While the queue is in use all
 * waiters enter it: the holder wakes the sleepers once, since they would starve behind it.
 *
 * No lost wake-up: a waiter sets its bit while the word names a holder. QUEUED is set and cleared
 * under the queue's internal lock. A waiter that has slept may have used up a wake-up that another
 * sleeper needs, so it sets SLEEPERS again, also when it enters the queue.
 *
 * The lock is set free by one compare-and-swap, without the internal lock: the next holder may
 * free the lock's memory.
 *
 * Relaxed: for reports only; bits of the word, which the internal lock or the holder orders.
 */
#include <errno.h>
#include <limits.h>

#include "core/det/det.h"
#include "core/sched/blocking.h"
#include "core/vp/vp.h"
#include "mltp/sched.h"
#include "sync/lock.h"

enum { FREE = 0, HELD = 1, SLEEPERS = 2, QUEUED = 4 };

enum { VPS_ASLEEP_MAX = 64 };

static uint32_t *futex_of(mltp_lock_t *lock) {
  return (uint32_t *)&lock->word_; /* little endian: the low half */
}

static struct mltp_thread *holder(const mltp_lock_t *lock) {
  return (struct mltp_thread *)(uintptr_t)mt_load_relaxed(&lock->room_);
}

static void note_holder(mltp_lock_t *lock, const struct mltp_thread *t) {
  mt_store_relaxed(&lock->room_, (uint64_t)(uintptr_t)t);
}

static bool trylock(mltp_lock_t *lock, struct mltp_thread *self) {
  uint32_t free = FREE;
  if (!mt_cas_acquire(futex_of(lock), &free, HELD)) return false; /* SM-1 acquire: pairs SM-3 */
  note_holder(lock, self);
  return true;
}

/* Acquires, or makes sure that the holder sees the bits. The lock may have been free because its
 * holder has woken one of several sleepers. @return true: acquired. */
static bool take_or_mark(mltp_lock_t *lock, struct mltp_thread *self, uint32_t bits) {
  uint32_t word = mt_load_relaxed(futex_of(lock)); /* relaxed: the swaps check it */
  while (true) {
    if (word == FREE) {
      if (!mt_cas_acquire(futex_of(lock), &word, HELD | SLEEPERS)) /* SM-2 acquire: pairs SM-3 */
        continue;
      note_holder(lock, self);
      return true;
    }
    if ((word & bits) == bits || mt_cas_relaxed(futex_of(lock), &word, word | bits)) return false;
  }
}

static int wait_in_queue(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer,
                         bool has_slept) {
  mltp_waitq_t *q = &lock->queue_;
  mt_ilock_lock(&q->ilock_);
  if (take_or_mark(lock, self, has_slept ? QUEUED | SLEEPERS : QUEUED)) {
    mt_ilock_unlock(&q->ilock_);
    return 0;
  }
  return mt_wait(self, q, false, MT_WHY_LOCK, timer);
}

/* @return whether the caller may take its VP to sleep with it. A hint. */
static bool may_sleep(mltp_lock_t *lock, const struct mltp_thread *self) {
  if (mt_det_on) return true; /* it yields */
  if (mt_load_relaxed(futex_of(lock)) & QUEUED) return false;
  return self->vp == NULL || mt_load_relaxed(&mt_rt.sleep.blocked) < VPS_ASLEEP_MAX;
}

/* In deterministic mode the holder is among the threads that wait for the one VP.
 * @return false: there is no VP to take the place of this one. */
static bool sleep_on(mltp_lock_t *lock, uint64_t deadline) {
  if (mt_det_on) {
    mltp_yield();
    return true;
  }
  bool replaced = mt_blocking_begin();
  if (replaced) os_futex_wait(futex_of(lock), HELD | SLEEPERS, deadline);
  mltp_blocking_end();
  return replaced;
}

static bool sleep_with_vp_on(mltp_lock_t *lock) {
  mt_add_relaxed(&mt_rt.sleep.blocked_in_locks, 1); /* relaxed: for the deadlock report only */
  bool replaced = sleep_on(lock, MLTP_NEVER);
  mt_add_relaxed(&mt_rt.sleep.blocked_in_locks, -1);
  return replaced;
}

/* The dump, and the look for a deadlock, have to know what this kernel thread sleeps for.
 * Only without a deadline: a timer would take waitq for a queue it is in. */
static bool sleep_for_ever_on(mltp_lock_t *lock, struct mltp_thread *self) {
  bool replaced = true;
  mt_store_relaxed(&self->waitq, &lock->queue_);
  mt_store_relaxed(&self->why, MT_WHY_LOCK);
  if (self->vp != NULL || mt_det_on)
    replaced = sleep_with_vp_on(lock);
  else
    mt_park_in_lock(futex_of(lock), HELD | SLEEPERS);
  mt_store_relaxed(&self->why, MT_WHY_NOTHING);
  mt_store_relaxed(&self->waitq, NULL);
  return replaced;
}

static int lock_slow(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer) {
  if (trylock(lock, self)) return 0;
  if (holder(lock) == self) return EDEADLK;
  mt_step("lock: swap");
  bool has_slept = false, replaced = true;
  while (replaced && may_sleep(lock, self)) {
    if (take_or_mark(lock, self, SLEEPERS)) return 0;
    if (timer == NULL)
      replaced = sleep_for_ever_on(lock, self);
    else if (mt_timer_passed(timer))
      return ETIMEDOUT; /* the bit stays: an unlock wakes one too many at worst */
    else
      replaced = sleep_on(lock, timer->node.key);
    has_slept = true;
  }
  return wait_in_queue(lock, self, timer, has_slept);
}

/* @return false: nobody is in the queue any more, the caller holds the lock as before. */
static bool hand_over(mltp_lock_t *lock) {
  mltp_waitq_t *q = &lock->queue_;
  mt_ilock_lock(&q->ilock_);
  struct mltp_thread *next = mt_waitq_pop(q);
  note_holder(lock, next);
  if (q->count_ == 0) mt_and_relaxed(futex_of(lock), ~(uint32_t)QUEUED);
  mt_ilock_unlock(&q->ilock_);
  if (next != NULL) mt_resume(next);
  return next != NULL;
}

static int unlock(mltp_lock_t *lock, struct mltp_thread *self) {
  if (holder(lock) != self) return EPERM;
  note_holder(lock, NULL);
  mt_step("unlock: swap");
  uint32_t word = mt_load_relaxed(futex_of(lock)); /* relaxed: the swap checks it */
  do {
    if (word == (HELD | SLEEPERS | QUEUED)) {
      mt_and_relaxed(futex_of(lock), ~(uint32_t)SLEEPERS);
      os_futex_wake(futex_of(lock), INT_MAX);
    }
    while (word & QUEUED) {
      if (hand_over(lock)) return 0;
      word = mt_load_relaxed(futex_of(lock)); /* relaxed: as above */
    }
  } while (!mt_cas_release(futex_of(lock), &word, FREE)); /* SM-3 release: pairs SM-1 SM-2 */
  if (word & SLEEPERS) os_futex_wake(futex_of(lock), 1);
  return 0;
}

const struct mt_lock_ops mt_lock_semaphore = {"semaphore", lock_slow, trylock,
                                              unlock,      holder,    false};
