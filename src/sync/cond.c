/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions (thesis 3.3.5), with a lock and in the thesis's form without one. */
#include <errno.h>

#include "base/log.h"
#include "core/det/det.h"
#include "core/wait/park.h"
#include "mltp/sync.h"
#include "sync/lock.h"

int mltp_cond_init(mltp_cond_t *cond, const char *name) {
  *cond = (mltp_cond_t)MLTP_COND_INIT;
  cond->name_ = name;
  return 0;
}

int mltp_cond_destroy(mltp_cond_t *cond) {
  return mt_waitq_destroy("mltp_cond_destroy", &cond->queue_, "condition", cond->name_);
}

static inline int let_go(const char *call, mltp_lock_t *lock, struct mltp_thread *self) {
  if (mt_lock_release_inlined(lock, self)) return 0;
  return mt_lock_release_to_wait(call, lock, self);
}

static inline int take_again(mltp_lock_t *lock, struct mltp_thread *self) {
  if (mt_lock_try_inlined(lock, self)) return 0;
  return mltp_lock(lock);
}

/* The caller enters the queue before it releases the lock, so a signal by the next holder
 * finds it there. Inlined, since few calls have a timer. */
__attribute__((always_inline)) static inline int wait(const char *call, mltp_cond_t *cond,
                                                      mltp_lock_t *lock, struct mt_timer *timer) {
  struct mltp_thread *self = mt_self(call);
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt(call);
  mltp_waitq_t *q = &cond->queue_;
  mt_ilock_lock(&q->ilock_);
  bool entered = mt_wait_enter(self, q, timer);
  int error = lock != NULL ? let_go(call, lock, self) : 0;
  if (error != 0) {
    if (entered) mt_waitq_remove(q, self);
    mt_ilock_unlock(&q->ilock_);
    return timer != NULL ? mt_timer_disarm(timer, error) : error;
  }
  if (entered) {
    error = mt_wait_park(self, q, MT_WHY_COND, timer);
  } else {
    mt_ilock_unlock(&q->ilock_);
    error = ETIMEDOUT;
  }
  /* or it would take the caller out of the lock's queue */
  if (timer != NULL) error = mt_timer_disarm(timer, error);
  int relock = lock != NULL ? take_again(lock, self) : 0;
  return relock != 0 ? relock : error;
}

static int wait_timed(const char *call, mltp_cond_t *cond, mltp_lock_t *lock, uint64_t deadline) {
  struct mltp_thread *self = mt_self(call);
  if (self == NULL) return EPERM;
  struct mt_timer timer;
  mt_timer_arm(&timer, self, deadline);
  return wait(call, cond, lock, &timer);
}

static int refuse_no_lock(const char *call) {
  struct mltp_thread *self = mt_self(call);
  if (self == NULL) return EPERM;
  return mt_misuse(EINVAL, call, self->id, mt_name(self),
                   "lock is NULL (give the lock that protects the predicate)");
}

int mltp_cond_wait(mltp_cond_t *cond, mltp_lock_t *lock) {
  if (mt_unlikely(lock == NULL)) return refuse_no_lock("mltp_cond_wait");
  return wait("mltp_cond_wait", cond, lock, NULL);
}

int mltp_cond_wait_timed(mltp_cond_t *cond, mltp_lock_t *lock, uint64_t deadline) {
  if (lock == NULL) return refuse_no_lock("mltp_cond_wait_timed");
  return wait_timed("mltp_cond_wait_timed", cond, lock, deadline);
}

int mltp_cond_wait_unlocked(mltp_cond_t *cond) {
  return wait("mltp_cond_wait_unlocked", cond, NULL, NULL);
}

int mltp_cond_wait_unlocked_timed(mltp_cond_t *cond, uint64_t deadline) {
  return wait_timed("mltp_cond_wait_unlocked_timed", cond, NULL, deadline);
}

int mltp_cond_signal(mltp_cond_t *cond) {
  if (mt_self("mltp_cond_signal") == NULL) return EPERM;
  mt_ilock_lock(&cond->queue_.ilock_);
  struct mltp_thread *t = mt_waitq_pop(&cond->queue_);
  mt_ilock_unlock(&cond->queue_.ilock_);
  if (t != NULL) mt_resume(t);
  mt_preempt("mltp_cond_signal");
  return 0;
}

int mltp_cond_broadcast(mltp_cond_t *cond) {
  if (mt_self("mltp_cond_broadcast") == NULL) return EPERM;
  mt_ilock_lock(&cond->queue_.ilock_);
  struct mltp_thread *waiters = mt_waitq_take_all(&cond->queue_);
  mt_ilock_unlock(&cond->queue_.ilock_);
  mt_resume_chain(waiters);
  mt_preempt("mltp_cond_broadcast");
  return 0;
}
