/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file park.h
 * The one way to wait. Locks, conditions, barriers, semaphores, joins and sleeps
 * all use it, for unbound, bound and foreign threads alike.
 *
 * Why no wake-up is lost: a thread waits for an object that an internal lock protects. It
 * takes the lock, sees that it must wait, enters the queue, and parks. The lock is released
 * only when the thread's registers are saved: by the thread that runs next. A bound or foreign
 * thread releases it at once, and then sleeps on a token that remembers a wake-up. A waker
 * takes the same lock before it changes the object. So it either comes before the waiter's
 * test, or finds the waiter in the queue and ready to be resumed. A park needs no state of its
 * own and no compare-and-swap.
 *
 * Deadlines: the timer is armed before the queue's lock is taken. When it fires, under
 * its heap's lock, it reads whether the thread is in a queue and if so takes it out, under
 * that queue's lock (PK-1, PK-2: either the timer sees the queue or the thread sees that the
 * timer has fired). A timer may thus look at a queue for a moment after its last waiter has
 * left; the _destroy functions wait for that. A cancellation is a timer that fires early
 * (cancel.c).
 *
 * Internal locks, in this order: timers.ilock or outside.timeouts; a wait queue's or a
 * thread's; run queue; sleep.ilock. A condition's before its lock's.
 *
 * Rejected: a per-thread state word with compare-and-swap on park and on unpark
 * (two locked instructions more per wait, a quarter of a round trip).
 */
#ifndef MT_CORE_WAIT_PARK_H
#define MT_CORE_WAIT_PARK_H

#include <errno.h>

#include "base/log.h"
#include "core/thread/thread.h"
#include "core/timer/timer.h"

/** Adds at the end. Internal lock held. */
static inline void mt_waitq_append(mltp_waitq_t *q, struct mltp_thread *t) {
  struct mltp_thread *tail = q->tail_;
  t->next = NULL;
  t->prev = tail;
  if (tail != NULL)
    tail->next = t;
  else
    q->head_ = t;
  q->tail_ = t;
  q->count_++;
}

/** Adds at the front. Internal lock held. */
static inline void mt_waitq_prepend(mltp_waitq_t *q, struct mltp_thread *t) {
  struct mltp_thread *head = q->head_;
  t->prev = NULL;
  t->next = head;
  if (head != NULL)
    head->prev = t;
  else
    q->tail_ = t;
  q->head_ = t;
  q->count_++;
}

/** Takes a thread out of the middle. Internal lock held. */
static inline void mt_waitq_remove(mltp_waitq_t *q, struct mltp_thread *t) {
  if (t->prev != NULL)
    t->prev->next = t->next;
  else
    q->head_ = t->next;
  if (t->next != NULL)
    t->next->prev = t->prev;
  else
    q->tail_ = t->prev;
  MT_ASSERT(q->count_ > 0);
  q->count_--;
  mt_store_relaxed(&t->waitq, NULL); /* relaxed: changes and is checked under the ilock */
}

/** Takes the first, or NULL. Internal lock held. */
static inline struct mltp_thread *mt_waitq_pop(mltp_waitq_t *q) {
  struct mltp_thread *t = q->head_;
  if (t != NULL) mt_waitq_remove(q, t);
  return t;
}

/** Takes all, linked by next. Internal lock held. */
struct mltp_thread *mt_waitq_take_all(mltp_waitq_t *q);

/**
 * Parks the calling thread; the internal lock, which it holds, is released when its
 * registers are saved. Returns when mt_resume() was called for it.
 * @param timer armed for the caller, which is in a queue where the timer finds it; or NULL
 */
void mt_park_timed(struct mltp_thread *self, mt_ilock *ilock, enum mt_why why,
                   struct mt_timer *timer);

static inline void mt_park(struct mltp_thread *self, mt_ilock *ilock, enum mt_why why) {
  mt_park_timed(self, ilock, why, NULL);
}

/** @return whether, with the kernel backend, each thread of the library's waits without a deadline,
 * bystanders left out. Then none can run, unless a kernel thread that the library does not know
 * makes one ready, or one in a lock (`in_locks`) has been woken. */
bool mt_all_parked(void);

/** The calling bound thread has ended, and no longer uses its descriptor: it makes no other thread
 * ready. With the kernel backend it looks for a deadlock, since the threads that wait indefinitely
 * looked when they began to wait. */
void mt_park_last(void);

/** A bound or foreign thread sleeps on the futex of a lock while it has this value, and counts as
 * parked: if all others wait as well, that is a deadlock. Its `why` and `waitq` say which lock. */
void mt_park_in_lock(uint32_t *futex, uint32_t value);

/** The part of parking for a bound or foreign thread: it sleeps on its token. Releases the internal
 * lock, or resumes `to`, once it can be resumed itself; either may be NULL. */
void mt_park_outside(struct mltp_thread *self, mt_ilock *ilock, struct mltp_thread *to,
                     struct mt_timer *timer);

/**
 * Waits in a queue whose internal lock the caller holds (released as by mt_park()).
 * @param front enter at the front
 * @param timer armed for the caller, or NULL
 * @return 0: taken out of the queue and resumed; ETIMEDOUT: taken out by the timer.
 */
int mt_wait(struct mltp_thread *self, mltp_waitq_t *q, bool front, enum mt_why why,
            struct mt_timer *timer);

/** The same for a caller that is in the queue already, and now wants to be resumed. */
int mt_wait_in(struct mltp_thread *self, mltp_waitq_t *q, enum mt_why why, struct mt_timer *timer);

/** From here on a deadline may take the caller out of the queue it is in. Internal lock held.
 * @return false: the timer has fired already, and the caller is not in the queue any more. */
static inline bool mt_wait_expose(struct mltp_thread *self, mltp_waitq_t *q,
                                  struct mt_timer *timer) {
  if (timer == NULL) {
    mt_store_relaxed(&self->waitq, q); /* relaxed: nobody looks without a timer */
    return true;
  }
  self->timed_out = 0;
  mt_store_seq_cst(&self->waitq, q); /* PK-1 seq_cst: in the queue before fired; pairs PK-2 PK-6 */
  if (!mt_load_seq_cst(&timer->fired)) return true; /* PK-5 seq_cst: after PK-1; pairs PK-2 */
  mt_waitq_remove(q, self);
  return false;
}

/** The two halves of mt_wait() at the end of a queue, for a caller with something to do in
 * between. mt_wait_enter(): in the queue, internal lock still held; false: the timer has fired
 * already, and the caller is not in the queue. */
static inline bool mt_wait_enter(struct mltp_thread *self, mltp_waitq_t *q,
                                 struct mt_timer *timer) {
  mt_waitq_append(q, self);
  return mt_wait_expose(self, q, timer);
}

static inline int mt_wait_park(struct mltp_thread *self, mltp_waitq_t *q, enum mt_why why,
                               struct mt_timer *timer) {
  mt_park_timed(self, &q->ilock_, why, timer);
  return timer != NULL && self->timed_out ? ETIMEDOUT : 0;
}

/** What the _destroy functions do: nobody may be waiting. @return 0, EPERM, or
 * EBUSY after a misuse report that names the call and the object. */
int mt_waitq_destroy(const char *call, mltp_waitq_t *q, const char *kind, const char *name);

/** Makes a parked thread run again. It was taken out of its queue under the
 * internal lock, which the caller may still hold. */
void mt_resume(struct mltp_thread *t);

/** The same for threads linked by next, in that order. Better not under an internal lock. */
void mt_resume_chain(struct mltp_thread *first);

/** Threads linked by next that ran on one VP last. */
struct mt_home_chain {
  struct mt_vp *home; /**< NULL: on several, or on none */
  struct mltp_thread *first;
};

/** The same for threads of several VPs: one post for each, which touches one thread. */
void mt_resume_homes(const struct mt_home_chain *chains, int count);

/** Takes out the thread that waits alone in a queue of its own. @return it, to be resumed;
 * NULL: its deadline was first. What the thread looks at before it leaves is guarded by
 * the caller. */
struct mltp_thread *mt_wait_take(struct mltp_thread *t);

#endif
