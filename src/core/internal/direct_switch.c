/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal API: direct switches. They are ways to park: direct_switch.h.
 *
 * Relaxed: the wait reason and the time serve reports; ticks are the VP's own.
 */
#include "core/internal/direct_switch.h"

#include "base/options.h"
#include "core/sched/sched.h"
#include "core/wait/park.h"
#include "instrument/probes.h"

bool mti_is_native(void) { return mt_options.backend == MT_BACKEND_NATIVE; }

bool mti_can_prepare_switch(void) { return mti_is_native() && !MT_SANITIZER_SWITCHES; }

void mti_set_switch_hook(void (*prepare)(uint32_t number)) {
  mt_store_release(&mt_switch_hook, prepare); /* SD-1 release: what it reads; pairs SD-2 */
}

/* Does what a VP has to do at intervals, so that the other threads in its queue run however often
 * two threads resume each other. Inside the run queue. @return the thread to switch to. */
static struct mltp_thread *after_others(struct mt_vp *vp, struct mltp_thread *to) {
  mt_drain_inbox(vp);
  bool others = vp->runq.head != NULL;
  if (others) mt_runq_push(vp, to);
  bool go_on = mt_check(vp);
  if (go_on) return others ? mt_prepared(vp, mt_runq_pop(vp)) : to;
  if (!others) mt_runq_push(vp, to);
  return &vp->idle;
}

static inline void go_on(struct mltp_thread *t) {
  mt_store_relaxed(&t->why, MT_WHY_NOTHING);
  t->waiting_for = NULL; /* a timer that fires later looks for a queue there */
}

/* What a thread has to do that waited by mti_prepare_switch(), when another way of switching comes
 * to it. */
static void arrive(void) {
  struct mltp_thread *self = mt_current();
  mt_after_switch(self->vp);
  go_on(self);
}

/* Mostly it looks at no queue, and so need not step inside: neither thread is in one. */
void mti_switch_to(struct mltp_thread *to, const char *what) {
  struct mltp_thread *self = mt_current();
  struct mt_vp *vp = self->vp;
  self->waiting_for = what;
  mt_store_relaxed(&self->why, MT_WHY_MESSAGE);
  MT_PROBE3(park, self, MT_WHY_MESSAGE, what);
  MT_ASSERT(mt_state(to) == MT_PARKED && (vp != NULL) == (to->vp != NULL));
  /* relaxed: its waiter set it earlier, or the caller did */
  if (mt_load_relaxed(&to->why) == MT_WHY_SWITCH) mt_arch_call_first(&to->context, arrive);
  if (mt_likely(vp != NULL)) {
    uint32_t tick = mt_load_relaxed(&vp->points.tick) + 1;
    mt_store_relaxed(&vp->points.tick, tick);
    if (mt_unlikely((int32_t)(tick - vp->points.check_at) >= 0)) {
      mt_runq_enter(vp);
      to = after_others(vp, to);
    }
    mt_set_where(self, MT_PARKED, vp->index);
    mt_store_relaxed(&self->parked_at, vp->points.clock);
    mt_count_owner(&vp->stats.parks);
    mt_switch(self, to);
  } else {
    mt_park_outside(self, NULL, to, NULL);
  }
  go_on(self);
}

struct arch_switch_pair mti_prepare_switch(struct mltp_thread *to, const char *what) {
  struct mltp_thread *self = mt_current();
  struct mt_vp *vp = self->vp;
  uint32_t tick = mt_load_relaxed(&vp->points.tick) + 1;
  if (mt_unlikely((int32_t)(tick - vp->points.check_at) >= 0 || mt_has_own(vp, to))) {
    mti_switch_to(to, what);
    return (struct arch_switch_pair){NULL, NULL};
  }
  mt_store_relaxed(&vp->points.tick, tick);
  self->waiting_for = what;
  mt_store_relaxed(&self->why, MT_WHY_SWITCH);
  MT_PROBE3(park, self, MT_WHY_SWITCH, what);
  MT_ASSERT(mt_state(to) == MT_PARKED);
  mt_set_where(self, MT_PARKED, vp->index);
  mt_store_relaxed(&self->parked_at, vp->points.clock);
  mt_count_owner(&vp->stats.parks);
  go_on(to); /* which does nothing more itself */
  mt_run_as(vp, self, to);
  return (struct arch_switch_pair){&self->context, &to->context};
}

void mti_call_first(struct mltp_thread *t, void (*function)(void)) {
  mt_arch_call_first(&t->context, function);
  mt_store_relaxed(&t->why, MT_WHY_SWITCH); /* relaxed: its resumer is the caller, or comes later */
}
