/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making threads ready, yielding.
 *
 * Relaxed: a VP's own fields, the deadline of its first timer and another VP's status as hints.
 */
#include "core/sched/sched.h"

#include <errno.h>

#include "base/log.h"
#include "base/options.h"
#include "core/det/det.h"
#include "core/memory/stack.h"
#include "core/sched/poll.h"
#include "core/sched/silence.h"
#include "core/sched/stack_wait.h"
#include "core/sched/steal.h"
#include "core/timer/timer.h"
#include "core/vp/alternative.h"
#include "core/vp/vp.h"
#include "mltp/sched.h"

bool mt_check(struct mt_vp *vp) {
  if (mt_det_on) return mt_det_check(vp);
  if (mt_unlikely(vp->timers.unwatched) && mt_runq_seems_busy(vp)) mt_timers_watch(vp);
  if (mt_probes_late()) {
    vp->points.check_at = mt_load_relaxed(&vp->points.tick); /* check at the next point, too */
    return false;
  }
  vp->points.check_at = mt_load_relaxed(&vp->points.tick) + MT_TICKS_PER_CHECK;
  mt_share_probe();
  if (vp->points.probe || mt_over_target()) return false;    /* the second: Deactivate (share.h) */
  uint64_t earliest = mt_load_relaxed(&vp->timers.earliest); /* relaxed: a hint; own VP's */
  bool look = vp->points.check_at / MT_TICKS_PER_CHECK % MT_CHECKS_PER_CLOCK == 0;
  /* Another VP may be blocked in the kernel, or busy in one thread, with timers that are due. */
  if (look) earliest = mt_timers_earliest();
  if (look) mt_watch_pass_on();
  if (earliest == MLTP_NEVER && !look && mt_poller() == NULL) return true;
  uint64_t now = mt_vp_now(vp);
  mt_share_look(vp, now);
  mt_look_for_silence(now);
  return earliest > now && !mt_poll_is_due(now) && !mt_stacks_trim_is_due(now) &&
         !mt_stacks_are_awaited();
}

/* A thread that will not come back: its stack, or main on its way to VP 0. */
static void after_end(struct mt_vp *vp) {
  struct mt_stack *stack = vp->ctx.after_stack;
  struct mltp_thread *home = vp->ctx.after_home;
  vp->ctx.after_stack = NULL;
  vp->ctx.after_home = NULL;
  if (stack != NULL) {
    mt_sanitizer_end(&vp->dead);
    mt_stack_free(vp, stack);
  }
  if (home != NULL) mt_post(mt_rt.vps[0], home, home);
}

/* A lent list goes back before the lists of stacks are locked, unless its lock is theirs. */
void mt_after_more(struct mt_vp *vp, uint8_t after) {
  bool lent = (after & MT_AFTER_RETURN) != 0;
  bool early = lent && !mt_alternative->locks_pools;
  if (early) mt_alternative->leave(vp);
  if (after & MT_AFTER_ARRIVE) mt_announce_arrival();
  if (after & MT_AFTER_UNLOCK) mt_ilock_unlock(vp->ctx.after_unlock);
  if (after & MT_AFTER_END) after_end(vp);
  if (lent && !early) mt_alternative->leave(vp);
}

void mt_bind_stack(struct mltp_thread *t, struct mt_stack *stack) {
  t->special &= (uint8_t)~(MT_FRESH | MT_OWN_STACK);
  t->stack = stack;
  mt_sanitizer_stack(&t->sanitizer, stack->low, mt_stack_size(stack));
  mt_sanitizer_begin(&t->sanitizer);
  mt_context_init(&t->context, stack);
}

/* A stack that was in use before: one of the class if there is one, otherwise a larger one that no
 * thread waits for. */
static struct mt_stack *reuse(struct mt_vp *vp, int class_log2) {
  struct mt_stack *stack = mt_stack_reuse(vp, class_log2);
  while (stack == NULL && ++class_log2 <= MT_STACK_CLASS_MAX)
    if (!mt_stack_is_awaited(class_log2)) stack = mt_stack_reuse(vp, class_log2);
  return stack;
}

bool mt_prepare(struct mt_vp *vp, struct mltp_thread *t) {
  struct mt_stack *stack = mt_stack_new(vp, t->stack_class);
  if (mt_unlikely(stack == NULL)) stack = reuse(vp, t->stack_class);
  if (mt_unlikely(stack == NULL)) {
    mt_stack_await(vp, t);
    return false;
  }
  mt_bind_stack(t, stack);
  return true;
}

void mt_stacks_give(struct mt_vp *vp) {
  for (int log2 = MT_STACK_CLASS_MAX; log2 >= MT_STACK_CLASS_MIN; log2--) {
    while (mt_stack_is_awaited(log2)) {
      struct mt_stack *stack = reuse(vp, log2);
      struct mltp_thread *t = stack != NULL ? mt_stack_wait_end(log2) : NULL;
      if (t == NULL) {
        if (stack != NULL) mt_stack_free(vp, stack); /* another VP has helped the last one */
        break;
      }
      mt_bind_stack(t, stack);
      mt_store_relaxed(&t->why, MT_WHY_NOTHING); /* relaxed: for reports */
      mt_ready_here(vp, t);
    }
  }
}

/* A thread of low priority that comes first goes to the end once if others are ready, so it waits
 * for two rounds of the queue at most. The thread that gives way now does not count as another. */
static struct mltp_thread *put_off_low(struct mt_vp *vp, struct mltp_thread *t) {
  while ((t->special & (MT_LOW | MT_PUT_OFF)) == MT_LOW && vp->runq.head != NULL &&
         vp->runq.head != mt_current()) {
    t->special |= MT_PUT_OFF;
    mt_runq_push(vp, t);
    t = mt_runq_pop(vp);
  }
  t->special &= (uint8_t)~MT_PUT_OFF;
  return t;
}

/* @return the next thread after one that waits for a stack now. The thread that gives way is no
 * thread to switch to: the idle context comes between. */
static struct mltp_thread *next_instead(struct mt_vp *vp) {
  struct mltp_thread *t = mt_runq_pop(vp);
  if (t != NULL && t != mt_current()) return t;
  if (t != NULL) mt_runq_push_front(vp, t);
  return &vp->idle;
}

struct mltp_thread *mt_prepare_special(struct mt_vp *vp, struct mltp_thread *t) {
  while (t->special != 0) {
    t = put_off_low(vp, t);
    if (t->special & MT_INTERRUPTED) {
      t->special &= (uint8_t)~MT_INTERRUPTED;
      vp->paths.interrupted--;
    }
    if ((t->special & MT_FRESH) == 0) break;
    if (vp->ctx.after & MT_AFTER_RETURN) mt_alternative->starts(vp, t);
    if (mt_prepare(vp, t)) break;
    t = next_instead(vp);
  }
  return t;
}

void mt_exchange_errno(struct mt_vp *vp, struct mltp_thread *from, struct mltp_thread *to) {
  from->saved_errno = *vp->ctx.errno_at;
  *vp->ctx.errno_at = to->saved_errno;
  to->saved_errno = 0;
}

static void exchange_exceptions(struct mt_eh_globals *eh, struct mltp_thread *from,
                                struct mltp_thread *to) {
  bool had = eh->caught != NULL || eh->uncaught != 0, has = (to->own & MT_OWN_EXCEPTIONS) != 0;
  if (!had && !has) return; /* do not write: without a C++ runtime all VPs share it */
  from->eh_caught = eh->caught;
  from->eh_uncaught = eh->uncaught;
  if (had) from->own |= MT_OWN_EXCEPTIONS;
  eh->caught = has ? to->eh_caught : NULL;
  eh->uncaught = has ? to->eh_uncaught : 0;
  to->own &= (uint8_t)~MT_OWN_EXCEPTIONS;
}

static inline enum mt_arch_fp_form fp_form(const struct mltp_thread *t) {
  return (enum mt_arch_fp_form)(t->own / MT_OWN_FP_FORM);
}

static inline void set_fp_form(struct mltp_thread *t, enum mt_arch_fp_form form) {
  t->own = (uint8_t)(t->own % MT_OWN_FP_FORM | form * MT_OWN_FP_FORM);
}

/* Threads without control of their own share the VP's: what one of them sets stays. */
static void exchange_fp(struct mt_vp *vp, struct mltp_thread *from, const struct mltp_thread *to) {
  bool own = (to->own & MT_OWN_FP) != 0, had = vp->ctx.own_fp != 0;
  if (!had && !own) return;
  enum mt_arch_fp_form form =
      mt_arch_fp_exchange(had ? &from->fp : &vp->ctx.fp, own ? &to->fp : &vp->ctx.fp,
                          own ? fp_form(to) : vp->ctx.fp_form);
  if (had)
    set_fp_form(from, form);
  else
    vp->ctx.fp_form = form;
  vp->ctx.own_fp = own;
}

void (*mt_switch_hook)(uint32_t number);

static inline void call_hook(const struct mltp_thread *to) {
  void (*prepare)(uint32_t) = mt_load_acquire(&mt_switch_hook); /* SD-2 acquire: pairs SD-1 */
  if (mt_unlikely(prepare != NULL)) prepare((to->own & MT_OWN_NUMBER) != 0 ? to->number : 0);
}

static __attribute__((noinline)) void exchange_all(struct mt_vp *vp, struct mltp_thread *from,
                                                   struct mltp_thread *to) {
  exchange_exceptions(vp->ctx.eh_at, from, to);
  exchange_fp(vp, from, to);
  call_hook(to);
}

/* From one MPI rank to another, which each message may take, only FP control changes. */
void mt_exchange_own(struct mt_vp *vp, struct mltp_thread *from, struct mltp_thread *to) {
  const struct mt_eh_globals *eh = vp->ctx.eh_at;
  bool fp_only = (to->own & (MT_OWN_FP | MT_OWN_EXCEPTIONS)) == MT_OWN_FP && vp->ctx.own_fp != 0;
  if (mt_unlikely(!fp_only || ((uintptr_t)eh->caught | eh->uncaught) != 0)) {
    exchange_all(vp, from, to);
    return;
  }
  set_fp_form(from, mt_arch_fp_exchange(&from->fp, &to->fp, fp_form(to)));
  call_hook(to);
}

void mt_ready_otherwise(struct mt_vp *vp, struct mltp_thread *t) { mt_alternative->ready(vp, t); }

/* A VP that has nothing to run takes a thread whose VP sleeps: a sleeper's wake-up costs more than
 * its cache is worth. Only the first: others start sooner at their own VPs.
 *
 * Relaxed: the watchdog delivers events while it is among the sleepers. If a waker counts it as
 * searching at that moment, it is on its way to its queue, and may take the thread or not. */
static bool takes(const struct mt_vp *here, const struct mltp_thread *t) {
  return here != NULL && mt_load_relaxed(&here->search.searching) && !mt_runq_seems_busy(here) &&
         mt_load_relaxed(&t->vp->sleep.status) == MT_VP_ASLEEP;
}

/* The caller runs on another VP than the thread did, or on none. Not inlined: mt_ready() on the
 * same VP then needs no frame. */
__attribute__((noinline)) static void ready_remote(struct mt_vp *here, struct mltp_thread *t) {
  if (mt_has_alternative())
    mt_alternative->ready(here, t);
  else if (takes(here, t))
    mt_ready_quietly(here, t); /* it looks for more when its search ends */
  else
    mt_post(t->vp, t, t);
}

void mt_ready(struct mltp_thread *t) {
  struct mt_vp *here = mt_here(), *home = t->vp;
  if (here == home)
    mt_ready_here(here, t);
  else
    ready_remote(here, t);
}

void mt_ready_elsewhere(struct mltp_thread *t) {
  if (mt_has_alternative()) {
    mt_alternative->ready(NULL, t);
    return;
  }
  uint32_t count = mt_vp_count();
  uint32_t turn = mt_add_relaxed(&mt_rt.outside.next_vp, 1); /* relaxed: any spread will do */
  mt_post(mt_rt.vps[turn % count], t, t);
}

/* Threads of up to HOMES other VPs are posted as one chain for each. */
void mt_ready_chain(struct mltp_thread *first) {
  enum { HOMES = 8 };
  struct {
    struct mt_vp *vp;
    struct mltp_thread *first, *last;
  } chains[HOMES];
  int used = 0;
  struct mt_vp *here = mt_here();
  if (mt_has_alternative()) {
    mt_alternative->ready_chain(here, first);
    return;
  }
  if (here != NULL) mt_runq_enter(here);
  for (struct mltp_thread *t = first, *next; t != NULL; t = next) {
    next = t->next;
    if (t->vp == here) {
      mt_runq_push_ready(here, t);
      continue;
    }
    int i = 0;
    while (i < used && chains[i].vp != t->vp) i++;
    if (i == used && used < HOMES) {
      chains[used].vp = t->vp;
      chains[used].last = NULL;
      used++;
    } else if (i == HOMES) { /* many homes: the last chain is a mixed one */
      i = HOMES - 1;
    }
    t->next = NULL;
    if (chains[i].last != NULL)
      chains[i].last->next = t;
    else
      chains[i].first = t;
    chains[i].last = t;
  }
  if (here != NULL) {
    mt_runq_leave_own(here);
    mt_notice(here);
  }
  for (int i = 0; i < used; i++) mt_post(chains[i].vp, chains[i].first, chains[i].last);
}

/* ---- yielding */

/* Inlined twice: the test of to_front and a frame more cost as much as a third of a switch. */
__attribute__((always_inline)) static inline bool yield_on(struct mltp_thread *self,
                                                           bool to_front) {
  struct mt_vp *vp = self->vp;
  struct mltp_thread *next = &vp->idle;
  mt_runq_enter(vp);
  if (mt_likely(mt_tick(vp))) {
    if (vp->runq.head == NULL) {
      mt_runq_leave(vp);
      return false;
    }
    next = mt_prepared(vp, to_front ? mt_runq_swap(vp, self) : mt_runq_rotate(vp, self));
  } else {
    mt_runq_push(vp, self);
  }
  mt_switch(self, next);
  return true;
}

/* Alone on this VP: what the caller waits for may be stuck behind a busy thread
 * on another. */
static void yield_alone(struct mltp_thread *self) {
  struct mt_vp *vp = self->vp;
  if (mt_load_relaxed(&vp->points.tick) + MT_TICKS_PER_CHECK == vp->points.check_at)
    mt_steal_some(vp);
}

void mltp_yield(void) {
  struct mltp_thread *self = mt_current();
  if (self == NULL || self->vp == NULL)
    os_yield();
  else if (!yield_on(self, false))
    yield_alone(self);
}

void mltp_yield_to_first(void) {
  struct mltp_thread *self = mt_current();
  if (self == NULL || self->vp == NULL)
    os_yield();
  else if (!yield_on(self, true))
    yield_alone(self);
}

/* A scheduling point like any other: at each check the thread at the front runs, or two
 * threads that yield to each other would keep the rest from running. Inside. */
static bool may_choose(struct mt_vp *vp) {
  uint32_t tick = mt_load_relaxed(&vp->points.tick) + 1;
  /* In deterministic mode every scheduling point is a check. */
  bool due =
      mt_det_on ? tick % MT_TICKS_PER_CHECK == 0 : (int32_t)(tick - vp->points.check_at) >= 0;
  if (due) return false;
  mt_store_relaxed(&vp->points.tick, tick);
  return true;
}

int mltp_yield_to(mltp_t *thread) {
  struct mltp_thread *self = mt_current();
  struct mt_vp *vp = self != NULL ? self->vp : NULL;
  if (vp != NULL) {
    mt_runq_enter(vp);
    if (mt_is_ready_on(thread, vp) && may_choose(vp)) {
      mt_runq_remove(vp, thread);
      if (thread->special & MT_LOW) thread->special |= MT_PUT_OFF; /* it is wanted now */
      mt_runq_push(vp, self);
      mt_switch(self, mt_prepared(vp, thread));
      return 0;
    }
    mt_runq_leave(vp);
  }
  mltp_yield();
  return EAGAIN;
}
