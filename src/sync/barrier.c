/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers (thesis 3.3.4, figure 6). The thesis's waiters stay in the ready queue
 * and look again and again; ours block in the barrier's queue. The last to come
 * takes the whole queue: one guarded step per thread, none per wake-up. */
#include <errno.h>

#include "base/log.h"
#include "core/det.h"
#include "core/park.h"
#include "mltp/sync.h"

int mltp_barrier_init(mltp_barrier_t *barrier, unsigned count, const char *name) {
  if (count == 0) return EINVAL;
  *barrier = (mltp_barrier_t)MLTP_BARRIER_INIT(count);
  barrier->name_ = name;
  return 0;
}

int mltp_barrier_destroy(mltp_barrier_t *barrier) {
  return mt_waitq_destroy("mltp_barrier_destroy", &barrier->queue_, "barrier", barrier->name_);
}

int mltp_barrier_wait(mltp_barrier_t *barrier) {
  struct mltp_thread *self = mt_self("mltp_barrier_wait");
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt("mltp_barrier_wait");
  mltp_waitq_t *q = &barrier->queue_;
  mt_spin_lock(&q->guard_);
  if (mt_likely(q->count_ + 1 < barrier->needed_)) {
    mt_wait(self, q, false, MT_WHY_BARRIER, NULL);
    return 0;
  }
  if (mt_unlikely(barrier->needed_ == 0)) {
    mt_spin_unlock(&q->guard_);
    return mt_misuse(EINVAL, "mltp_barrier_wait", self->id, mt_name(self),
                     "barrier %p is not initialised (use mltp_barrier_init or MLTP_BARRIER_INIT)",
                     (void *)barrier);
  }
  barrier->episode_++;
  struct mltp_thread *waiters = mt_waitq_take_all(q);
  mt_spin_unlock(&q->guard_);
  mt_resume_chain(waiters);
  return MLTP_BARRIER_SERIAL;
}
