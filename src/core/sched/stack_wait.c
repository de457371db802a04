/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See stack_wait.h.
 *
 * Relaxed: the reason serves reports; the count changes under the internal lock.
 */
#include "core/sched/stack_wait.h"

#include "base/log.h"
#include "core/memory/stack.h"

uint32_t mt_stack_waiters;

static struct {
  mt_ilock ilock;
  struct {
    struct mltp_thread *first, *last; /* [ilock] */
  } queues[MT_STACK_CLASS_MAX + 1];
  bool said; /* [ilock] */
} waiting;

void mt_stack_await(struct mt_vp *vp, struct mltp_thread *t) {
  mt_store_relaxed(&t->why, MT_WHY_STACK);
  mt_set_where(t, MT_PARKED, vp->index);
  t->next = NULL;
  mt_ilock_lock(&waiting.ilock);
  struct mltp_thread *last = waiting.queues[t->stack_class].last;
  if (last != NULL)
    last->next = t;
  else
    waiting.queues[t->stack_class].first = t;
  waiting.queues[t->stack_class].last = t;
  mt_store_relaxed(&mt_stack_waiters, mt_stack_waiters + 1);
  bool says = !waiting.said;
  waiting.said = true;
  mt_ilock_unlock(&waiting.ilock);
  if (says)
    mt_message(
        "thread %lu '%s': no memory for its stack of %zu KiB: it waits until others end (run fewer "
        "threads at a time, or set MLTP_STACK_SIZE lower)",
        (unsigned long)t->id, mt_name(t), ((size_t)1 << t->stack_class) / 1024);
}

struct mltp_thread *mt_stack_wait_end(int class_log2) {
  mt_ilock_lock(&waiting.ilock);
  struct mltp_thread *t = waiting.queues[class_log2].first;
  if (t != NULL) {
    waiting.queues[class_log2].first = t->next;
    if (t->next == NULL) waiting.queues[class_log2].last = NULL;
    mt_store_relaxed(&mt_stack_waiters, mt_stack_waiters - 1);
  }
  mt_ilock_unlock(&waiting.ilock);
  return t;
}

bool mt_stack_is_awaited(int class_log2) {
  mt_ilock_lock(&waiting.ilock);
  bool awaited = waiting.queues[class_log2].first != NULL;
  mt_ilock_unlock(&waiting.ilock);
  return awaited;
}

/* Those of its class and larger ones may serve a thread. */
bool mt_stacks_can_be_given(const struct mt_vp *vp) {
  bool left = false, can = false;
  for (int log2 = MT_STACK_CLASS_MAX; !can && log2 >= MT_STACK_CLASS_MIN; log2--) {
    left = left || mt_stack_is_left(vp, log2);
    can = left && mt_stack_is_awaited(log2);
  }
  return can;
}

void mt_stack_wait_forget(void) {
  __builtin_memset(&waiting, 0, sizeof waiting);
  mt_store_relaxed(&mt_stack_waiters, 0);
}
