/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file word.h
 * The word of the locks that have no queue: 0 free, 1 held. To lock, exchange in a 1; a 0
 * that comes out says that it was free. To unlock, store a 0 (the paper's machine had to
 * exchange for that as well).
 *
 * Relaxed: a look; the exchange that follows acquires.
 */
#ifndef MT_ALTERNATIVES_SPIN_WORD_H
#define MT_ALTERNATIVES_SPIN_WORD_H

#include "alternatives/spin/spinlock.h"

static inline bool mt_spin_word_exchange(mltp_spin_t *lock) {
  return mt_swap_acquire(&lock->word_, 1) == 0; /* SL-1 acquire: enters; pairs SL-2 */
}

static inline bool mt_spin_word_looks_free(const mltp_spin_t *lock) {
  return mt_load_relaxed(&lock->word_) == 0;
}

static inline bool mt_spin_word_trylock(mltp_spin_t *lock, struct mt_spin_node *node) {
  (void)node;
  return mt_spin_word_looks_free(lock) && mt_spin_word_exchange(lock);
}

static inline void mt_spin_word_unlock(mltp_spin_t *lock, struct mt_spin_node *node) {
  (void)node;
  mt_store_release(&lock->word_, 0); /* SL-2 release: leaves; pairs SL-1 */
}

enum { MT_BACKOFF_FIRST = 2, MT_BACKOFF_MOST = 256 }; /* steps: 0.1 to 10 us of pauses */

/** @return how long to wait after one failure more. */
static inline unsigned mt_backoff_next(unsigned delay) {
  return delay < MT_BACKOFF_MOST ? 2 * delay : delay;
}

#endif
