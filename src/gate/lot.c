/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: counts are written under gt_lock; a waker's look is ordered by GT-1 and GT-2.
 */
#include "gate/lot.h"

#include "gate/priority.h"
#include "gate/wait.h"

struct gt_slot gt_slots[GT_SLOTS];

void gt_lot_enter(const void *key) {
  struct gt_slot *slot = gt_slot_of(key);
  mt_store_relaxed(&slot->waiters, slot->waiters + 1);
  mt_fence_full(); /* GT-1 full fence: after the count, before the last try; pairs GT-2 GT-6 GT-9 */
}

void gt_lot_leave(const void *key) {
  struct gt_slot *slot = gt_slot_of(key);
  mt_store_relaxed(&slot->waiters, slot->waiters - 1);
}

static void take(struct gt_slot *slot, struct gt_thread *before, struct gt_thread *t) {
  gt_queue_take(&slot->queue, before, t);
  mt_store_relaxed(&slot->waiters, slot->waiters - 1);
}

void gt_lot_end(struct gt_thread *t, int result) {
  struct gt_slot *slot = gt_slot_of(t->key);
  struct gt_thread *before = NULL;
  for (struct gt_thread *at = slot->queue.first; at != t; at = at->next) before = at;
  take(slot, before, t);
  t->result = result;
  t->cancellable = false;
  gt_make_ready(t);
}

/* why GT_WHY_NOTHING: of any kind. key NULL: of any object. */
static int wake_some(struct gt_slot *slot, const void *key, enum gt_why why, int most) {
  struct gt_thread *before = NULL, *t = slot->queue.first;
  int woken = 0;
  while (t != NULL && woken < most) {
    struct gt_thread *next = t->next;
    if ((key == NULL || t->key == key) && (why == GT_WHY_NOTHING || t->why == (uint32_t)why)) {
      take(slot, before, t);
      t->result = 0;
      t->cancellable = false;
      gt_make_ready(t);
      woken++;
    } else {
      before = t;
    }
    t = next;
  }
  return woken;
}

int gt_lot_wake(const void *key, int most) {
  return wake_some(gt_slot_of(key), key, GT_WHY_NOTHING, most);
}

int gt_lot_wake_for(const void *key, enum gt_why why, int most) {
  return wake_some(gt_slot_of(key), key, why, most);
}

int gt_lot_count(const void *key) {
  int count = 0;
  for (struct gt_thread *t = gt_slot_of(key)->queue.first; t != NULL; t = t->next)
    count += t->key == key;
  return count;
}

void gt_lot_repost(void) {
  for (int i = 0; i < GT_SLOTS; i++) wake_some(&gt_slots[i], NULL, GT_WHY_SEM, INT_MAX);
}

int gt_lot_wait(struct gt_thread *me, const void *key, enum gt_why why,
                const struct gt_limit *limit, bool first) {
  me->key = key;
  me->why = why;
  me->result = 0;
  me->cancellable = limit->cancellable && !me->cancelled;
  gt_priority_refresh(me);
  me->deadline = gt_seeded ? gt_seed_deadline(limit->until, limit->clock) : UINT64_MAX;
  const struct timespec *until = gt_seeded ? NULL : limit->until;
  gt_queue_push(&gt_slot_of(key)->queue, me, first);
  gt_release(me, GT_PARKED);
  gt_unlock(me);
  int error = 0;
  /* GT-4 acquire: what the waker did; pairs GT-3 */
  while (error == 0 && mt_load_acquire(&me->wake) == 0) {
    error = gt_futex_wait(&me->wake, 0, limit->clock, until);
    if (error == EINTR && !limit->interruptible) error = 0;
  }
  if (error != 0) {
    gt_lock(me);
    if (me->state == GT_PARKED) gt_lot_end(me, error);
    gt_unlock(me);
  }
  gt_await_permit(me);
  me->why = GT_WHY_NOTHING;
  return me->result;
}

void gt_lot_lock_and_wake(struct gt_thread *me, const void *key, int most) {
  gt_lock(me);
  gt_lot_wake(key, most);
  gt_unlock(me);
}
