/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers (thesis 3.3.4, figure 6). The thesis's waiters stay in the ready queue and look
 * again and again; ours block. The threads of each VP wait in a part of the barrier that the
 * VP has to itself, so that to arrive moves no cache line (docs/design/017).
 *
 * Counting: each part owes some of the `needed` units of an episode, and an arrival pays one unit
 * of its own part. Invariant: in each episode, units not given to a part yet + the sum of the
 * parts' debts = threads still to come. The arrival that pays the last unit of its part reduces
 * `open`, so it knows whether it is the last of all, and no thread waits for a part to report.
 * A part that owes:
 * - 2 or more: pay and wait, under the part's internal lock alone.
 * - 1: the part is complete. Take the barrier's lock as well, since the barrier may be complete.
 *   If the part has all units, the barrier is complete, and its own lock suffices.
 * - nothing: a thread came from elsewhere. Its unit moves here from the units not given yet, or
 *   from another part. It stays here, since the thread is likely to come again.
 *
 * The last arrival takes all queues, with one post for each VP.
 *
 * Internal locks: the barrier's (queue_.ilock_) before a part's; two parts' only under the
 * barrier's. Apart from its lock, queue_ only identifies the barrier in reports.
 *
 * Relaxed: changes under a lock, and is read under one, or by reports.
 *
 * Rejected: one queue (four transfers of a line for each thread that arrives); parts that
 * report when their VP has nothing else to run (late when it has).
 */
#include <errno.h>

#include "base/log.h"
#include "core/det/det.h"
#include "core/wait/park.h"
#include "sync/barrier.h"

typedef struct mt_barrier_part part_t;
typedef struct mt_barrier_parts parts_t;

enum { PARTS = MT_BARRIER_PARTS };

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
    part_t *part = &mt_barrier_parts(barrier)->part[i];
    mt_ilock_lock(&part->queue.ilock_);
    q->count_ += part->queue.count_;
    mt_ilock_unlock(&part->queue.ilock_);
  }
  mt_ilock_unlock(&q->ilock_);
  return mt_waitq_destroy("mltp_barrier_destroy", q, "barrier", barrier->name_);
}

uint32_t mt_barrier_waiters(const mltp_barrier_t *barrier) {
  const parts_t *parts = (const parts_t *)barrier->parts_;
  uint32_t waiters = 0;
  for (int i = 0; i < PARTS; i++) waiters += parts->part[i].queue.count_;
  return waiters;
}

/* Bound and foreign threads have no cache in common; they take the last. */
static part_t *part_of(mltp_barrier_t *barrier, const struct mltp_thread *self) {
  return &mt_barrier_parts(barrier)->part[self->vp != NULL ? self->vp->index % PARTS : PARTS - 1];
}

/* Waits in a part whose internal lock the caller holds, having paid. Inlined: the frame of a call
 * would be a tenth of what a waiter does. */
__attribute__((always_inline)) static inline void wait_in(part_t *part, struct mltp_thread *self,
                                                          mltp_barrier_t *barrier) {
  mltp_waitq_t *q = &part->queue;
  if (q->head_ == NULL) {
    part->home = self->vp;
    part->mixed = self->vp == NULL;
  } else if (part->home != self->vp) {
    part->mixed = true;
  }
  mt_waitq_append(q, self);
  mt_store_relaxed(&self->waitq, &barrier->queue_); /* relaxed: for reports */
  mt_park(self, &q->ilock_, MT_WHY_BARRIER);
  mt_store_relaxed(&self->waitq, NULL);
}

/* A part that owes nothing gets one more unit. Under the barrier's internal lock and the part's
 * own. That others owe something is certain then: only under the barrier's internal lock does a
 * part cease to.
 */
static void move_unit(mltp_barrier_t *barrier, part_t *to) {
  parts_t *parts = mt_barrier_parts(barrier);
  mt_store_relaxed(&to->quota, to->quota + 1);
  if (parts->given < barrier->needed_) {
    parts->given++;
    return;
  }
  part_t *from = parts->part;
  while (mt_load_relaxed(&from->owed) == 0) from++;
  mt_ilock_lock(&from->queue.ilock_);
  mt_store_relaxed(&from->quota, from->quota - 1);
  mt_store_relaxed(&from->owed, from->owed - 1);
  if (from->owed == 0) parts->open--;
  mt_ilock_unlock(&from->queue.ilock_);
}

/* Under the barrier's internal lock: begins the next episode.
 * @param waiters the threads of each part that has any, to be resumed
 * @return how many parts those are */
static int open_up(mltp_barrier_t *barrier, struct mt_home_chain waiters[PARTS]) {
  parts_t *parts = mt_barrier_parts(barrier);
  int count = 0;
  barrier->episode_++;
  for (int i = 0; i < PARTS; i++) {
    part_t *part = &parts->part[i];
    if (part->quota == 0) continue;
    mt_ilock_lock(&part->queue.ilock_);
    if (part->queue.head_ != NULL)
      waiters[count++] = (struct mt_home_chain){part->mixed ? NULL : part->home, part->queue.head_};
    part->queue.head_ = part->queue.tail_ = NULL;
    part->queue.count_ = 0;
    mt_store_relaxed(&part->owed, part->quota);
    mt_ilock_unlock(&part->queue.ilock_);
    parts->open++;
  }
  return count;
}

/* The same for a part that has the units of all threads, and owes the last one. Under its internal
 * lock alone, which is released: no unit can leave the part meanwhile. Its debt is not 0 in
 * between, since move_unit() looks for a part that owes something. */
static int open_alone(mltp_barrier_t *barrier, part_t *part) {
  const struct mt_home_chain waiters = {part->mixed ? NULL : part->home, part->queue.head_};
  part->queue.head_ = part->queue.tail_ = NULL;
  part->queue.count_ = 0;
  mt_store_relaxed(&part->owed, part->quota);
  barrier->episode_++;
  mt_ilock_unlock(&part->queue.ilock_);
  if (waiters.first != NULL && waiters.first->next == NULL)
    mt_resume(waiters.first);
  else
    mt_resume_homes(&waiters, 1);
  return MLTP_BARRIER_SERIAL;
}

/* relaxed: a hint, which saves the last of a part one lock */
static bool owes_enough(const mltp_barrier_t *barrier, const part_t *part) {
  uint32_t owed = mt_load_relaxed(&part->owed);
  return mt_likely(owed > 1) || (owed == 1 && mt_load_relaxed(&part->quota) == barrier->needed_);
}

/* For a caller whose part may owe one unit or none. */
static int arrive_slow(mltp_barrier_t *barrier, part_t *part, struct mltp_thread *self) {
  parts_t *parts = mt_barrier_parts(barrier);
  mt_step("barrier: to the whole");
  mt_ilock_lock(&barrier->queue_.ilock_);
  if (mt_unlikely(barrier->needed_ == 0)) {
    mt_ilock_unlock(&barrier->queue_.ilock_);
    return mt_misuse(EINVAL, "mltp_barrier_wait", self->id, mt_name(self),
                     "barrier %p is not initialised (use mltp_barrier_init or MLTP_BARRIER_INIT)",
                     (void *)barrier);
  }
  mt_ilock_lock(&part->queue.ilock_);
  if (part->owed == 0) {
    move_unit(barrier, part);
  } else {
    mt_store_relaxed(&part->owed, part->owed - 1);
    if (part->owed == 0) parts->open--;
  }
  if (parts->open != 0 || parts->given < barrier->needed_) {
    mt_ilock_unlock(&barrier->queue_.ilock_);
    wait_in(part, self, barrier);
    return 0;
  }
  mt_ilock_unlock(&part->queue.ilock_);
  struct mt_home_chain waiters[PARTS];
  int count = open_up(barrier, waiters);
  mt_ilock_unlock(&barrier->queue_.ilock_);
  mt_resume_homes(waiters, count);
  return MLTP_BARRIER_SERIAL;
}

int mltp_barrier_wait(mltp_barrier_t *barrier) {
  struct mltp_thread *self = mt_self("mltp_barrier_wait");
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt("mltp_barrier_wait");
  part_t *part = part_of(barrier, self);
  if (owes_enough(barrier, part)) {
    mt_step("barrier: to its part");
    mt_ilock_lock(&part->queue.ilock_);
    if (mt_likely(part->owed > 1)) {
      mt_store_relaxed(&part->owed, part->owed - 1); /* relaxed: move_unit() looks first */
      wait_in(part, self, barrier);
      return 0;
    }
    if (part->owed == 1 && part->quota == barrier->needed_) return open_alone(barrier, part);
    mt_ilock_unlock(&part->queue.ilock_);
  }
  return arrive_slow(barrier, part, self);
}
