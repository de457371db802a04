/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anderson et al., III.E: a ready queue for each VP, with a lock each; free lists as in
 * III.C. A thread that becomes ready goes to a random queue, as in the paper's measurements:
 * a VP that creates all threads would make its own a central one. A VP without work scans the
 * queues, beginning with its own, and looks before it locks.
 *
 * Ours, not the paper's: now and then a VP begins elsewhere. The threads in the queue of a VP
 * that is blocked or busy would starve while the others have enough to do.
 */
#include "alternatives/strategy/ready_queue.h"
#include "alternatives/strategy/strategy.h"
#include "core/vp/vp.h"

enum { TURN = 16 /* scheduling points from one look at others' queues first to the next */ };

static struct mt_ready_queue *scan(struct mt_vp *vp) {
  uint32_t count = mt_vp_count(), first = vp->index;
  uint32_t tick = mt_load_relaxed(&vp->points.tick); /* relaxed: its own */
  if (tick % TURN == 0) first = tick / TURN % count;
  for (uint32_t i = 0; i < count; i++) {
    struct mt_ready_queue *q = &mt_ready_queues[(first + i) % count];
    if (mt_queue_length(q) != 0) return q;
  }
  return &mt_ready_queues[vp->index];
}

static uint32_t any_number(struct mt_vp *vp) {
  return vp != NULL ? mt_random(vp) >> 16 /* its low bits are the weaker ones */
                    : mt_add_relaxed(&mt_rt.outside.next_vp, 1); /* relaxed: any spread will do */
}

static bool put_anywhere(struct mt_vp *vp, struct mltp_thread *t) {
  struct mt_ready_queue *q = &mt_ready_queues[any_number(vp) % mt_vp_count()];
  mt_queue_lock(vp, q);
  mt_queue_put(q, t);
  mt_queue_unlock(vp, q);
  return true;
}

const struct mt_strategy mt_strategy_local = {
    .choose = scan,
    .ready = put_anywhere,
    .descriptor_new = mt_freelist_take,
    .descriptor_free = mt_freelist_put,
    .stacks = 1,
    .stack_reuse = true,
    .local = true,
};
