/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anderson et al., III.B: ready queue, free stacks and free descriptors are central, each
 * with a lock of its own. That is what is left of the library when VPs keep no lists of their
 * own: the pools, and the central queue. A null thread's life acquires six locks: two for each
 * of its descriptor, its stack, and the queue.
 */
#include "alternatives/strategy/ready_queue.h"
#include "alternatives/strategy/strategy.h"

static struct mltp_thread *from_pool(struct mt_vp *vp) {
  (void)vp;
  return NULL;
}

static bool to_pool(struct mt_vp *vp, struct mltp_thread *t) {
  (void)vp, (void)t;
  return false;
}

const struct mt_strategy mt_strategy_multi = {
    .choose = mt_central_choose,
    .ready = mt_central_ready,
    .descriptor_new = from_pool,
    .descriptor_free = to_pool,
};
