/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores: a unit that is posted while there are waiters goes straight to the longest
 * waiter. */
#include <errno.h>

#include "base/log.h"
#include "core/det/det.h"
#include "core/wait/park.h"
#include "mltp/sync.h"

int mltp_sem_init(mltp_sem_t *sem, unsigned value, const char *name) {
  *sem = (mltp_sem_t)MLTP_SEM_INIT(value);
  sem->name_ = name;
  return 0;
}

int mltp_sem_destroy(mltp_sem_t *sem) {
  return mt_waitq_destroy("mltp_sem_destroy", &sem->queue_, "semaphore", sem->name_);
}

/* Under the internal lock. */
static bool take(mltp_sem_t *sem) {
  if (sem->value_ == 0) return false;
  mt_store_relaxed(&sem->value_, sem->value_ - 1); /* relaxed: mltp_sem_value() peeks */
  return true;
}

/* Inlined, since few calls have a timer. */
__attribute__((always_inline)) static inline int wait(mltp_sem_t *sem, struct mltp_thread *self,
                                                      struct mt_timer *timer) {
  mltp_waitq_t *q = &sem->queue_;
  mt_ilock_lock(&q->ilock_);
  bool taken = take(sem);
  if (!taken && mt_wait_enter(self, q, timer)) return mt_wait_park(self, q, MT_WHY_SEM, timer);
  mt_ilock_unlock(&q->ilock_);
  return taken ? 0 : ETIMEDOUT;
}

int mltp_sem_wait(mltp_sem_t *sem) {
  struct mltp_thread *self = mt_self("mltp_sem_wait");
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt("mltp_sem_wait");
  return wait(sem, self, NULL);
}

int mltp_sem_wait_try(mltp_sem_t *sem) {
  if (mt_self("mltp_sem_wait_try") == NULL) return EPERM;
  mt_preempt("mltp_sem_wait_try");
  /* relaxed: an earlier post is seen. A polling thread must not take the lock that posters need. */
  if (mt_load_relaxed(&sem->value_) == 0) return EAGAIN;
  mt_ilock_lock(&sem->queue_.ilock_);
  bool taken = take(sem);
  mt_ilock_unlock(&sem->queue_.ilock_);
  return taken ? 0 : EAGAIN;
}

int mltp_sem_wait_timed(mltp_sem_t *sem, uint64_t deadline) {
  struct mltp_thread *self = mt_self("mltp_sem_wait_timed");
  if (mt_unlikely(self == NULL)) return EPERM;
  if (mltp_sem_wait_try(sem) == 0) return 0;
  struct mt_timer timer;
  mt_timer_arm(&timer, self, deadline);
  mt_step("semaphore: wait");
  return mt_timer_disarm(&timer, wait(sem, self, &timer));
}

int mltp_sem_post(mltp_sem_t *sem) {
  if (mt_self("mltp_sem_post") == NULL) return EPERM;
  mltp_waitq_t *q = &sem->queue_;
  mt_ilock_lock(&q->ilock_);
  struct mltp_thread *t = mt_waitq_pop(q);
  int error = t == NULL && sem->value_ == UINT32_MAX ? EOVERFLOW : 0;
  if (t == NULL && error == 0)
    mt_store_relaxed(&sem->value_, sem->value_ + 1); /* relaxed: mltp_sem_value() peeks */
  mt_ilock_unlock(&q->ilock_);
  if (t != NULL) mt_resume(t);
  mt_preempt("mltp_sem_post");
  return error;
}

unsigned mltp_sem_value(const mltp_sem_t *sem) {
  return (unsigned)mt_load_relaxed(&sem->value_); /* relaxed: stale at once anyway */
}
