/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a thread: create, start, end.
 *
 * Relaxed: counters with one writer each; mt_live() orders them. detached, read
 * without the guard, tells only what has been so from the start.
 */
#include "core/thread/thread.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/options.h"
#include "core/det/det.h"
#include "core/life/fork.h"
#include "core/life/runtime.h"
#include "core/memory/descriptor.h"
#include "core/sched/idle.h"
#include "core/sched/sched.h"
#include "core/thread/key.h"
#include "core/vp/vp.h"
#include "core/wait/park.h"
#include "instrument/probes.h"

/* ---- creating */

/* Counted before it can run, so that mt_live() is never too low. */
static void count_created(struct mt_vp *here) {
  if (here != NULL)
    mt_count_owner(&here->stats.created);
  else
    mt_add_relaxed(&mt_rt.created_elsewhere, 1); /* relaxed: see mt_live() */
}

static void count_uncreated(struct mt_vp *here) {
  if (here != NULL)
    mt_store_relaxed(&here->stats.created, here->stats.created - 1);
  else
    mt_add_relaxed(&mt_rt.created_elsewhere, -1);
}

static const mltp_attr_t plain = MLTP_ATTR_INIT;

enum { ATTR_SIZE_MAX = 4096 }; /* bytes: no later version has more */

/* The common path of all creations. call: the function's name for messages. */
static int create(const char *call, mltp_t **thread, const mltp_attr_t *attr, mltp_userf_t *func,
                  void *arg) {
  struct mltp_thread *self = mt_self(call);
  if (self == NULL) return EPERM;
  struct mt_vp *here = self->vp;
  if (mt_unlikely(here == NULL) && !mt_load_relaxed(&mt_rt.running)) /* it outlived the runtime */
    return mt_misuse(EPERM, call, self->id, mt_name(self), "%s", mt_not_running());
  int class_log2 = attr->stack_size == 0 ? mt_rt.stack_class : mt_stack_class(attr->stack_size);
  if (class_log2 < 0 || (thread == NULL && !attr->detached)) return EINVAL;
  struct mltp_thread *t = mt_descriptor_new(here);
  if (t == NULL) return EAGAIN;
  t->func = func;
  t->arg = arg;
  mt_set_name(t, attr->name);
  mt_store_relaxed(&t->detached, attr->detached ? MT_BORN_DETACHED : MT_JOINABLE);
  t->stack_class = (uint8_t)class_log2;
  count_created(here);
  MT_PROBE3(create, t, t->id, func);
  if (thread != NULL) *thread = t;
  if ((attr->bound && !mt_det_on) || mt_options.backend == MT_BACKEND_KERNEL) {
    t->kind = MT_BOUND;
    if (mt_strategy != NULL && here != NULL) mt_strategy_forget(here); /* it needs no queue */
    mt_set_where(t, MT_RUNNING, 0);
    int error = mt_bound_start(t, (size_t)1 << class_log2);
    if (error != 0) {
      count_uncreated(here);
      mt_descriptor_free(here, t);
    }
    return error;
  }
  if (attr->fp_control) {
    t->own = MT_OWN_FP;
    mt_arch_fp_save(&t->fp); /* a kernel thread inherits its creator's, too */
  }
  t->special = MT_FRESH;
  if (mt_unlikely(attr->priority != 0) && !mt_det_on)
    t->special |= attr->priority > 0 ? MT_HIGH : MT_LOW;
  if (mt_likely(here != NULL))
    mt_ready_here(here, t);
  else
    mt_ready_elsewhere(t);
  if (mt_unlikely(mt_det_on)) mt_det_created(call, t);
  return 0;
}

/* Attributes that were compiled with another size. A larger one is from a later version: the
 * fields that this library does not know must be zero. */
static int refuse_size(const mltp_attr_t *attr) {
  const char *bytes = (const char *)attr;
  struct mltp_thread *self = mt_self("mltp_create");
  if (self == NULL) return EPERM;
  if (attr->size < sizeof *attr || attr->size > ATTR_SIZE_MAX)
    return mt_misuse(EINVAL, "mltp_create", self->id, mt_name(self),
                     "attributes %p are not initialised: their size is %zu (use MLTP_ATTR_INIT)",
                     (const void *)attr, attr->size);
  for (size_t i = sizeof *attr; i < attr->size; i++)
    if (bytes[i] != 0) return EINVAL;
  return 0;
}

int mltp_create(mltp_t **thread, const mltp_attr_t *attr, mltp_userf_t *func, void *arg) {
  if (attr != NULL && mt_unlikely(attr->size != sizeof *attr)) {
    int error = refuse_size(attr);
    if (error != 0) return error;
  }
  return create("mltp_create", thread, attr != NULL ? attr : &plain, func, arg);
}

/* ---- ending */

void mt_end(struct mltp_thread *self, void *result) {
  MT_PROBE2(end, self, self->id);
  if (mt_load_relaxed(&self->detached) == MT_BORN_DETACHED) {
    mt_descriptor_free(mt_here(), self);
    return;
  }
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
    mt_descriptor_free(mt_here(), self);
  else if (joiner != NULL)
    mt_resume(joiner);
}

/* The calling thread ends on its stack; what runs next on this VP? From the first
 * line on, the idle context is the current thread, since self may be freed. */
static struct mltp_thread *end_and_choose(struct mltp_thread *self, void *result) {
  struct mt_vp *vp = self->vp;
  mt_set_current(&vp->idle);
  mt_end(self, result);
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
  vp->after_stack = stack;
  vp->after |= MT_AFTER_END;
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

static void undo_frames(struct mltp_thread *self) {
  while (self->undo != NULL) {
    struct mt_undo *undo = self->undo;
    mt_undo_pop(self, undo);
    undo->run(undo);
  }
}

void mltp_exit(void *result) {
  struct mltp_thread *self = mt_current();
  if (self != NULL) undo_frames(self);
  if (self == mt_rt.main && self != NULL) {
    mt_values_end(self);
    mt_wait_until_alone();
    exit(0);
  }
  if (self != NULL && self->kind == MT_UNBOUND) mt_finish(self, result);
  if (self != NULL && self->kind == MT_BOUND) mt_bound_finish(self, result);
  mt_misuse(EPERM, "mltp_exit", 0, "", "%s",
            mt_load_relaxed(&mt_rt.running)
                ? "the caller is no thread of this library (use pthread_exit there)"
                : mt_not_running());
  abort(); /* it cannot return, whatever MLTP_MISUSE says */
}

uint64_t mt_live(void) {
  /* What ended is counted first: whatever is missed was created or ended later,
   * and a thread's end comes after its creations (LV-1). */
  uint64_t ended = mt_load_acquire(&mt_rt.ended_elsewhere); /* LV-3 acquire: pairs LV-4 */
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++)
    ended += mt_load_acquire(&mt_rt.vps[i]->stats.ended); /* LV-2 acquire: pairs LV-1 LV-5 */
  count = mt_vp_count(); /* a VP made meanwhile may have created what has ended on the others */
  uint64_t created = 1 + mt_load_relaxed(&mt_rt.created_elsewhere); /* main was not created */
  for (uint32_t i = 0; i < count; i++) created += mt_load_relaxed(&mt_rt.vps[i]->stats.created);
  return created - ended;
}

/* ---- asking */

mltp_t *mltp_self(void) { return mt_self("mltp_self"); }

void mltp_set_name(mltp_t *thread, const char *name) { mt_set_name(thread, name); }

const char *mltp_name(const mltp_t *thread) { return mt_name(thread); }

uint64_t mltp_id(const mltp_t *thread) { return thread->id; }
