/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rwlock.h
 * The word of a readers-writer lock, and its uncontended path. rwlock_queue.c has
 * the protocol.
 *
 * Word: 0, free; the writer's descriptor; or MT_RW_READERS and their number above it. The
 * lowest bit, MT_RW_WAITERS, says that the queue may have waiters.
 *
 * Relaxed: the word as a hint; the compare-and-swap that follows checks it.
 */
#ifndef MT_SYNC_RWLOCK_H
#define MT_SYNC_RWLOCK_H

#include "core/det/det.h"
#include "core/wait/park.h"
#include "mltp/rwlock.h"

enum { MT_RW_WAITERS = 1, MT_RW_READERS = 2, MT_RW_ONE_READER = 4 };

/** What a thread wants of the lock. */
enum mt_rw_mode { MT_RW_READ, MT_RW_WRITE };

/** @return the writer; NULL: readers, or nobody. */
static inline struct mltp_thread *mt_rw_writer(uint64_t word) {
  return word & MT_RW_READERS ? NULL
                              : (struct mltp_thread *)(uintptr_t)(word & ~(uint64_t)MT_RW_WAITERS);
}

static inline uint64_t mt_rw_readers(uint64_t word) {
  return word & MT_RW_READERS ? word / MT_RW_ONE_READER : 0;
}

/** @return a word without waiters as it is once self has the lock, too; 0: it cannot. */
static inline uint64_t mt_rw_with(uint64_t word, const struct mltp_thread *self,
                                  enum mt_rw_mode mode) {
  if (mode == MT_RW_WRITE) return word == 0 ? (uint64_t)(uintptr_t)self : 0;
  return word == 0 || word & MT_RW_READERS ? (word | MT_RW_READERS) + MT_RW_ONE_READER : 0;
}

/** One attempt of a caller that has not waited. @return true: acquired. */
static inline bool mt_rw_take(mltp_rwlock_t *lock, const struct mltp_thread *self,
                              enum mt_rw_mode mode) {
  uint64_t word = mt_load_relaxed(&lock->word_), next; /* relaxed: the swap acquires */
  while ((word & MT_RW_WAITERS) == 0 && (next = mt_rw_with(word, self, mode)) != 0) {
    mt_step("rwlock: swap");
    if (mt_cas_acquire(&lock->word_, &word, next)) return true; /* RW-1 acquire: pairs RW-3 RW-4 */
  }
  return false;
}

/** Acquires the lock, which was not to be had at first sight.
 * @param timer armed, or NULL. @return 0 or ETIMEDOUT. */
int mt_rw_wait(mltp_rwlock_t *lock, struct mltp_thread *self, enum mt_rw_mode mode,
               struct mt_timer *timer);

/** @return 0, or EPERM: another thread writes, or nobody holds the lock. */
int mt_rw_release(mltp_rwlock_t *lock, const struct mltp_thread *self);

#endif
