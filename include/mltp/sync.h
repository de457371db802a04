/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sync.h
 * Locks, conditions, barriers and semaphores, for unbound, bound and foreign
 * threads alike, in any mixture.
 *
 * Every object may be made by its static initialiser or its _init function, and
 * must not be copied or moved. Its _destroy function frees nothing (there is
 * nothing to free) but must be called before the memory is reused if any thread
 * ever waited on the object with a deadline: it waits out timers in flight. When
 * the runtime is not running it does nothing.
 */
#ifndef MLTP_SYNC_H
#define MLTP_SYNC_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/** A queue of waiting threads; internal, here only for its size. */
typedef struct mltp_waitq {
  uint32_t ilock_;
  uint32_t count_;
  void *head_;
  void *tail_;
} mltp_waitq_t;

/* ---------------------------------------------------------------- locks */

/** A lock class: how the lock waits (thesis 3.3.3). The same calls serve all classes. Besides
 * the constants below, `<mltp/alternatives.h>` lists classes that exist for comparison. */
typedef uint32_t mltp_lock_class_t;

/** The classes to choose from. Take STANDARD unless a measurement or a need says otherwise. */
enum {
  MLTP_LOCK_STANDARD = 0,  /**< the class that MLTP_LOCK names at the start; REACTIVE by default */
  MLTP_LOCK_REACTIVE = 1,  /**< spins only while the holder runs, then parks. Fair in the long
                                run: a thread can overtake a waiter only until the waiter was
                                woken once without getting the lock (thesis 5.1) */
  MLTP_LOCK_QUEUE = 2,     /**< first come, first served: the holder hands the lock to the longest
                                waiter. A waiter spins for a bounded time while the thread before
                                it runs, then parks. Under contention it costs more than REACTIVE,
                                since the lock is idle until the next waiter runs (Anderson et
                                al. 1989, Table IV) */
  MLTP_LOCK_SPIN = 3,      /**< ticket lock, first come, first served (3.3.3.1). A waiter spins
                                while the holder runs, and yields its VP while it does not */
  MLTP_LOCK_SEMAPHORE = 4, /**< a waiter sleeps in the kernel together with its VP (3.3.3.3);
                                another VP may be active meanwhile; unfair */
  MLTP_LOCK_RECURSIVE = 5  /**< REACTIVE, and its holder may lock it again. It is free after as
                                many mltp_unlock() calls as there were locks */
};

/** What a spin lock keeps; internal, here only for its size. */
typedef struct mltp_spin {
  uint64_t word_;  /* what all contenders change */
  uint64_t grant_; /* what the next in turn waits for */
  void *held_;     /* what the holder keeps for its release */
} mltp_spin_t;

/** A mutual exclusion lock. */
typedef struct mltp_lock_object {
  uint64_t word_;
  uint32_t class_;
  uint32_t ticket_;
  __extension__ union { /* C99 has no anonymous ones */
    mltp_waitq_t queue_;
    mltp_spin_t spin_;
  };
  const char *name_;
  uint64_t depth_;
  uint64_t room_;
} mltp_lock_t;

/** Static initialiser of a lock of the given class. */
#define MLTP_LOCK_INIT_CLASS(lock_class) {0, (lock_class), 0, {{0, 0, NULL, NULL}}, NULL, 0, 0}
/** Static initialiser of a standard lock. */
#define MLTP_LOCK_INIT MLTP_LOCK_INIT_CLASS(MLTP_LOCK_STANDARD)

/**
 * Makes a lock.
 * @param lock_class a constant above or of `<mltp/alternatives.h>`
 * @param name       shown in reports, not copied; NULL: none
 * @return 0; EINVAL: this library has no such class. Blocks: no. Context: any.
 */
MLTP_API int mltp_lock_init(mltp_lock_t *lock, mltp_lock_class_t lock_class, const char *name);

/** Ends a lock's life. @return 0; EBUSY (misuse): it is held. Blocks: briefly. Context: any. */
MLTP_API int mltp_lock_destroy(mltp_lock_t *lock);

/**
 * Acquires the lock (thesis 3.3.3).
 * @return 0; EDEADLK (misuse): the caller holds it already, and its class is not RECURSIVE.
 * Blocks: thread (class SEMAPHORE: VP). Context: any.
 */
MLTP_API int mltp_lock(mltp_lock_t *lock);

/** Acquires the lock if it is free. @return 0: acquired; EBUSY: held. Blocks: no. Context: any. */
MLTP_API int mltp_lock_try(mltp_lock_t *lock);

/** Acquires the lock, but gives up at a deadline.
 * @return 0: acquired; ETIMEDOUT; ECANCELED: see mltp_cancel(); EDEADLK (misuse): the
 * caller holds it already.
 * Blocks: as mltp_lock(), until the deadline. Context: any. */
MLTP_API int mltp_lock_timed(mltp_lock_t *lock, uint64_t deadline);

/** Releases the lock. @return 0; EPERM (misuse): the caller does not hold it. Blocks: no.
 * Context: any. */
MLTP_API int mltp_unlock(mltp_lock_t *lock);

/* ----------------------------------------------------------- conditions */

/** A condition (thesis 3.3.5). */
typedef struct mltp_cond {
  mltp_waitq_t queue_;
  const char *name_;
} mltp_cond_t;

#define MLTP_COND_INIT {{0, 0, NULL, NULL}, NULL}

/** Makes a condition. @param name shown in reports, not copied; NULL: none. @return 0.
 * Blocks: no. Context: any. */
MLTP_API int mltp_cond_init(mltp_cond_t *cond, const char *name);

/** Ends a condition's life. @return 0; EBUSY (misuse): a thread waits on it. Blocks: briefly.
 * Context: any. */
MLTP_API int mltp_cond_destroy(mltp_cond_t *cond);

/**
 * Releases the lock and waits for a signal, as one step; holds the lock again on return. Test
 * the predicate in a loop, as with every condition.
 * @return 0; EPERM (misuse): the caller does not hold the lock; EINVAL (misuse): lock is NULL,
 *         or it is a recursive lock that the caller holds more than once.
 * Blocks: thread. Context: any.
 */
MLTP_API int mltp_cond_wait(mltp_cond_t *cond, mltp_lock_t *lock);

/**
 * Waits as mltp_cond_wait(), but gives up at a deadline. The caller holds the lock on return in
 * any case.
 * @return 0; ETIMEDOUT; ECANCELED: see mltp_cancel(); EPERM, EINVAL: as mltp_cond_wait().
 * Blocks: thread. Context: any.
 */
MLTP_API int mltp_cond_wait_timed(mltp_cond_t *cond, mltp_lock_t *lock, uint64_t deadline);

/**
 * Waits for a signal without a lock, in the form of the thesis (3.3.5). A signal that comes before
 * the caller is in the queue is lost, and the caller then waits for the next one, perhaps for
 * ever. Use it only where a lost signal does no harm; mltp_cond_wait() loses none.
 * @return 0. Blocks: thread. Context: any.
 */
MLTP_API int mltp_cond_wait_unlocked(mltp_cond_t *cond);

/** Waits as mltp_cond_wait_unlocked(), but gives up at a deadline.
 * @return 0; ETIMEDOUT; ECANCELED: see mltp_cancel(). Blocks: thread. Context: any. */
MLTP_API int mltp_cond_wait_unlocked_timed(mltp_cond_t *cond, uint64_t deadline);

/** Wakes the longest waiter, if any. @return 0. Blocks: no. Context: any. */
MLTP_API int mltp_cond_signal(mltp_cond_t *cond);

/** Wakes all waiters. @return 0. Blocks: no. Context: any. */
MLTP_API int mltp_cond_broadcast(mltp_cond_t *cond);

/* ------------------------------------------------------------- barriers */

/** What mltp_barrier_wait() returns to one thread of each episode. */
#define MLTP_BARRIER_SERIAL (-1)

enum { MLTP_BARRIER_PARTS = 8 };

/** The threads of some VPs that wait in a barrier; internal, here only for its size. */
typedef struct mltp_barrier_part {
  char apart_[80]; /* parts share no cache line, wherever the barrier lies */
  mltp_waitq_t queue_;
  void *home_;
  uint32_t owed_;
  uint32_t quota_;
  uint64_t mixed_;
} mltp_barrier_part_t;

/** A barrier for a fixed number of threads (thesis 3.3.4). Waiters block in its own
 * queues, so bound and foreign threads take part. */
typedef struct mltp_barrier {
  mltp_waitq_t queue_;
  uint32_t needed_;
  uint32_t episode_;
  const char *name_;
  uint32_t given_;
  uint32_t open_;
  mltp_barrier_part_t parts_[MLTP_BARRIER_PARTS];
} mltp_barrier_t;

#define MLTP_BARRIER_INIT(count)                                                                   \
  {                                                                                                \
    {0, 0, NULL, NULL}, (count), 0, NULL, 0, 0, {{{0}, {0, 0, NULL, NULL}, NULL, 0, 0, 0}}         \
  }

/** Makes a barrier. @param count threads it waits for, at least 1.
 * @param name shown in reports, not copied; NULL: none.
 * @return 0; EINVAL: count is 0. Blocks: no. Context: any. */
MLTP_API int mltp_barrier_init(mltp_barrier_t *barrier, unsigned count, const char *name);

/** Ends a barrier's life. @return 0; EBUSY (misuse): threads wait in it. Blocks: briefly.
 * Context: any. */
MLTP_API int mltp_barrier_destroy(mltp_barrier_t *barrier);

/**
 * Waits until count threads have come.
 * @return MLTP_BARRIER_SERIAL to the last one to come, 0 to the others; EINVAL
 *         (misuse): not initialised. Blocks: thread. Context: any.
 */
MLTP_API int mltp_barrier_wait(mltp_barrier_t *barrier);

/* ----------------------------------------------------------- semaphores */

/** A counting semaphore; first come, first served. */
typedef struct mltp_sem {
  mltp_waitq_t queue_;
  uint64_t value_;
  const char *name_;
} mltp_sem_t;

#define MLTP_SEM_INIT(value) {{0, 0, NULL, NULL}, (value), NULL}

/** Makes a semaphore. @param value at the start, at most 2^32 - 1.
 * @param name shown in reports, not copied; NULL: none. @return 0. Blocks: no. Context: any. */
MLTP_API int mltp_sem_init(mltp_sem_t *sem, unsigned value, const char *name);

/** Ends a semaphore's life. @return 0; EBUSY (misuse): threads wait for it. Blocks: briefly.
 * Context: any. */
MLTP_API int mltp_sem_destroy(mltp_sem_t *sem);

/** Takes one. @return 0. Blocks: thread. Context: any. */
MLTP_API int mltp_sem_wait(mltp_sem_t *sem);

/** Takes one if there is one. @return 0: took one; EAGAIN: there is none. Blocks: no.
 * Context: any. */
MLTP_API int mltp_sem_wait_try(mltp_sem_t *sem);

/** Takes one, but gives up at a deadline. @return 0: took one; ETIMEDOUT; ECANCELED: see
 * mltp_cancel(). Blocks: thread. Context: any. */
MLTP_API int mltp_sem_wait_timed(mltp_sem_t *sem, uint64_t deadline);

/** Adds one, or gives it to the longest waiter. @return 0; EOVERFLOW: the value is
 * 2^32 - 1. Blocks: no. Context: any. */
MLTP_API int mltp_sem_post(mltp_sem_t *sem);

/** Tells the value. @return the value now; stale at once. Blocks: no. Context: any. */
MLTP_API unsigned mltp_sem_value(const mltp_sem_t *sem);

MLTP_END_DECLS

#endif
