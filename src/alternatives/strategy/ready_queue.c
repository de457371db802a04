/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ready queues with a lock, under which they lend their lists.
 *
 * Relaxed: lengths are hints for a look before the lock.
 */
#include "alternatives/strategy/ready_queue.h"

#include "base/options.h"
#include "core/sched/runq.h"

struct mt_ready_queue mt_ready_queues[MT_VPS_MAX];

static const struct mt_spin_ops *kind; /* [const after mltp_init()] */

void mt_strategy_lock_init(void) { kind = mt_spin_kinds[mt_options.spin]; }

void mt_strategy_acquire(struct mt_vp *vp, struct mt_strategy_lock *lock) {
  struct mt_spin_node outside = {NULL};
  mt_spin_acquire(kind, &lock->state, vp != NULL ? &vp->alternative->spin : &outside);
  if (vp != NULL)
    mt_count_owner(&vp->stats.locks);
  else
    mt_spin_node_end(&outside);
}

void mt_strategy_release(struct mt_vp *vp, struct mt_strategy_lock *lock) {
  struct mt_spin_node outside = {NULL};
  mt_spin_release(kind, &lock->state, vp != NULL ? &vp->alternative->spin : &outside);
  if (vp == NULL) mt_spin_node_end(&outside);
}

void mt_queue_lock(struct mt_vp *vp, struct mt_ready_queue *q) {
  mt_strategy_acquire(vp, &q->lock);
  if (vp != NULL) vp->alternative->holds = q;
}

void mt_queue_unlock(struct mt_vp *vp, struct mt_ready_queue *q) {
  if (vp != NULL) vp->alternative->holds = NULL;
  mt_strategy_release(vp, &q->lock);
}

/* As mt_runq_push_ready(): the queue is lent at each scheduling point. */
static bool may_jump(const struct mt_ready_queue *q, const struct mltp_thread *t) {
  return (t->special & MT_HIGH) != 0 && q->turns - q->jumped_at >= MT_TICKS_PER_JUMP;
}

void mt_queue_put(struct mt_ready_queue *q, struct mltp_thread *t) {
  bool front = may_jump(q, t);
  if (front) q->jumped_at = q->turns;
  t->prev = front ? NULL : q->tail;
  t->next = front ? q->head : NULL;
  *(t->prev != NULL ? &t->prev->next : &q->head) = t;
  *(t->next != NULL ? &t->next->prev : &q->tail) = t;
  mt_set_where(t, MT_READY, q->index);
  mt_store_relaxed(&q->length, q->length + 1);
}

/* The queue keeps its own length meanwhile, as a hint for other VPs. */
void mt_queue_lend(struct mt_vp *vp) {
  struct mt_ready_queue *q = vp->alternative->holds;
  q->turns++;
  vp->runq.head = q->head;
  vp->runq.tail = q->tail;
  vp->runq.index = q->index;
  mt_store_relaxed(&vp->runq.length, mt_queue_length(q));
  vp->ctx.after |= MT_AFTER_RETURN;
}

void mt_queue_take_back(struct mt_vp *vp) {
  struct mt_ready_queue *q = vp->alternative->holds;
  q->head = vp->runq.head;
  q->tail = vp->runq.tail;
  mt_store_relaxed(&q->length, vp->runq.length);
  vp->runq.head = vp->runq.tail = NULL;
  mt_store_relaxed(&vp->runq.length, 0);
  vp->ctx.after &= (uint8_t)~MT_AFTER_RETURN;
  mt_queue_unlock(vp, q);
}
