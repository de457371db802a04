/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reactive lock (thesis 5.1): the way of waiting depends on what the holder does.
 *
 * Word: lock_word.h.
 *
 * Contended: while the holder runs, and awake VPs do not exceed CPUs, a waiter spins: after a
 * delay it looks, for at most MLTP_LOCK_SPIN_NS. A look costs the holder two transfers of the
 * line, as long as several short sections. So waiters look seldom at a lock that is taken again
 * and again: the lock learns the delay (ticket_). Then the waiter sets the bit under the queue's
 * internal lock and parks. A holder that finds the bit takes that lock, wakes the first waiter
 * and leaves the lock free, so that a running thread may take it first, for throughput. A
 * waiter that was woken but found the lock taken enters at the front and asks for a hand-over.
 * The next release gives it the lock, so no waiter is overtaken forever.
 *
 * Rejected: handing over at every release (a convoy when the next holder is not
 * running); spinning without regard to the holder (thesis 4.4: 1.3 s -> 448 s).
 *
 * Relaxed: the word as a hint; the compare-and-swap that follows checks it.
 */
#include <errno.h>

#include "core/det/det.h"
#include "core/wait/spin_budget.h"
#include "policy/wait.h"
#include "sync/lock_word.h"

enum { HANDED_NO, HANDED_WANTED, HANDED_GIVEN };

static void learn(mltp_lock_t *lock, unsigned delay, unsigned looks) {
  const struct mt_lock_seen seen = {delay, looks, mt_tuned(MT_LOCK_DELAY_PAUSES)};
  mt_store_relaxed(&lock->ticket_, mt_lock_delay(seen)); /* relaxed: by the holder; a hint */
}

/* Waits on the processor while that may pay. @return true: acquired. */
static bool spin(mltp_lock_t *lock, struct mltp_thread *self) {
  uint64_t word = mt_lock_look(lock);
  struct mltp_thread *owner = mt_lock_holder_in(word);
  if (owner == NULL && mt_lock_take_free(lock, self, word)) return true;
  uint64_t most = mt_tuned(MT_LOCK_SPIN_NS);
  if (most == 0 || !mt_spinning_may_pay(owner)) return false;
  unsigned delay = mt_load_relaxed(&lock->ticket_), looks = 0, gap = MT_LOCK_GAP_FIRST / 2;
  mt_pauses(delay);
  struct mt_spin_budget budget = mt_spin_budget_begin(most);
  do {
    word = mt_lock_look(lock);
    owner = mt_lock_holder_in(word);
    looks++;
    if (owner == NULL && mt_lock_take_free(lock, self, word)) {
      learn(lock, delay, looks);
      return true;
    }
    gap = mt_pauses_twice(gap, MT_LOCK_GAP_MOST);
  } while (mt_spin_budget_left_after(&budget, owner, gap));
  return false;
}

static int lock_slow(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer) {
  if (mt_lock_holder(lock) == self) return EDEADLK;
  for (bool again = false;; again = true) {
    if (spin(lock, self)) return 0;
    mt_step("lock: to the queue");
    mt_ilock_lock(&lock->queue_.ilock_);
    if (mt_lock_take_or_mark(lock, self)) {
      mt_ilock_unlock(&lock->queue_.ilock_);
      return 0;
    }
    self->wait_mode = again ? HANDED_WANTED : HANDED_NO;
    int error = mt_wait(self, &lock->queue_, again, MT_WHY_LOCK, timer);
    if (error != 0 || self->wait_mode == HANDED_GIVEN) return error;
  }
}

static int unlock(mltp_lock_t *lock, struct mltp_thread *self) {
  if (mt_lock_holder(lock) != self) return EPERM;
  mt_step("unlock: swap");
  if (mt_lock_reactive_release(lock, self)) return 0;
  mt_step("unlock: to the queue");
  mt_ilock_lock(&lock->queue_.ilock_);
  struct mltp_thread *first = mt_waitq_pop(&lock->queue_);
  bool handed = first != NULL && first->wait_mode == HANDED_WANTED;
  if (handed) first->wait_mode = HANDED_GIVEN;
  mt_lock_pass_on(lock, handed ? first : NULL);
  mt_ilock_unlock(&lock->queue_.ilock_);
  if (first != NULL) mt_resume(first);
  return 0;
}

const struct mt_lock_ops mt_lock_reactive = {"reactive", lock_slow,      mt_lock_take,
                                             unlock,     mt_lock_holder, false};
