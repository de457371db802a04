/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lock_word.h
 * The word of the locks that have a queue of parked waiters, reactive and queue: the
 * holder's descriptor, or 0; the lowest bit says that the queue may have waiters.
 *
 * Acquire: 0 -> self. Release: self -> 0 (lock.h). Both one locked instruction, and
 * the release finds out a caller that is not the holder.
 *
 * No lost wake-up: the bit is set under the queue's internal lock while the word names a
 * holder; that holder's release then fails its compare-and-swap and comes for the
 * internal lock.
 *
 * Relaxed: the word as a hint; the compare-and-swap that follows checks it.
 */
#ifndef MT_SYNC_LOCK_WORD_H
#define MT_SYNC_LOCK_WORD_H

#include "core/det/det.h"
#include "sync/lock.h"

static inline struct mltp_thread *mt_lock_holder_in(uint64_t word) {
  return (struct mltp_thread *)(uintptr_t)(word & ~(uint64_t)MT_LOCK_WAITERS);
}

static inline struct mltp_thread *mt_lock_holder(const mltp_lock_t *lock) {
  return mt_lock_holder_in(mt_load_relaxed(&lock->word_)); /* relaxed: a hint */
}

/** @return the word for a thread that may look into the holder's descriptor: another thread's may
 * be in pages that were mapped a moment ago. */
static inline uint64_t mt_lock_look(const mltp_lock_t *lock) {
  return mt_load_acquire(&lock->word_); /* LK-7 acquire: pairs LK-1 LK-3 LK-4 LK-8 */
}

/** Takes the lock if nobody holds it; leaves the waiters' bit as it is. */
static inline bool mt_lock_take_free(mltp_lock_t *lock, struct mltp_thread *self, uint64_t word) {
  if (mt_lock_holder_in(word) != NULL) return false;
  mt_bias_claim();
  /* LK-4 acq_rel: the holder's descriptor, for LK-7; pairs LK-2 LK-3 LK-5 LK-7 */
  return mt_cas_acq_rel(&lock->word_, &word, (uint64_t)(uintptr_t)self | (word & MT_LOCK_WAITERS));
}

static inline bool mt_lock_take(mltp_lock_t *lock, struct mltp_thread *self) {
  uint64_t word = mt_load_relaxed(&lock->word_); /* relaxed: the swap acquires */
  mt_step("trylock: swap");
  return mt_lock_take_free(lock, self, word);
}

/** Under the internal lock: acquires, or makes sure that the holder will come for us.
 * @return true: acquired. */
static inline bool mt_lock_take_or_mark(mltp_lock_t *lock, struct mltp_thread *self) {
  while (true) {
    uint64_t word = mt_load_relaxed(&lock->word_); /* relaxed: the swaps check it */
    if (mt_lock_holder_in(word) == NULL) {
      if (mt_lock_take_free(lock, self, word)) return true;
    } else if ((word & MT_LOCK_WAITERS) != 0 ||
               mt_cas_relaxed(&lock->word_, &word, word | MT_LOCK_WAITERS)) {
      return false; /* relaxed: the internal lock orders the queue */
    }
  }
}

/** Under the internal lock, by the holder, with the bit set, so no other thread changes the word.
 * @param next the next holder; NULL: the lock becomes free. */
static inline void mt_lock_pass_on(mltp_lock_t *lock, struct mltp_thread *next) {
  uint64_t word = (uint64_t)(uintptr_t)next;
  if (lock->queue_.count_ != 0) word |= MT_LOCK_WAITERS;
  mt_store_release(&lock->word_, word); /* LK-3 release: pairs LK-1 LK-4 LK-6 LK-7 */
}

#endif
