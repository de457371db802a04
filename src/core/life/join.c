/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joining and detaching. fork_join.c has the case in which the join runs the thread.
 *
 * A joiner that has to wait parks on the internal lock of the thread it joins, and that
 * thread's mt_end() resumes it. A deadline, too, may take out a joiner that has one, so that
 * joiner waits in a queue of its own on its stack (as for channels): the thread that takes it
 * out of there, under that queue's lock, resumes it. The thread's end does so while it holds
 * the thread's lock, which the joiner takes once more before it leaves.
 *
 * Relaxed: detached, read without the lock, tells only what has been so from the
 * start; joining serves reports.
 */
#include "core/life/join.h"

#include <errno.h>

#include "base/log.h"
#include "core/det/det.h"
#include "core/life/fork_join.h"
#include "core/memory/descriptor.h"
#include "core/timer/timer.h"
#include "core/vp/vp.h"
#include "core/wait/park.h"

static const char *unjoinable(const struct mltp_thread *t) {
  if (mt_state(t) == MT_FREE) return "was joined already, or was detached and has ended";
  if (t->kind == MT_FOREIGN || t == mt_rt.main) return "was not created by this library";
  if (t->joiner != NULL) return "is being joined by another thread";
  if (mt_load_relaxed(&t->detached) != MT_JOINABLE) return "is detached";
  return NULL;
}

static int refuse(const char *call, const struct mltp_thread *self, const struct mltp_thread *t,
                  const char *why) {
  return mt_misuse(EINVAL, call, self->id, mt_name(self),
                   "thread %lu '%s' %s (join or detach each joinable thread once)",
                   (unsigned long)t->id, mt_name(t), why);
}

/* ---- joining */

/* Waits, with the thread's internal lock held, until it has ended. Released. */
static void wait_for_end(struct mltp_thread *self, struct mltp_thread *thread) {
  thread->joiner = self;
  mt_store_relaxed(&self->joining, thread);
  mt_park(self, &thread->ilock, MT_WHY_JOIN); /* it resumes us after its last step */
  mt_store_relaxed(&self->joining, NULL);     /* or the next timer would take it for a queue */
}

/* The same until a deadline, in a place that stays until the timer is disarmed: timer and
 * mltp_cancel() may look at it till then. @return 0, ETIMEDOUT. */
static int wait_for_end_timed(struct mltp_thread *self, struct mltp_thread *thread, mltp_waitq_t *q,
                              struct mt_timer *timer) {
  thread->joiner = self;
  mt_store_relaxed(&thread->detached, MT_JOINED_TIMED);
  mt_ilock_lock(&q->ilock_);
  bool entered = mt_wait_enter(self, q, timer);
  mt_ilock_unlock(&thread->ilock);
  if (entered)
    mt_wait_park(self, q, MT_WHY_JOIN_TIMED, timer);
  else
    mt_ilock_unlock(&q->ilock_);
  mt_ilock_lock(&thread->ilock); /* waits out an end that looks at place */
  mt_store_relaxed(&thread->detached, MT_JOINABLE);
  thread->joiner = NULL;
  bool done = thread->done;
  mt_ilock_unlock(&thread->ilock);
  return done ? 0 : ETIMEDOUT;
}

/* @return 0: its internal lock is held; EDEADLK, EINVAL. */
static inline int lock_joinable(const char *call, const struct mltp_thread *self,
                                struct mltp_thread *thread) {
  if (thread == self) return EDEADLK;
  mt_ilock_lock(&thread->ilock);
  const char *why = unjoinable(thread);
  if (mt_likely(why == NULL)) return 0;
  mt_ilock_unlock(&thread->ilock);
  return refuse(call, self, thread, why);
}

static inline void collect(const struct mltp_thread *self, struct mltp_thread *thread,
                           void **result) {
  if (result != NULL) *result = thread->result;
  mt_descriptor_free(self->vp, thread);
}

int mltp_join(mltp_t *thread, void **result) {
  struct mltp_thread *self = mt_self("mltp_join");
  if (self == NULL) return EPERM;
  mt_preempt("mltp_join");
  if (thread != self && mt_join_runs(self, thread, result)) return 0;
  int error = lock_joinable("mltp_join", self, thread);
  if (error != 0) return error;
  if (thread->done)
    mt_ilock_unlock(&thread->ilock);
  else
    wait_for_end(self, thread);
  collect(self, thread, result);
  return 0;
}

int mltp_join_try(mltp_t *thread, void **result) {
  struct mltp_thread *self = mt_self("mltp_join_try");
  if (self == NULL) return EPERM;
  mt_preempt("mltp_join_try");
  int error = lock_joinable("mltp_join_try", self, thread);
  if (error != 0) return error;
  bool done = thread->done;
  mt_ilock_unlock(&thread->ilock);
  if (!done) return EBUSY;
  collect(self, thread, result);
  return 0;
}

int mltp_join_timed(mltp_t *thread, void **result, uint64_t deadline) {
  struct mltp_thread *self = mt_self("mltp_join_timed");
  if (self == NULL) return EPERM;
  mt_preempt("mltp_join_timed");
  struct mt_timed_join place = {{0, 0, NULL, NULL}, thread};
  struct mt_timer timer;
  mt_timer_arm(&timer, self, deadline);
  int error = lock_joinable("mltp_join_timed", self, thread);
  if (error == 0 && thread->done)
    mt_ilock_unlock(&thread->ilock);
  else if (error == 0)
    error = wait_for_end_timed(self, thread, &place.queue, &timer);
  error = mt_timer_disarm(&timer, error);
  if (error == 0) collect(self, thread, result);
  return error;
}

int mltp_detach(mltp_t *thread) {
  struct mltp_thread *self = mt_self("mltp_detach");
  if (self == NULL) return EPERM;
  mt_ilock_lock(&thread->ilock);
  const char *why = unjoinable(thread);
  bool done = thread->done;
  if (why == NULL) mt_store_relaxed(&thread->detached, MT_MADE_DETACHED);
  mt_ilock_unlock(&thread->ilock);
  if (why != NULL) return refuse("mltp_detach", self, thread, why);
  if (done) mt_descriptor_free(self->vp, thread);
  return 0;
}
