/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yielding locks (thesis 3.3.3.2, figure 5): try, and yield to the end or to
 * the front of the ready queue. Two waiters at the front would trade places for
 * ever before a holder behind them, so every eighth yield is to the end.
 *
 * word_ is the holder.
 */
#include <errno.h>

#include "core/det/det.h"
#include "mltp/sched.h"
#include "sync/lock.h"

enum { FRONT_YIELDS = 8 };

static struct mltp_thread *holder(const mltp_lock_t *lock) {
  return (struct mltp_thread *)(uintptr_t)mt_load_relaxed(&lock->word_); /* relaxed: a hint */
}

static bool trylock(mltp_lock_t *lock, struct mltp_thread *self) {
  if (holder(lock) != NULL) return false;
  mt_step("lock: swap");
  return mt_lock_reactive_try(lock, self);
}

static int lock_yielding(mltp_lock_t *lock, struct mltp_thread *self, const struct mt_timer *timer,
                         unsigned front_yields) {
  if (holder(lock) == self) return EDEADLK;
  for (unsigned round = 1; !trylock(lock, self); round++) {
    if (timer != NULL && mt_timer_passed(timer)) return ETIMEDOUT;
    if (round % front_yields != 0)
      mltp_yield_to_first();
    else
      mltp_yield();
    mt_arch_pause(); /* in case nobody else was ready */
  }
  return 0;
}

static int lock_end(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer) {
  return lock_yielding(lock, self, timer, 1);
}

static int lock_front(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer) {
  return lock_yielding(lock, self, timer, FRONT_YIELDS);
}

static int unlock(mltp_lock_t *lock, struct mltp_thread *self) {
  return mt_lock_reactive_release(lock, self) ? 0 : EPERM;
}

const struct mt_lock_ops mt_lock_yield_end = {"yield-end", lock_end, trylock,
                                              unlock,      holder,   false};
const struct mt_lock_ops mt_lock_yield_front = {"yield-front", lock_front, trylock,
                                                unlock,        holder,     false};
