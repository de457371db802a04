/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls of readers-writer locks.
 *
 * Relaxed: the word, for messages and by the writer.
 */
#include "sync/rwlock.h"

#include <errno.h>

#include "base/log.h"
#include "core/det/det.h"

static const char *name_of(const mltp_rwlock_t *lock) {
  return lock->name_ != NULL ? lock->name_ : "";
}

/* Explains a refused call. */
static int refuse(int error, const char *call, const mltp_rwlock_t *lock,
                  const struct mltp_thread *self) {
  uint64_t word = mt_load_relaxed(&lock->word_); /* relaxed: for the message */
  const struct mltp_thread *writer = mt_rw_writer(word);
  const char *name = name_of(lock);
  if (writer == self)
    return mt_misuse(error, call, self->id, mt_name(self),
                     "it holds readers-writer lock %p '%s' for writing (release it first)",
                     (const void *)lock, name);
  if (writer != NULL)
    return mt_misuse(error, call, self->id, mt_name(self),
                     "readers-writer lock %p '%s' is held for writing by thread %lu '%s' (the "
                     "thread that locks must unlock)",
                     (const void *)lock, name, (unsigned long)writer->id, mt_name(writer));
  if (mt_rw_readers(word) != 0)
    return mt_misuse(error, call, self->id, mt_name(self),
                     "readers-writer lock %p '%s' is held by %lu readers (they must unlock first)",
                     (const void *)lock, name, (unsigned long)mt_rw_readers(word));
  return mt_misuse(error, call, self->id, mt_name(self),
                   "nobody holds readers-writer lock %p '%s' (lock before you unlock, and unlock "
                   "once)",
                   (const void *)lock, name);
}

static bool is_writer(const mltp_rwlock_t *lock, const struct mltp_thread *self) {
  return mt_rw_writer(mt_load_relaxed(&lock->word_)) == self; /* relaxed: exact for the writer */
}

static int acquire(const char *call, mltp_rwlock_t *lock, enum mt_rw_mode mode) {
  struct mltp_thread *self = mt_self(call);
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt(call);
  if (mt_likely(mt_rw_take(lock, self, mode))) return 0;
  if (mt_unlikely(is_writer(lock, self))) return refuse(EDEADLK, call, lock, self);
  return mt_rw_wait(lock, self, mode, NULL);
}

static int acquire_try(const char *call, mltp_rwlock_t *lock, enum mt_rw_mode mode) {
  struct mltp_thread *self = mt_self(call);
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt(call);
  return mt_rw_take(lock, self, mode) ? 0 : EBUSY;
}

static int acquire_timed(const char *call, mltp_rwlock_t *lock, enum mt_rw_mode mode,
                         uint64_t deadline) {
  struct mltp_thread *self = mt_self(call);
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt(call);
  if (mt_rw_take(lock, self, mode)) return 0;
  if (is_writer(lock, self)) return refuse(EDEADLK, call, lock, self);
  struct mt_timer timer;
  mt_timer_arm(&timer, self, deadline);
  return mt_timer_disarm(&timer, mt_rw_wait(lock, self, mode, &timer));
}

int mltp_rwlock_init(mltp_rwlock_t *lock, const char *name) {
  *lock = (mltp_rwlock_t)MLTP_RWLOCK_INIT;
  lock->name_ = name;
  return 0;
}

int mltp_rwlock_destroy(mltp_rwlock_t *lock) {
  if (!mt_is_up()) return 0;
  struct mltp_thread *self = mt_self("mltp_rwlock_destroy");
  if (self == NULL) return EPERM;
  /* relaxed: a holder is a mistake, whenever it is seen */
  if (mt_load_relaxed(&lock->word_) != 0) return refuse(EBUSY, "mltp_rwlock_destroy", lock, self);
  mt_timers_flush();
  return 0;
}

int mltp_rwlock_rdlock(mltp_rwlock_t *lock) {
  return acquire("mltp_rwlock_rdlock", lock, MT_RW_READ);
}

int mltp_rwlock_rdlock_try(mltp_rwlock_t *lock) {
  return acquire_try("mltp_rwlock_rdlock_try", lock, MT_RW_READ);
}

int mltp_rwlock_rdlock_timed(mltp_rwlock_t *lock, uint64_t deadline) {
  return acquire_timed("mltp_rwlock_rdlock_timed", lock, MT_RW_READ, deadline);
}

int mltp_rwlock_wrlock(mltp_rwlock_t *lock) {
  return acquire("mltp_rwlock_wrlock", lock, MT_RW_WRITE);
}

int mltp_rwlock_wrlock_try(mltp_rwlock_t *lock) {
  return acquire_try("mltp_rwlock_wrlock_try", lock, MT_RW_WRITE);
}

int mltp_rwlock_wrlock_timed(mltp_rwlock_t *lock, uint64_t deadline) {
  return acquire_timed("mltp_rwlock_wrlock_timed", lock, MT_RW_WRITE, deadline);
}

int mltp_rwlock_unlock(mltp_rwlock_t *lock) {
  struct mltp_thread *self = mt_self("mltp_rwlock_unlock");
  if (mt_unlikely(self == NULL)) return EPERM;
  int error = mt_rw_release(lock, self);
  mt_preempt("mltp_rwlock_unlock");
  return mt_likely(error == 0) ? 0 : refuse(error, "mltp_rwlock_unlock", lock, self);
}
