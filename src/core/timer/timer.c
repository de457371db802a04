/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timer heaps; timer.h explains them.
 *
 * A flush waits for the batches of timers that fire meanwhile; in most cases none does, and one
 * count says so, however many VPs there are. A batch that begins later finds that the queue's
 * threads have left it (TM-4 to TM-10).
 *
 * Relaxed: a deadline as a hint; the heap is looked at again under its internal lock. A timer's
 * fields before it is known to others, and its meaning, which only its thread reads.
 */
#include "core/timer/timer.h"

#include <errno.h>

#include "base/fence.h"
#include "core/det/det.h"
#include "core/vp/alternative.h"
#include "core/vp/vp.h"

enum {
  FIRED_PER_LOCK = 32,  /* timers that fire under the heap's lock at a time */
  FIRED_PER_LOOK = 1024 /* of a heap, at a scheduling point: more of them would be a pause */
};

/* After a change, under the internal lock. relaxed suffices but for the watchdog, see arm. */
static void publish_earliest(struct mt_vp *vp) {
  struct mt_heap_node *root = vp->timers.heap.root;
  mt_store_seq_cst(
      &vp->timers.earliest,
      root != NULL ? root->key
                   : MLTP_NEVER); /* TM-2 seq_cst: before the look at the watchdog; pairs TM-3 */
}

/* Lets mltp_cancel() find the timer. @return true: too late, the thread is cancelled. */
static bool publish_timer(struct mt_timer *timer, struct mltp_thread *self) {
  mt_store_release(&self->timer, timer); /* CN-4 release: its fields; pairs CN-5 */
  mt_fence_light();                      /* CN-2 light fence: timer before cancel; pairs CN-1 */
  return mt_unlikely((mt_load_relaxed(&self->cancel) & MT_CANCELLED) != 0);
}

/* @return whether the VP, whose thread is going to park, finds nothing to run then. */
static bool is_idle_next(const struct mt_vp *vp) {
  return mt_load_relaxed(&vp->runq.length) == 0 && mt_load_relaxed(&vp->runq.inbox) == NULL &&
         !mt_det_on && !mt_has_alternative();
}

void mt_timers_watch(struct mt_vp *vp) {
  vp->timers.unwatched = false;
  mt_watchdog_rearm(mt_timers_earliest());
}

/* at_once: the caller parks next, and makes no thread ready before. */
static inline void arm(struct mt_timer *timer, struct mltp_thread *self, uint64_t deadline,
                       bool at_once) {
  MT_ASSERT(mt_load_relaxed(&self->timer) == NULL); /* one wait at a time, and it has ended */
  bool own = (mt_load_relaxed(&self->cancel) & MT_HAS_DEADLINE) != 0 && self->deadline < deadline;
  if (own) deadline = self->deadline;
  timer->node.key = deadline;
  timer->thread = self;
  timer->vp = self->vp;
  timer->armed = 0;
  timer->fired = 0;
  timer->meaning = own ? ECANCELED : ETIMEDOUT;
  if (publish_timer(timer, self)) {
    mt_store_relaxed(&timer->meaning, ECANCELED);
    mt_store_relaxed(&timer->fired, 1);
    return;
  }
  struct mt_vp *vp = self->vp;
  if (vp == NULL || deadline == MLTP_NEVER) return;
  mt_ilock_lock(&vp->timers.ilock);
  mt_heap_insert(&vp->timers.heap, &timer->node);
  timer->armed = 1;
  bool first = vp->timers.heap.root == &timer->node;
  if (first) publish_earliest(vp);
  mt_ilock_unlock(&vp->timers.ilock);
  if (!first) return;
  if (at_once && is_idle_next(vp)) {
    vp->timers.unwatched = true;
    vp->points.check_at = mt_load_relaxed(&vp->points.tick) + 1; /* mt_check() looks at it */
  } else {
    mt_watchdog_rearm(deadline);
  }
}

void mt_timer_arm(struct mt_timer *timer, struct mltp_thread *self, uint64_t deadline) {
  arm(timer, self, deadline, false);
}

void mt_timer_arm_to_sleep(struct mt_timer *timer, struct mltp_thread *self, uint64_t deadline) {
  arm(timer, self, deadline, true);
}

/* Returns when mltp_cancel() can no longer find the timer, nor has it in its hands. */
static void withdraw_timer(struct mltp_thread *self) {
  mt_store_relaxed(&self->timer, NULL);
  mt_fence_light(); /* CN-3 light fence: timer before cancel; pairs CN-1 */
  if (mt_likely((mt_load_relaxed(&self->cancel) & MT_CANCELLED) == 0)) return;
  mt_ilock_lock(&mt_rt.outside.timeouts);
  mt_ilock_unlock(&mt_rt.outside.timeouts);
}

int mt_timer_disarm(struct mt_timer *timer, int error) {
  struct mt_vp *vp = timer->vp;
  withdraw_timer(timer->thread);
  if (vp != NULL && timer->node.key != MLTP_NEVER) {
    mt_ilock_lock(&vp->timers.ilock);
    if (timer->armed) {
      timer->armed = 0;
      mt_heap_remove(&vp->timers.heap, &timer->node);
      publish_earliest(vp);
    }
    mt_ilock_unlock(&vp->timers.ilock);
  }
  return error == ETIMEDOUT ? mt_load_relaxed(&timer->meaning) : error;
}

void mt_timer_fire(struct mt_timer *timer) {
  /* PK-2 seq_cst: fired before the look at the queue; pairs PK-1 PK-5 */
  mt_store_seq_cst(&timer->fired, 1);
  mt_park_timeout(timer->thread);
}

bool mt_timer_passed(const struct mt_timer *timer) {
  return mt_load_relaxed(&timer->fired) != 0 || timer->node.key <= mt_now();
}

/* @return whether there may be more. */
static bool fire_some(struct mt_vp *vp, uint64_t now) {
  int fired = 0;
  mt_ilock_lock(&vp->timers.ilock);
  /* TM-8 seq_cst: before the looks at threads' queues; pairs TM-7 TM-9 */
  mt_store_seq_cst(&vp->timers.batch, vp->timers.batch + 1);
  while (fired < FIRED_PER_LOCK && vp->timers.heap.root != NULL &&
         vp->timers.heap.root->key <= now) {
    struct mt_timer *timer = (struct mt_timer *)vp->timers.heap.root;
    mt_heap_remove(&vp->timers.heap, &timer->node);
    timer->armed = 0;
    mt_timer_fire(timer);
    fired++;
  }
  publish_earliest(vp);
  /* TM-10 release: after the last look; pairs TM-9 */
  mt_store_release(&vp->timers.batch, vp->timers.batch + 1);
  mt_ilock_unlock(&vp->timers.ilock);
  return fired == FIRED_PER_LOCK;
}

/* The rest fires at the next look, which `earliest` calls for. */
static void run_due(struct mt_vp *vp, uint64_t now) {
  /* TM-4 seq_cst: before the looks at threads' queues; pairs TM-5 TM-7 */
  mt_add_seq_cst(&mt_rt.timers_firing, 1);
  for (int i = 0; i < FIRED_PER_LOOK / FIRED_PER_LOCK && fire_some(vp, now); i++) mt_arch_pause();
  mt_sub_seq_cst(&mt_rt.timers_firing, 1); /* TM-6 seq_cst: after the last look; pairs TM-5 */
}

void mt_timers_run_due(uint64_t now) {
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++)
    if (mt_load_relaxed(&mt_rt.vps[i]->timers.earliest) <= now) run_due(mt_rt.vps[i], now);
}

uint64_t mt_timers_earliest(void) {
  uint64_t earliest = MLTP_NEVER;
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++) {
    uint64_t key =
        mt_load_seq_cst(&mt_rt.vps[i]->timers.earliest); /* TM-3 seq_cst: after ID-9; pairs TM-2 */
    if (key < earliest) earliest = key;
  }
  return earliest;
}

/* TM-9 seq_cst: after TM-7; pairs TM-8 TM-10 */
static uint32_t batch_of(const struct mt_vp *vp) { return mt_load_seq_cst(&vp->timers.batch); }

/* Waits for the batches that fire now, not for what is due. */
static void pass_batches(void) {
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++) {
    uint32_t batch = batch_of(mt_rt.vps[i]);
    for (unsigned round = 0; batch % 2 == 1 && batch_of(mt_rt.vps[i]) == batch;) mt_relax(&round);
  }
}

void mt_timers_flush(void) {
  mt_fence_full(); /* TM-7 full fence: the queue was empty before the look; pairs TM-4 TM-8 */
  /* TM-5 seq_cst: after TM-7; pairs TM-4 TM-6 */
  if (mt_load_seq_cst(&mt_rt.timers_firing) != 0) pass_batches();
  mt_ilock_lock(&mt_rt.outside.timeouts);
  mt_ilock_unlock(&mt_rt.outside.timeouts);
}
