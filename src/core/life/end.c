/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting and ending threads on VPs.
 *
 * Relaxed: counters with one writer each; mt_live() orders them. detached, read
 * without the internal lock, tells only what has been so from the start.
 */
#include "core/life/end.h"

#include "core/memory/descriptor.h"
#include "core/sched/idle.h"
#include "core/sched/sched.h"
#include "core/thread/key.h"
#include "core/wait/park.h"
#include "instrument/probes.h"

/* Others may join it. vp: the caller's. */
__attribute__((noinline)) static void end_joinable(struct mt_vp *vp, struct mltp_thread *self,
                                                   void *result) {
  mt_ilock_lock(&self->ilock);
  uint8_t detached = mt_load_relaxed(&self->detached);
  struct mltp_thread *joiner = self->joiner;
  if (mt_unlikely(detached != MT_JOINABLE) && detached == MT_JOINED_TIMED)
    joiner = mt_wait_take(joiner);
  self->result = result;
  self->done = 1;
  mt_set_where(self, MT_DONE, 0);
  mt_ilock_unlock(&self->ilock); /* from here on it may be joined and freed */
  if (detached == MT_MADE_DETACHED)
    mt_descriptor_free(vp, self);
  else if (joiner != NULL)
    mt_resume(joiner);
}

/* vp: the caller's; NULL: none. */
static inline void end_on(struct mt_vp *vp, struct mltp_thread *self, void *result) {
  MT_PROBE2(end, self, self->id);
  if (mt_load_relaxed(&self->detached) == MT_BORN_DETACHED)
    mt_descriptor_free(vp, self);
  else
    end_joinable(vp, self, result);
}

void mt_end(struct mltp_thread *self, void *result) { end_on(mt_here(), self, result); }

/* The calling thread ends on its stack; what runs next on this VP? From the first
 * line on, the idle context is the current thread, since self may be freed. */
static struct mltp_thread *end_and_choose(struct mltp_thread *self, void *result) {
  struct mt_vp *vp = self->vp;
  mt_set_current(&vp->idle);
  end_on(vp, self, result);
  mt_store_release(&vp->stats.ended, vp->stats.ended + 1); /* LV-1 release: pairs LV-2 */
  mt_runq_enter(vp);
  struct mltp_thread *next = mt_next(vp);
  return next != NULL ? next : &vp->idle;
}

/* Leaves this stack for good. Inside. */
static void __attribute__((noreturn)) leave_for(struct mt_vp *vp, struct mt_stack *stack,
                                                struct mt_sanitizer *dead,
                                                struct mltp_thread *next) {
  struct mltp_thread nobody; /* what the switch saves goes nowhere */
  nobody.own = 0;
  vp->ctx.after_stack = stack;
  vp->ctx.after |= MT_AFTER_END;
  next = mt_prepared(vp, next);
  mt_become(vp, &nobody, next);
  mt_sanitizer_dying(dead, &vp->dead);
  mt_sanitizer_leave(dead, &next->sanitizer, 1);
  mt_context_switch(&nobody.context, &next->context);
  __builtin_unreachable();
}

/* A fresh successor with the same kind of stack runs in the same frame of the
 * same stack: no switch, no stack, warm caches. */
static void run_on_same_stack(struct mt_vp *vp, struct mt_stack *stack,
                              const struct mt_sanitizer *sanitizer, struct mltp_thread *next) {
  struct mltp_thread nobody;
  nobody.own = 0;
  next->special = 0;
  next->stack = stack;
  next->sanitizer = *sanitizer;
  mt_become(vp, &nobody, next);
  mt_after_switch(vp);
}

void mt_thread_start(void) {
  struct mltp_thread *self = mt_current();
  mt_sanitizer_arrive(&self->sanitizer);
  mt_after_switch(self->vp);
  if (self->kind == MT_IDLE) mt_idle_loop(self->vp);
  while (true) {
    struct mt_stack *stack = self->stack;
    MT_PROBE2(start, self, self->id);
    void *result = mt_call_function(self);
    mt_stack_check(stack); /* first: in a child of fork() there is no self */
    self = mt_current();
    mt_values_end(self);
    struct mt_vp *vp = self->vp;
    struct mt_sanitizer sanitizer = self->sanitizer;
    self = end_and_choose(self, result);
    if (self->special != MT_FRESH || self->stack_class != stack->class_log2)
      leave_for(vp, stack, &sanitizer, self);
    run_on_same_stack(vp, stack, &sanitizer, self);
  }
}

void mt_finish(struct mltp_thread *self, void *result) {
  mt_stack_check(self->stack);
  mt_values_end(self);
  if (self->called) mt_arch_call_leave(mt_stack_top(self->stack), result);
  struct mt_vp *vp = self->vp;
  struct mt_stack *stack = self->stack;
  struct mt_sanitizer sanitizer = self->sanitizer;
  leave_for(vp, stack, &sanitizer, end_and_choose(self, result));
}

uint64_t mt_live(void) {
  /* What ended is counted first: whatever is missed was created or ended later,
   * and a thread's end comes after its creations (LV-1). */
  uint64_t ended = mt_load_acquire(&mt_rt.outside.ended); /* LV-3 acquire: pairs LV-4 */
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++)
    ended += mt_load_acquire(&mt_rt.vps[i]->stats.ended); /* LV-2 acquire: pairs LV-1 LV-5 */
  count = mt_vp_count(); /* a VP made meanwhile may have created what has ended on the others */
  uint64_t created = 1 + mt_load_relaxed(&mt_rt.outside.created); /* main was not created */
  for (uint32_t i = 0; i < count; i++) created += mt_load_relaxed(&mt_rt.vps[i]->stats.created);
  return created - ended;
}
