/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the library, for those built on it. mt_seam_switch() and its kin are in park.c:
 * they are ways to park.
 *
 * Relaxed: where a thread should go on is a hint; the post looks again.
 */
#include "core/seam.h"

#include "base/options.h"
#include "base/peek.h"
#include "core/await.h"
#include "core/det.h"
#include "core/park.h"
#include "core/runq.h"
#include "core/steal.h"
#include "core/vp.h"
#include "debug/report.h"

void mt_seam_lock(uint32_t *guard) { mt_spin_lock(guard); }

void mt_seam_unlock(uint32_t *guard) { mt_spin_unlock(guard); }

struct mltp_thread *mt_seam_self(const char *call) { return mt_self(call); }

uint32_t mt_seam_number(void) {
  const struct mltp_thread *self = mt_current();
  return self != NULL ? self->number : 0;
}

bool mt_seam_set_number(const char *call, uint32_t number) {
  struct mltp_thread *self = mt_self(call);
  if (self != NULL) self->number = number;
  return self != NULL;
}

uint32_t mt_seam_act_as(uint32_t number) {
  struct mltp_thread *self = mt_current();
  uint32_t before = self != NULL ? self->number : 0;
  if (self != NULL) self->number = number;
  return before;
}

void mt_seam_park(uint32_t *guard, const char *what) {
  struct mltp_thread *self = mt_current();
  self->waiting_for = what;
  mt_park(self, guard, MT_WHY_MESSAGE);
}

void mt_seam_wait(mltp_waitq_t *queue, const char *what) {
  struct mltp_thread *self = mt_current();
  self->waiting_for = what;
  mt_waitq_append(queue, self);
  mt_park(self, &queue->guard_, MT_WHY_MESSAGE);
}

void mt_seam_resume_all(mltp_waitq_t *queue) {
  struct mltp_thread *first = queue->head_;
  queue->head_ = queue->tail_ = NULL;
  queue->count_ = 0;
  mt_resume_chain(first);
}

static struct mt_vp *vp_at(int index) {
  return index >= 0 && (uint32_t)index < mt_vp_count() ? mt_rt.vps[index] : NULL;
}

uint32_t mt_seam_points(int vp) {
  const struct mt_vp *at = vp_at(vp);
  return at != NULL ? mt_load_relaxed(&at->tick) : 0;
}

void mt_seam_resume_all_at(mltp_waitq_t *queue, int (*vp_of)(uint32_t number)) {
  for (struct mltp_thread *t = queue->head_; t != NULL; t = t->next) {
    struct mt_vp *to = vp_at(vp_of(t->number));
    if (t->vp != NULL && to != NULL && mt_load_relaxed(&to->status) != MT_VP_BLOCKED) t->vp = to;
  }
  mt_seam_resume_all(queue);
}

bool mt_seam_spin(bool (*ended)(const void *), const void *what, const struct mltp_thread *waker,
                  uint64_t blindly_ns) {
  return mt_await_spin(mt_current(), ended, what, waker, blindly_ns);
}

bool mt_seam_is_alone(void) {
  struct mt_vp *vp = mt_here();
  return vp == NULL || !mt_runq_seems_busy(vp);
}

uint64_t mt_seam_park_ns(void) { return mt_await_spin_ns(mt_current()); }

bool mt_seam_runs_elsewhere(const struct mltp_thread *t) {
  return t != NULL && t != mt_current() && mt_is_running(t);
}

void mt_seam_resume(struct mltp_thread *t) { mt_resume(t); }

void mt_seam_resume_at(struct mltp_thread *t, int vp, uint32_t *points) {
  struct mt_vp *to = vp_at(vp);
  if (mt_unlikely(t->vp != to) && t->vp != NULL && to != NULL) {
    uint32_t now = mt_load_relaxed(&to->tick);
    if (now != mt_load_relaxed(points) && mt_load_relaxed(&to->status) == MT_VP_AWAKE) {
      mt_store_relaxed(points, now);
      t->vp = to;
    }
  }
  mt_resume(t);
}

void mt_seam_move_costs(uint64_t ns) { mt_move_costs(ns); }

void mt_seam_preempt(const char *call) { mt_preempt(call); }

bool mt_seam_is_native(void) { return mt_options.backend == MT_BACKEND_NATIVE; }

bool mt_seam_hands_over(void) { return mt_seam_is_native() && !MT_SANITIZER_SWITCHES; }

void mt_seam_on_deadlock(bool (*report)(void)) { mt_deadlock_hook = report; }

void mt_seam_bystanders(uint32_t count) { mt_deadlock_bystanders = count; }

bool mt_seam_peek(void *to, const void *from, size_t size) { return mt_peek(to, from, size); }
