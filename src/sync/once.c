/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doing something once. The state changes under the internal lock; only DONE can be seen
 * without it. The runner holds nothing while it runs func, and other callers wait in the
 * queue meanwhile.
 *
 * A frame notes that func runs. It is left in one of three ways, and each settles the
 * matter: func returns; a C++ exception passes (the cleanup attribute; this file is
 * compiled with -fexceptions); mltp_exit() undoes it (struct mt_undo).
 *
 * Relaxed: a change that only callers under the internal lock use.
 *
 * Rejected: DONE whatever func does, as in Go: the next caller would find half of its work.
 */
#include "mltp/once.h"

#include <errno.h>

#include "base/log.h"
#include "core/det/det.h"
#include "core/wait/park.h"

enum { NEW, RUNNING, DONE };

struct call {
  struct mt_undo undo; /* first */
  mltp_once_t *once;
  uint32_t outcome; /* NEW, until func has returned */
};

static void settle(struct mt_undo *undo) {
  struct call *call = (struct call *)undo;
  mltp_once_t *once = call->once;
  mt_step("once: settle");
  mt_ilock_lock(&once->queue_.ilock_);
  once->runner_ = NULL;
  mt_store_release(&once->state_, call->outcome); /* ON-2 release: what func did; pairs ON-1 */
  struct mltp_thread *waiters = mt_waitq_take_all(&once->queue_);
  mt_ilock_unlock(&once->queue_.ilock_);
  mt_resume_chain(waiters);
}

static void leave(struct call *call) {
  mt_undo_pop(mt_current(), &call->undo);
  settle(&call->undo);
}

static void run(mltp_once_t *once, struct mltp_thread *self, mltp_once_func_t *func, void *arg) {
  struct call call __attribute__((cleanup(leave))) = {{NULL, settle}, once, NEW};
  mt_undo_push(self, &call.undo);
  func(arg);
  call.outcome = DONE;
}

static int once_slow(mltp_once_t *once, mltp_once_func_t *func, void *arg) {
  struct mltp_thread *self = mt_self("mltp_once");
  if (self == NULL) return EPERM;
  mt_preempt("mltp_once");
  mltp_waitq_t *q = &once->queue_;
  while (true) {
    mt_ilock_lock(&q->ilock_);
    if (once->state_ != RUNNING) break;
    if (once->runner_ == self) {
      mt_ilock_unlock(&q->ilock_);
      return mt_misuse(EDEADLK, "mltp_once", self->id, mt_name(self),
                       "once %p is called by the very function it runs (do not nest it)",
                       (void *)once);
    }
    mt_wait(self, q, false, MT_WHY_ONCE, NULL);
  }
  bool done = once->state_ == DONE;
  if (!done) {
    mt_store_relaxed(&once->state_, RUNNING); /* relaxed: all but DONE is under the internal lock */
    once->runner_ = self;
  }
  mt_ilock_unlock(&q->ilock_);
  if (!done) run(once, self, func, arg);
  mt_preempt("mltp_once");
  return 0;
}

int mltp_once(mltp_once_t *once, mltp_once_func_t *func, void *arg) {
  if (mt_likely(mt_load_acquire(&once->state_) == DONE)) return 0; /* ON-1 acquire: pairs ON-2 */
  return once_slow(once, func, arg);
}
