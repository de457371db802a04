/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anderson et al., III.A: ready queue, free stacks and free descriptors under one lock,
 * which each thread operation acquires once:
 *
 *   create        descriptor_new() acquires it, ready() releases it
 *   finish and    descriptor_free() acquires it (of a thread nobody joins; else the end of the
 *   start next    thread leaves the descriptor alone, and mt_strategy_enter() acquires it), the
 *                 next thread and its stack are taken, and after the switch the stack of the one
 *                 that ended is freed and the list given back
 *   block, yield  mt_strategy_enter() acquires it, the list is given back after the switch
 *   signal, join  once
 *
 * It is never taken before an internal lock: a thread's internal lock has been released where it
 * ends.
 */
#include "alternatives/strategy/ready_queue.h"
#include "alternatives/strategy/strategy.h"

static struct mltp_thread *create_begins(struct mt_vp *vp) {
  mt_queue_lock(vp, &mt_ready_queues[0]);
  return NULL; /* from the pool, whose lock this is */
}

/* A thread that ends has made the idle context the current thread, and will look for the next
 * one at once. */
static bool end_begins(struct mt_vp *vp, struct mltp_thread *t) {
  (void)t;
  if (mt_current() == &vp->idle) mt_queue_lock(vp, &mt_ready_queues[0]);
  return false; /* to the pool */
}

const struct mt_strategy mt_strategy_single = {
    .choose = mt_central_choose,
    .ready = mt_central_ready,
    .descriptor_new = create_begins,
    .descriptor_free = end_begins,
    .one_lock = true,
};
