/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that do not run on VPs: bound ones, which have a kernel thread of their
 * own, and foreign ones, which this library did not make.
 *
 * Relaxed: counters that idle VPs and the deadlock report take as hints.
 */
#include "core/life/outside.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>

#include "base/fence.h"
#include "base/log.h"
#include "base/options.h"
#include "core/det/det.h"
#include "core/life/end.h"
#include "core/memory/descriptor.h"
#include "core/memory/stack.h"
#include "core/sched/idle.h"
#include "core/thread/key.h"
#include "core/vp/vp.h"
#include "core/wait/park.h"
#include "instrument/probes.h"

/* ---- foreign threads */

static pthread_key_t exit_key;
static bool exit_key_made; /* [const after the first mt_outside_init()] */

/* A foreign thread's kernel thread ends; or a bound thread's, by a call that it must not make. */
static void kernel_thread_ends(void *arg) {
  struct mltp_thread *t = arg;
  if (mt_current() == NULL) return; /* a bound thread ended as it should, but kept the value */
  if (t->kind == MT_BOUND) {
    os_report_alone();
    mt_message(
        "thread %lu '%s': pthread_exit() or pthread_cancel() ends its kernel thread (call "
        "mltp_exit() or mltp_cancel())",
        (unsigned long)t->id, mt_name(t));
    abort();
  }
  mt_values_end(t);
  mt_set_current(NULL);
  mt_add_relaxed(&mt_rt.outside.foreign_live, -1); /* relaxed: a hint for idle VPs */
  mt_foreign_free(t);
}

int mt_outside_init(void) {
  if (exit_key_made) return 0;
  int error = os_thread_exit_hook(&exit_key, kernel_thread_ends);
  exit_key_made = error == 0;
  return error;
}

/* Once. */
static void report_not_replayed(const char *call) {
  static uint32_t said;
  if (mt_add_relaxed(&said, 1) != 0) return; /* relaxed: nothing depends on it */
  mt_message(
      "%s: called by a foreign thread: when it comes is not replayed (with MLTP_SEED, let only the "
      "library's own threads take part)",
      call);
}

struct mltp_thread *mt_attach(const char *call) {
  if (!mt_load_acquire(&mt_rt.running)) { /* LF-3 acquire: pairs LF-4 */
    mt_options_read();                    /* MLTP_MISUSE may ask for an error code */
    mt_misuse(EPERM, call, 0, "", "%s", mt_not_running());
    return NULL;
  }
  struct mltp_thread *t = mt_foreign_new();
  if (t == NULL || os_thread_exit_value(exit_key, t) != 0) {
    mt_message("%s: a foreign thread got no descriptor: no memory (end some threads)", call);
    if (t != NULL) mt_foreign_free(t);
    return NULL;
  }
  os_thread_stack((char **)&t->stack_low, &t->stack_size);
  mt_add_relaxed(&mt_rt.outside.foreign_live, 1); /* relaxed: a hint for idle VPs */
  mt_set_current(t);
  if (mt_det_on) report_not_replayed(call);
  return t;
}

void mt_outside_watch(struct mltp_thread *self) { os_thread_exit_value(exit_key, self); }

void mt_outside_forget(const struct mltp_thread *self) {
  if (self != NULL && self->kind != MT_UNBOUND) os_thread_exit_value(exit_key, NULL);
}

/* ---- bound threads */

/* The last thing a bound thread's kernel thread does with the runtime; mt_rt is
 * never unmapped, so what follows in libc is safe at any time. */
static void leave_runtime(void) {
  os_sigstack_free();
  mt_add_acq_rel(&mt_rt.outside.bound_live,
                 -1); /* BD-1 acq_rel: its use of the runtime; pairs BD-2 */
  os_futex_wake(&mt_rt.outside.bound_live, 1);
}

static void finish(struct mltp_thread *self, void *result) {
  mt_values_end(self);
  mt_set_current(NULL); /* from mt_end() on, self may be freed */
  mt_end(self, result);
  mt_add_seq_cst(&mt_rt.outside.ended, 1); /* LV-4 seq_cst: as LV-1; pairs LV-3 */
  mt_fence_light(); /* LV-6 light fence: the end before the looks; pairs FN-3 ID-2 */
  mt_finalizer_check();
}

/* The target of mltp_exit() on this kernel thread, if a bound thread has it. */
static __thread jmp_buf bottom;

static void *bound_main(void *arg) {
  struct mltp_thread *self = arg;
  mt_set_current(self);
  mt_outside_watch(self);
  os_sigstack_make();
  os_thread_stack((char **)&self->stack_low, &self->stack_size);
  if (mt_stacks_are_executable()) os_enable((void *)self->stack_low, self->stack_size, true);
  MT_PROBE2(start, self, self->id);
  if (setjmp(bottom) == 0) self->result = mt_call_function(self);
  os_thread_exit_value(exit_key, NULL);
  if (mt_current() != self) return NULL; /* the last thread of a child of fork() */
  finish(self, self->result);
  mt_park_last();
  leave_runtime();
  return NULL;
}

int mt_bound_start(struct mltp_thread *t, size_t stack_size) {
  t->stack_low = NULL;
  t->stack_size = 0;
  t->token = 0;
  mt_add_relaxed(&mt_rt.outside.bound_live, 1); /* relaxed: before its kernel thread exists */
  int error = os_thread_start_detached(stack_size, bound_main, t);
  if (error != 0) mt_add_relaxed(&mt_rt.outside.bound_live, -1);
  return error;
}

/* A jump, not pthread_exit(): that unwinds, which runs C++ destructors, and stops the
 * program at a catch (...) or a noexcept function. Unbound threads do not unwind either. */
void mt_bound_finish(struct mltp_thread *self, void *result) {
  self->result = result;
  longjmp(bottom, 1);
}

void mt_bound_wait_all(void) {
  uint32_t live;
  while ((live = mt_load_acquire(&mt_rt.outside.bound_live)) != 0) /* BD-2 acquire: pairs BD-1 */
    os_futex_wait(&mt_rt.outside.bound_live, live, MLTP_NEVER);
}
