/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reactive lock (thesis 5.1): the way of waiting depends on what the holder does.
 *
 * Word: lock_word.h.
 *
 * Contended: while the holder runs, and awake VPs do not exceed CPUs, a waiter spins: after a
 * delay it looks, for at most MLTP_LOCK_SPIN_NS. A look costs the holder two transfers of the
 * line, as long as several short sections. So waiters look seldom at a lock that is taken again
 * and again: the lock learns the delay (ticket_). Where this does not end, spinning gains
 * nothing, and the waiter sleeps for a moment instead (room_). Then the waiter sets the bit under
 * the queue's internal lock and parks. A holder that finds the bit takes that lock, wakes the first
 * waiter and leaves the lock free, so that a running thread may take it first, for throughput. A
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
#include "core/sched/runq.h"
#include "core/wait/spin_budget.h"
#include "policy/wait.h"
#include "sync/lock_word.h"

enum { HANDED_NO, HANDED_WANTED, HANDED_GIVEN };

/* How a lock is fought for: its level, in the lowest bits, and the time of the last fight. */
enum { LEVELS = MT_LOCK_LEVEL_MOST + 1 };

static uint64_t level_of(uint64_t fight) { return fight % LEVELS; }
static uint64_t time_of(uint64_t fight) { return fight - level_of(fight); }

/* relaxed: by the holder; hints */
static void learn(mltp_lock_t *lock, unsigned delay, unsigned looks, bool napped) {
  uint64_t fight = mt_load_relaxed(&lock->room_), now = os_now();
  const uint64_t most = mt_tuned(MT_LOCK_DELAY_PAUSES);
  const struct mt_lock_fight_seen seen = {.level = level_of(fight),
                                          .since_ns = now - time_of(fight),
                                          .delay = delay,
                                          .looks = looks,
                                          .most = most,
                                          .spin_ns = mt_tuned(MT_LOCK_SPIN_NS),
                                          .nap_ns = mt_tuned(MT_IDLE_SPIN_NS)};
  mt_store_relaxed(&lock->room_, time_of(now) + mt_lock_level(seen));
  if (napped) return; /* the first look came after a sleep, and says nothing about the delay */
  mt_store_relaxed(&lock->ticket_, mt_lock_delay((struct mt_lock_seen){delay, looks, most}));
}

/* Before the first look. The kernel thread sleeps where the lock is acquired again and again, and
 * the VP has nothing else to run: to other VPs it computes meanwhile. @return whether it slept. */
static bool delay_look(const mltp_lock_t *lock, const struct mltp_thread *self, unsigned delay) {
  struct mt_vp *vp = self->vp;
  bool naps = level_of(mt_load_relaxed(&lock->room_)) >= MT_LOCK_NAP_LEVEL;
  if (!naps || (vp != NULL && mt_runq_seems_busy(vp))) {
    mt_pauses(delay);
    return false;
  }
  os_nap(mt_tuned(MT_IDLE_SPIN_NS));
  /* relaxed: the owner's. The monitor sees that the VP is not blocked. */
  if (vp != NULL) mt_store_relaxed(&vp->points.tick, mt_load_relaxed(&vp->points.tick) + 1);
  return true;
}

/* Waits on the processor while that may pay. @return true: acquired. */
static bool spin(mltp_lock_t *lock, struct mltp_thread *self) {
  uint64_t word = mt_lock_look(lock);
  struct mltp_thread *owner = mt_lock_holder_in(word);
  if (owner == NULL && mt_lock_take_free(lock, self, word)) return true;
  uint64_t most = mt_tuned(MT_LOCK_SPIN_NS);
  if (most == 0 || !mt_spinning_may_pay(owner)) return false;
  unsigned delay = mt_load_relaxed(&lock->ticket_), looks = 0, gap = MT_LOCK_GAP_FIRST / 2;
  bool napped = delay_look(lock, self, delay);
  struct mt_spin_budget budget = mt_spin_budget_begin(most);
  do {
    word = mt_lock_look(lock);
    owner = mt_lock_holder_in(word);
    looks++;
    if (owner == NULL && mt_lock_take_free(lock, self, word)) {
      learn(lock, delay, looks, napped);
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
