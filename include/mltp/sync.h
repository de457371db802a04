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

/** How a lock waits (thesis 3.3.3). All classes are used through the same calls. */
typedef enum mltp_lock_class {
  MLTP_LOCK_STANDARD = 0, /**< what MLTP_LOCK names at start; reactive unless set */
  MLTP_LOCK_REACTIVE,     /**< spins only while the holder runs, then parks. Fair in the
                               long run: a waiter is overtaken only until it has once been
                               woken in vain (thesis 5.1) */
  MLTP_LOCK_SPIN,         /**< ticket lock, first come first served (3.3.3.1): waits on its
                               VP while the holder runs, yields the VP while it does not */
  MLTP_LOCK_YIELD_END,    /**< tries, else yields to the end of the queue (3.3.3.2); unfair */
  MLTP_LOCK_YIELD_FRONT,  /**< tries, else yields to the front (3.3.3.2); every eighth time to
                               the end, so that a holder behind two waiters gets to run; unfair */
  MLTP_LOCK_SEMAPHORE,    /**< waits in the kernel, VP and all (3.3.3.3); another VP may be
                               active meanwhile; unfair */
  MLTP_LOCK_QUEUE,        /**< queue lock, first come, first served, whoever comes: handed
                               over to the longest waiter. A waiter spins while the one before
                               it runs, for a bounded time, then parks. Dearer than reactive
                               under contention: it is idle until the next in turn runs
                               (Anderson et al. 1989, Table IV) */
  /* The spin locks of Anderson et al. 1989, section IV, and the two that followed. A waiter
     waits on its VP while the holder runs and yields the VP while it does not; it never
     parks. A timed waiter takes no place: it looks and tries now and then. */
  MLTP_LOCK_EXCHANGE,   /**< exchanges until it succeeds; unfair */
  MLTP_LOCK_READ,       /**< reads until the lock looks free, then exchanges; unfair */
  MLTP_LOCK_BACKOFF,    /**< once it looks free, waits the longer the more attempts have
                             failed, looks again, exchanges; unfair to those who wait long */
  MLTP_LOCK_PERSISTENT, /**< waits so whenever it looks held, exchanges at once when it looks
                             free; as unfair */
  MLTP_LOCK_ARRAY,      /**< first come, first served: takes a number, waits at the place of
                             that number (Table IV) */
  MLTP_LOCK_MCS,        /**< first come, first served: each waits on a word of its own (Mellor-
                             Crummey and Scott 1991) */
  MLTP_LOCK_CLH         /**< first come, first served: each waits on the word of the one before
                             it (Craig 1993; Landin and Hagersten 1994) */
} mltp_lock_class_t;

/** What a spin lock keeps; internal, here only for its size. */
typedef struct mltp_spin {
  uint64_t word_;  /* what all contenders change */
  uint64_t grant_; /* what the next in turn waits for */
  void *held_;     /* what the holder keeps for its release */
} mltp_spin_t;

/** A mutual exclusion lock, not recursive. */
typedef struct mltp_lock_object {
  uint64_t word_;
  uint32_t class_;
  uint32_t ticket_;
  __extension__ union { /* C99 has no anonymous ones */
    mltp_waitq_t queue_;
    mltp_spin_t spin_;
  };
  const char *name_;
} mltp_lock_t;

/** Static initialiser of a lock of the given class. */
#define MLTP_LOCK_INIT_CLASS(lock_class) {0, (lock_class), 0, {{0, 0, NULL, NULL}}, NULL}
/** Static initialiser of a standard lock. */
#define MLTP_LOCK_INIT MLTP_LOCK_INIT_CLASS(MLTP_LOCK_STANDARD)

/**
 * Makes a lock.
 * @param lock_class one of mltp_lock_class_t
 * @param name       shown in reports, not copied; NULL: none
 * @return 0; EINVAL: no such class. Blocks: no. Context: any.
 */
MLTP_API int mltp_lock_init(mltp_lock_t *lock, mltp_lock_class_t lock_class, const char *name);

/** Ends a lock's life. @return 0; EBUSY (misuse): it is held. Blocks: briefly. Context: any. */
MLTP_API int mltp_lock_destroy(mltp_lock_t *lock);

/**
 * Acquires the lock (thesis 3.3.3).
 * @return 0; EDEADLK (misuse): the caller holds it already.
 * Blocks: thread (class SEMAPHORE: VP). Context: any.
 */
MLTP_API int mltp_lock(mltp_lock_t *lock);

/** Acquires the lock if it is free. @return 0: acquired; EBUSY: held. Blocks: no. Context: any. */
MLTP_API int mltp_trylock(mltp_lock_t *lock);

/** Acquires the lock, but gives up at a deadline.
 * @return 0: acquired; ETIMEDOUT; ECANCELED: see mltp_cancel(); EDEADLK (misuse): the
 * caller holds it already.
 * Blocks: as mltp_lock(), until the deadline. Context: any. */
MLTP_API int mltp_timedlock(mltp_lock_t *lock, uint64_t deadline);

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
 * The thesis's wait (3.3.5): until a signal or broadcast that comes after the
 * caller has entered the queue. There is no lock: a signal that comes before is
 * lost. @return 0. Blocks: thread. Context: any.
 */
MLTP_API int mltp_cond_wait(mltp_cond_t *cond);

/**
 * Releases the lock and waits, as one step; holds the lock again on return. As
 * with every condition, test the predicate in a loop.
 * @return 0; EPERM (misuse): the caller does not hold the lock.
 * Blocks: thread. Context: any.
 */
MLTP_API int mltp_cond_wait_with(mltp_cond_t *cond, mltp_lock_t *lock);

/**
 * mltp_cond_wait_with() until a deadline; lock may be NULL: mltp_cond_wait().
 * @return 0; ETIMEDOUT (the lock is held all the same); ECANCELED (likewise): see
 *         mltp_cancel(); EPERM (misuse).
 * Blocks: thread. Context: any.
 */
MLTP_API int mltp_cond_timedwait(mltp_cond_t *cond, mltp_lock_t *lock, uint64_t deadline);

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
MLTP_API int mltp_sem_trywait(mltp_sem_t *sem);

/** Takes one, but gives up at a deadline. @return 0: took one; ETIMEDOUT; ECANCELED: see
 * mltp_cancel(). Blocks: thread. Context: any. */
MLTP_API int mltp_sem_timedwait(mltp_sem_t *sem, uint64_t deadline);

/** Adds one, or gives it to the longest waiter. @return 0; EOVERFLOW: the value is
 * 2^32 - 1. Blocks: no. Context: any. */
MLTP_API int mltp_sem_post(mltp_sem_t *sem);

/** Tells the value. @return the value now; stale at once. Blocks: no. Context: any. */
MLTP_API unsigned mltp_sem_value(const mltp_sem_t *sem);

MLTP_END_DECLS

#endif
