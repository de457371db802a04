/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file strategy.h
 * Other ways to manage threads: the five of Anderson, Lazowska and Levy (1989), section
 * III, chosen by MLTP_SCHED at start. Each has its file, to be read beside the paper:
 *
 *   III.A  strategy_single.c    all lists under one lock
 *   III.B  strategy_multi.c     each list under a lock of its own
 *   III.C  strategy_freelist.c  free lists for each VP, without locks; a central ready queue
 *   III.D  strategy_idleq.c     the same, and a queue of idle VPs that work looks for
 *   III.E  strategy_local.c     a ready queue for each VP
 *
 * All else (parking, timers, who is awake) is the same code as without a strategy. The seam:
 *
 * A ready queue (strategy_queue.h) lends its list to the VP that holds its lock, as if it
 * were the VP's own: mt_runq_enter() comes to mt_strategy_enter(), since MT_CLAIM_STRATEGY is
 * never taken away; the list goes back where the VP leaves its run queue, after a switch by
 * MT_AFTER_RETURN. Between, the scheduler takes, puts and rotates threads as ever. So a
 * scheduling point costs one acquisition, and a thread that yields is in the list only under
 * the lock until its registers are saved.
 *
 * What becomes ready goes to mt_strategy_ready(), by the same bit. Caches of descriptors have no
 * room then, so that each creation and each end comes to descriptor_new() and descriptor_free();
 * stacks come from the VP's cache, as long as the strategy allows, or from the shared pool, whose
 * lock is mt_pool_lock()'s matter.
 *
 * Without a strategy all this costs one instruction in a switch, since the words it is told by
 * are looked at anyhow (docs/design/011-strategies.md).
 *
 * Relaxed: lengths of ready queues are hints; the lists are read under their locks.
 */
#ifndef MT_ALTERNATIVES_STRATEGY_STRATEGY_H
#define MT_ALTERNATIVES_STRATEGY_STRATEGY_H

#include "core/vp/types.h"

struct mt_strategy {
  /** @return the ready queue to take the next thread from; NULL: the VP's own list holds it. */
  struct mt_ready_queue *(*choose)(struct mt_vp *vp);

  /** Puts a ready thread where it belongs. vp: the caller's, NULL outside. @return false:
   * a VP has been told, so nobody needs to be woken. */
  bool (*ready)(struct mt_vp *vp, struct mltp_thread *t);

  /** @return a descriptor, or NULL: from the pool. */
  struct mltp_thread *(*descriptor_new)(struct mt_vp *vp);

  /** @return false: it belongs to the pool. */
  bool (*descriptor_free)(struct mt_vp *vp, struct mltp_thread *t);

  uint32_t stacks;  /**< a VP keeps so many free ones for itself */
  bool one_lock;    /**< the ready queue's lock is the pools' as well */
  bool stack_reuse; /**< a fresh thread may take over the stack of the one that ends before it */
  bool local;       /**< a ready queue for each VP */
  bool idle_queue;  /**< idle VPs wait in a queue */
};

/** [const after mltp_init()] The strategy; NULL: our own scheduler. Hidden: one instruction
 * tests it, also in the shared library. */
extern const struct mt_strategy *mt_strategy __attribute__((visibility("hidden")));

extern const struct mt_strategy mt_strategy_single, mt_strategy_multi, mt_strategy_freelist,
    mt_strategy_idleq, mt_strategy_local;

/** Chooses as MLTP_SCHED says. @return 0, or EINVAL after a message: this way to run threads
 * knows no strategies. */
int mt_strategy_init(void);

/** Lends the VP the list it takes its next thread from. */
void mt_strategy_enter(struct mt_vp *vp);

/** Gives it back. */
void mt_strategy_leave(struct mt_vp *vp);

/** A fresh thread, taken out of the list that is lent, is about to get its stack. */
void mt_strategy_starts(struct mt_vp *vp, struct mltp_thread *t);

/** Makes a thread ready, or several linked by next, and wakes a VP for them if need be. vp: the
 * caller's, NULL outside. */
void mt_strategy_ready(struct mt_vp *vp, struct mltp_thread *t);
void mt_strategy_ready_chain(struct mt_vp *vp, struct mltp_thread *first);

/** The thread being created will not be made ready. */
void mt_strategy_forget(struct mt_vp *vp);

/** @return how many threads seem to wait in the strategy's queues; and, if vp is given, for
 * that VP alone. Looked at before locking. 0 without a strategy. */
uint32_t mt_strategy_waiting(const struct mt_vp *vp);

/** A VP has nothing to run; it has stopped to look. @return true: it was given a thread. */
void mt_strategy_search_begins(struct mt_vp *vp);
bool mt_strategy_search_ends(struct mt_vp *vp);

/** Lock a pool of free descriptors or stacks. */
void mt_pool_lock(struct mt_pool *pool);
void mt_pool_unlock(struct mt_pool *pool);

#endif
