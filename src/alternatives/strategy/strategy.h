/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file strategy.h
 * Other ways to manage threads: the five of Anderson, Lazowska and Levy (1989), section
 * III, chosen by MLTP_SCHED at start. Each has its file, to be read beside the paper:
 *
 *   III.A  single.c    all lists under one lock
 *   III.B  multi.c     each list under a lock of its own
 *   III.C  freelist.c  free lists for each VP, without locks; a central ready queue
 *   III.D  idleq.c     the same, and a queue of idle VPs that work looks for
 *   III.E  local.c     a ready queue for each VP
 *
 * All else (parking, timers, which VP is awake) is the code of the library's own scheduler, which
 * reaches a strategy through core/vp/alternative.h.
 *
 * A ready queue (ready_queue.h) lends its list to the VP that holds its lock, as if it were the
 * VP's own: mt_runq_enter() calls enter(), since MT_CLAIM_ALTERNATIVE is never taken away; the list
 * goes back where the VP leaves its run queue, after a switch by MT_AFTER_RETURN. In between the
 * scheduler takes, puts and rotates threads as usual. So a scheduling point costs one acquisition,
 * and a thread that yields is in the list only under the lock until its registers are saved.
 *
 * Caches of descriptors have no room, so that each creation and each end calls descriptor_new() and
 * descriptor_free(); stacks come from the VP's cache, as long as the strategy allows, or from the
 * shared pool, whose lock the strategy provides (docs/design/011-strategies.md).
 *
 * Relaxed: lengths of ready queues are hints; the lists are read under their locks.
 */
#ifndef MT_ALTERNATIVES_STRATEGY_STRATEGY_H
#define MT_ALTERNATIVES_STRATEGY_STRATEGY_H

#include "alternatives/spin/vp_state.h"

struct mt_strategy {
  /** @return the ready queue to take the next thread from; NULL: the VP's own list holds it. */
  struct mt_ready_queue *(*choose)(struct mt_vp *vp);

  /** Puts a ready thread where it belongs. vp: the caller's, NULL outside. @return false:
   * a VP already has it, so the caller need not wake one. */
  bool (*ready)(struct mt_vp *vp, struct mltp_thread *t);

  /** @return a descriptor, or NULL: from the pool. */
  struct mltp_thread *(*descriptor_new)(struct mt_vp *vp);

  /** @return false: it belongs to the pool. */
  bool (*descriptor_free)(struct mt_vp *vp, struct mltp_thread *t);

  uint32_t stacks;  /**< free stacks that a VP keeps for itself */
  bool one_lock;    /**< the ready queue's lock is the pools' as well */
  bool stack_reuse; /**< a fresh thread may take over the stack of the one that ends before it */
  bool local;       /**< a ready queue for each VP */
  bool idle_queue;  /**< idle VPs wait in a queue */
};

/** [const after mltp_init()] The strategy; NULL: the library's own scheduler. */
extern const struct mt_strategy *mt_strategy __attribute__((visibility("hidden")));

extern const struct mt_strategy mt_strategy_single, mt_strategy_multi, mt_strategy_freelist,
    mt_strategy_idleq, mt_strategy_local;

/** @return how many threads seem to wait in the strategy's queues; and, if vp is given, for
 * that VP alone. Looked at before locking. 0 without a strategy. */
uint32_t mt_strategy_waiting(const struct mt_vp *vp);

#endif
