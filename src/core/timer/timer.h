/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file timer.h
 * Deadlines of parked threads.
 *
 * Each VP has a heap of the timers that threads armed while they ran on it. The
 * VP looks at it every 64 scheduling points; a VP that searches, and the watchdog,
 * look at all of them. A timer lives on its thread's stack: mt_timer_disarm()
 * takes the heap's internal lock, under which timers also fire, so it returns only when
 * nobody can touch the timer any more.
 *
 * The watchdog wakes up for the first of all timers, so a timer that comes first rouses it. A
 * thread that sleeps again and again, on a VP that has nothing else to run, would rouse it each
 * time. The timers are *unwatched* then, until that VP runs a thread, which rouses the watchdog, or
 * sleeps and keeps the watch itself.
 *
 * Many timers that are due at once fire in batches, and the heap's internal lock is released
 * between them: others that arm or disarm a timer wait for a batch, not for all.
 *
 * Internal locks, in this order: a VP's timers.ilock, then the wait queue's.
 *
 * Bound and foreign threads have no heap: they sleep on a futex with a deadline.
 * Every wait with a timer can be cancelled (cancel.c), also one whose timer never comes.
 */
#ifndef MT_CORE_TIMER_TIMER_H
#define MT_CORE_TIMER_TIMER_H

#include "core/vp/vp.h"

struct mt_timer {
  struct mt_heap_node node;   /* first; its key is the deadline */
  struct mltp_thread *thread; /* [const] */
  struct mt_vp *vp;           /* [const] whose heap; NULL: bound, foreign */
  uint8_t armed;              /* [ilock: vp->timers.ilock] it is in the heap */
  uint32_t fired;             /* [atomic] it fired before the thread was in its queue */
  int meaning;                /* [atomic] that it fired means ETIMEDOUT or ECANCELED */
};

/** Arms it for the calling thread, before it takes any wait queue's internal lock. The thread's
 * own deadline counts, too; if the thread is cancelled the timer has fired. */
void mt_timer_arm(struct mt_timer *timer, struct mltp_thread *self, uint64_t deadline);

/** The same for a caller that parks next and makes no thread ready before. If its VP has nothing
 * else to run, the watchdog is not told (struct mt_vp_timers). */
void mt_timer_arm_to_sleep(struct mt_timer *timer, struct mltp_thread *self, uint64_t deadline);

/** @return the error of a wait that ended so: ECANCELED for ETIMEDOUT where the thread
 * was cancelled or its own deadline came. */
int mt_timer_disarm(struct mt_timer *timer, int error);

/** The timer's time has come. Its heap's internal lock is held, or outside.timeouts. */
void mt_timer_fire(struct mt_timer *timer);

/** @return true when it has fired, or should have. For a waiter without a queue. */
bool mt_timer_passed(const struct mt_timer *timer);

/** Fires timers that are due, on every VP; of many, the ones that are due first. Not inside a run
 * queue. */
void mt_timers_run_due(uint64_t now);

/** @return the earliest deadline of all VPs; MLTP_NEVER: none. */
uint64_t mt_timers_earliest(void);

/** The VP has left timers unwatched, and is going to run a thread: the watchdog looks at them from
 * now on. */
void mt_timers_watch(struct mt_vp *vp);

/** Returns when no timer that fires, and no bound or foreign thread that times
 * out, can still be looking at a wait queue it was taken from. */
void mt_timers_flush(void);

/* What is done when a timer is due or set is above this room. */

/** The thread's deadline has come, or it was cancelled: takes it out of the queue it is in, if any,
 * and resumes it. Under the timer's internal lock. @return true when it was in one. Implemented by
 * wait/park.c. */
bool mt_park_timeout(struct mltp_thread *t);

/** A timer earlier than all others was set, so the watchdog must wake up in time. Implemented by
 * sched/watchdog.c. */
void mt_watchdog_rearm(uint64_t deadline);

#endif
