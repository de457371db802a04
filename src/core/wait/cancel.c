/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cancellation (docs/design/007-cancellation.md): a cancelled thread's timers fire.
 *
 * A wait that can be cancelled is one that has a timer, if only one that never comes.
 * mt_timer_arm() notes it in the thread, and then looks whether the thread is
 * cancelled; mltp_cancel() says so, and then looks for a timer and fires it, which
 * takes the thread out of the queue it is in as at a deadline (park.h). Waits are many
 * and cancellations few, so the waiter's fence is the light one (CN-1, CN-2: either
 * sees the other). Likewise at the end of a wait: mt_timer_disarm() withdraws the
 * timer, looks, and if it sees a cancellation waits until that one has let go of the
 * timer, and of the queue (CN-3).
 *
 * outside.timeouts is held while a timer is fired, so that _destroy functions wait
 * that out (mt_timers_flush), and that mltp_uncancel() comes before or after it.
 *
 * Relaxed: cancel and timer are ordered by the fences; deadline is the thread's own.
 */
#include <errno.h>

#include "base/fence.h"
#include "base/log.h"
#include "core/det/det.h"
#include "core/thread/thread.h"
#include "core/timer/timer.h"
#include "mltp/cancel.h"

int mltp_cancel(mltp_t *thread) {
  const struct mltp_thread *self = mt_self("mltp_cancel");
  if (self == NULL) return EPERM;
  if (mt_state(thread) == MT_FREE)
    return mt_misuse(EINVAL, "mltp_cancel", self->id, mt_name(self),
                     "thread %lu '%s' was joined already, or was detached and has ended",
                     (unsigned long)thread->id, mt_name(thread));
  mt_or_relaxed(&thread->cancel, MT_CANCELLED);
  mt_fence_heavy(); /* CN-1 heavy fence: cancelled before the look for a timer; pairs CN-2 CN-3 */
  mt_ilock_lock(&mt_rt.outside.timeouts);
  struct mt_timer *timer = mt_load_acquire(&thread->timer); /* CN-5 acquire: pairs CN-4 */
  bool still = (mt_load_relaxed(&thread->cancel) & MT_CANCELLED) != 0;
  if (timer != NULL && still) {
    mt_store_relaxed(&timer->meaning, ECANCELED);
    mt_timer_fire(timer);
  }
  mt_ilock_unlock(&mt_rt.outside.timeouts);
  return 0;
}

int mltp_cancelled(void) {
  const struct mltp_thread *self = mt_current();
  if (self == NULL) return 0;
  uint8_t cancel = mt_load_relaxed(&self->cancel);
  return (cancel & MT_CANCELLED) != 0 ||
         ((cancel & MT_HAS_DEADLINE) != 0 && self->deadline <= mt_now());
}

void mltp_uncancel(void) {
  struct mltp_thread *self = mt_current();
  if (self == NULL || mt_load_relaxed(&self->cancel) == 0) return;
  mt_ilock_lock(&mt_rt.outside.timeouts);
  mt_store_relaxed(&self->cancel, 0);
  mt_ilock_unlock(&mt_rt.outside.timeouts);
}

uint64_t mltp_set_deadline(uint64_t deadline) {
  struct mltp_thread *self = mt_self("mltp_set_deadline");
  if (self == NULL) return MLTP_NEVER;
  bool had = (mt_load_relaxed(&self->cancel) & MT_HAS_DEADLINE) != 0;
  uint64_t before = had ? self->deadline : MLTP_NEVER;
  self->deadline = deadline;
  if (deadline != MLTP_NEVER)
    mt_or_relaxed(&self->cancel, MT_HAS_DEADLINE);
  else
    mt_and_relaxed(&self->cancel, (uint8_t)~MT_HAS_DEADLINE);
  return before;
}
