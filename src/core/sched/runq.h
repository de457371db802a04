/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file runq.h
 * The run queue of a VP: first in, first out, owned by the VP, open to thieves.
 *
 * The owner enters and leaves at every scheduling point, so that must cost next
 * to nothing: two plain stores and a load. Thieves are rare and pay for it.
 *
 * Protocol (explored by tests/models/runq.pml):
 *   owner   inside = 1; light fence; if claim != 0 go to mt_runq_claimed();
 *           ... list ...; inside = 0 (release)
 *   thief   claim: 0 -> request (its index + 1), and waits a little: an owner
 *           that comes by gives it half the list by way of the thief's inbox.
 *           A thief that has something meanwhile takes its request back.
 *           An owner that does not come by is busy in one thread; then
 *           claim: request -> LOCKED; heavy fence; waits for inside == 0;
 *           ... list ...; claim = 0 (release)
 * Light and heavy fence: either the owner sees LOCKED or the thief sees inside.
 * An owner that sees LOCKED steps out and waits; the thief's part is short.
 *
 * The owner stays inside across a switch: a thread that yields is in the list
 * while its registers are still being saved, and no thief may see it before.
 *
 * The inbox is a stack onto which anyone pushes with a compare-and-swap and
 * which is only ever taken whole: no ABA. Linked by next; a thread in it may bring
 * others along, in prev, which follow it.
 *
 * Rejected: an array deque (no removal from the middle, which mltp_yield_to and
 * join need); a lock per queue or a compare-and-swap per pop (most of the
 * time of a switch); membarrier at every theft (slow where interprocessor interrupts
 * are, and it disturbs all VPs; the request costs two cache misses).
 *
 * Relaxed: length and tick are hints; the list itself is read only inside or
 * under LOCKED.
 */
#ifndef MT_CORE_SCHED_RUNQ_H
#define MT_CORE_SCHED_RUNQ_H

#include "base/fence.h"
#include "base/log.h"
#include "core/vp/vp.h"

enum {
  MT_CLAIM_LOCKED = 1u << 16,     /**< a thief is in the list */
  MT_CLAIM_PROBE = 1u << 17,      /**< the owner has to look at the runtime's state */
  MT_CLAIM_ALTERNATIVE = 1u << 18 /**< always there if an alternative lends lists */
};

/** @return true when the thread is ready in exactly this VP's run queue. Exact
 * for the owner of that queue while it is inside. */
static inline bool mt_is_ready_on(const struct mltp_thread *t, const struct mt_vp *vp) {
  return mt_load_relaxed(&t->where) == mt_where(MT_READY, vp->runq.index);
}

/** Makes the next scheduling point check. */
static inline void mt_probe_here(struct mt_vp *vp) {
  vp->points.probe = 1;
  vp->points.check_at = mt_load_relaxed(&vp->points.tick) + 1;
}

/** The slow part of entering: serves a request, waits for a thief, notes a probe. Implemented by
 * runq_steal.c, which posts threads. */
void mt_runq_claimed(struct mt_vp *vp);

/** The same for mt_runq_enter_own(). @return false: an alternative manages threads. */
bool mt_runq_claimed_own(struct mt_vp *vp);

/** Returns a list that an alternative has lent. */
void mt_runq_return(struct mt_vp *vp);

/** @return whether others want something of the owner, which has stepped inside. */
static inline bool mt_runq_step_in(struct mt_vp *vp) {
  mt_store_relaxed(&vp->runq.inside, 1); /* relaxed: the fence orders it */
  mt_fence_light();                      /* RQ-1 light fence: inside before claim; pairs RQ-4 */
  return mt_unlikely(mt_load_acquire(&vp->runq.claim) != 0); /* RQ-2 acquire: pairs RQ-6 RQ-10 */
}

static inline void mt_runq_enter(struct mt_vp *vp) {
  if (mt_runq_step_in(vp)) mt_runq_claimed(vp);
}

/** The same for what only the library's own scheduler does. @return false, outside: an
 * alternative manages threads. */
static inline bool mt_runq_enter_own(struct mt_vp *vp) {
  return !mt_runq_step_in(vp) || mt_runq_claimed_own(vp);
}

/** Leaves, where the list cannot be lent, or is given back later (mt_after_switch()). */
static inline void mt_runq_leave_own(struct mt_vp *vp) {
  mt_store_release(&vp->runq.inside, 0); /* RQ-3 release: publishes the list; pairs RQ-5 */
}

static inline void mt_runq_leave(struct mt_vp *vp) {
  if (mt_unlikely(vp->ctx.after & MT_AFTER_RETURN)) mt_runq_return(vp);
  mt_runq_leave_own(vp);
}

/* The following are called inside, or by a thief under LOCKED. */

static inline void mt_runq_push(struct mt_vp *vp, struct mltp_thread *t) {
  struct mt_runq *q = &vp->runq;
  MT_ASSERT(mt_state(t) != MT_DONE);
  mt_set_where(t, MT_READY, vp->runq.index);
  t->next = NULL;
  t->prev = q->tail;
  if (q->tail != NULL)
    q->tail->next = t;
  else
    q->head = t;
  q->tail = t;
  mt_store_relaxed(&q->length, q->length + 1);
}

static inline void mt_runq_push_front(struct mt_vp *vp, struct mltp_thread *t) {
  struct mt_runq *q = &vp->runq;
  mt_set_where(t, MT_READY, vp->runq.index);
  t->prev = NULL;
  t->next = q->head;
  if (q->head != NULL)
    q->head->prev = t;
  else
    q->tail = t;
  q->head = t;
  mt_store_relaxed(&q->length, q->length + 1);
}

enum { MT_TICKS_PER_JUMP = 4 };

/** Adds a thread that becomes ready at the end. A thread of high priority enters in front, at most
 * once in a number of scheduling points, so that the other threads run as well. */
static inline void mt_runq_push_ready(struct mt_vp *vp, struct mltp_thread *t) {
  if (mt_likely((t->special & MT_HIGH) == 0) ||
      mt_load_relaxed(&vp->points.tick) - vp->points.jumped_at < MT_TICKS_PER_JUMP) {
    mt_runq_push(vp, t);
  } else {
    vp->points.jumped_at = mt_load_relaxed(&vp->points.tick);
    mt_runq_push_front(vp, t);
  }
}

static inline struct mltp_thread *mt_runq_pop(struct mt_vp *vp) {
  struct mt_runq *q = &vp->runq;
  struct mltp_thread *t = q->head;
  if (t == NULL) return NULL;
  q->head = t->next;
  if (q->head != NULL) {
    q->head->prev = NULL;
    mt_arch_prefetch(q->head->context.sp); /* its stack is needed next but one */
  } else {
    q->tail = NULL;
  }
  mt_store_relaxed(&q->length, q->length - 1);
  return t;
}

/** Takes the first thread and puts another at the end. The queue is not empty. */
static inline struct mltp_thread *mt_runq_rotate(struct mt_vp *vp, struct mltp_thread *t) {
  struct mt_runq *q = &vp->runq;
  struct mltp_thread *first = q->head, *second = first->next;
  mt_set_where(t, MT_READY, vp->runq.index);
  t->next = NULL;
  if (second != NULL) {
    t->prev = q->tail;
    q->tail->next = t;
    second->prev = NULL;
    q->head = second;
    mt_arch_prefetch(second->context.sp); /* its stack is needed next but one */
  } else {
    t->prev = NULL;
    q->head = t;
  }
  q->tail = t;
  return first;
}

/** Takes the first thread and puts another in its place. The queue is not empty. */
static inline struct mltp_thread *mt_runq_swap(struct mt_vp *vp, struct mltp_thread *t) {
  struct mltp_thread *first = mt_runq_pop(vp);
  mt_runq_push_front(vp, t);
  return first;
}

static inline void mt_runq_remove(struct mt_vp *vp, struct mltp_thread *t) {
  struct mt_runq *q = &vp->runq;
  if (t->prev != NULL)
    t->prev->next = t->next;
  else
    q->head = t->next;
  if (t->next != NULL)
    t->next->prev = t->prev;
  else
    q->tail = t->prev;
  mt_store_relaxed(&q->length, q->length - 1);
}

/** Moves the inbox, oldest first, to the end of the list. Inside. */
void mt_runq_drain(struct mt_vp *vp);

/** Adds threads linked by next, each as one that becomes ready. Inside. */
void mt_runq_push_chain(struct mt_vp *vp, struct mltp_thread *first);

/** Takes up to count threads off the front of the list, linked by next. Inside. */
struct mltp_thread *mt_runq_take_front(struct mt_vp *vp, uint32_t count, struct mltp_thread **last);

/* Any kernel thread may call the following, outside the run queue. */

/** Takes the whole inbox: the oldest first, linked by next; NULL when empty. */
struct mltp_thread *mt_runq_take_inbox(struct mt_vp *vp, struct mltp_thread **last);

/** Posts threads linked by next, first to last in the order they shall run in.
 * Does not wake the VP (sched.h does). */
void mt_runq_post(struct mt_vp *to, struct mltp_thread *first, struct mltp_thread *last);

/** Posts threads that ran on that VP last, linked by next up to NULL, and touches but the
 * first: the others' cache lines stay where they are. Until the VP takes them in they look
 * parked. */
void mt_runq_post_whole(struct mt_vp *to, struct mltp_thread *first);

/** @return true when the VP seems to have threads that are not running. */
static inline bool mt_runq_seems_busy(const struct mt_vp *vp) {
  return mt_load_relaxed(&vp->runq.length) != 0 || mt_load_relaxed(&vp->runq.inbox) != NULL;
}

/** Asks the owner to look at the runtime's state at its next scheduling point. */
void mt_runq_probe(struct mt_vp *vp);

#endif
