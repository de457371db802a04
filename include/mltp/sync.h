/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sync.h
 * Locks, conditions, barriers and semaphores. Unbound, bound and foreign threads may use the same
 * object.
 *
 * A static initialiser or an _init function makes an object. It must not be copied or moved: its
 * size and its initialiser are part of the binary interface, its fields are not. A _destroy
 * function frees nothing, since there is nothing to free. But if any thread waited on the object
 * with a deadline, call it before you reuse the memory: it waits until timers in flight have let
 * go of the object. Without a runtime it does nothing.
 */
#ifndef MLTP_SYNC_H
#define MLTP_SYNC_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/** A queue of waiting threads: internal, here for its size. */
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
                                another VP may be active meanwhile. Unfair. While 64 VPs sleep so,
                                further waiters park, and are served in turn */
  MLTP_LOCK_RECURSIVE = 5  /**< REACTIVE, and its holder may lock it again. It is free after as
                                many mltp_unlock() calls as there were locks */
};

/** State of a spin lock: internal, here for its size. */
typedef struct mltp_spin {
  uint64_t word_;  /* all contenders change it */
  uint64_t grant_; /* the next holder waits for it */
  void *held_;     /* the holder keeps here what its release needs */
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
 * Initialises a lock.
 * @param lock_class a constant above or of `<mltp/alternatives.h>`
 * @param name       shown in reports, not copied; NULL: none
 * @return 0; EINVAL: this library has no such class. Blocks: no. Context: any.
 */
MLTP_API int mltp_lock_init(mltp_lock_t *lock, mltp_lock_class_t lock_class, const char *name);

/** Ends the use of a lock (see sync.h). @return 0; EBUSY (misuse): it is held. Blocks: briefly.
 * Context: any. */
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
  uint64_t room_[2];
} mltp_cond_t;

#define MLTP_COND_INIT {{0, 0, NULL, NULL}, NULL, {0, 0}}

/** Initialises a condition. @param name shown in reports, not copied; NULL: none. @return 0.
 * Blocks: no. Context: any. */
MLTP_API int mltp_cond_init(mltp_cond_t *cond, const char *name);

/** Ends the use of a condition (see sync.h). @return 0; EBUSY (misuse): a thread waits on it.
 * Blocks: briefly. Context: any. */
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

/** Wakes the waiter that has waited longest, if any. @return 0. Blocks: no. Context: any. */
MLTP_API int mltp_cond_signal(mltp_cond_t *cond);

/** Wakes all waiters. @return 0. Blocks: no. Context: any. */
MLTP_API int mltp_cond_broadcast(mltp_cond_t *cond);

/* ------------------------------------------------------------- barriers */

/** The value that mltp_barrier_wait() returns to one thread of each episode. It is no error. */
#define MLTP_BARRIER_SERIAL (-1)

/** Words of a barrier's opaque storage. */
enum { MLTP_BARRIER_WORDS = 144 };

/** A barrier for a fixed number of threads (thesis 3.3.4). Waiters park in the barrier's own
 * queues, so bound and foreign threads can take part. */
typedef struct mltp_barrier {
  mltp_waitq_t queue_;
  uint32_t needed_;
  uint32_t episode_;
  const char *name_;
  uint64_t parts_[MLTP_BARRIER_WORDS];
} mltp_barrier_t;

#define MLTP_BARRIER_INIT(count) {{0, 0, NULL, NULL}, (count), 0, NULL, {0}}

/** Initialises a barrier. @param count number of threads it waits for, at least 1.
 * @param name shown in reports, not copied; NULL: none.
 * @return 0; EINVAL: count is 0. Blocks: no. Context: any. */
MLTP_API int mltp_barrier_init(mltp_barrier_t *barrier, unsigned count, const char *name);

/** Ends the use of a barrier (see sync.h). @return 0; EBUSY (misuse): threads wait in it. Blocks:
 * briefly. Context: any. */
MLTP_API int mltp_barrier_destroy(mltp_barrier_t *barrier);

/**
 * Waits until count threads have called it.
 * @return MLTP_BARRIER_SERIAL to the last arrival, 0 to the others; EINVAL (misuse): not
 *         initialised. Blocks: thread. Context: any.
 */
MLTP_API int mltp_barrier_wait(mltp_barrier_t *barrier);

/* ----------------------------------------------------------- semaphores */

/** A counting semaphore; first come, first served. */
typedef struct mltp_sem {
  mltp_waitq_t queue_;
  uint64_t value_;
  const char *name_;
  uint64_t room_[2];
} mltp_sem_t;

#define MLTP_SEM_INIT(value) {{0, 0, NULL, NULL}, (value), NULL, {0, 0}}

/** Initialises a semaphore. @param value at the start, at most 2^32 - 1.
 * @param name shown in reports, not copied; NULL: none. @return 0. Blocks: no. Context: any. */
MLTP_API int mltp_sem_init(mltp_sem_t *sem, unsigned value, const char *name);

/** Ends the use of a semaphore (see sync.h). @return 0; EBUSY (misuse): threads wait for it.
 * Blocks: briefly. Context: any. */
MLTP_API int mltp_sem_destroy(mltp_sem_t *sem);

/** Takes one unit; waits until there is one. @return 0. Blocks: thread. Context: any. */
MLTP_API int mltp_sem_wait(mltp_sem_t *sem);

/** Takes one unit if there is one. @return 0; EAGAIN: there is none. Blocks: no.
 * Context: any. */
MLTP_API int mltp_sem_wait_try(mltp_sem_t *sem);

/** Takes one unit, but gives up at a deadline. @return 0; ETIMEDOUT; ECANCELED: see
 * mltp_cancel(). Blocks: thread. Context: any. */
MLTP_API int mltp_sem_wait_timed(mltp_sem_t *sem, uint64_t deadline);

/** Adds one unit, or gives it to the waiter that has waited longest. @return 0; EOVERFLOW: the
 * value is 2^32 - 1. Blocks: no. Context: any. */
MLTP_API int mltp_sem_post(mltp_sem_t *sem);

/** Returns the value of a semaphore. @return the value; it may change at any time. Blocks: no.
 * Context: any. */
MLTP_API unsigned mltp_sem_value(const mltp_sem_t *sem);

MLTP_END_DECLS

#endif
