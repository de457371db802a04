/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creating threads.
 *
 * Relaxed: counters with one writer each; mt_live() orders them. detached, read
 * without the guard, tells only what has been so from the start.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/options.h"
#include "core/det/det.h"
#include "core/life/outside.h"
#include "core/memory/descriptor.h"
#include "core/sched/sched.h"
#include "core/vp/alternative.h"
#include "core/vp/vp.h"
#include "instrument/probes.h"

/* ---- creating */

/* Counted before it can run, so that mt_live() is never too low. */
static void count_created(struct mt_vp *here) {
  if (here != NULL)
    mt_count_owner(&here->stats.created);
  else
    mt_add_relaxed(&mt_rt.outside.created, 1); /* relaxed: see mt_live() */
}

static void count_uncreated(struct mt_vp *here) {
  if (here != NULL)
    mt_store_relaxed(&here->stats.created, here->stats.created - 1);
  else
    mt_add_relaxed(&mt_rt.outside.created, -1);
}

static const mltp_attr_t plain = MLTP_ATTR_INIT;

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
    if (mt_has_alternative() && here != NULL) mt_alternative->forget(here); /* it needs no queue */
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

mltp_t *mltp_create(mltp_userf_t *func, void *p0) {
  mltp_t *thread = NULL;
  return create("mltp_create", &thread, &plain, func, p0) == 0 ? thread : NULL;
}

int mltp_create_with(mltp_t **thread, const mltp_attr_t *attr, mltp_userf_t *func, void *p0) {
  return create("mltp_create_with", thread, attr != NULL ? attr : &plain, func, p0);
}

mltp_t *mltp_create_bound(mltp_userf_t *func, void *p0) {
  mltp_t *thread = NULL;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.bound = 1;
  return create("mltp_create_bound", &thread, &attr, func, p0) == 0 ? thread : NULL;
}

struct vcall {
  mltp_vuserf_t *func;
  struct arch_vargs args;
};

static void *run_vcall(void *arg) {
  struct vcall call = *(struct vcall *)arg;
  free(arg);
  return mt_arch_vcall(call.func, &call.args);
}

mltp_t *mltp_vcreate(mltp_vuserf_t *func, int nbytes, ...) {
  if (nbytes < 0 || nbytes > MLTP_VARGS_MAX) return NULL;
  struct vcall *call = malloc(sizeof *call);
  if (call == NULL) return NULL;
  call->func = func;
  va_list list;
  va_start(list, nbytes);
  mt_arch_capture(&call->args, list, nbytes);
  va_end(list);
  mltp_t *thread = NULL;
  if (create("mltp_vcreate", &thread, &plain, run_vcall, call) == 0) return thread;
  free(call);
  return NULL;
}
