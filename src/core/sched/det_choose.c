/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choices of deterministic mode; det/det.h explains it. All of it happens on the one VP, so
 * nothing here is shared.
 *
 * Random: all candidates are equally likely. PCT (Burckhardt et al., ASPLOS 2010): each
 * thread has a random priority, and the highest runs. At depth - 1 random steps the thread
 * about to run falls below all others. So does a thread that yields, since it might wait
 * forever for a lower one. For the same reason a run that gets much longer than expected
 * continues at random (as in Coyote).
 *
 * Relaxed: the VP's own tick, length and timers.
 */
#include "core/det/det.h"
#include "core/det/state.h"
#include "core/sched/sched.h"
#include "core/timer/timer.h"
#include "mltp/sched.h"

enum { MUCH_LONGER = 20 /* times the steps expected: PCT gives up */ };

/* ---- choosing; inside the run queue */

/* The candidates: self, if it may continue, then the run queue. */
static struct mltp_thread *candidate(struct mt_vp *vp, struct mltp_thread *self, uint32_t index) {
  if (self != NULL && index-- == 0) return self;
  struct mltp_thread *t = vp->runq.head;
  while (index-- > 0) t = t->next;
  return t;
}

static uint32_t highest(struct mt_vp *vp, struct mltp_thread *self, uint32_t count) {
  uint32_t best = 0;
  struct mltp_thread *t = candidate(vp, self, 0);
  int32_t priority = t->priority;
  for (uint32_t i = 1; i < count; i++) {
    t = t == self ? vp->runq.head : t->next;
    if (t->priority <= priority) continue;
    priority = t->priority;
    best = i;
  }
  return best;
}

static bool falls_now(void) {
  bool falls = false;
  for (int i = 0; i < mt_det.schedule.depth - 1; i++) falls |= mt_det.falls[i] == mt_det.step;
  return falls;
}

static uint32_t by_priority(struct mt_vp *vp, struct mltp_thread *self, uint32_t count) {
  uint32_t best = highest(vp, self, count);
  if (!falls_now()) return best;
  candidate(vp, self, best)->priority = --mt_det.lowest;
  return highest(vp, self, count);
}

static uint32_t choose(struct mt_vp *vp, struct mltp_thread *self, uint32_t count) {
  uint32_t choice;
  switch (mt_det.schedule.kind) {
    case MT_SCHEDULE_LIST:
      choice = mt_schedule_next(&mt_det.schedule, mt_det.step);
      return choice < count ? choice : 0; /* a list made shorter may not fit everywhere */
    case MT_SCHEDULE_PCT:
      if (mt_det.step < MUCH_LONGER * mt_det.schedule.expected) return by_priority(vp, self, count);
      break;
    case MT_SCHEDULE_RANDOM: break;
  }
  return (uint32_t)(mt_det_draw() % count);
}

/* ---- scheduling points */

/* Brings the chosen one of the run queue to its front. */
static void bring_forward(struct mt_vp *vp, const char *call) {
  uint32_t count = mt_load_relaxed(&vp->runq.length);
  if (count == 0) return;
  uint32_t choice = choose(vp, NULL, count);
  struct mltp_thread *chosen = candidate(vp, NULL, choice);
  mt_schedule_log(mt_det.step, choice, count, mt_current(), call, chosen);
  if (choice == 0) return;
  mt_runq_remove(vp, chosen);
  mt_runq_push_front(vp, chosen);
}

bool mt_det_check(struct mt_vp *vp) {
  vp->points.check_at =
      mt_load_relaxed(&vp->points.tick); /* so that the next point comes here, too */
  if (vp->points.probe) return false;
  mt_det_advance();
  if (mt_load_relaxed(&vp->timers.earliest) <= mt_det.clock) return false;
  /* Now and then the idle context looks for events; a loop of threads may take two steps a round.
   * Without waiters nothing differs. */
  if (mt_rt.poll.waiters != 0 && mt_det.step % MT_TICKS_PER_CHECK < 2) return false;
  struct mltp_thread *self = mt_current();
  const char *call = mt_schedule_reason(self);
  if (self->kind != MT_IDLE && self->why == MT_WHY_NOTHING)
    self->priority = --mt_det.lowest; /* yields */
  bring_forward(vp, call);
  return true;
}

void mt_det_choose(struct mt_vp *vp) {
  mt_det_advance();
  bring_forward(vp, "idle");
}

bool mt_det_skip_time(void) {
  uint64_t first = mt_timers_earliest();
  if (first == MLTP_NEVER) return false;
  if (first > mt_det.clock) mt_det.clock = first;
  mt_timers_run_due(mt_det.clock);
  return true;
}

void mt_det_preempt(const char *call) {
  struct mltp_thread *self = mt_current();
  struct mt_vp *vp = self != NULL ? self->vp : NULL;
  if (vp == NULL) return; /* foreign */
  MT_ASSERT(self->kind != MT_IDLE && vp->runq.inside == 0 && mt_ilocks_held() == 0);
  mt_det_advance();
  mt_timers_run_due(mt_det.clock);
  mt_runq_enter(vp);
  mt_drain_inbox(vp);
  mt_store_relaxed(&vp->points.tick, mt_load_relaxed(&vp->points.tick) + 1);
  uint32_t count = 1 + mt_load_relaxed(&vp->runq.length);
  uint32_t choice = choose(vp, self, count);
  struct mltp_thread *chosen = candidate(vp, self, choice);
  mt_schedule_log(mt_det.step, choice, count, self, call, chosen);
  if (choice == 0) {
    mt_runq_leave(vp);
    return;
  }
  mt_runq_remove(vp, chosen);
  mt_runq_push_front(vp, self);
  mt_switch(self, mt_prepared(vp, chosen));
}

void mt_det_created(const char *call, struct mltp_thread *t) {
  if (mt_here() == NULL) return; /* by a foreign thread: it may have ended already */
  mt_det_enter(t);
  mt_det_preempt(call);
}

void mltp_explore_point(void) { mt_preempt("mltp_explore_point"); }
