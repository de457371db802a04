/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategies as an alternative of the scheduler; strategy.h explains it.
 *
 * Relaxed: the probe is a hint that was delivered; the number of threads that search or
 * sleep is ordered by the fence.
 */
#include "alternatives/strategy/strategy.h"

#include <errno.h>
#include <string.h>

#include "alternatives/strategy/ready_queue.h"
#include "base/log.h"
#include "base/options.h"
#include "core/det/det.h"
#include "core/memory/descriptor.h"
#include "core/sched/sched.h"
#include "core/sched/wake.h"
#include "core/vp/alternative.h"
#include "core/vp/vp.h"

const struct mt_strategy *mt_strategy;

static const struct mt_strategy *const strategies[] = {
    [MT_SCHED_DEFAULT] = NULL,
    [MT_SCHED_SINGLE] = &mt_strategy_single,
    [MT_SCHED_MULTI] = &mt_strategy_multi,
    [MT_SCHED_FREELIST] = &mt_strategy_freelist,
    [MT_SCHED_IDLEQ] = &mt_strategy_idleq,
    [MT_SCHED_LOCAL] = &mt_strategy_local,
};

/* Unless the one lock is theirs, too. */
static struct mt_strategy_lock descriptors_lock, stacks_lock;

/* ---- taking the next thread */

static void enter(struct mt_vp *vp) {
  if (mt_load_acquire(&vp->runq.claim) & MT_CLAIM_PROBE) { /* RQ-11 acquire: pairs RQ-10 */
    /* RQ-13 seq_cst: as RQ-12; pairs RQ-10 */
    mt_and_seq_cst(&vp->runq.claim, ~(uint32_t)MT_CLAIM_PROBE);
    mt_release(vp);
    mt_probe_here(vp);
  }
  struct mt_ready_queue *q = vp->alternative->holds;
  if (q == NULL) {
    q = mt_strategy->choose(vp);
    if (q == NULL) return;
    mt_queue_lock(vp, q);
  }
  mt_queue_lend(vp);
}

static void leave(struct mt_vp *vp) { mt_queue_take_back(vp); }

/* The lock of the ready queue need not be held while a stack is allocated, unless it is the
 * stacks' as well, or the list holds a thread whose registers are not saved yet: one that
 * yields. On the idle context there is none. */
static void starts(struct mt_vp *vp, struct mltp_thread *t) {
  if (mt_strategy->one_lock || mt_current() != &vp->idle) return;
  mt_set_where(t, MT_MAILED, vp->index); /* or others would take it for one in the list */
  mt_queue_take_back(vp);
}

/* ---- making threads ready */

static bool put(struct mt_vp *vp, struct mltp_thread *t) {
  if ((t->special & MT_FRESH) != 0 && !mt_strategy->stack_reuse) t->special |= MT_OWN_STACK;
  return mt_strategy->ready(vp, t);
}

static void notice(void) {
  /* ID-19 light fence: the put before the loads, as ID-1; pairs ID-2 ID-16 ID-20 */
  mt_fence_light();
  if (mt_load_relaxed(&mt_rt.idle.sleeping) != 0 && mt_load_relaxed(&mt_rt.idle.searching) == 0)
    mt_wake_one();
}

static void ready(struct mt_vp *vp, struct mltp_thread *t) {
  if (put(vp, t)) notice();
}

static void ready_chain(struct mt_vp *vp, struct mltp_thread *first) {
  bool any = false;
  while (first != NULL) {
    struct mltp_thread *t = first;
    first = t->next;
    any |= put(vp, t);
  }
  if (any) notice();
}

static void forget(struct mt_vp *vp) {
  if (vp->alternative->holds != NULL) mt_queue_unlock(vp, vp->alternative->holds);
  mt_idleq_forget(vp);
}

struct mt_ready_queue *mt_central_choose(struct mt_vp *vp) {
  (void)vp;
  return &mt_ready_queues[0];
}

bool mt_central_ready(struct mt_vp *vp, struct mltp_thread *t) {
  struct mt_ready_queue *q = &mt_ready_queues[0];
  if (vp == NULL || vp->alternative->holds == NULL) mt_queue_lock(vp, q);
  mt_queue_put(q, t);
  mt_queue_unlock(vp, q);
  return true;
}

/* @return whether a list is lent to the VP, or its lock is held. */
static bool lends(const struct mt_vp *vp) { return vp->alternative->holds != NULL; }

/* ---- looking for threads */

uint32_t mt_strategy_waiting(const struct mt_vp *vp) {
  if (mt_strategy == NULL) return 0;
  uint32_t waiting = 0, count = mt_strategy->local ? mt_vp_count() : 1;
  if (vp != NULL)
    waiting += mt_load_relaxed(&vp->alternative->handed) != NULL; /* relaxed: a hint */
  for (uint32_t i = 0; i < count; i++) waiting += mt_queue_length(&mt_ready_queues[i]);
  return waiting;
}

static void search_begins(struct mt_vp *vp) {
  if (mt_strategy->idle_queue) mt_idleq_enter(vp);
}

static bool search_ends(struct mt_vp *vp) { return mt_strategy->idle_queue && mt_idleq_leave(vp); }

/* ---- pools */

static struct mt_strategy_lock *lock_of(bool descriptors) {
  return descriptors ? &descriptors_lock : &stacks_lock;
}

/* The one lock, which a thread operation may hold already. */
static bool is_held(const struct mt_vp *vp) { return vp != NULL && vp->alternative->holds != NULL; }

static void lock_pool(struct mt_vp *vp, bool descriptors) {
  if (!mt_strategy->one_lock)
    mt_strategy_acquire(vp, lock_of(descriptors));
  else if (!is_held(vp))
    mt_strategy_acquire(vp, &mt_ready_queues[0].lock);
}

static void unlock_pool(struct mt_vp *vp, bool descriptors) {
  if (!mt_strategy->one_lock)
    mt_strategy_release(vp, lock_of(descriptors));
  else if (!is_held(vp))
    mt_strategy_release(vp, &mt_ready_queues[0].lock);
}

/* ---- choosing one */

static struct mt_alternative table; /* [const after mltp_init()] */

static int refuse(const char *option, const char *why, const char *instead) {
  mt_strategy = NULL;
  mt_message("%s: %s (unset %s or %s)", option, why, option, instead);
  return EINVAL;
}

/* @return 0, or EINVAL after a message. */
static int check_option(const char *option) {
  if (mt_det_on)
    return refuse(option, "deterministic mode chooses the order of threads itself",
                  "MLTP_SEED and MLTP_SCHEDULE");
  if (mt_options.backend == MT_BACKEND_KERNEL)
    return refuse(option, "on the kernel backend Linux manages threads", "MLTP_BACKEND");
  return 0;
}

int mt_alternative_init(void) {
  mt_alternative = NULL;
  mt_cache_limits = (struct mt_cache_limits){MT_CACHE_MAX, MT_CACHE_MAX, true};
  mt_strategy = strategies[mt_options.sched];
  if (mt_probes_late() && check_option("MLTP_PROBE") != 0) return EINVAL;
  if (mt_strategy == NULL) return 0;
  if (check_option("MLTP_SCHED") != 0) return EINVAL;
  memset(mt_ready_queues, 0, sizeof mt_ready_queues); /* a fork() may have left them in use */
  for (uint32_t i = 0; i < MT_VPS_MAX; i++) mt_ready_queues[i].index = i;
  memset(&descriptors_lock, 0, sizeof descriptors_lock);
  memset(&stacks_lock, 0, sizeof stacks_lock);
  mt_strategy_lock_init();
  mt_freelist_init();
  mt_idleq_init();
  table = (struct mt_alternative){
      .enter = enter,
      .leave = leave,
      .starts = starts,
      .ready = ready,
      .ready_chain = ready_chain,
      .lends = lends,
      .descriptor_new = mt_strategy->descriptor_new,
      .descriptor_free = mt_strategy->descriptor_free,
      .forget = forget,
      .lock_pool = lock_pool,
      .unlock_pool = unlock_pool,
      .waiting = mt_strategy_waiting,
      .search_begins = search_begins,
      .search_ends = search_ends,
      .locks_pools = mt_strategy->one_lock,
  };
  mt_alternative = &table;
  mt_cache_limits =
      (struct mt_cache_limits){0, mt_strategy->stacks, false}; /* it has its own lists */
  return 0;
}
