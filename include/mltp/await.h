/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file await.h
 * Waiting for a word of memory (TMPI-2, section 4: scheduler-conscious event waiting). Unbound,
 * bound and foreign threads may wait for the same word.
 *
 * A word is any aligned uint32_t; there is no object to create or destroy. A waker changes it by
 * mltp_await_store(), or by an atomic operation of its own and then mltp_await_wake(). Both wake
 * the waiters whose predicate the new value fulfils. Only one waker at a time may change a word:
 * a waiter can miss a value that is replaced before it was woken.
 *
 * A waiter spins only while the waker runs on another processor and the waiter's cache is warm,
 * and for no longer than a park would cost (MLTP_AWAIT_SPIN_NS). Then it parks.
 */
#ifndef MLTP_AWAIT_H
#define MLTP_AWAIT_H

#include <mltp/thread.h>
#include <mltp/time.h>

MLTP_BEGIN_DECLS

/**
 * Waits until *word == value (TMPI-2, section 4: waitEvent). The waiter sees all that the waker
 * did before it stored the value.
 * @param waker the thread that is expected to store the value: the caller spins only while that
 *              thread runs. A hint; NULL: not known
 * @return 0; ECANCELED: see mltp_cancel(). Blocks: thread. Context: any.
 */
MLTP_API int mltp_await(const uint32_t *word, uint32_t value, const mltp_t *waker);

/** Waits as mltp_await(), but gives up at a deadline.
 * @return 0; ETIMEDOUT; ECANCELED: see mltp_cancel(). Blocks: thread, until the deadline.
 * Context: any. */
MLTP_API int mltp_await_timed(const uint32_t *word, uint32_t value, const mltp_t *waker,
                              uint64_t deadline);

/** Waits until *word != value, as mltp_await() waits for equality.
 * @return 0; ECANCELED: see mltp_cancel(). Blocks: thread. Context: any. */
MLTP_API int mltp_await_not(const uint32_t *word, uint32_t value, const mltp_t *waker);

/** Waits as mltp_await_not(), but gives up at a deadline.
 * @return 0; ETIMEDOUT; ECANCELED: see mltp_cancel(). Blocks: thread, until the deadline.
 * Context: any. */
MLTP_API int mltp_await_not_timed(const uint32_t *word, uint32_t value, const mltp_t *waker,
                                  uint64_t deadline);

/** Stores a value in a word and wakes the waiters that it releases. Without waiters, the call does
 * not touch the word after the store. Blocks: no. Context: any. */
MLTP_API void mltp_await_store(uint32_t *word, uint32_t value);

/** Wakes the waiters that a word's new value releases, after the caller has changed the word by an
 * atomic operation of its own (of release order at least). Blocks: no. Context: any. */
MLTP_API void mltp_await_wake(const uint32_t *word);

/** Counters of the waits that could not return at once, of all threads since mltp_init(). The
 * caller sets size first; the library writes no field beyond it. */
typedef struct mltp_await_counters {
  size_t size;           /**< sizeof(mltp_await_counters_t), set by the caller */
  uint64_t spins_paid;   /**< waits that ended while the thread spun */
  uint64_t spins_failed; /**< waits in which the thread spun, and parked nevertheless */
  uint64_t parks;        /**< waits in which the thread parked, with or without a spin before */
} mltp_await_counters_t;

#define MLTP_AWAIT_COUNTERS_INIT {sizeof(mltp_await_counters_t), 0, 0, 0}

/** Reads the counters. @param[out] counters initialised by MLTP_AWAIT_COUNTERS_INIT
 * @return 0; EINVAL: counters->size is too small. Blocks: no. Context: any. */
MLTP_API int mltp_await_counts(mltp_await_counters_t *counters);

MLTP_END_DECLS

#endif
