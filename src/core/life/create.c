/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creating threads.
 *
 * Relaxed: counters with one writer each; mt_live() orders them. detached, read
 * without the internal lock, tells only what has been so from the start.
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

enum { ATTR_SIZE_MAX = 4096 }; /* bytes: no later version has more */

/* The rest of the creation of a thread that gets a kernel thread of its own. */
__attribute__((noinline)) static int create_bound(struct mt_vp *here, struct mltp_thread *t) {
  t->kind = MT_BOUND;
  if (mt_has_alternative() && here != NULL) mt_alternative->forget(here); /* it needs no queue */
  mt_set_where(t, MT_RUNNING, 0);
  int error = mt_bound_start(t, (size_t)1 << t->stack_class);
  if (error != 0) {
    count_uncreated(here);
    mt_descriptor_free(here, t);
  }
  return error != 0 ? EAGAIN : 0; /* a limit, or what a filter says */
}

/* The common path of all creations. here: the caller's VP; NULL: none. call: the function's name
 * for messages. */
__attribute__((always_inline)) static inline int create_on(struct mt_vp *here, const char *call,
                                                           mltp_t **thread, const mltp_attr_t *attr,
                                                           mltp_userf_t *func, void *arg) {
  int class_log2 = attr->stack_size == 0 ? mt_rt.stack_class : mt_stack_class(attr->stack_size);
  if (class_log2 < 0 || (thread == NULL && !attr->detached)) return EINVAL;
  struct mltp_thread *t = mt_descriptor_new(here);
  if (t == NULL) return EAGAIN;
  t->func = func;
  t->arg = arg;
  if (mt_unlikely(attr->name != NULL)) mt_set_name(t, attr->name);
  mt_store_relaxed(&t->detached, attr->detached ? MT_BORN_DETACHED : MT_JOINABLE);
  t->stack_class = (uint8_t)class_log2;
  count_created(here);
  MT_PROBE3(create, t, t->id, func);
  if (thread != NULL) *thread = t;
  if ((attr->bound && !mt_det_on) || mt_options.backend == MT_BACKEND_KERNEL)
    return create_bound(here, t);
  if (attr->fp_control) {
    t->own = MT_OWN_FP;
    mt_arch_fp_save(&t->fp); /* a kernel thread inherits its creator's, too */
  }
  t->special = MT_FRESH;
  if (mt_unlikely(attr->priority != 0) && !mt_det_on)
    t->special |= attr->priority > 0 ? MT_HIGH : MT_LOW;
  if (here != NULL)
    mt_ready_here(here, t);
  else
    mt_ready_elsewhere(t);
  if (mt_unlikely(mt_det_on)) mt_det_created(call, t);
  return 0;
}

/* Apart, so that the path of VPs asks once whether there is a VP. */
__attribute__((noinline)) static int create_outside(const struct mltp_thread *self,
                                                    const char *call, mltp_t **thread,
                                                    const mltp_attr_t *attr, mltp_userf_t *func,
                                                    void *arg) {
  if (!mt_load_relaxed(&mt_rt.running)) /* it outlived the runtime */
    return mt_misuse(EPERM, call, self->id, mt_name(self), "%s", mt_not_running());
  return create_on(NULL, call, thread, attr, func, arg);
}

__attribute__((always_inline)) static inline int create(const char *call, mltp_t **thread,
                                                        const mltp_attr_t *attr, mltp_userf_t *func,
                                                        void *arg) {
  struct mltp_thread *self = mt_self(call);
  if (self == NULL) return EPERM;
  struct mt_vp *here = self->vp;
  if (mt_unlikely(here == NULL)) return create_outside(self, call, thread, attr, func, arg);
  return create_on(here, call, thread, attr, func, arg);
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
  /* A call of its own, which the compiler specialises: it reads no attribute. */
  if (mt_likely(attr == NULL)) return create("mltp_create", thread, &plain, func, arg);
  int error = mt_likely(attr->size == sizeof *attr) ? 0 : refuse_size(attr);
  return error != 0 ? error : create("mltp_create", thread, attr, func, arg);
}

/* ---- asking */

mltp_t *mltp_self(void) { return mt_self("mltp_self"); }

void mltp_set_name(mltp_t *thread, const char *name) { mt_set_name(thread, name); }

const char *mltp_name(const mltp_t *thread) { return mt_name(thread); }

uint64_t mltp_id(const mltp_t *thread) { return thread->id; }
