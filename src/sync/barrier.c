/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers (thesis 3.3.4, figure 6). The thesis's waiters stay in the ready queue and look
 * again and again; ours block. The threads of each VP wait in a part of the barrier that the
 * VP has to itself, so that to arrive moves no cache line (docs/design/017).
 *
 * Who counts: of the `needed` units of an episode each part owes some; who arrives pays one of
 * its own part's. Invariant: in each episode, units not given to a part yet + the sum of what
 * parts owe = threads still to come. So whoever pays the last unit of its part, which others
 * see by `open`, knows whether it is the last to come at all, and nobody waits for a part to
 * report.
 *   owes 2 or more  pay, wait: under the part's guard alone
 *   owes 1          the part is complete: also under the barrier's guard, since the barrier may be
 *   owes nothing    a thread came from elsewhere: its unit moves here, from what is not given yet
 *                   or from another part; and stays, since the thread is likely to come again
 * The last to come takes all queues, one post for each VP.
 *
 * Guards: the barrier's (queue_.ilock_) before a part's; two parts' only under the barrier's.
 * queue_ is otherwise what reports know the barrier by.
 *
 * Relaxed: changes under a guard, and is looked at under one, or by reports.
 *
 * Rejected: one queue (four transfers of a line for each thread that arrives); parts that
 * report when their VP has nothing else to run (late when it has).
 */
#include <errno.h>

#include "base/log.h"
#include "core/det/det.h"
#include "core/wait/park.h"
#include "mltp/sync.h"

typedef mltp_barrier_part_t part_t;

enum { PARTS = MLTP_BARRIER_PARTS };

int mltp_barrier_init(mltp_barrier_t *barrier, unsigned count, const char *name) {
  if (count == 0) return EINVAL;
  *barrier = (mltp_barrier_t)MLTP_BARRIER_INIT(count);
  barrier->name_ = name;
  return 0;
}

int mltp_barrier_destroy(mltp_barrier_t *barrier) {
  mltp_waitq_t *q = &barrier->queue_;
  mt_ilock_lock(&q->ilock_); /* the last episode's last thread may be at it still */
  q->count_ = 0;
  for (int i = 0; i < PARTS; i++) {
    mt_ilock_lock(&barrier->parts_[i].queue_.ilock_);
    q->count_ += barrier->parts_[i].queue_.count_;
    mt_ilock_unlock(&barrier->parts_[i].queue_.ilock_);
  }
  mt_ilock_unlock(&q->ilock_);
  return mt_waitq_destroy("mltp_barrier_destroy", q, "barrier", barrier->name_);
}

/* Bound and foreign threads have no cache in common; they take the last. */
static part_t *part_of(mltp_barrier_t *barrier, const struct mltp_thread *self) {
  return &barrier->parts_[self->vp != NULL ? self->vp->index % PARTS : PARTS - 1];
}

/* Waits in a part whose guard the caller holds, having paid. */
static void wait_in(part_t *part, struct mltp_thread *self, mltp_barrier_t *barrier) {
  mltp_waitq_t *q = &part->queue_;
  if (q->head_ == NULL) {
    part->home_ = self->vp;
    part->mixed_ = self->vp == NULL;
  } else if (part->home_ != self->vp) {
    part->mixed_ = true;
  }
  mt_waitq_append(q, self);
  mt_store_relaxed(&self->waitq, &barrier->queue_); /* relaxed: for reports */
  mt_park(self, &q->ilock_, MT_WHY_BARRIER);
  mt_store_relaxed(&self->waitq, NULL);
}

/* A part that owes nothing gets one more unit. Under the barrier's guard and the part's own.
 * That others owe something is certain then: only under the barrier's guard does a part cease to.
 */
static void move_unit(mltp_barrier_t *barrier, part_t *to) {
  to->quota_++;
  if (barrier->given_ < barrier->needed_) {
    barrier->given_++;
    return;
  }
  part_t *from = barrier->parts_;
  while (mt_load_relaxed(&from->owed_) == 0) from++;
  mt_ilock_lock(&from->queue_.ilock_);
  from->quota_--;
  from->owed_--;
  if (from->owed_ == 0) barrier->open_--;
  mt_ilock_unlock(&from->queue_.ilock_);
}

/* Under the barrier's guard: begins the next episode.
 * @param waiters the threads of each part, to be resumed */
static void open_up(mltp_barrier_t *barrier, struct mt_home_chain waiters[PARTS]) {
  barrier->episode_++;
  for (int i = 0; i < PARTS; i++) {
    part_t *part = &barrier->parts_[i];
    waiters[i] = (struct mt_home_chain){NULL, NULL};
    if (part->quota_ == 0) continue;
    mt_ilock_lock(&part->queue_.ilock_);
    waiters[i] = (struct mt_home_chain){part->mixed_ ? NULL : part->home_, part->queue_.head_};
    part->queue_.head_ = part->queue_.tail_ = NULL;
    part->queue_.count_ = 0;
    part->owed_ = part->quota_;
    mt_ilock_unlock(&part->queue_.ilock_);
    barrier->open_++;
  }
}

/* The caller's part owes one unit or none. */
static int arrive_slow(mltp_barrier_t *barrier, part_t *part, struct mltp_thread *self) {
  mt_step("barrier: to the whole");
  mt_ilock_lock(&barrier->queue_.ilock_);
  if (mt_unlikely(barrier->needed_ == 0)) {
    mt_ilock_unlock(&barrier->queue_.ilock_);
    return mt_misuse(EINVAL, "mltp_barrier_wait", self->id, mt_name(self),
                     "barrier %p is not initialised (use mltp_barrier_init or MLTP_BARRIER_INIT)",
                     (void *)barrier);
  }
  mt_ilock_lock(&part->queue_.ilock_);
  if (part->owed_ == 0) {
    move_unit(barrier, part);
  } else {
    part->owed_--;
    if (part->owed_ == 0) barrier->open_--;
  }
  if (barrier->open_ != 0 || barrier->given_ < barrier->needed_) {
    mt_ilock_unlock(&barrier->queue_.ilock_);
    wait_in(part, self, barrier);
    return 0;
  }
  mt_ilock_unlock(&part->queue_.ilock_);
  struct mt_home_chain waiters[PARTS];
  open_up(barrier, waiters);
  mt_ilock_unlock(&barrier->queue_.ilock_);
  mt_resume_homes(waiters, PARTS);
  return MLTP_BARRIER_SERIAL;
}

int mltp_barrier_wait(mltp_barrier_t *barrier) {
  struct mltp_thread *self = mt_self("mltp_barrier_wait");
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt("mltp_barrier_wait");
  part_t *part = part_of(barrier, self);
  mt_ilock_lock(&part->queue_.ilock_);
  if (mt_likely(part->owed_ > 1)) {
    mt_store_relaxed(&part->owed_, part->owed_ - 1); /* relaxed: move_unit() looks first */
    wait_in(part, self, barrier);
    return 0;
  }
  mt_ilock_unlock(&part->queue_.ilock_);
  return arrive_slow(barrier, part, self);
}
