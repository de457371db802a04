/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rwlock.h
 * Readers-writer locks. Any number of readers hold the lock at once, or one writer. Unbound, bound
 * and foreign threads may use the same lock.
 *
 * Fairness: the lock is phase-fair. A reader does not overtake a writer that is queued. When a
 * writer releases the lock, all readers that are queued by then get it before the next writer. So a
 * queued reader waits for the readers that hold the lock and for one writer at most. Writers get
 * the lock in the order in which they queued, with at most one phase of readers between two
 * of them. Neither side can starve the other.
 *
 * Cost: without contention each call is one atomic operation. A thread that has to wait queues and
 * parks; while a writer holds the lock and runs, it first spins, for MLTP_LOCK_SPIN_NS at most. A
 * release hands the lock over to the next queued threads, so the lock is idle until they run.
 */
#ifndef MLTP_RWLOCK_H
#define MLTP_RWLOCK_H

#include <mltp/sync.h>

MLTP_BEGIN_DECLS

/** A readers-writer lock. It is not recursive: a reader that locks it again may wait forever, if a
 * writer queued in between; a reader that locks it for writing waits for itself. */
typedef struct mltp_rwlock {
  uint64_t word_;
  mltp_waitq_t queue_;
  const char *name_;
  uint64_t room_[2];
} mltp_rwlock_t;

/** Static initialiser. */
#define MLTP_RWLOCK_INIT {0, {0, 0, NULL, NULL}, NULL, {0, 0}}

/** Initialises a lock. @param name shown in reports, not copied; NULL: none. @return 0.
 * Blocks: no. Context: any. */
MLTP_API int mltp_rwlock_init(mltp_rwlock_t *lock, const char *name);

/** Ends the use of a lock (see sync.h). @return 0; EBUSY (misuse): it is held. Blocks: briefly.
 * Context: any. */
MLTP_API int mltp_rwlock_destroy(mltp_rwlock_t *lock);

/** Acquires the lock for reading. @return 0; EDEADLK (misuse): the caller holds it for
 * writing. Blocks: thread. Context: any. */
MLTP_API int mltp_rwlock_rdlock(mltp_rwlock_t *lock);

/** Acquires the lock for reading, if no writer holds it or waits for it.
 * @return 0: acquired; EBUSY. Blocks: no. Context: any. */
MLTP_API int mltp_rwlock_rdlock_try(mltp_rwlock_t *lock);

/** Acquires the lock for reading, but gives up at a deadline.
 * @return 0: acquired; ETIMEDOUT; ECANCELED: see mltp_cancel(); EDEADLK (misuse): the caller holds
 * it for writing. Blocks: thread, until the deadline. Context: any. */
MLTP_API int mltp_rwlock_rdlock_timed(mltp_rwlock_t *lock, uint64_t deadline);

/** Acquires the lock for writing. @return 0; EDEADLK (misuse): the caller holds it for
 * writing already. Blocks: thread. Context: any. */
MLTP_API int mltp_rwlock_wrlock(mltp_rwlock_t *lock);

/** Acquires the lock for writing, if it is free. @return 0: acquired; EBUSY. Blocks: no.
 * Context: any. */
MLTP_API int mltp_rwlock_wrlock_try(mltp_rwlock_t *lock);

/** Acquires the lock for writing, but gives up at a deadline. Readers that waited for the caller to
 * release it then continue.
 * @return 0: acquired; ETIMEDOUT; ECANCELED: see mltp_cancel(); EDEADLK (misuse): the caller holds
 * it for writing already. Blocks: thread, until the deadline. Context: any. */
MLTP_API int mltp_rwlock_wrlock_timed(mltp_rwlock_t *lock, uint64_t deadline);

/**
 * Releases the lock that the caller holds for reading or for writing. The library does not notice
 * a caller that is none of several readers.
 * @return 0; EPERM (misuse): no thread holds it, or another thread holds it for writing.
 * Blocks: no. Context: any.
 */
MLTP_API int mltp_rwlock_unlock(mltp_rwlock_t *lock);

MLTP_END_DECLS

#endif
