/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal API: everything but switches (direct_switch.c).
 *
 * Relaxed: where a thread should continue is a hint; the post looks again.
 */
#include "core/internal/fence.h"
#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "core/internal/placement.h"
#include "core/internal/process.h"
#include "core/internal/thread.h"

#include "base/fence.h"
#include "base/options.h"
#include "base/peek.h"
#include "core/det/det.h"
#include "core/life/runtime.h"
#include "core/memory/descriptor.h"
#include "core/memory/stack.h"
#include "core/sched/runq.h"
#include "core/sched/steal.h"
#include "core/sched/watchdog.h"
#include "core/thread/key.h"
#include "core/vp/kernel_thread.h"
#include "core/vp/vp.h"
#include "core/wait/alone.h"
#include "core/wait/await.h"
#include "core/wait/park.h"
#include "instrument/debug_hooks.h"
#include "instrument/decisions.h"
#include "policy/home.h"

void mti_lock(uint32_t *ilock) { mt_ilock_lock(ilock); }

void mti_unlock(uint32_t *ilock) { mt_ilock_unlock(ilock); }

void mti_fence_heavy(void) { mt_fence_heavy(); /* DF-5 heavy fence: for the caller; pairs DF-6 */ }

bool mti_fence_works(void) { return mt_fence_asymmetric; }

struct mltp_thread *mti_self(const char *call) { return mt_self(call); }

bool mti_is_foreign(void) {
  const struct mltp_thread *self = mt_current();
  return self != NULL && self->kind == MT_FOREIGN;
}

uint32_t mti_number(void) {
  const struct mltp_thread *self = mt_current();
  return self != NULL ? self->number : 0;
}

bool mti_set_number(const char *call, uint32_t number) {
  struct mltp_thread *self = mt_self(call);
  if (self == NULL) return false;
  self->number = number;
  self->own |= MT_OWN_NUMBER;
  return true;
}

uint32_t mti_act_as(uint32_t number) {
  struct mltp_thread *self = mt_current();
  uint32_t before = self != NULL ? self->number : 0;
  if (self != NULL) self->number = number;
  return before;
}

const char *mti_stack_middle(void) {
  const struct mltp_thread *self = mt_current();
  const struct mt_stack *stack = self != NULL ? self->stack : NULL;
  return stack != NULL ? stack->low + mt_stack_size(stack) / 2 : NULL;
}

bool mti_stack_of(const struct mltp_thread *thread, const char **low, size_t *size) {
  if (thread->stack == NULL) {
    *low = thread->stack_low;
    *size = thread->stack_size;
  } else {
    *low = mt_stack_usable(thread->stack, size);
  }
  return *low != NULL;
}

void mti_park_unlock(uint32_t *ilock, const char *what) {
  struct mltp_thread *self = mt_current();
  self->waiting_for = what;
  mt_park(self, ilock, MT_WHY_MESSAGE);
}

void mti_wait_unlock(mltp_waitq_t *queue, const char *what) {
  struct mltp_thread *self = mt_current();
  self->waiting_for = what;
  mt_waitq_append(queue, self);
  mt_park(self, &queue->ilock_, MT_WHY_MESSAGE);
}

void mti_resume_all(mltp_waitq_t *queue) {
  struct mltp_thread *first = queue->head_;
  queue->head_ = queue->tail_ = NULL;
  queue->count_ = 0;
  mt_resume_chain(first);
}

static struct mt_vp *vp_at(int index) {
  return index >= 0 && (uint32_t)index < mt_vp_count() ? mt_rt.vps[index] : NULL;
}

uint32_t mti_vp_ticks(int vp) {
  const struct mt_vp *at = vp_at(vp);
  return at != NULL ? mt_load_relaxed(&at->points.tick) : 0;
}

void mti_resume_all_on(mltp_waitq_t *queue, int (*vp_of)(uint32_t number)) {
  for (struct mltp_thread *t = queue->head_; t != NULL; t = t->next) {
    struct mt_vp *to = vp_at(vp_of(t->number));
    if (t->vp != NULL && to != NULL && !mt_is_blocked(to)) t->vp = to;
  }
  mti_resume_all(queue);
}

bool mti_spin_until(bool (*ended)(const void *), const void *what, const struct mltp_thread *waker,
                    uint64_t blindly_ns) {
  return mt_await_spin(mt_current(), ended, what, waker, blindly_ns);
}

bool mti_spin_alone(bool (*ended)(const void *), const void *what, bool *nearer) {
  return mt_spin_alone(mt_current(), ended, what, nearer);
}

bool mti_spin_for_reply(bool (*ended)(const void *), const void *what, struct mt_reply *reply) {
  return mt_spin_for_reply(mt_current(), ended, what, reply);
}

bool mti_is_only_ready(void) {
  struct mt_vp *vp = mt_here();
  return vp == NULL || !mt_runq_seems_busy(vp);
}

uint64_t mti_park_ns(void) { return mt_await_spin_ns(mt_current()); }

bool mti_runs_elsewhere(const struct mltp_thread *t) {
  return t != NULL && t != mt_current() && mt_is_running(t);
}

void mti_resume(struct mltp_thread *t) { mt_resume(t); }

void mti_resume_on(struct mltp_thread *t, int vp, uint32_t *points) {
  struct mt_vp *to = vp_at(vp);
  if (mt_unlikely(t->vp != to) && t->vp != NULL && to != NULL) {
    uint32_t now = mt_load_relaxed(&to->points.tick);
    const struct mt_home_seen seen = {.awake = mt_load_relaxed(&to->sleep.status) == MT_VP_AWAKE,
                                      .points = now,
                                      .points_at = mt_load_relaxed(points)};
    if (mt_decided("goes_home", &seen, sizeof seen, mt_goes_home(seen))) {
      mt_store_relaxed(points, now);
      t->vp = to;
    }
  }
  mt_resume(t);
}

bool mti_blocks_in(char *text, size_t size, const struct mltp_thread *t) {
  uint64_t ns;
  return t != NULL && mt_blocks_in(text, size, &ns, t);
}

bool mti_whereabouts(struct mti_whereabouts *where, const struct mltp_thread *t) {
  struct mltp_thread copy;
  *where = (struct mti_whereabouts){0, NULL, false};
  if (t == NULL || !mt_descriptor_peek(&copy, t) || copy.kind != MT_UNBOUND) return false;
  where->task = mt_task_of(&copy);
  where->ready = mt_state(&copy) == MT_READY || mt_state(&copy) == MT_MAILED;
  if (where->task != 0 || mt_is_running(&copy)) return where->task != 0;
  if ((copy.special & MT_FRESH) == 0) where->frame = copy.context.bp;
  return where->frame != NULL;
}

void mti_move_ranks(void) { mt_move_ranks(); }

void mti_preempt(const char *call) { mt_preempt(call); }

void mti_set_deadlock_hook(bool (*report)(void)) { mt_deadlock_hook = report; }

void mti_set_deadlock_elsewhere(bool (*elsewhere)(void)) { mt_deadlock_elsewhere = elsewhere; }

/* Relaxed: as in check_deadlock(). A waiter in a lock may have been woken. */
bool mti_still_rests(void) {
  if (mt_vp_count() != 0) return mt_vps_rest_as_noted();
  return mt_all_parked() && mt_load_relaxed(&mt_rt.outside.in_locks) == 0;
}

bool mti_deadlock_report(void) { return mt_deadlock_report(); }

bool mti_looks_for_deadlocks(void) { return mt_options.deadlock != MT_DEADLOCK_OFF; }

uint64_t mti_rest_mark(void) { return mt_rest_mark(); }

bool mti_task_rests(int tid) { return mt_task_rests(tid); }

void mti_set_idle_hook(void (*hook)(bool sleeps)) {
  mt_store_relaxed(&mt_rt.poll.idle, hook); /* relaxed: threads that need it are made ready later */
}

void mti_add_bystanders(uint32_t more) {
  mt_add_relaxed(&mt_deadlock_bystanders, more); /* relaxed: a count */
}

void mti_be_bystander(void) {
  if (mt_self("mltp_lock") != NULL)
    mt_add_relaxed(&mt_rt.outside.bystanders, 1); /* relaxed: a count */
}

bool mti_peek(void *to, const void *from, size_t size) { return mt_peek(to, from, size); }

void mti_set_overflow_hooks(bool (*is_taken)(int signo),
                            bool (*report)(const char *name, size_t kib, const void *context)) {
  mt_overflow_is_taken = is_taken;
  mt_overflow_hook = report;
}

void mti_touch(void *address, size_t size) { os_touch(address, size); }

void mti_expect_stacks(size_t count) { mt_stacks_expect(count); }

void mti_make_stacks_executable(void) { mt_stacks_make_executable(); }

bool mti_stacks_are_executable(void) { return mt_stacks_are_executable(); }

void mti_allow_code_on_stack(void) {
  char *low;
  size_t size;
  if (!mt_stacks_are_executable()) return;
  os_thread_stack(&low, &size);
  os_enable(low, size, true);
}

int mti_cpus(void) { return mt_rt.cpus; }

size_t mti_stack_mappings(size_t stacks) { return mt_stack_mappings(stacks); }

size_t mti_stacks_left(void) {
  return mt_options.backend == MT_BACKEND_KERNEL ? SIZE_MAX : mt_stacks_left();
}

void mti_defer_vps(void) { mt_defer_vps(); }

int mti_start_vps(void) { return mt_start_vps(); }

void mti_wait_for_all(void) {
  mt_values_end(mt_rt.main);
  mt_wait_until_alone();
  if (mt_options.stats) mt_debug.stats();
}
