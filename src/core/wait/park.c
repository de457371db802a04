/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting and resuming; park.h has the argument.
 *
 * Relaxed: waitq changes under its queue's internal lock; the rest serves reports.
 */
#include "core/wait/park.h"

#include <errno.h>

#include "base/log.h"
#include "core/det/det.h"
#include "core/sched/sched.h"
#include "core/sched/wake.h"
#include "core/vp/alternative.h"
#include "instrument/debug_hooks.h"
#include "instrument/probes.h"
#include "policy/idle.h"

struct mltp_thread *mt_waitq_take_all(mltp_waitq_t *q) {
  struct mltp_thread *first = q->head_;
  for (struct mltp_thread *t = first; t != NULL; t = t->next)
    mt_store_relaxed(&t->waitq, NULL); /* relaxed: as in mt_waitq_remove() */
  q->head_ = q->tail_ = NULL;
  q->count_ = 0;
  return first;
}

/* On VPs, the watchdog looks. */
bool mt_all_parked(void) {
  uint32_t main = 1;
  return mt_load_relaxed(&mt_rt.vp_count) == 0 &&
         mt_load_relaxed(&mt_rt.outside.parked) + mt_load_relaxed(&mt_rt.outside.bystanders) ==
             mt_load_relaxed(&mt_rt.outside.bound_live) +
                 mt_load_relaxed(&mt_rt.outside.foreign_live) + main;
}

/* Where others than this process's threads may make one ready, one look may come at the wrong time:
 * main looks again and again. */
static bool looks_again(const struct mltp_thread *self) {
  return mt_deadlock_elsewhere != NULL && self == mt_rt.main &&
         mt_load_relaxed(&mt_rt.vp_count) == 0;
}

/* A bound or foreign thread sleeps on its token. @return false at the deadline. */
static bool sleep_on_token(struct mltp_thread *self, uint64_t deadline) {
  bool look = deadline == MLTP_NEVER && (mt_all_parked() || looks_again(self));
  uint64_t until = look ? os_now() + MT_DEADLOCK_NS : deadline;
  while (mt_load_acquire(&self->token) == 0) { /* PK-3 acquire: pairs PK-4 */
    if (os_futex_wait(&self->token, 0, until) != ETIMEDOUT) continue;
    if (!look) return false;
    if (mt_all_parked()) mt_debug.deadlock_suspected();
    look = looks_again(self);
    until = look ? os_now() + MT_RECHECK_NS : MLTP_NEVER;
  }
  return true;
}

void mt_park_last(void) {
  mt_add_relaxed(&mt_rt.outside.parked, 1); /* relaxed: as in mt_park_outside() */
  if (mt_all_parked()) {
    os_nap(MT_DEADLOCK_NS);
    if (mt_all_parked()) mt_debug.deadlock_suspected();
  }
  mt_add_relaxed(&mt_rt.outside.parked, -1);
}

void mt_park_in_lock(uint32_t *futex, uint32_t value) {
  mt_add_relaxed(&mt_rt.outside.in_locks, 1); /* relaxed: both for the deadlock report */
  mt_add_relaxed(&mt_rt.outside.parked, 1);
  bool look = mt_all_parked();
  uint64_t until = look ? os_now() + MT_DEADLOCK_NS : MLTP_NEVER;
  if (os_futex_wait(futex, value, until) == ETIMEDOUT && look) {
    if (mt_all_parked()) mt_debug.deadlock_suspected();
    os_futex_wait(futex, value, MLTP_NEVER);
  }
  mt_add_relaxed(&mt_rt.outside.parked, -1);
  mt_add_relaxed(&mt_rt.outside.in_locks, -1);
}

/* Releases the internal lock, or resumes another, once it can be resumed itself. */
void mt_park_outside(struct mltp_thread *self, mt_ilock *ilock, struct mltp_thread *to,
                     struct mt_timer *timer) {
  uint64_t deadline = timer != NULL ? timer->node.key : MLTP_NEVER;
  if (mt_det_on) deadline = mt_det_to_os(deadline);
  self->for_ever = deadline == MLTP_NEVER;
  mt_store_relaxed(&self->parked_at, mt_clock(os_now()));
  mt_set_where(self, MT_PARKED, 0);
  mt_add_relaxed(&mt_rt.outside.parked, self->for_ever); /* relaxed: for the deadlock report */
  if (ilock != NULL) mt_ilock_unlock(ilock);
  if (to != NULL) mt_resume(to);
  if (!sleep_on_token(self, deadline)) {
    mt_ilock_lock(&mt_rt.outside.timeouts);
    mt_park_timeout(self); /* sets the token, unless a waker has taken the thread and will set it */
    mt_ilock_unlock(&mt_rt.outside.timeouts);
    sleep_on_token(self, MLTP_NEVER);
  }
  mt_store_relaxed(&self->token, 0); /* relaxed: nobody sets it until we wait again */
  mt_set_where(self, MT_RUNNING, 0);
}

void mt_park_timed(struct mltp_thread *self, mt_ilock *ilock, enum mt_why why,
                   struct mt_timer *timer) {
  mt_store_relaxed(&self->why, (uint8_t)why);
  MT_PROBE3(park, self, why, self->waitq);
  struct mt_vp *vp = self->vp;
  if (vp != NULL) {
    mt_runq_enter(vp);
    struct mltp_thread *next = mt_next_or_idle(vp);
    vp->ctx.after_unlock = ilock;
    vp->ctx.after |= MT_AFTER_UNLOCK;
    mt_set_where(self, MT_PARKED, vp->index);
    mt_store_relaxed(&self->parked_at, vp->points.clock); /* a clock would cost half a switch */
    mt_count_owner(&vp->stats.parks);
    mt_switch(self, next);
  } else {
    mt_park_outside(self, ilock, NULL, timer);
  }
  mt_store_relaxed(&self->why, MT_WHY_NOTHING);
}

int mt_wait(struct mltp_thread *self, mltp_waitq_t *q, bool front, enum mt_why why,
            struct mt_timer *timer) {
  if (front)
    mt_waitq_prepend(q, self);
  else
    mt_waitq_append(q, self);
  return mt_wait_in(self, q, why, timer);
}

int mt_wait_in(struct mltp_thread *self, mltp_waitq_t *q, enum mt_why why, struct mt_timer *timer) {
  if (mt_wait_expose(self, q, timer)) return mt_wait_park(self, q, why, timer);
  mt_ilock_unlock(&q->ilock_);
  return ETIMEDOUT;
}

void mt_resume(struct mltp_thread *t) {
  MT_PROBE1(unpark, t);
  if (mt_likely(t->vp != NULL)) {
    mt_ready(t);
  } else {
    /* counted here, not when it gets a CPU: it can run from now on */
    mt_add_relaxed(&mt_rt.outside.parked, -(uint32_t)t->for_ever);
    mt_store_release(&t->token, 1); /* PK-4 release: what it waited for; pairs PK-3 */
    os_futex_wake(&t->token, 1);    /* its descriptor may be gone by now: a stray wake at worst */
  }
}

void mt_resume_chain(struct mltp_thread *first) {
  struct mltp_thread *unbound = NULL, **link = &unbound;
  while (first != NULL) {
    struct mltp_thread *t = first;
    first = t->next;
    if (t->vp != NULL) {
      MT_PROBE1(unpark, t);
      *link = t;
      link = &t->next;
    } else {
      mt_resume(t);
    }
  }
  *link = NULL;
  if (unbound != NULL) mt_ready_chain(unbound);
}

static bool is_posted(const struct mt_home_chain *chain, const struct mt_vp *here) {
  return chain->home != NULL && chain->home != here && !mt_has_alternative();
}

/* The other VPs' first: they may be waiting, and would take ours. */
void mt_resume_homes(const struct mt_home_chain *chains, int count) {
  const struct mt_vp *here = mt_here();
  for (int i = 0; i < count; i++)
    if (chains[i].first != NULL && is_posted(&chains[i], here)) {
      MT_PROBE1(unpark, chains[i].first); /* the others' when they are taken in */
      mt_post_whole(chains[i].home, chains[i].first);
    }
  for (int i = 0; i < count; i++)
    if (chains[i].first != NULL && !is_posted(&chains[i], here)) mt_resume_chain(chains[i].first);
}

bool mt_park_timeout(struct mltp_thread *t) {
  /* PK-6 seq_cst: after PK-2; pairs PK-1 */
  mltp_waitq_t *q = mt_load_seq_cst(&t->waitq);
  if (q == NULL) return false;
  mt_ilock_lock(&q->ilock_);
  bool in_queue = mt_load_relaxed(&t->waitq) == q; /* relaxed: under the internal lock */
  if (in_queue) {
    mt_waitq_remove(q, t);
    t->timed_out = 1;
  }
  mt_ilock_unlock(&q->ilock_);
  if (in_queue) mt_resume(t);
  return in_queue;
}

struct mltp_thread *mt_wait_take(struct mltp_thread *t) {
  mltp_waitq_t *q = mt_load_relaxed(&t->waitq); /* relaxed: checked under the internal lock */
  if (q == NULL) return NULL;
  mt_ilock_lock(&q->ilock_);
  t = mt_waitq_pop(q);
  mt_ilock_unlock(&q->ilock_);
  return t;
}

int mt_waitq_destroy(const char *call, mltp_waitq_t *q, const char *kind, const char *name) {
  if (!mt_is_up()) return 0;
  struct mltp_thread *self = mt_self(call);
  if (self == NULL) return EPERM;
  mt_ilock_lock(&q->ilock_);
  uint32_t waiters = q->count_;
  mt_ilock_unlock(&q->ilock_);
  if (waiters != 0)
    return mt_misuse(EBUSY, call, self->id, mt_name(self),
                     "%u threads wait for %s %p '%s' (end their waits first)", waiters, kind,
                     (void *)q, name != NULL ? name : "");
  mt_timers_flush();
  return 0;
}
