/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anderson et al., III.C: each VP has free lists that need no lock; the ready queue is
 * central. The lists of descriptors are balanced: one that reaches the threshold T gives half
 * of it to a global pool, one that is empty claims as much. The pool is a list of lists, so
 * its lock is held for a few instructions, once in T/2 operations at most. T is the
 * number of VPs at start, made even, so that the pool is no bottleneck however many there are.
 *
 * Lists of stacks hold one stack: more would cost memory and cold caches. That is the VP's
 * cache (stack.c) with room for one; it is used only where a thread starts on a VP whose last
 * thread has blocked, or ends on a VP whose next thread has run already. Otherwise the next
 * thread takes the stack over.
 */
#include "alternatives/strategy/ready_queue.h"
#include "alternatives/strategy/strategy.h"

static struct {
  struct mt_strategy_lock lock;
  struct mltp_thread *lists; /* [lock] the first of each list, linked by prev */
} pool;

static uint32_t threshold; /* [const after mltp_init()] T: even */

void mt_freelist_init(void) {
  __builtin_memset(&pool, 0, sizeof pool);
  threshold = ((uint32_t)mt_rt.wanted + 1) & ~1u;
}

/* T/2 descriptors, or none. */
static struct mltp_thread *claim_half(struct mt_vp *vp) {
  mt_strategy_acquire(vp, &pool.lock);
  struct mltp_thread *first = pool.lists;
  if (first != NULL) pool.lists = first->prev;
  mt_strategy_release(vp, &pool.lock);
  return first;
}

static void give_half(struct mt_vp *vp) {
  struct mltp_thread *first = vp->alternative->free, *last = first;
  for (uint32_t i = 1; i < threshold / 2; i++) last = last->next;
  vp->alternative->free = last->next;
  vp->alternative->free_count -= threshold / 2;
  last->next = NULL;
  mt_strategy_acquire(vp, &pool.lock);
  first->prev = pool.lists;
  pool.lists = first;
  mt_strategy_release(vp, &pool.lock);
}

struct mltp_thread *mt_freelist_take(struct mt_vp *vp) {
  struct mt_vp_alternative *own = vp->alternative;
  if (own->free == NULL) {
    own->free = claim_half(vp);
    if (own->free == NULL) return NULL;
    own->free_count = threshold / 2;
  }
  struct mltp_thread *t = own->free;
  own->free = t->next;
  own->free_count--;
  return t;
}

bool mt_freelist_put(struct mt_vp *vp, struct mltp_thread *t) {
  t->next = vp->alternative->free;
  vp->alternative->free = t;
  if (++vp->alternative->free_count == threshold) give_half(vp);
  return true;
}

const struct mt_strategy mt_strategy_freelist = {
    .choose = mt_central_choose,
    .ready = mt_central_ready,
    .descriptor_new = mt_freelist_take,
    .descriptor_free = mt_freelist_put,
    .stacks = 1,
    .stack_reuse = true,
};
