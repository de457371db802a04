/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ticket lock (thesis 3.3.3.1, figure 4): it serves in order of arrival, and its waiters
 * spin. The thesis's waiter spins forever and starves a holder that has lost its processor.
 * Ours yields its VP while the holder does not run, or when spinning has not helped for a
 * while.
 *
 * ticket_ is the next ticket, word_ the one being served.
 *
 * Relaxed: a ticket orders nothing; seeing it served does.
 */
#include <errno.h>

#include "core/det/det.h"
#include "sync/lock.h"
#include "sync/lock_step.h"

static void wait_step(const mltp_lock_t *lock, unsigned *round) {
  mt_lock_wait_step(mt_lock_noted_holder(lock), round, 1);
}

static bool trylock(mltp_lock_t *lock, struct mltp_thread *self) {
  uint32_t serving = (uint32_t)mt_load_acquire(&lock->word_); /* TK-1 acquire: pairs TK-3 */
  mt_step("trylock: swap");
  if (!mt_cas_relaxed(&lock->ticket_, &serving, serving + 1)) return false;
  mt_lock_note_holder(lock, self);
  return true;
}

/* A ticket cannot be given back, so a timed waiter takes none. */
static int lock_timed(mltp_lock_t *lock, struct mltp_thread *self, const struct mt_timer *timer) {
  for (unsigned round = 0; !trylock(lock, self); wait_step(lock, &round))
    if (mt_timer_passed(timer)) return ETIMEDOUT;
  return 0;
}

static int lock_slow(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer) {
  if (mt_lock_noted_holder(lock) == self) return EDEADLK;
  if (timer != NULL) return lock_timed(lock, self, timer);
  uint64_t ticket = mt_add_relaxed(&lock->ticket_, 1); /* relaxed: TK-2 acquires */
  mt_step("lock: look at the ticket");
  for (unsigned round = 0; mt_load_acquire(&lock->word_) != ticket;) /* TK-2 acquire: pairs TK-3 */
    wait_step(lock, &round);
  mt_lock_note_holder(lock, self);
  return 0;
}

static int unlock(mltp_lock_t *lock, struct mltp_thread *self) {
  if (mt_lock_noted_holder(lock) != self) return EPERM;
  mt_lock_note_holder(lock, NULL);
  mt_step("unlock: serve the next");
  uint64_t next = (uint32_t)(mt_load_relaxed(&lock->word_) + 1); /* relaxed: only we write it */
  mt_store_release(&lock->word_, next);                          /* TK-3 release: pairs TK-1 TK-2 */
  return 0;
}

const struct mt_lock_ops mt_lock_ticket = {"spin", lock_slow, trylock, unlock, mt_lock_noted_holder,
                                           false};
