/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latches and wait groups. Every read of the count is under the internal lock, even that of a
 * waiter that need not wait. So a waiter that has seen zero knows that the last thread to count
 * down has released the lock, and may free the memory. The thread that brings the count
 * to zero takes the whole queue, as the last arrival at a barrier does.
 *
 * Rejected: counting by an atomic subtraction, with the lock for the last thread only.
 * It costs the same locked instruction, and the last thread would take the lock of an
 * object that a waiter may have freed.
 */
#include "mltp/latch.h"

#include <errno.h>

#include "base/log.h"
#include "core/det/det.h"
#include "core/wait/park.h"

int mltp_latch_init(mltp_latch_t *latch, unsigned count, const char *name) {
  *latch = (mltp_latch_t)MLTP_LATCH_INIT(count);
  latch->name_ = name;
  return 0;
}

int mltp_latch_destroy(mltp_latch_t *latch) {
  return mt_waitq_destroy("mltp_latch_destroy", &latch->queue_, "latch", latch->name_);
}

/* Under the internal lock, which it releases. @return EINVAL after a misuse report. */
static int refuse(const char *call, mltp_latch_t *latch, const struct mltp_thread *self,
                  const char *kind, uint64_t n) {
  uint64_t left = latch->left_;
  mt_ilock_unlock(&latch->queue_.ilock_);
  return mt_misuse(EINVAL, call, self->id, mt_name(self),
                   "%s %p '%s' stands at %lu, from which %lu cannot be taken (count down once "
                   "for each arrival or task)",
                   kind, (void *)latch, latch->name_ != NULL ? latch->name_ : "",
                   (unsigned long)left, (unsigned long)n);
}

/* The waiters continue once the count is zero; so does the caller, or it stays in their queue. */
static int count_down(const char *call, mltp_latch_t *latch, const char *kind, uint64_t n,
                      bool and_wait) {
  struct mltp_thread *self = mt_self(call);
  if (mt_unlikely(self == NULL)) return EPERM;
  mltp_waitq_t *q = &latch->queue_;
  mt_ilock_lock(&q->ilock_);
  if (mt_unlikely(latch->left_ < n)) return refuse(call, latch, self, kind, n);
  latch->left_ -= n;
  if (latch->left_ != 0 && and_wait) return mt_wait(self, q, false, MT_WHY_LATCH, NULL);
  struct mltp_thread *waiters = latch->left_ == 0 ? mt_waitq_take_all(q) : NULL;
  mt_ilock_unlock(&q->ilock_);
  mt_resume_chain(waiters);
  mt_preempt(call);
  return 0;
}

static int wait(const char *call, mltp_latch_t *latch, enum mt_why why, struct mt_timer *timer) {
  struct mltp_thread *self = mt_self(call);
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt(call);
  mltp_waitq_t *q = &latch->queue_;
  mt_ilock_lock(&q->ilock_);
  if (latch->left_ != 0) return mt_wait(self, q, false, why, timer);
  mt_ilock_unlock(&q->ilock_);
  return 0;
}

/* @return 0: open; EAGAIN: not. */
static int is_open(const char *call, mltp_latch_t *latch) {
  if (mt_self(call) == NULL) return EPERM;
  mt_preempt(call);
  mt_ilock_lock(&latch->queue_.ilock_);
  bool open = latch->left_ == 0;
  mt_ilock_unlock(&latch->queue_.ilock_);
  return open ? 0 : EAGAIN;
}

static int timedwait(const char *call, mltp_latch_t *latch, enum mt_why why, uint64_t deadline) {
  struct mltp_thread *self = mt_self(call);
  if (mt_unlikely(self == NULL)) return EPERM;
  if (is_open(call, latch) == 0) return 0;
  struct mt_timer timer;
  mt_timer_arm(&timer, self, deadline);
  return mt_timer_disarm(&timer, wait(call, latch, why, &timer));
}

int mltp_latch_count_down(mltp_latch_t *latch, unsigned n) {
  return count_down("mltp_latch_count_down", latch, "latch", n, false);
}

int mltp_latch_wait_try(mltp_latch_t *latch) { return is_open("mltp_latch_wait_try", latch); }

int mltp_latch_wait(mltp_latch_t *latch) {
  return wait("mltp_latch_wait", latch, MT_WHY_LATCH, NULL);
}

int mltp_latch_wait_timed(mltp_latch_t *latch, uint64_t deadline) {
  return timedwait("mltp_latch_wait_timed", latch, MT_WHY_LATCH, deadline);
}

int mltp_latch_arrive_and_wait(mltp_latch_t *latch) {
  return count_down("mltp_latch_arrive_and_wait", latch, "latch", 1, true);
}

/* ---- a wait group is a latch whose count may rise */

int mltp_waitgroup_init(mltp_waitgroup_t *group, const char *name) {
  return mltp_latch_init(&group->latch_, 0, name);
}

int mltp_waitgroup_destroy(mltp_waitgroup_t *group) {
  mltp_latch_t *latch = &group->latch_;
  return mt_waitq_destroy("mltp_waitgroup_destroy", &latch->queue_, "wait group", latch->name_);
}

int mltp_waitgroup_add(mltp_waitgroup_t *group, int n) {
  mltp_latch_t *latch = &group->latch_;
  static const char call[] = "mltp_waitgroup_add";
  if (n < 0) return count_down(call, latch, "wait group", (uint64_t)-(int64_t)n, false);
  if (mt_self(call) == NULL) return EPERM;
  mt_ilock_lock(&latch->queue_.ilock_);
  latch->left_ += (uint64_t)n;
  mt_ilock_unlock(&latch->queue_.ilock_);
  mt_preempt(call);
  return 0;
}

int mltp_waitgroup_done(mltp_waitgroup_t *group) {
  return count_down("mltp_waitgroup_done", &group->latch_, "wait group", 1, false);
}

int mltp_waitgroup_wait(mltp_waitgroup_t *group) {
  return wait("mltp_waitgroup_wait", &group->latch_, MT_WHY_WAITGROUP, NULL);
}

int mltp_waitgroup_wait_try(mltp_waitgroup_t *group) {
  return is_open("mltp_waitgroup_wait_try", &group->latch_);
}

int mltp_waitgroup_wait_timed(mltp_waitgroup_t *group, uint64_t deadline) {
  return timedwait("mltp_waitgroup_wait_timed", &group->latch_, MT_WHY_WAITGROUP, deadline);
}
