/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing in deterministic mode; det.h explains it. All of it happens on the one
 * VP, so nothing here is shared.
 *
 * Random: each candidate is as likely. PCT (Burckhardt et al., ASPLOS 2010): each
 * thread has a random priority, the highest runs, and at depth - 1 random steps
 * the one about to run falls below all others. So does one that yields, or it
 * might wait for a lower one for ever; for the same reason a run that gets much
 * longer than expected goes on at random (as in Coyote).
 *
 * Relaxed: the VP's own tick, length and timers.
 */
#include "core/det/det.h"

#include <errno.h>

#include "base/log.h"
#include "base/options.h"
#include "core/det/schedule.h"
#include "core/sched/sched.h"
#include "core/timer/timer.h"
#include "core/wait/park.h"
#include "debug/report.h"
#include "mltp/sched.h"

enum {
  STEP_NS = 1000,        /* what the clock gains at each scheduling point */
  START_NS = 1000000000, /* so that "a while ago" is a time, too */
  MUCH_LONGER = 20       /* times the steps expected: PCT gives up */
};

bool mt_det_on;
uint32_t mt_det_inlined_lock = MLTP_LOCK_REACTIVE;

static struct {
  uint64_t generator; /* state of draw() */
  uint64_t step;      /* scheduling points so far */
  uint64_t clock;     /* nanoseconds */
  int64_t seed;
  int32_t lowest; /* priority of the thread that fell last */
  struct mt_schedule schedule;
  uint64_t falls[MT_PCT_DEPTH_MAX]; /* steps at which the highest falls */
} det;

/* splitmix64 (Steele, Lea, Flood 2014): any seed is a good one. */
static uint64_t draw(void) {
  uint64_t z = det.generator += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* A later runtime of the same process goes on where the last one stopped. */
static void restart(void) {
  det.generator = (uint64_t)mt_options.seed;
  det.seed = mt_options.seed;
  det.step = 0;
  det.clock = START_NS;
  det.lowest = 0;
  for (int i = 0; i < det.schedule.depth - 1; i++)
    det.falls[i] = 1 + draw() % det.schedule.expected;
}

int mt_det_init(void) {
  bool was_on = mt_det_on && det.seed == mt_options.seed;
  int error = mt_schedule_read(&det.schedule, mt_options.schedule);
  if (error == 0) error = mt_schedule_log_open(mt_options.schedule_log);
  if (error != 0) return error;
  mt_det_on = mt_options.seed != 0 || det.schedule.kind != MT_SCHEDULE_RANDOM;
  mt_det_inlined_lock = mt_det_on ? UINT32_MAX : MLTP_LOCK_REACTIVE;
  if (!mt_det_on) return 0;
  mt_options.backend = MT_BACKEND_NATIVE;
  if (!was_on) restart();
  return 0;
}

void mt_det_enter(struct mltp_thread *t) { t->priority = (int32_t)(draw() >> 33); }

uint64_t mt_det_now(void) { return det.clock; }

uint64_t mt_det_to_os(uint64_t deadline) {
  if (deadline == MLTP_NEVER) return deadline;
  return os_now() + (deadline > det.clock ? deadline - det.clock : 0);
}

/* ---- choosing; inside the run queue */

/* The candidates: self, if it may go on, then the run queue. */
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
  for (int i = 0; i < det.schedule.depth - 1; i++) falls |= det.falls[i] == det.step;
  return falls;
}

static uint32_t by_priority(struct mt_vp *vp, struct mltp_thread *self, uint32_t count) {
  uint32_t best = highest(vp, self, count);
  if (!falls_now()) return best;
  candidate(vp, self, best)->priority = --det.lowest;
  return highest(vp, self, count);
}

static uint32_t choose(struct mt_vp *vp, struct mltp_thread *self, uint32_t count) {
  uint32_t choice;
  switch (det.schedule.kind) {
    case MT_SCHEDULE_LIST:
      choice = mt_schedule_next(&det.schedule, det.step);
      return choice < count ? choice : 0; /* a list made shorter may not fit everywhere */
    case MT_SCHEDULE_PCT:
      if (det.step < MUCH_LONGER * det.schedule.expected) return by_priority(vp, self, count);
      break;
    case MT_SCHEDULE_RANDOM: break;
  }
  return (uint32_t)(draw() % count);
}

/* ---- scheduling points */

static void advance(void) {
  det.clock += STEP_NS;
  if (++det.step == (uint64_t)mt_options.steps_max) mt_report_livelock(det.step);
}

/* Brings the chosen one of the run queue to its front. */
static void bring_forward(struct mt_vp *vp, const char *call) {
  uint32_t count = mt_load_relaxed(&vp->runq.length);
  if (count == 0) return;
  uint32_t choice = choose(vp, NULL, count);
  struct mltp_thread *chosen = candidate(vp, NULL, choice);
  mt_schedule_log(det.step, choice, count, mt_current(), call, chosen);
  if (choice == 0) return;
  mt_runq_remove(vp, chosen);
  mt_runq_push_front(vp, chosen);
}

bool mt_det_check(struct mt_vp *vp) {
  vp->check_at = mt_load_relaxed(&vp->tick); /* so that the next point comes here, too */
  if (vp->probe) return false;
  advance();
  if (mt_load_relaxed(&vp->timer_earliest) <= det.clock) return false;
  struct mltp_thread *self = mt_current();
  const char *call = mt_schedule_reason(self);
  if (self->kind != MT_IDLE && self->why == MT_WHY_NOTHING)
    self->priority = --det.lowest; /* yields */
  bring_forward(vp, call);
  return true;
}

void mt_det_choose(struct mt_vp *vp) {
  advance();
  bring_forward(vp, "idle");
}

bool mt_det_skip_time(void) {
  uint64_t first = mt_timers_earliest();
  if (first == MLTP_NEVER) return false;
  if (first > det.clock) det.clock = first;
  mt_timers_run_due(det.clock);
  return true;
}

void mt_det_preempt(const char *call) {
  struct mltp_thread *self = mt_current();
  struct mt_vp *vp = self != NULL ? self->vp : NULL;
  if (vp == NULL) return; /* foreign */
  MT_ASSERT(self->kind != MT_IDLE && vp->runq.inside == 0 && mt_ilocks_held() == 0);
  advance();
  mt_timers_run_due(det.clock);
  mt_runq_enter(vp);
  mt_drain_inbox(vp);
  mt_store_relaxed(&vp->tick, mt_load_relaxed(&vp->tick) + 1);
  uint32_t count = 1 + mt_load_relaxed(&vp->runq.length);
  uint32_t choice = choose(vp, self, count);
  struct mltp_thread *chosen = candidate(vp, self, choice);
  mt_schedule_log(det.step, choice, count, self, call, chosen);
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
