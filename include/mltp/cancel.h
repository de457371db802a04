/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cancel.h
 * Cancellation: telling a thread to come to an end, and deadlines for all it does.
 *
 * It is never asynchronous. A cancelled thread goes on; but its calls that take a
 * deadline, those of channels, and its sleeps do not wait any more: where they would
 * wait, or are waiting, they return ECANCELED as they would return ETIMEDOUT at their
 * deadline, with the same guarantees. What need not wait is done as ever. These are:
 *  - mltp_sleep(), mltp_sleep_until(), mltp_join_timed()
 *  - mltp_lock_timed(), mltp_cond_wait_timed(), mltp_sem_wait_timed(),
 *    mltp_rwlock_rdlock_timed(), mltp_rwlock_wrlock_timed(), mltp_latch_wait_timed(),
 *    mltp_waitgroup_wait_timed(), mltp_await(), mltp_await_not()
 *  - mltp_channel_send(), mltp_channel_recv(), mltp_channel_send_timed(),
 *    mltp_channel_recv_timed(), mltp_select()
 *
 * All other calls are as ever, mltp_lock(), mltp_barrier_wait(), mltp_cond_wait(),
 * mltp_sem_wait() and mltp_join() among them: what must be cancellable and has no
 * deadline takes the timed call with MLTP_NEVER. A lock of class SEMAPHORE waits in the
 * kernel: a thread that waits for one sees that it was cancelled when the lock is
 * released or a deadline comes.
 */
#ifndef MLTP_CANCEL_H
#define MLTP_CANCEL_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/**
 * Cancels a thread: its waits end, now and from now on, until it calls
 * mltp_uncancel(). The thread must not have been joined, and a detached or foreign one
 * must not have ended.
 * @return 0, also when it has ended; EINVAL (misuse): it was joined.
 * Blocks: no. Context: any.
 */
MLTP_API int mltp_cancel(mltp_t *thread);

/** @return 1: the calling thread was cancelled, or its deadline has passed; 0.
 * Blocks: no. Context: any. */
MLTP_API int mltp_cancelled(void);

/** Takes back cancellation and deadline of the calling thread, so that it can wait
 * again, for instance while it cleans up. Blocks: no. Context: any. */
MLTP_API void mltp_uncancel(void);

/**
 * Gives the calling thread a deadline, after which it counts as cancelled: its calls
 * wait until their own deadline or this one, whichever is earlier. For a part of the
 * thread's work, set it, and then set what was before.
 * @param deadline MLTP_NEVER: none
 * @return the deadline before, MLTP_NEVER: there was none. Blocks: no. Context: any.
 */
MLTP_API uint64_t mltp_set_deadline(uint64_t deadline);

MLTP_END_DECLS

#endif
