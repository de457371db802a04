/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A join runs a thread that has not started; fork_join.h has the order of turns.
 *
 * The thread runs like a function called on a stack of its own: no internal lock, no queue, no
 * switch in between. While the call lasts it is a thread like others: it may block, and go
 * on and end on another VP; then the joiner, whose frames lie below the call, finds itself
 * there. Its stack is its own since it may need all of the size it was created with.
 *
 * Relaxed: detached, read without the internal lock, tells only what has been so from the start;
 * joining serves reports; tick is the caller's own.
 */
#include "core/life/fork_join.h"

#include "base/options.h"
#include "core/det/det.h"
#include "core/memory/descriptor.h"
#include "core/sched/sched.h"
#include "core/thread/key.h"
#include "core/vp/alternative.h"
#include "core/vp/vp.h"
#include "instrument/probes.h"

/* ---- turns of others */

enum {
  ENTRIES_MAX = 64,      /* entries of the queue that a joiner looks at: about 0.1 us */
  CHECKS_PER_FRESH = 16, /* a joiner reads the clock for fresh threads so rarely */
  PATHS_MAX = 16         /* how often the interval of fresh threads doubles at most */
};
static const uint64_t FRESH_NS = 16000000; /* a time slice of the kernel's, about */

/* @return whether joins leave t alone: it has not started, or gave way to an older path. */
static bool is_left_to_joins(const struct mltp_thread *t) {
  return (t->special & (MT_FRESH | MT_INTERRUPTED)) != 0;
}

/* The oldest of the threads that joins leave alone. Inside. @return NULL: none is near. */
static struct mltp_thread *find_fresh(const struct mt_vp *vp) {
  struct mltp_thread *t = vp->runq.head;
  for (int i = 0; t != NULL && i < ENTRIES_MAX; i++, t = t->next)
    if (is_left_to_joins(t)) return t;
  return NULL;
}

/* From the end, where threads that become ready enter; and the first. Inside.
 * @return a started thread that is ready; NULL: none is near. */
static struct mltp_thread *find_started(const struct mt_vp *vp) {
  struct mltp_thread *t = vp->runq.tail, *first = vp->runq.head;
  for (int i = 0; t != NULL && i < ENTRIES_MAX; i++, t = t->prev)
    if (!is_left_to_joins(t)) return t;
  return first != NULL && !is_left_to_joins(first) ? first : NULL;
}

static bool is_turn_of_fresh(struct mt_vp *vp) {
  if (mt_load_relaxed(&vp->points.tick) / MT_TICKS_PER_CHECK % CHECKS_PER_FRESH != 0) return false;
  int paths =
      vp->paths.interrupted; /* below 0: threads continued here that other VPs had interrupted */
  if (paths < 0) paths = 0;
  uint64_t now = mt_vp_now(vp);
  if (now - vp->paths.fresh_at < FRESH_NS << (paths < PATHS_MAX ? paths : PATHS_MAX)) return false;
  vp->paths.fresh_at = now;
  return true;
}

/* Chooses the thread that gets the joiner's turn, and puts the joiner into the queue. Inside.
 * @return NULL: none gets it, and the joiner continues. */
static struct mltp_thread *choose(struct mt_vp *vp, struct mltp_thread *joiner) {
  if (!mt_tick(vp)) {
    mt_runq_push_front(vp, joiner);
    return &vp->idle;
  }
  if (mt_load_relaxed(&vp->points.tick) % MT_TICKS_PER_CHECK != 0) return NULL;
  bool had_fresh_turn = vp->paths.fresh_turn;
  struct mltp_thread *next = is_turn_of_fresh(vp) ? find_fresh(vp) : NULL;
  vp->paths.fresh_turn = next != NULL;
  if (next == NULL) next = find_started(vp);
  if (next == NULL) return NULL;
  mt_runq_remove(vp, next);
  if (had_fresh_turn) {
    joiner->special |= MT_INTERRUPTED;
    vp->paths.interrupted++;
    mt_runq_push(vp, joiner);
  } else {
    mt_runq_push_front(vp, joiner);
  }
  return mt_prepared(vp, next);
}

/* ---- running the thread */

static void *called_body(void *arg) {
  struct mltp_thread *t = arg;
  mt_sanitizer_arrive(&t->sanitizer);
  MT_PROBE2(start, t, t->id);
  void *result = mt_call_function(t);
  mt_stack_check(t->stack);
  mt_values_end(t);
  return result;
}

/* Takes t out of the queue of the caller's VP, after others had their turn, if it is there and
 * has not started; exact, since the queue's owner asks. @return that VP; NULL: it is not. */
static struct mt_vp *take_fresh(struct mltp_thread *self, struct mltp_thread *t) {
  while (true) {
    struct mt_vp *vp = self->vp;
    if (!mt_runq_enter_own(vp)) return NULL; /* a strategy's threads start from its queue */
    bool fresh = mt_is_ready_on(t, vp) && t->special & MT_FRESH && t->joiner == NULL &&
                 mt_load_relaxed(&t->detached) == MT_JOINABLE;
    struct mltp_thread *next = fresh ? choose(vp, self) : NULL;
    if (next == NULL) {
      if (fresh) mt_runq_remove(vp, t);
      mt_runq_leave_own(vp);
      return fresh ? vp : NULL;
    }
    mt_switch(self, next);
  }
}

/* In deterministic mode each end is a choice. The portable switch knows no such calls, and a late
 * probe sends each scheduling point to the idle context. */
static bool may_call(void) {
  return !mt_det_on && mt_options.backend == MT_BACKEND_NATIVE && !mt_probes_late();
}

bool mt_join_runs(struct mltp_thread *self, struct mltp_thread *t, void **result) {
  struct mt_vp *vp = self->vp != NULL && may_call() ? take_fresh(self, t) : NULL;
  if (vp == NULL) return false;
  if (!mt_prepare(vp, t)) return false;
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
