/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anderson et al., III.D: work searches for processors. As III.C, and a central queue of
 * idle VPs. A VP that becomes idle while there is no backlog allocates a descriptor and a
 * stack, enters the queue, and spins on a flag of its own. Creation looks there first: it
 * takes a VP out, initialises the descriptor that VP has allocated, and sets the flag to it. So
 * allocation, and the lock that the idle VP needs, are off the path from the creation to
 * the start. Threads that are resumed are handed over likewise.
 *
 * An idle VP spins for MLTP_SPIN_US, then leaves the queue and sleeps like every VP of ours. A
 * waker that finds no VP in the queue puts the thread into the ready queue, and wakes a VP as
 * usual.
 *
 * A waker that takes a VP out of the queue, under its lock, has to set its flag or to put it back.
 * The VP waits for that, since the waker is only a few instructions away.
 *
 * Relaxed: the queue changes under its lock, and is looked at before; the flag as a hint.
 */
#include "alternatives/strategy/ready_queue.h"
#include "alternatives/strategy/strategy.h"
#include "core/memory/descriptor.h"
#include "core/memory/stack.h"

static struct {
  struct mt_strategy_lock lock;
  struct mt_vp *first; /* [atomic] written under the lock; the last to have come */
} idle;

void mt_idleq_init(void) { __builtin_memset(&idle, 0, sizeof idle); }

static void enqueue(struct mt_vp *caller, struct mt_vp *vp) {
  mt_strategy_acquire(caller, &idle.lock);
  vp->alternative->idle_next = idle.first;
  mt_store_relaxed(&idle.first, vp);
  mt_store_relaxed(&vp->alternative->queued, 1);
  mt_strategy_release(caller, &idle.lock);
}

/* caller: the VP that looks for one; NULL: outside. */
static struct mt_vp *dequeue(struct mt_vp *caller) {
  if (mt_load_relaxed(&idle.first) == NULL) return NULL;
  mt_strategy_acquire(caller, &idle.lock);
  struct mt_vp *vp = idle.first;
  if (vp != NULL) {
    mt_store_relaxed(&idle.first, vp->alternative->idle_next);
    mt_store_relaxed(&vp->alternative->queued, 0);
  }
  mt_strategy_release(caller, &idle.lock);
  return vp;
}

/* ---- the idle VP */

static void preallocate(struct mt_vp *vp) {
  if (vp->alternative->spare == NULL) vp->alternative->spare = mt_freelist_take(vp);
  if (vp->alternative->spare == NULL) vp->alternative->spare = mt_descriptor_from_slab(NULL);
  if (vp->caches.stacks.head != NULL) return;
  struct mt_stack *stack = mt_stack_new(vp, mt_rt.stack_class);
  if (stack != NULL) mt_stack_free(vp, stack); /* its list holds one */
}

void mt_idleq_enter(struct mt_vp *vp) {
  if (mt_strategy_waiting(vp) != 0) return; /* a backlog */
  preallocate(vp);
  vp->alternative->waits = 1;
  enqueue(vp, vp);
}

/* @return false: a waker has taken it out. */
static bool unlink_self(struct mt_vp *vp) {
  mt_strategy_acquire(vp, &idle.lock);
  bool queued = mt_load_relaxed(&vp->alternative->queued);
  struct mt_vp **link = &idle.first;
  while (queued && *link != vp) link = &(*link)->alternative->idle_next;
  if (queued) mt_store_relaxed(link, vp->alternative->idle_next);
  mt_store_relaxed(&vp->alternative->queued, 0);
  mt_strategy_release(vp, &idle.lock);
  return queued;
}

bool mt_idleq_leave(struct mt_vp *vp) {
  if (!vp->alternative->waits) return false;
  for (unsigned round = 0;; mt_relax(&round)) {
    if (mt_load_relaxed(&vp->alternative->handed) != NULL) break;
    if (unlink_self(vp)) break;
  }
  vp->alternative->waits = 0;
  return mt_load_relaxed(&vp->alternative->handed) != NULL;
}

/* A thread that was handed over is the VP's own list, and needs no lock. */
static struct mt_ready_queue *choose(struct mt_vp *vp) {
  /* IQ-2 acquire: the thread; pairs IQ-1 */
  struct mltp_thread *t = mt_load_acquire(&vp->alternative->handed);
  if (t == NULL) return &mt_ready_queues[0];
  mt_store_relaxed(&vp->alternative->handed, NULL); /* relaxed: it is in no queue */
  t->next = t->prev = NULL;
  vp->runq.head = vp->runq.tail = t;
  mt_store_relaxed(&vp->runq.length, 1);
  return NULL;
}

/* ---- giving work to an idle VP */

static struct mltp_thread *take_prepared(struct mt_vp *vp) {
  struct mt_vp *to = vp->alternative->hands_to = dequeue(vp);
  struct mltp_thread *t = to != NULL ? to->alternative->spare : NULL;
  if (t == NULL) return mt_freelist_take(vp);
  to->alternative->spare = NULL;
  return t;
}

static bool hand_over(struct mt_vp *vp, struct mltp_thread *t) {
  struct mt_vp *to = vp != NULL ? vp->alternative->hands_to : NULL;
  if (vp != NULL) vp->alternative->hands_to = NULL;
  if (to == NULL) to = dequeue(vp);
  if (to == NULL) return mt_central_ready(vp, t);
  mt_set_where(t, MT_MAILED, to->index);
  mt_store_release(&to->alternative->handed, t); /* IQ-1 release: the thread; pairs IQ-2 */
  return false;
}

void mt_idleq_forget(struct mt_vp *vp) {
  struct mt_vp *to = vp->alternative->hands_to;
  vp->alternative->hands_to = NULL;
  if (to != NULL) enqueue(vp, to);
}

const struct mt_strategy mt_strategy_idleq = {
    .choose = choose,
    .ready = hand_over,
    .descriptor_new = take_prepared,
    .descriptor_free = mt_freelist_put,
    .stacks = 1,
    .stack_reuse = true,
    .idle_queue = true,
};
