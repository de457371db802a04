/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The semaphore lock (thesis 3.3.3.3): a waiter sleeps in the kernel, VP and all.
 * Where the thesis has a System V semaphore this has a futex, and while the VP
 * sleeps another may be active in its place, or a holder in its queue would never
 * run.
 *
 * word_: 0 free, 1 held, 2 held and perhaps waited for (Drepper, "Futexes are
 * tricky", mutex 2).
 *
 * Relaxed: for reports only.
 */
#include <errno.h>

#include "core/det/det.h"
#include "core/sched/blocking.h"
#include "core/vp/vp.h"
#include "mltp/sched.h"
#include "sync/lock.h"

enum { NAP_NS = 1000000 };

static uint32_t *futex_of(mltp_lock_t *lock) {
  return (uint32_t *)&lock->word_; /* little endian: the low half */
}

static bool trylock(mltp_lock_t *lock, struct mltp_thread *self) {
  uint32_t free = 0;
  if (!mt_cas_acquire(futex_of(lock), &free, 1)) return false; /* SM-1 acquire: pairs SM-3 */
  mt_lock_note_holder(lock, self);
  return true;
}

/* Without a VP in this one's place the holder may be among the threads that wait for
 * this VP: then it looks after them in between. So it does in deterministic mode. */
static void sleep_on(mltp_lock_t *lock, uint64_t deadline) {
  if (mt_det_on) {
    mltp_yield();
    return;
  }
  bool replaced = mt_blocking_begin();
  uint64_t until = replaced ? MLTP_NEVER : mltp_after(NAP_NS);
  os_futex_wait(futex_of(lock), 2, until < deadline ? until : deadline);
  mltp_blocking_end();
  if (!replaced) mltp_yield();
}

/* The dump, and the look for a deadlock, have to know what this VP sleeps for.
 * Only without a deadline: a timer would take waitq for a queue it is in. */
static void sleep_for_ever_on(mltp_lock_t *lock, struct mltp_thread *self) {
  int on_vp = self->vp != NULL;
  mt_store_relaxed(&self->waitq, &lock->queue_);
  mt_store_relaxed(&self->why, MT_WHY_LOCK);
  mt_add_relaxed(&mt_rt.sleep.blocked_in_locks, on_vp); /* relaxed: for the deadlock report only */
  sleep_on(lock, MLTP_NEVER);
  mt_add_relaxed(&mt_rt.sleep.blocked_in_locks, -on_vp);
  mt_store_relaxed(&self->why, MT_WHY_NOTHING);
  mt_store_relaxed(&self->waitq, NULL);
}

static int lock_slow(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer) {
  if (trylock(lock, self)) return 0;
  if (mt_lock_noted_holder(lock) == self) return EDEADLK;
  mt_step("lock: swap");
  while (mt_swap_acquire(futex_of(lock), 2) != 0) { /* SM-2 acquire: pairs SM-3 */
    if (timer == NULL)
      sleep_for_ever_on(lock, self);
    else if (mt_timer_passed(timer))
      return ETIMEDOUT; /* the 2 stays: an unlock wakes one too many at worst */
    else
      sleep_on(lock, timer->node.key);
  }
  mt_lock_note_holder(lock, self);
  return 0;
}

static int unlock(mltp_lock_t *lock, struct mltp_thread *self) {
  if (mt_lock_noted_holder(lock) != self) return EPERM;
  mt_lock_note_holder(lock, NULL);
  mt_step("unlock: swap");
  if (mt_swap_acq_rel(futex_of(lock), 0) == 2) /* SM-3 acq_rel: pairs SM-1 SM-2 */
    os_futex_wake(futex_of(lock), 1);
  return 0;
}

const struct mt_lock_ops mt_lock_semaphore = {"semaphore",          lock_slow, trylock, unlock,
                                              mt_lock_noted_holder, false};
