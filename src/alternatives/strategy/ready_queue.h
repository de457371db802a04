/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ready_queue.h
 * The parts of strategies: their lock, and the ready queue it protects.
 *
 * Relaxed: length is a hint for a look before the lock; counters have one writer.
 */
#ifndef MT_ALTERNATIVES_STRATEGY_READY_QUEUE_H
#define MT_ALTERNATIVES_STRATEGY_READY_QUEUE_H

#include "alternatives/spin/vp_state.h"

/** The lock of all strategies. How they wait for it MLTP_SPIN says. */
struct mt_strategy_lock {
  mltp_spin_t state; /* [atomic] zero: free; the kind's file in alternatives/spin */
};

/** Reads MLTP_SPIN. */
void mt_strategy_lock_init(void);

/** vp: the VP that acquires and counts it, or releases it; NULL: outside. */
void mt_strategy_acquire(struct mt_vp *vp, struct mt_strategy_lock *lock);
void mt_strategy_release(struct mt_vp *vp, struct mt_strategy_lock *lock);

/** Ready threads, first in, first out. */
struct mt_ready_queue {
  alignas(MT_CACHE_LINE) struct mt_strategy_lock lock;
  uint32_t index;            /* [const] its number in `where` of threads */
  uint32_t length;           /* [atomic] written under the lock */
  uint32_t turns, jumped_at; /* [lock] times it was lent; when a thread was put in front */
  struct mltp_thread *head;  /* [lock] */
  struct mltp_thread *tail;  /* [lock] */
};

/** The central queue is the first; with local queues each VP has the one of its index. */
extern struct mt_ready_queue mt_ready_queues[MT_VPS_MAX];

/** Locks a queue. vp: the VP that holds it, NULL outside. */
void mt_queue_lock(struct mt_vp *vp, struct mt_ready_queue *q);
void mt_queue_unlock(struct mt_vp *vp, struct mt_ready_queue *q);

/** Adds a thread at the end; a high one in front, now and then. Locked. */
void mt_queue_put(struct mt_ready_queue *q, struct mltp_thread *t);

/** Moves the list of the queue that the VP holds to the VP's own, and back. */
void mt_queue_lend(struct mt_vp *vp);
void mt_queue_take_back(struct mt_vp *vp);

static inline uint32_t mt_queue_length(const struct mt_ready_queue *q) {
  return mt_load_relaxed(&q->length);
}

/* What several strategies do. */

/** choose() and ready() with a central queue. */
struct mt_ready_queue *mt_central_choose(struct mt_vp *vp);
bool mt_central_ready(struct mt_vp *vp, struct mltp_thread *t);

/** Free lists of descriptors for each VP: strategy_freelist.c. */
struct mltp_thread *mt_freelist_take(struct mt_vp *vp);
bool mt_freelist_put(struct mt_vp *vp, struct mltp_thread *t);
void mt_freelist_init(void);

/** The queue of idle VPs: strategy_idleq.c. */
void mt_idleq_init(void);
void mt_idleq_enter(struct mt_vp *vp);
bool mt_idleq_leave(struct mt_vp *vp);
void mt_idleq_forget(struct mt_vp *vp);

#endif
