/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sched.h
 * The scheduling point: choose the next thread, switch to it directly, finish
 * what the last one left to do. What a ready thread does to the queues is
 * mt_ready()'s and mt_next()'s business only; strategy.h has other ways.
 *
 * Relaxed: the owner's own fields, and the inbox as a hint (the drain acquires).
 */
#ifndef MT_CORE_SCHED_SCHED_H
#define MT_CORE_SCHED_SCHED_H

#include "base/options.h"
#include "core/memory/stack.h"
#include "core/sched/runq.h"
#include "core/sched/share.h"
#include "core/sched/wake.h"
#include "instrument/probes.h"

enum {
  MT_TICKS_PER_CHECK = 64,
  MT_CHECKS_PER_CLOCK = 16 /* a busy VP without timers reads the clock so rarely */
};

/** The rare parts of a scheduling point: timers, resizing. Inside. @return false:
 * the idle context has to run next. */
bool mt_check(struct mt_vp *vp);

/** What is left to do after a switch, if more than to release an internal lock: MT_AFTER_... */
void mt_after_more(struct mt_vp *vp, uint8_t after);

/** Binds a stack to a fresh thread, which begins at its next turn. */
void mt_bind_stack(struct mltp_thread *t, struct mt_stack *stack);

/** Finds a stack for a fresh thread, and binds it. Inside or outside.
 * @return false: there is no memory for one, and the thread waits for it (stack_wait.h). */
bool mt_prepare(struct mt_vp *vp, struct mltp_thread *t);

/** Makes threads ready on the calling VP that waited for stacks, if there are some now. Outside. */
void mt_stacks_give(struct mt_vp *vp);

/** The rare part of mt_prepared(). */
struct mltp_thread *mt_prepare_special(struct mt_vp *vp, struct mltp_thread *t);

/** @param t the thread whose turn it is, out of the queue. @return the thread to switch to,
 * with a stack: t, or another if t lets it pass or waits for a stack; the idle context: no other
 * can run. Inside. */
static inline struct mltp_thread *mt_prepared(struct mt_vp *vp, struct mltp_thread *t) {
  return mt_likely(t->special == 0) ? t : mt_prepare_special(vp, t);
}

/** Moves posted threads into the list. On the way a thread is visible in neither, so VPs that may
 * have looked meanwhile are woken. Call it inside the run queue. */
static inline void mt_drain_inbox(struct mt_vp *vp) {
  if (mt_likely(mt_load_relaxed(&vp->runq.inbox) == NULL)) return;
  mt_runq_drain(vp);
  if (mt_load_relaxed(&vp->runq.length) > 1) mt_notice(vp);
}

/** Counts a scheduling point, takes in what was posted, and looks at timers and
 * at the runtime's state now and then. Inside. @return false: the idle context
 * has to run next. */
static inline bool mt_tick(struct mt_vp *vp) {
  mt_drain_inbox(vp);
  uint32_t tick = mt_load_relaxed(&vp->points.tick) + 1;
  mt_store_relaxed(&vp->points.tick, tick);
  /* two hints: with one for both, the compiler takes the check for the usual way */
  bool due = (int32_t)(tick - vp->points.check_at) >= 0;
  if (mt_unlikely(due) || mt_unlikely(mt_client_changed())) return mt_check(vp);
  return true;
}

/** @return the next thread to run, taken from the queue, perhaps fresh; NULL:
 * none; the idle context when the VP has something to check. Inside. */
static inline struct mltp_thread *mt_next(struct mt_vp *vp) {
  return mt_tick(vp) ? mt_runq_pop(vp) : &vp->idle;
}

/** Saves and restores errno, where it is not 0. */
void mt_exchange_errno(struct mt_vp *vp, struct mltp_thread *from, struct mltp_thread *to);

/** [atomic] Of mti_set_switch_hook(); NULL: none. */
extern void (*mt_switch_hook)(uint32_t number);

/** Saves and restores what few threads have: C++ exceptions, FP control of their own. */
void mt_exchange_own(struct mt_vp *vp, struct mltp_thread *from, struct mltp_thread *to);

/** @return a thread that can be switched to. Inside. */
static inline struct mltp_thread *mt_next_or_idle(struct mt_vp *vp) {
  struct mltp_thread *next = mt_next(vp);
  return next != NULL ? mt_prepared(vp, next) : &vp->idle;
}

/** Makes `to` the thread that runs on this VP. */
__attribute__((always_inline)) static inline void mt_run_as(struct mt_vp *vp,
                                                            const struct mltp_thread *from,
                                                            struct mltp_thread *to) {
  MT_PROBE2(switch, from, to);
  (void)from;
  to->vp = vp;
  mt_set_where(to, MT_RUNNING, vp->index);
  mt_set_current(to);
}

/** The same with its errno, its C++ exceptions and
 * its FP control. `from` is what they are saved to. */
__attribute__((always_inline)) static inline void mt_become(struct mt_vp *vp,
                                                            struct mltp_thread *from,
                                                            struct mltp_thread *to) {
  int error = *vp->ctx.errno_at;
  if (mt_unlikely((error | to->saved_errno) != 0)) mt_exchange_errno(vp, from, to);
  const struct mt_eh_globals *eh = vp->ctx.eh_at;
  if (mt_unlikely(((uintptr_t)eh->caught | eh->uncaught | vp->ctx.own_fp | to->own) != 0))
    mt_exchange_own(vp, from, to);
  mt_run_as(vp, from, to);
}

/** @return whether mt_become() has more to do than mt_run_as(). */
static inline bool mt_has_own(const struct mt_vp *vp, const struct mltp_thread *to) {
  const struct mt_eh_globals *eh = vp->ctx.eh_at;
  return (((uintptr_t)eh->caught | eh->uncaught | vp->ctx.own_fp | to->own) |
          (uint32_t)(*vp->ctx.errno_at | to->saved_errno)) != 0;
}

/** What every context does first when it is switched to. */
static inline void mt_after_switch(struct mt_vp *vp) {
  mt_runq_leave_own(vp);
  uint8_t after = vp->ctx.after;
  if (after == 0) return;
  vp->ctx.after = 0;
  if (mt_likely(after == MT_AFTER_UNLOCK))
    mt_ilock_unlock(vp->ctx.after_unlock);
  else
    mt_after_more(vp, after);
}

/** First on a fresh stack that was announced to AddressSanitizer; announce.c. */
void mt_announce_arrival(void);

/** The next two functions for other backends than the native one; announce.c. */
void mt_context_init_otherwise(struct arch_context *context, struct mt_stack *stack);
void mt_context_switch_otherwise(struct arch_context *from, const struct arch_context *to);

/** Makes *context start at mt_thread_start() on that stack. */
static inline void mt_context_init(struct arch_context *context, struct mt_stack *stack) {
  if (mt_unlikely(mt_options.backend != MT_BACKEND_NATIVE))
    mt_context_init_otherwise(context, stack);
  else
    mt_arch_context_init(context, mt_stack_top(stack));
}

/** Saves the running context in *from and resumes *to, by the backend's switch. The
 * choice costs the native one two instructions: a compare with a word that nobody
 * writes, and a branch that is never taken. */
__attribute__((always_inline)) static inline void mt_context_switch(struct arch_context *from,
                                                                    const struct arch_context *to) {
  if (mt_unlikely(mt_options.backend != MT_BACKEND_NATIVE))
    mt_context_switch_otherwise(from, to);
  else
    mt_arch_switch(from, to);
}

/** Switches from the calling thread to a prepared one. Entered inside, left
 * outside the run queue, perhaps on another VP. */
__attribute__((always_inline)) static inline void mt_switch(struct mltp_thread *from,
                                                            struct mltp_thread *to) {
  MT_ASSERT((to->special & MT_FRESH) == 0 && (to == &from->vp->idle || to->kind == MT_UNBOUND));
  mt_become(from->vp, from, to);
  mt_sanitizer_leave(&from->sanitizer, &to->sanitizer, 0);
  mt_context_switch(&from->context, &to->context);
  mt_sanitizer_arrive(&from->sanitizer);
  mt_after_switch(from->vp);
}

/** Makes a parked unbound thread ready: at the end of the queue of the VP it ran
 * on last, for its cache's sake (thesis 5.2). */
void mt_ready(struct mltp_thread *t);

/** The same for several, linked by next, with one post per VP. */
void mt_ready_chain(struct mltp_thread *first);

/** Makes a thread ready where an alternative says. */
void mt_ready_otherwise(struct mt_vp *vp, struct mltp_thread *t);

/** Puts a thread at the end of the calling VP's own run queue; a high one, perhaps, in
 * front. */
__attribute__((always_inline)) static inline void mt_ready_here(struct mt_vp *vp,
                                                                struct mltp_thread *t) {
  if (mt_unlikely(!mt_runq_enter_own(vp))) {
    mt_ready_otherwise(vp, t);
    return;
  }
  mt_runq_push_ready(vp, t);
  mt_runq_leave_own(vp);
  mt_notice(vp);
}

/** The same without a look for a VP to wake: the caller is about to take a thread itself, and looks
 * when it has made all of them ready (poll.c). */
static inline void mt_ready_quietly(struct mt_vp *vp, struct mltp_thread *t) {
  if (mt_unlikely(!mt_runq_enter_own(vp))) {
    mt_ready_otherwise(vp, t);
    return;
  }
  mt_runq_push_ready(vp, t);
  mt_runq_leave_own(vp);
}

/** The same for a fresh thread made outside: VPs take turns. */
void mt_ready_elsewhere(struct mltp_thread *t);

#endif
