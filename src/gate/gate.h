/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file gate.h
 * The gate: an unmodified pthread program runs only as many of its kernel threads at a time as it
 * has permits (MLTP_VPS, or mltpd's grant). This library is preloaded by `mltp run --threads`; its
 * functions stand before libc's of the same names.
 *
 * A thread of the program is a kernel thread, always. Its state (gt_state) says what the gate
 * knows of it:
 *
 *   RUNS    has a permit, or needs none     READY   waits for one, in the ready queue
 *   PARKED  waits in the lot for a wake     CALL    in a call that blocks, without a permit
 *   CAUGHT  it slept in the kernel, and the monitor or a ready thread took the permit
 *   ENDED   its functions go straight to libc
 *
 * Objects stay libc's: a mutex is locked by libc's trylock and unlocked by libc's unlock, or as
 * they would (quick.h). Only waiting is ours: a waiter parks in the lot (lot.c) under the object's
 * address, and the thread that makes the object free moves it to the ready queue. It runs as soon
 * as a permit is free, so a wake passes a permit, never two system calls. Objects that other
 * processes share, robust and priority mutexes wait in libc, without a permit.
 *
 * One internal lock (gt_lock) guards lot, ready queue and states. It is taken only where a thread
 * waits or wakes. While it is held, and outside of RUNS, the functions of this library pass
 * straight to libc (`open` is 0), so the gate's own use of libc does not come back to it, and a
 * signal handler that interrupts a waiter does not wait. One that interrupts the holder of gt_lock
 * runs when that is free (handlers.c).
 *
 * Protocol GT: a waiter counts itself in the slot of its object (GT-1), then tries the object a
 * last time. A waker makes the object free, then loads the count (GT-2). One of them sees the
 * other. How a permit reaches a thread that sleeps is explored by tests/models/grant.pml.
 *
 * Rejected: objects of our own inside libc's (their layout is libc's, and processes share them);
 * releasing the permit around libc's blocking calls everywhere (a woken thread then owns a lock and
 * waits for a permit, while permit holders wait for the lock).
 */
#ifndef MT_GATE_GATE_H
#define MT_GATE_GATE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/atomic.h"
#include "coord/client.h"

#define GT_EXPORT __attribute__((visibility("default")))

/** A second name of a function, by which programs and libraries call libc's that were linked long
 * ago, or libraries of the GNU project. */
#define GT_OLD_NAME(old, name)                                                                     \
  extern __typeof__(name) gt_old_##old __asm__(#old)                                               \
      __attribute__((alias(#name), copy(name), visibility("default")))

enum gt_state { GT_NEW, GT_RUNS, GT_READY, GT_PARKED, GT_CALL, GT_CAUGHT, GT_ENDED };

/** A permit that its thread has not claimed yet may go to another (permits.c). */
enum gt_wake { GT_NO_PERMIT, GT_GRANTED, GT_CLAIMED };

/** What a thread waits for: for reports. */
enum gt_why {
  GT_WHY_NOTHING,
  GT_WHY_MUTEX,
  GT_WHY_COND,
  GT_WHY_SEM,
  GT_WHY_BARRIER,
  GT_WHY_RDLOCK,
  GT_WHY_WRLOCK,
  GT_WHY_SPIN,
  GT_WHY_ONCE,
  GT_WHY_WORD,
  GT_WHY_JOIN,
  GT_WHY_SLEEP
};

enum { GT_NAME = 32 };

/** A thread of the program. It lies in the thread's own thread-local storage. */
struct gt_thread {
  uint32_t open;          /**< [atomic] 1: it runs, and its calls go through the gate */
  uint32_t wake;          /**< [atomic] futex: enum gt_wake */
  uint32_t sleeps;        /**< [atomic] 1: it sleeps on `wake`, or is about to */
  uint32_t state;         /**< [lock] enum gt_state; [atomic] CAUGHT: its thread looks, too */
  uint32_t why;           /**< [lock] enum gt_why */
  uint32_t away;          /**< [atomic] 1: it has a permit, or is about to, but no CPU yet */
  uint32_t lent;          /**< [atomic] 1: it is in a call that may sleep (lend.h) */
  bool gave_way;          /**< [lock] it was not woken: it let others run first */
  bool besides;           /**< [lock] it began to run while no permit was free (extra) */
  bool early;             /**< [lock] it runs without a permit, since it has just been created */
  uint64_t grace;         /**< [owner] its CPU time at which it gives way, if it runs besides */
  int cpu;                /**< [lock] where it last ran */
  int passed;             /**< [lock] threads that ran before it although it was the first */
  bool locked;            /**< [owner] it has gt_lock */
  bool reposted;          /**< [owner] a handler posted a semaphore meanwhile */
  bool forked;            /**< [owner] a handler forked meanwhile, and this is the child */
  bool put_off;           /**< [owner] handlers of the program wait for gt_unlock() */
  uint64_t mask;          /**< [owner] signals that it blocked before these were put off */
  bool cancellable;       /**< [lock] a cancellation ends its wait */
  bool cancelled;         /**< [lock] pthread_cancel() was called for it */
  int result;             /**< [lock] how its wait ended */
  uint32_t waits;         /**< [owner] how often it has waited in the lot, or left it */
  uint32_t left;          /**< [owner] number of the last wait that it left */
  bool counted;           /**< [lock] it has a permit; real-time and early threads have none */
  int priority;           /**< [owner] real-time priority when it began to wait; 0: none */
  uint32_t priority_seen; /**< [owner] changes of priorities when it asked for its own */
  uint32_t asked_for;     /**< [owner] waits since then, and 1; 0: it never has */
  char name[GT_NAME];     /**< [lock] in the log of a seeded run; empty: not read yet */
  int rank;               /**< [lock] priority in a seeded run */
  uint64_t turn;          /**< [lock] number of the turn by which it got its permit */
  uint64_t deadline;      /**< [lock] of a wait in a seeded run */
  int rounds;             /**< [owner] destructors of thread-specific values that ran */
  unsigned id;            /**< [const] 1, 2, ... in the order of creation */
  pid_t tid;              /**< [const] */
  pthread_t handle;       /**< [const] */
  const void *key;        /**< [lock] what it waits for in the lot */
  const void *at;         /**< [owner] the call's return address, for reports */
  struct gt_thread *next, *prev;     /**< [lock] in the ready queue or a slot of the lot */
  struct gt_thread *later, *earlier; /**< [lock] in the list of all threads */
  struct gt_thread *after, *before;  /**< [lock] in the list of running or caught threads */
  struct gt_thread *same_slot;       /**< [lock] in the table of handles */
};

/** The ready queue, or a slot of the lot. Higher real-time priorities come first. */
struct gt_queue {
  struct gt_thread *first, *last; /**< [lock] */
};

/** Shared by all threads. */
struct gt_gate {
  uint32_t attend; /**< [atomic] nonzero: calls look at gt_attend() first */
  unsigned quick;  /**< [const after start] what the gate does itself (quick.h); 0: libc does all */
  uint32_t cancels; /**< [atomic] 1: pthread_cancel() was called; else no call need look for one */
  alignas(64) int permits; /**< [lock] threads that may run; each call reads the line before */
  int extra;               /**< [lock] threads that the monitor lets run besides */
  int running;             /**< [lock] threads in RUNS that have permits */
  int early;               /**< [lock] threads in RUNS that have none yet */
  int ready;               /**< [lock] threads in the ready queue */
  uint32_t eager;          /**< [atomic] without threads that gave way; written under lock */
  int caught;              /**< [lock] threads in CAUGHT */
  int threads;             /**< [lock] that have not ended */
  int most;                /**< [const] permits without a daemon */
  unsigned ids;            /**< [lock] given so far */
  uint64_t turns;          /**< [lock] permits given so far, and other progress */
  uint64_t helped_at;      /**< [lock] others run since then beside a thread that stayed; 0: none */
  uint64_t helped_turn;    /**< [lock] gt_gate.turns at that time */
  bool helped;             /**< [lock] that thread has left its permit soon: it had spun for them */
  bool due;                /**< [lock] permits stayed for a slice: the next call gives way */
  bool joined;             /**< [const] to mltpd */
  bool aside;              /**< [lock] all threads have permits (aside.h) */
  struct gt_queue queue;   /**< [lock] ready threads */
  struct gt_thread *all;   /**< [lock] */
  struct gt_thread *runs;  /**< [lock] in RUNS; there are few, and all may be thousands */
  struct gt_thread *stray; /**< [lock] in CAUGHT */
};

extern struct gt_gate gt_gate;
extern __thread struct gt_thread gt_me;

/** [const after start] 0 in a child of the process that the gate has not seen begin. */
extern uint32_t *gt_mark;

/* ---- threads.c */

/** @return the calling thread, or NULL: the call goes straight to libc. The first call of a thread
 * makes it known; a thread that was caught waits for a permit in gt_point(). */
struct gt_thread *gt_enter_slow(void);

static inline struct gt_thread *gt_enter(void) {
  struct gt_thread *me = &gt_me;
  /* relaxed: a thread that is caught meanwhile makes one call more */
  return mt_likely(mt_load_relaxed(&me->open) != 0) ? me : gt_enter_slow();
}

/** The same for functions that no signal handler may call. If a thread that waits comes here, a
 * handler has left the wait by siglongjmp(), or as some runtimes of languages do without it. The
 * thread leaves the lot and gets a permit again: it would wait in libc, wake threads there that
 * wait in the lot, and be woken in place of others. If it is in a handler after all, its wait
 * begins again when the handler returns. */
struct gt_thread *gt_enter_again_slow(void);

static inline struct gt_thread *gt_enter_again(void) {
  struct gt_thread *me = &gt_me;
  /* relaxed: as in gt_enter() */
  return mt_likely(mt_load_relaxed(&me->open) != 0) ? me : gt_enter_again_slow();
}

/** @return whether the calling thread has been caught, and is back in the program. */
static inline bool gt_is_back(const struct gt_thread *me) {
  return mt_load_relaxed(&me->state) == GT_CAUGHT && !me->locked; /* relaxed: behind GT-21 */
}

/** What a new thread runs: one of the functions. */
struct gt_start {
  void *(*func)(void *);
  int (*c11)(void *);
  void *arg;
};

/** pthread_create() by a thread of the gate. @return libc's errors. */
int gt_create(struct gt_thread *me, pthread_t *thread, const pthread_attr_t *attr,
              const struct gt_start *start);

/** The calling thread leaves the gate, and threads that join it wake. */
void gt_thread_end(struct gt_thread *me);
/** In a child of the process: the caller is its only thread. */
void gt_begin_child(void);
/** @return a live thread of this name, or NULL. Under gt_lock. */
struct gt_thread *gt_thread_find(pthread_t handle);

/* ---- permits.c */

/** Puts a thread behind those of its priority and of higher ones; front: before all. */
void gt_queue_push(struct gt_queue *queue, struct gt_thread *t, bool front);
/** Takes out a thread. */
void gt_queue_take(struct gt_queue *queue, struct gt_thread *t);

void gt_lock(struct gt_thread *me);
void gt_unlock(struct gt_thread *me);

/** Puts a thread that waited at the end of the ready queue, and lets it run if a permit is free.
 * Under gt_lock. */
void gt_make_ready(struct gt_thread *t);
/** Gives free permits to ready threads, and lent ones unless all of these gave way. Under
 * gt_lock. */
void gt_grant(void);
/** Takes the permit of a thread in RUNS, which learns of it at its next call. Under gt_lock. */
void gt_catch(struct gt_thread *t);
/** The calling thread is new, and has a CPU: it runs, or enters READY. Under gt_lock. */
void gt_begin(struct gt_thread *me);
/** Early threads need permits from now on: some give way at their next calls. Under gt_lock. */
void gt_count_early(void);
/** Gives up the permit and enters `state`, READY or PARKED or CALL. Under gt_lock. */
void gt_release(struct gt_thread *me, enum gt_state state);
/** Sleeps until the calling thread has a permit, or as gt_futex_wait(). Without gt_lock. */
int gt_sleep(struct gt_thread *me, clockid_t clock, const struct timespec *until);
/** Waits until the calling thread, which is in the ready queue, has a permit. Without gt_lock. */
void gt_await_permit(struct gt_thread *me);

/** Gives up the permit before a call that may block; gt_return() waits for one again. */
void gt_leave(struct gt_thread *me);
void gt_return(struct gt_thread *me);
/** gt_return() for __attribute__((cleanup)): a cancellation may end the call between. *me NULL:
 * does nothing. Keeps errno. */
void gt_returned(struct gt_thread **me);

/** Lets ready threads run first. @return false: there are none, or the caller's priority is
 * real-time, and the kernel has to look for others. */
bool gt_yield(struct gt_thread *me);

/** Gives the caller's permit to a thread of the ready queue; the caller is the next after it. Under
 * gt_lock. */
void gt_switch(struct gt_thread *me, struct gt_thread *to);

/** In a child of fork(): the caller is the only thread. */
void gt_forget(struct gt_thread *me);
/** The same in a handler that interrupted the gate: gt_unlock() calls gt_begin_child() later. */
void gt_forget_later(struct gt_thread *me);

/** What `attend` asks for: a grant that changed, a thread that ran for long, a seed; or the caller
 * was caught. call: the function's name. */
void gt_attend(struct gt_thread *me, const char *call);

static inline void gt_point(struct gt_thread *me, const char *call) {
  /* Relaxed: a hint; what it stands for is read under the lock. */
  if (mt_unlikely(mt_load_relaxed(&gt_gate.attend) != 0 || mt_client_changed() ||
                  mt_load_relaxed(&me->open) == 0))
    gt_attend(me, call);
}

/** @return whether the calling thread runs, and no point has anything to do: then an operation on a
 * free object need not know its thread. */
static inline bool gt_is_undisturbed(void) {
  /* relaxed: as gt_point() */
  return mt_load_relaxed(&gt_me.open) != 0 && mt_load_relaxed(&gt_gate.attend) == 0 &&
         !mt_client_changed();
}

/* ---- seed.c; seed.h has more */

/** [const after start] The run is seeded. */
extern bool gt_seeded;

/** @return an absolute time as one of the run's clock; NULL: UINT64_MAX. */
uint64_t gt_seed_deadline(const struct timespec *until, clockid_t clock);

/* ---- barrier.c */

/** In a child of fork(): routines that run once have others begun, which are not here. */
void gt_once_forget(void);

/* ---- handlers.c */

/** Handlers run that were put off. One may leave by siglongjmp(). */
void gt_handlers_run(struct gt_thread *me);

/* ---- monitor.c */

/** A thread is ready and there is no permit: the monitor watches from now on. Under gt_lock. */
void gt_monitor_watch(void);
/** The last thread of the program ends: so does the monitor. Under gt_lock. */
void gt_monitor_end(void);
/** @return whether gt_monitor_wake() has to be called, by the caller. Under gt_lock. */
bool gt_monitor_take(void);
/** Wakes the monitor, or starts it. Without gt_lock. */
void gt_monitor_wake(void);
/** In a child of fork(): there is no monitor. */
void gt_monitor_forget(void);

#endif
