/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of all lock classes. */
#include "sync/lock.h"

#include <errno.h>

#include "base/log.h"
#include "base/options.h"
#include "core/det/det.h"
#include "core/vp/alternative.h"
#include "mltp/alternatives.h"

static const struct mt_lock_ops *const classes[] = {
    [MLTP_LOCK_REACTIVE] = &mt_lock_reactive,
    [MLTP_LOCK_QUEUE] = &mt_lock_queue,
    [MLTP_LOCK_SPIN] = &mt_lock_ticket,
    [MLTP_LOCK_SEMAPHORE] = &mt_lock_semaphore,
    [MLTP_LOCK_RECURSIVE] = &mt_lock_recursive,
    [MLTP_LOCK_ALT_YIELD_END] = &mt_lock_yield_end,
    [MLTP_LOCK_ALT_YIELD_FRONT] = &mt_lock_yield_front,
};

enum { CLASSES = sizeof classes / sizeof classes[0] };

static const struct mt_lock_ops *ops_of(uint32_t lock_class) {
  if (lock_class < CLASSES) return classes[lock_class];
  return MLTP_ALTERNATIVES ? mt_lock_alternative(lock_class) : NULL;
}

const struct mt_lock_ops *mt_lock_ops(const mltp_lock_t *lock) {
  return ops_of(mt_lock_class_of(lock));
}

static const char *name_of(const mltp_lock_t *lock) {
  return lock->name_ != NULL ? lock->name_ : "";
}

/* Explains a refused call. */
static int refuse(int error, const char *call, const mltp_lock_t *lock,
                  const struct mltp_thread *self) {
  const struct mt_lock_ops *ops = mt_lock_ops(lock);
  uint64_t id = self->id;
  const char *name = mt_name(self);
  if (ops == NULL)
    return mt_misuse(EINVAL, call, id, name,
                     "lock %p is not initialised (use mltp_lock_init or MLTP_LOCK_INIT)",
                     (const void *)lock);
  const struct mltp_thread *holder = ops->holder(lock);
  if (error == EDEADLK)
    return mt_misuse(error, call, id, name,
                     "it holds lock %p '%s' already (unlock it first, or make the lock recursive)",
                     (const void *)lock, name_of(lock));
  if (holder == NULL)
    return mt_misuse(error, call, id, name,
                     "it does not hold lock %p '%s', and nobody does (lock before you unlock, and "
                     "unlock once)",
                     (const void *)lock, name_of(lock));
  return mt_misuse(error, call, id, name,
                   "lock %p '%s' is held by thread %lu '%s' (the thread that locks must unlock)",
                   (const void *)lock, name_of(lock), (unsigned long)holder->id, mt_name(holder));
}

int mltp_lock_init(mltp_lock_t *lock, mltp_lock_class_t lock_class, const char *name) {
  if (lock_class != MLTP_LOCK_STANDARD && ops_of((uint32_t)lock_class) == NULL) return EINVAL;
  *lock = (mltp_lock_t)MLTP_LOCK_INIT_CLASS(lock_class);
  lock->name_ = name;
  return 0;
}

int mltp_lock_destroy(mltp_lock_t *lock) {
  if (!mt_is_up()) return 0;
  struct mltp_thread *self = mt_self("mltp_lock_destroy");
  if (self == NULL) return EPERM;
  const struct mt_lock_ops *ops = mt_lock_ops(lock);
  if (ops == NULL || ops->holder(lock) != NULL)
    return refuse(EBUSY, "mltp_lock_destroy", lock, self);
  /* the last holder may have set it free and still use the internal lock, or the word */
  if (ops->spins) {
    if (ops->lock(lock, self, NULL) == 0) ops->unlock(lock, self);
  } else {
    mt_ilock_lock(&lock->queue_.ilock_);
    mt_ilock_unlock(&lock->queue_.ilock_);
  }
  mt_timers_flush();
  return 0;
}

/* Apart from the fast path, which then needs no frame. */
__attribute__((noinline)) static int lock_slowly(mltp_lock_t *lock) {
  struct mltp_thread *self = mt_self("mltp_lock");
  if (mt_unlikely(self == NULL)) return EPERM;
  if (mt_lock_is_inlined(lock) && mt_lock_reactive_try(lock, self)) return 0;
  mt_preempt("mltp_lock");
  const struct mt_lock_ops *ops = mt_lock_ops(lock);
  int error = ops != NULL ? ops->lock(lock, self, NULL) : EINVAL;
  return error == 0 ? 0 : refuse(error, "mltp_lock", lock, self);
}

int mltp_lock(mltp_lock_t *lock) {
  struct mltp_thread *self = mt_current();
  if (mt_likely(self != NULL) && mt_lock_try_inlined(lock, self)) return 0;
  return lock_slowly(lock);
}

int mltp_lock_try(mltp_lock_t *lock) {
  struct mltp_thread *self = mt_self("mltp_lock_try");
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt("mltp_lock_try");
  const struct mt_lock_ops *ops = mt_lock_ops(lock);
  if (ops == NULL) return refuse(EINVAL, "mltp_lock_try", lock, self);
  return ops->trylock(lock, self) ? 0 : EBUSY;
}

int mltp_lock_timed(mltp_lock_t *lock, uint64_t deadline) {
  struct mltp_thread *self = mt_self("mltp_lock_timed");
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt("mltp_lock_timed");
  const struct mt_lock_ops *ops = mt_lock_ops(lock);
  if (ops == NULL) return refuse(EINVAL, "mltp_lock_timed", lock, self);
  if (ops->trylock(lock, self)) return 0;
  struct mt_timer timer;
  mt_timer_arm(&timer, self, deadline);
  int error = ops->lock(lock, self, &timer);
  error = mt_timer_disarm(&timer, error);
  return error == EDEADLK ? refuse(error, "mltp_lock_timed", lock, self) : error;
}

__attribute__((noinline)) static int unlock_slowly(mltp_lock_t *lock) {
  struct mltp_thread *self = mt_self("mltp_unlock");
  if (mt_unlikely(self == NULL)) return EPERM;
  int error = mt_lock_release("mltp_unlock", lock, self);
  mt_preempt("mltp_unlock");
  return error;
}

int mltp_unlock(mltp_lock_t *lock) {
  struct mltp_thread *self = mt_current();
  if (mt_likely(self != NULL) && mt_lock_release_inlined(lock, self)) return 0;
  return unlock_slowly(lock);
}

int mt_lock_release(const char *call, mltp_lock_t *lock, struct mltp_thread *self) {
  const struct mt_lock_ops *ops = mt_lock_ops(lock);
  int error = ops != NULL ? ops->unlock(lock, self) : EINVAL;
  return error == 0 ? 0 : refuse(error, call, lock, self);
}

int mt_lock_release_to_wait(const char *call, mltp_lock_t *lock, struct mltp_thread *self) {
  const struct mt_lock_ops *ops = mt_lock_ops(lock);
  if (ops == &mt_lock_recursive && ops->holder(lock) == self && lock->depth_ != 0)
    return mt_misuse(EINVAL, call, self->id, mt_name(self),
                     "it holds recursive lock %p '%s' %lu times (hold it once to wait)",
                     (const void *)lock, name_of(lock), (unsigned long)lock->depth_ + 1);
  return mt_lock_release(call, lock, self);
}
