/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rwlock.h
 * Readers-writer locks, for unbound, bound and foreign threads alike.
 *
 * Any number of readers hold the lock at once, or one writer.
 *
 * Fairness: phase-fair. While a writer is queued, no reader who comes later overtakes
 * it; when a writer lets go, all readers who are queued by then go before the next
 * writer. So a queued reader waits for one writer at most, after the readers that
 * hold the lock; writers go in the order they were queued in, with one phase of
 * readers at most between two of them. Neither side can starve the other.
 *
 * Cost: without contention each call is one atomic operation. Who has to wait is
 * queued and parks; if a writer holds the lock and runs, it first spins for
 * MLTP_LOCK_SPIN_NS at most. The lock is handed over to who is queued, so it is idle
 * until that thread runs.
 */
#ifndef MLTP_RWLOCK_H
#define MLTP_RWLOCK_H

#include <mltp/sync.h>

MLTP_BEGIN_DECLS

/** A readers-writer lock. Not recursive: a reader that reads again waits for ever if
 * a writer came in between, and one that writes waits for itself. */
typedef struct mltp_rwlock {
  uint64_t word_;
  mltp_waitq_t queue_;
  const char *name_;
} mltp_rwlock_t;

/** Static initialiser. */
#define MLTP_RWLOCK_INIT {0, {0, 0, NULL, NULL}, NULL}

/** Makes a lock. @param name shown in reports, not copied; NULL: none. @return 0.
 * Blocks: no. Context: any. */
MLTP_API int mltp_rwlock_init(mltp_rwlock_t *lock, const char *name);

/** Ends a lock's life. @return 0; EBUSY (misuse): it is held. Blocks: briefly. Context: any. */
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

/** Acquires the lock for writing, but gives up at a deadline; readers who waited behind
 * the caller then go on.
 * @return 0: acquired; ETIMEDOUT; ECANCELED: see mltp_cancel(); EDEADLK (misuse): the caller holds
 * it for writing already. Blocks: thread, until the deadline. Context: any. */
MLTP_API int mltp_rwlock_wrlock_timed(mltp_rwlock_t *lock, uint64_t deadline);

/**
 * Releases the lock, held for reading or for writing. That a caller is not one of the
 * readers is not noticed.
 * @return 0; EPERM (misuse): nobody holds it, or another thread for writing.
 * Blocks: no. Context: any.
 */
MLTP_API int mltp_rwlock_unlock(mltp_rwlock_t *lock);

MLTP_END_DECLS

#endif
