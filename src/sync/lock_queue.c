/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue lock: first come, first served, each waiter on a word of its own, as in
 * Anderson, Lazowska and Levy (Table IV) and the list-based locks that followed (Mellor-
 * Crummey and Scott, 1991). A release touches only the next waiter's word.
 *
 * Their waiters spin forever, which collapses when there are more of them than
 * processors, because the next waiter has none. Here a waiter spins for as long as its
 * predecessor in the queue runs, within a limit (spin_budget.h). Its successor sees that a
 * parked waiter does not run, and parks as well.
 *
 * The element of the queue is the thread's descriptor, and the queue is a wait queue. So a
 * deadline takes a waiter out of the middle as out of any other queue. A waiter that spins
 * is in the queue, but its waitq is not set, so no timer can resume it. Its `wait_mode` says
 * what the holder has to do for it:
 *   SPINS   nothing; the releasing holder moves it to
 *   CHOSEN  the word names it already; then, after the release of the internal lock,
 *   HAS_IT  which it waits for: it may free the lock's memory from here on
 *   PARKS   the holder has to resume it
 * All changes but the last to HAS_IT are under the internal lock. Explored by tests/models/
 * queue.pml. Deterministic mode cannot show it, since a waiter that spins must not give
 * way: this queue uses the links of the run queue.
 *
 * Word: lock_word.h. While there are waiters the word names a holder, so no newcomer finds
 * the lock free.
 *
 * Rejected: entering by one swap, without an internal lock (their way). Leaving the queue at a
 * deadline then costs more than entering under the lock. Spinning on the holder's state
 * instead of the predecessor's, because all waiters would read the word that all change.
 *
 * Relaxed: `wait_mode` of a thread that only it reads.
 */
#include <errno.h>

#include "base/options.h"
#include "core/det/det.h"
#include "core/wait/park.h"
#include "core/wait/spin_budget.h"
#include "sync/lock_word.h"

enum { SPINS, CHOSEN, HAS_IT, PARKS };

static bool has_it(const struct mltp_thread *self) {
  return mt_load_acquire(&self->wait_mode) == HAS_IT; /* QL-1 acquire: pairs QL-2 */
}

static bool spin(const struct mltp_thread *self, const struct mltp_thread *before) {
  struct mt_spin_budget budget = mt_spin_budget_begin(mt_tuned(MT_LOCK_SPIN_NS));
  do
    if (has_it(self)) return true;
  while (mt_spin_budget_left(&budget, before));
  return false;
}

static int lock_slow(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer) {
  if (mt_lock_take(lock, self)) return 0;
  if (mt_lock_holder(lock) == self) return EDEADLK;
  mt_step("lock: to the queue");
  mltp_waitq_t *q = &lock->queue_;
  mt_ilock_lock(&q->ilock_);
  if (mt_lock_take_or_mark(lock, self)) {
    mt_ilock_unlock(&q->ilock_);
    return 0;
  }
  const struct mltp_thread *before =
      q->tail_ != NULL ? q->tail_ : mt_lock_holder_in(mt_lock_look(lock));
  mt_store_relaxed(&self->wait_mode, SPINS); /* relaxed: the internal lock publishes it */
  mt_waitq_append(q, self);
  mt_ilock_unlock(&q->ilock_);
  if (spin(self, before)) return 0;
  mt_ilock_lock(&q->ilock_);
  if (mt_load_relaxed(&self->wait_mode) != SPINS) { /* relaxed: has_it() acquires */
    mt_ilock_unlock(&q->ilock_);
    for (unsigned round = 0; !has_it(self);) mt_relax(&round);
    return 0;
  }
  mt_store_relaxed(&self->wait_mode, PARKS); /* relaxed: as above */
  return mt_wait_in(self, q, MT_WHY_LOCK, timer);
}

static int unlock(mltp_lock_t *lock, struct mltp_thread *self) {
  if (mt_lock_holder(lock) != self) return EPERM;
  mt_step("unlock: swap");
  if (mt_lock_reactive_release(lock, self)) return 0;
  mt_step("unlock: to the queue");
  mt_ilock_lock(&lock->queue_.ilock_);
  struct mltp_thread *first = mt_waitq_pop(&lock->queue_);
  bool parks = first != NULL && first->wait_mode == PARKS;
  /* relaxed: under the ilock */
  if (first != NULL && !parks) mt_store_relaxed(&first->wait_mode, CHOSEN);
  mt_lock_pass_on(lock, first);
  mt_ilock_unlock(&lock->queue_.ilock_);
  if (parks)
    mt_resume(first);
  else if (first != NULL)
    mt_store_release(&first->wait_mode, HAS_IT); /* QL-2 release: what was locked; pairs QL-1 */
  return 0;
}

const struct mt_lock_ops mt_lock_queue = {"queue", lock_slow,      mt_lock_take,
                                          unlock,  mt_lock_holder, false};
