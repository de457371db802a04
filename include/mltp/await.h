/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file await.h
 * Waiting for a word of memory, for unbound, bound and foreign threads alike (TMPI-2,
 * section 4: scheduler-conscious event waiting).
 *
 * A word is any aligned uint32_t; nothing is made or destroyed for it. Who changes it
 * by mltp_await_store(), or otherwise and then calls mltp_await_wake(), lets those go on
 * whose wish is fulfilled by it. Nobody else may change it in between: a value that
 * is replaced before a waiter was woken may be missed.
 *
 * A waiter spins, for as long as parking would cost (MLTP_AWAIT_SPIN_NS), only while the
 * waker runs on another processor and the thread's cache is here; else it parks.
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

/** Stores the value and wakes those who waited for it. Where nobody waits the memory is not
 * touched after the store. Blocks: no. Context: any. */
MLTP_API void mltp_await_store(uint32_t *word, uint32_t value);

/** Wakes those whose wish is fulfilled, after the caller has changed the word by an atomic
 * operation of its own (of release order at least). Blocks: no. Context: any. */
MLTP_API void mltp_await_wake(const uint32_t *word);

/** How waits went that could not go on at once, of all threads since mltp_init(). */
typedef struct mltp_await_counters {
  uint64_t spins_paid; /**< ended while the thread spun */
  uint64_t spins_vain; /**< the thread spun, and parked all the same */
  uint64_t parks;      /**< the thread parked, after spinning or at once */
} mltp_await_counters_t;

/** Reads the counters. @param counts where they are written. Blocks: no. Context: any. */
MLTP_API void mltp_await_counts(mltp_await_counters_t *counts);

MLTP_END_DECLS

#endif
