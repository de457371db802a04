/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lock.h
 * One table of operations per lock class. A class is a file; adding one is adding
 * a row to the table in lock.c.
 *
 * Relaxed: the holder is a hint to all but the holder.
 */
#ifndef MT_SYNC_LOCK_H
#define MT_SYNC_LOCK_H

#include "base/options.h"
#include "core/det/det.h"
#include "core/wait/park.h"
#include "mltp/sync.h"

struct mt_lock_ops {
  const char *name;
  /** The lock was not free at first sight. timer: armed, or NULL. @return 0,
   * ETIMEDOUT, or EDEADLK: self holds it. */
  int (*lock)(mltp_lock_t *lock, struct mltp_thread *self, struct mt_timer *timer);
  /** One attempt. @return true: acquired. */
  bool (*trylock)(mltp_lock_t *lock, struct mltp_thread *self);
  /** @return 0, or EPERM: self does not hold it. */
  int (*unlock)(mltp_lock_t *lock, struct mltp_thread *self);
  /** @return the holder; NULL: none. A hint to all but the holder. */
  struct mltp_thread *(*holder)(const mltp_lock_t *lock);
  /** The lock has no internal lock: mltp_lock_destroy() waits for the last holder by locking it. */
  bool spins;
};

extern const struct mt_lock_ops mt_lock_reactive;
extern const struct mt_lock_ops mt_lock_ticket;
extern const struct mt_lock_ops mt_lock_yield_end;
extern const struct mt_lock_ops mt_lock_yield_front;
extern const struct mt_lock_ops mt_lock_semaphore;
extern const struct mt_lock_ops mt_lock_queue;
extern const struct mt_lock_ops mt_lock_recursive;

/** @return the operations of a class that src/alternatives implements; NULL: none. */
const struct mt_lock_ops *mt_lock_alternative(uint32_t lock_class);

/** mltp_unlock() for a call of another name. */
int mt_lock_release(const char *call, mltp_lock_t *lock, struct mltp_thread *self);

/** The same for a wait on a condition, which must set the lock free.
 * @return also EINVAL: it is a recursive lock that self holds more than once. */
int mt_lock_release_to_wait(const char *call, mltp_lock_t *lock, struct mltp_thread *self);

/** @return the operations of the lock's class; NULL: the class is nonsense. */
const struct mt_lock_ops *mt_lock_ops(const mltp_lock_t *lock);

/** Classes that keep no waiters in the lock's queue note the holder in its place. */
static inline struct mltp_thread *mt_lock_noted_holder(const mltp_lock_t *lock) {
  return mt_load_relaxed(&lock->queue_.head_); /* relaxed: a hint; exact for the holder */
}

static inline void mt_lock_note_holder(mltp_lock_t *lock, struct mltp_thread *holder) {
  mt_store_relaxed(&lock->queue_.head_, (void *)holder);
}

/** @return the class that STANDARD stands for (thesis 3.3.3: a definition, here a knob). */
static inline uint32_t mt_lock_class_of(const mltp_lock_t *lock) {
  return lock->class_ != MLTP_LOCK_STANDARD ? lock->class_ : (uint32_t)mt_options.lock;
}

/* The reactive lock's uncontended paths, inlined into the public calls. */

enum { MT_LOCK_WAITERS = 1 }; /* lowest bit of the word: the queue may have waiters */

/* By a locked instruction. */
static inline bool mt_lock_reactive_swap(mltp_lock_t *lock, struct mltp_thread *self) {
  uint64_t free = 0, mine = (uint64_t)(uintptr_t)self;
  /* LK-1 acq_rel: the holder's descriptor, for LK-7; pairs LK-2 LK-3 LK-5 LK-7 */
  return mt_cas_acq_rel(&lock->word_, &free, mine);
}

static inline bool mt_lock_reactive_swap_back(mltp_lock_t *lock, struct mltp_thread *self) {
  uint64_t mine = (uint64_t)(uintptr_t)self;
  return mt_cas_release(&lock->word_, &mine, 0); /* LK-2 release: pairs LK-1 LK-4 LK-6 */
}

/* Between mt_alone_begin() and mt_alone_end(). */
static inline bool mt_lock_reactive_store(mltp_lock_t *lock, struct mltp_thread *self) {
  bool taken = mt_load_acquire(&lock->word_) == 0; /* LK-6 acquire: pairs LK-2 LK-3 LK-5 */
  /* LK-8 release: the holder's descriptor; nobody else takes the lock in between; pairs LK-7 */
  if (mt_likely(taken)) mt_store_release(&lock->word_, (uint64_t)(uintptr_t)self);
  return taken;
}

static inline bool mt_lock_reactive_store_back(mltp_lock_t *lock, struct mltp_thread *self) {
  /* relaxed: nobody else comes in between */
  bool held = mt_load_relaxed(&lock->word_) == (uint64_t)(uintptr_t)self;
  if (mt_likely(held)) mt_store_release(&lock->word_, 0); /* LK-5 release: pairs LK-1 LK-4 LK-6 */
  return held;
}

/** @return true: acquired; false: it is held. */
static inline bool mt_lock_reactive_try(mltp_lock_t *lock, struct mltp_thread *self) {
  uintptr_t here = mt_bias_here();
  enum mt_bias_share share = mt_alone_begin(here);
  if (share == MT_BIAS_UNKNOWN) mt_bias_settle();
  if (share != MT_BIAS_MINE) return mt_lock_reactive_swap(lock, self);
  bool taken = mt_lock_reactive_store(lock, self);
  mt_alone_end(here);
  return taken;
}

/** @return true: free; false: the caller is not the holder, or threads wait. */
static inline bool mt_lock_reactive_release(mltp_lock_t *lock, struct mltp_thread *self) {
  uintptr_t here = mt_bias_here();
  enum mt_bias_share share = mt_alone_begin(here);
  if (share == MT_BIAS_UNKNOWN) mt_bias_settle();
  if (share != MT_BIAS_MINE) return mt_lock_reactive_swap_back(lock, self);
  bool held = mt_lock_reactive_store_back(lock, self);
  mt_alone_end(here);
  return held;
}

/* The same for fast paths, which call nothing and so need no frame: false may be for nothing. */

static inline bool mt_lock_reactive_try_quick(mltp_lock_t *lock, struct mltp_thread *self) {
  uintptr_t here = mt_bias_here();
  enum mt_bias_share share = mt_alone_begin_mine(here);
  if (share == MT_BIAS_SHARED) return mt_lock_reactive_swap(lock, self);
  bool taken = mt_likely(share == MT_BIAS_MINE) && mt_lock_reactive_store(lock, self);
  mt_alone_end(here); /* also if the share is UNKNOWN: a revoker may wait */
  return taken;
}

static inline bool mt_lock_reactive_release_quick(mltp_lock_t *lock, struct mltp_thread *self) {
  uintptr_t here = mt_bias_here();
  enum mt_bias_share share = mt_alone_begin_mine(here);
  if (share == MT_BIAS_SHARED) return mt_lock_reactive_swap_back(lock, self);
  bool held = mt_likely(share == MT_BIAS_MINE) && mt_lock_reactive_store_back(lock, self);
  mt_alone_end(here);
  return held;
}

/* Two comparisons of what the lock says, so that the class that STANDARD stands for need not be
 * looked up. */
static inline bool mt_lock_is_inlined(const mltp_lock_t *lock) {
  return mt_likely(lock->class_ == mt_det_inlined_standard) || lock->class_ == mt_det_inlined_lock;
}

/** The two for a lock of any class. @return false: nothing was done; the class's own operation
 * has to do it. They call nothing, so a fast path needs no frame. */
static inline bool mt_lock_try_inlined(mltp_lock_t *lock, struct mltp_thread *self) {
  return mt_lock_is_inlined(lock) && mt_likely(mt_lock_reactive_try_quick(lock, self));
}

static inline bool mt_lock_release_inlined(mltp_lock_t *lock, struct mltp_thread *self) {
  return mt_lock_is_inlined(lock) && mt_likely(mt_lock_reactive_release_quick(lock, self));
}

#endif
