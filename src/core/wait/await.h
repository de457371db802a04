/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file await.h
 * Scheduler-conscious waiting (TMPI-2, section 4) until a word has, or no longer has, a
 * value. A waiter that need not wait pays one load. A waker without waiters pays one store
 * and one load.
 *
 * A waiter first spins for as long as a park and an unpark would take, but only where that
 * may pay. The waker must run on another VP; if the waker is not known, some other VP must
 * be awake. And this thread must have run on this VP when it last waited, so that a switch
 * would lose its cache. Otherwise, and when that time is over, it parks. Spinning for the cost
 * of blocking costs at most twice as much as the best choice made in hindsight (Karlin et al.
 * 1991).
 *
 * Parked waiters are in a bucket, found by the word's address as the kernel finds a
 * futex's. So any word will do and needs no preparation. A waker takes out the waiters whose
 * predicate is fulfilled.
 *
 * No lost wake-up: the waiter increments the bucket's count, then tests the word (AW-2,
 * AW-3). The waker stores the word, then reads the count (AW-1, AW-4). All four are
 * sequentially consistent, so one sees the other. The waiter tests under the bucket's internal
 * lock and is in the queue, with its registers saved, when that lock is released. A waker that
 * saw the count takes the same lock. Explored by tests/models/await.pml.
 *
 * Rejected: light and heavy fences, because both sides run equally often here, and membarrier(2)
 * costs more than the park that would follow it. A wait record for each word, made by its
 * owner, because MPI has a flag for each message.
 *
 * Waiters of a bucket are indexed by their predicates (await_index.h), so a waker pays only for
 * the waiters that it wakes.
 *
 * Relaxed: these values are only hints.
 */
#ifndef MT_CORE_WAIT_AWAIT_H
#define MT_CORE_WAIT_AWAIT_H

#include "core/thread/thread.h"
#include "core/wait/predicate.h"

/** Where threads wait for words of some addresses. */
struct mt_await_bucket {
  alignas(MT_CACHE_LINE) mltp_waitq_t queue;
  uint32_t indexed; /* [ilock] waiters that are in the bucket's index as well */
  uint32_t waiters; /* [atomic] in the queue, or about to enter it; written under its ilock */
};

/** What has become of waits that had to wait: index of the counters. */
enum mt_await_end { MT_AWAIT_PAID, MT_AWAIT_FAILED, MT_AWAIT_PARKED };

/** Counts how a wait ended. */
void mt_await_count(const struct mltp_thread *self, enum mt_await_end end);

/** How long to spin on a VP: measured, unless MLTP_AWAIT_SPIN_NS says it. Main is alone on VP 0. */
void mt_await_init(void);

/** In a child of fork(): nobody waits. */
void mt_await_forget(void);

/** @return the bucket of a word. */
struct mt_await_bucket *mt_await_bucket(const uint32_t *word);

static inline bool mt_await_holds(const struct mt_await *predicate) {
  /* AW-5 acquire: what was done before the store; pairs AW-1 */
  return (mt_load_acquire(predicate->word) == predicate->value) == predicate->equal;
}

/**
 * Waits until the predicate holds. A waker's call makes the waiter test again.
 * @param waker the thread that will fulfil it; NULL: not known
 * @return 0, ETIMEDOUT or ECANCELED
 */
int mt_await_slow(struct mltp_thread *self, const struct mt_await *predicate,
                  const struct mltp_thread *waker, uint64_t deadline);

/** The first half of it, for anything: waits on the processor until ended(what), where that may
 * pay.
 * @param blindly_ns not 0: wherever, for so long
 * @return whether it has ended */
bool mt_await_spin(struct mltp_thread *self, bool (*ended)(const void *), const void *what,
                   const struct mltp_thread *waker, uint64_t blindly_ns);

/** @return for how long it does so at most: what a park takes. 0: in deterministic mode. */
uint64_t mt_await_spin_ns(const struct mltp_thread *self);

static inline int mt_await(struct mltp_thread *self, const struct mt_await *predicate,
                           const struct mltp_thread *waker, uint64_t deadline) {
  return mt_likely(mt_await_holds(predicate)) ? 0 : mt_await_slow(self, predicate, waker, deadline);
}

/** Wakes the waiters whose predicate for the word holds. The word may be gone if there are none. */
void mt_await_wake_slow(struct mt_await_bucket *bucket, const uint32_t *word);

/** Stores a word that others may wait for, and wakes them. */
static inline void mt_await_store(uint32_t *word, uint32_t value) {
  struct mt_await_bucket *bucket = mt_await_bucket(word);
  mt_store_seq_cst(word, value); /* AW-1 seq_cst: before the count; pairs AW-3 AW-5 AW-7 */
  /* AW-4 seq_cst: after the store; pairs AW-2 */
  if (mt_unlikely(mt_load_seq_cst(&bucket->waiters) != 0)) mt_await_wake_slow(bucket, word);
}

#endif
