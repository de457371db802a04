/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joining and detaching.
 *
 * A thread that has not started when it is joined, and is in the queue of the
 * joiner's VP, is run at once, like a function called on a stack of its own: no
 * guard, no queue, no switch in between. Otherwise it is a thread like others: it
 * may block, and go on and end on another VP; then the joiner, whose frames lie
 * below the call, finds itself there. Its stack is its own since it may need all
 * of the size it was created with.
 *
 * A joiner that has to wait parks on the guard of the thread it joins, and is resumed
 * by that thread's mt_end(). One with a deadline may be taken out by that as well, so it
 * waits in a queue of its own on its stack (as for channels): whoever takes it out of
 * there, under that queue's guard, resumes it. The thread's end does so while it holds the
 * thread's guard, which the joiner takes once more before it leaves.
 *
 * Relaxed: detached, read without the guard, tells only what has been so from the
 * start; joining serves reports.
 */
#include <errno.h>

#include "base/log.h"
#include "base/options.h"
#include "core/det/det.h"
#include "core/memory/descriptor.h"
#include "core/sched/sched.h"
#include "core/thread/key.h"
#include "core/thread/thread.h"
#include "core/timer/timer.h"
#include "core/wait/park.h"
#include "instrument/probes.h"

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

/* ---- running a thread that has not started */

static void *called_body(void *arg) {
  struct mltp_thread *t = arg;
  mt_sanitizer_arrive(&t->sanitizer);
  MT_PROBE2(start, t, t->id);
  void *result = mt_call_function(t);
  mt_stack_check(t->stack);
  mt_values_end(t);
  return result;
}

/* Others in the queue must get their turn, however many threads are run at once. */
static bool is_turn_of_others(const struct mt_vp *vp) {
  return mt_load_relaxed(&vp->tick) % MT_TICKS_PER_CHECK == 0;
}

/* Takes t out of the caller's own queue if it is there and has not started; exact,
 * since the queue's owner asks. @return false: it is not, or something else is due. */
static bool take_fresh(struct mt_vp *vp, struct mltp_thread *t) {
  if (!mt_runq_enter_own(vp)) return false; /* a strategy's threads start from its queue */
  bool fresh = mt_is_ready_on(t, vp) && t->special & MT_FRESH && t->joiner == NULL &&
               mt_load_relaxed(&t->detached) == MT_JOINABLE;
  bool now = fresh && !is_turn_of_others(vp) && mt_tick(vp);
  if (now) mt_runq_remove(vp, t);
  mt_runq_leave_own(vp);
  return now;
}

/* In deterministic mode each end is a choice; the portable switch knows no such calls. */
static bool may_call(void) { return !mt_det_on && mt_options.backend == MT_BACKEND_NATIVE; }

/* @return false: nothing was done. */
static bool run_at_once(struct mltp_thread *self, struct mltp_thread *t, void **result) {
  struct mt_vp *vp = self->vp;
  if (vp == NULL || !may_call() || !take_fresh(vp, t)) return false;
  mt_prepare(vp, t);
  t->called = 1;
  t->joiner = self;
  mt_store_relaxed(&self->joining, t);
  mt_store_relaxed(&self->why, MT_WHY_JOIN);
  mt_set_where(self, MT_PARKED, vp->index);
  mt_become(vp, self, t);
  mt_sanitizer_leave(&self->sanitizer, &t->sanitizer, 0);
  void *value = mt_arch_call_on(mt_stack_top(t->stack), called_body, t, &self->context);
  mt_sanitizer_leave(&t->sanitizer, &self->sanitizer, 1); /* here: called_body() has returned */
  mt_sanitizer_arrive(&self->sanitizer);
  mt_sanitizer_end(&t->sanitizer);
  MT_PROBE2(end, t, t->id);
  vp = t->vp;
  mt_become(vp, t, self);
  mt_store_relaxed(&self->why, MT_WHY_NOTHING);
  mt_store_relaxed(&self->joining, NULL);
  mt_store_release(&vp->stats.ended, vp->stats.ended + 1); /* LV-5 release: as LV-1; pairs LV-2 */
  mt_stack_free(vp, t->stack);
  t->called = 0;
  mt_descriptor_free(vp, t);
  if (result != NULL) *result = value;
  return true;
}

/* ---- joining */

/* Waits, with the thread's guard held, until it has ended. Released. */
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

/* @return 0: its guard is held; EDEADLK, EINVAL. */
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
  if (thread != self && run_at_once(self, thread, result)) return 0;
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
