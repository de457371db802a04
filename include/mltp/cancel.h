/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cancel.h
 * Cancellation: asking a thread to end, and deadlines for all that a thread does.
 *
 * Cancellation is never asynchronous: a cancelled thread continues to run. But its calls below
 * do not wait any more. Where such a call would wait, or is waiting, it returns ECANCELED, with
 * the same guarantees as for ETIMEDOUT at a deadline. A call that need not wait succeeds as usual.
 *  - mltp_sleep(), mltp_sleep_until(), mltp_join_timed()
 *  - mltp_lock_timed(), mltp_cond_wait_timed(), mltp_cond_wait_unlocked_timed(),
 *    mltp_sem_wait_timed(), mltp_rwlock_rdlock_timed(), mltp_rwlock_wrlock_timed(),
 *    mltp_latch_wait_timed(), mltp_waitgroup_wait_timed()
 *  - mltp_await(), mltp_await_timed(), mltp_await_not(), mltp_await_not_timed()
 *  - mltp_channel_send(), mltp_channel_recv(), mltp_channel_send_timed(),
 *    mltp_channel_recv_timed(), mltp_select(), mltp_select_timed()
 *
 * Cancellation does not affect other calls, such as mltp_lock(), mltp_barrier_wait(),
 * mltp_cond_wait(), mltp_sem_wait() and mltp_join(). To make such a wait cancellable, use its
 * timed call with MLTP_NEVER. A waiter for a lock of class SEMAPHORE sleeps in the kernel: it
 * notices that it was cancelled when the lock is released or its deadline comes.
 */
#ifndef MLTP_CANCEL_H
#define MLTP_CANCEL_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/**
 * Cancels a thread: its waits end, now and later, until it calls mltp_uncancel(). The caller
 * must know that the thread was not joined, and that a detached or foreign one has not ended.
 * @return 0, also when it has ended; EINVAL (misuse): it was joined.
 * Blocks: no. Context: any.
 */
MLTP_API int mltp_cancel(mltp_t *thread);

/** Returns whether the calling thread is cancelled. @return 1: it was cancelled, or its deadline
 * has passed; 0: otherwise. Blocks: no. Context: any. */
MLTP_API int mltp_cancelled(void);

/** Removes the cancellation and the deadline of the calling thread, so that it can wait again,
 * for instance to clean up. Blocks: no. Context: any. */
MLTP_API void mltp_uncancel(void);

/**
 * Gives the calling thread a deadline, after which it counts as cancelled. Its calls wait until
 * their own deadline or this one, whichever is earlier. To limit a part of the thread's work, set
 * a deadline for that part and restore the former one afterwards.
 * @param deadline MLTP_NEVER: none
 * @return the former deadline; MLTP_NEVER: there was none. Blocks: no. Context: any.
 */
MLTP_API uint64_t mltp_set_deadline(uint64_t deadline);

MLTP_END_DECLS

#endif
