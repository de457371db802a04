/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: counts are written under gt_lock; a waker's look is ordered by GT-1 and GT-2.
 */
#include "gate/lot.h"

#include "gate/priority.h"
#include "gate/wait.h"

struct gt_queue gt_slots[GT_SLOTS];
uint32_t gt_waiters[GT_SLOTS];

/* Under gt_lock. */
static void count(uint32_t slot, int more) {
  mt_store_relaxed(&gt_waiters[slot], gt_waiters[slot] + (uint32_t)more);
}

void gt_lot_enter(const void *key) {
  count(gt_slot_of(key), 1);
  mt_fence_full(); /* GT-1 full fence: after the count, before the last try; pairs GT-2 GT-6 GT-9 */
}

void gt_lot_leave(const void *key) { count(gt_slot_of(key), -1); }

static void end(uint32_t slot, struct gt_thread *t, int result) {
  gt_queue_take(&gt_slots[slot], t);
  count(slot, -1);
  t->result = result;
  t->cancellable = false;
  gt_make_ready(t);
}

void gt_lot_end(struct gt_thread *t, int result) { end(gt_slot_of(t->key), t, result); }

/* why GT_WHY_NOTHING: of any kind. key NULL: of any object. */
static int wake_some(uint32_t slot, const void *key, enum gt_why why, int most) {
  int woken = 0;
  for (struct gt_thread *t = gt_slots[slot].first, *next; t != NULL && woken < most; t = next) {
    next = t->next;
    if ((key != NULL && t->key != key) || (why != GT_WHY_NOTHING && t->why != (uint32_t)why))
      continue;
    end(slot, t, 0);
    woken++;
  }
  return woken;
}

int gt_lot_wake(const void *key, int most) {
  return wake_some(gt_slot_of(key), key, GT_WHY_NOTHING, most);
}

int gt_lot_count(const void *key) {
  int count = 0;
  for (struct gt_thread *t = gt_queue_of(key)->first; t != NULL; t = t->next)
    count += t->key == key;
  return count;
}

void gt_lot_repost(void) {
  for (uint32_t i = 0; i < GT_SLOTS; i++) wake_some(i, NULL, GT_WHY_SEM, INT_MAX);
}

int gt_lot_wait(struct gt_thread *me, const void *key, enum gt_why why,
                const struct gt_limit *limit, bool first) {
  uint32_t number = ++me->waits;
  me->key = key;
  me->why = why;
  me->result = 0;
  me->cancellable = limit->cancellable && !me->cancelled;
  gt_priority_refresh(me);
  me->deadline = gt_seeded ? gt_seed_deadline(limit->until, limit->clock) : UINT64_MAX;
  const struct timespec *until = gt_seeded ? NULL : limit->until;
  gt_queue_push(gt_queue_of(key), me, first);
  gt_release(me, GT_PARKED);
  gt_unlock(me);
  int error = 0;
  /* GT-4 acquire: what the waker did; pairs GT-3 */
  while (error == 0 && mt_load_acquire(&me->wake) == GT_NO_PERMIT) {
    error = gt_sleep(me, limit->clock, until);
    if (error == EINTR && !limit->interruptible) error = 0;
  }
  if (error != 0) {
    gt_lock(me);
    if (me->state == GT_PARKED) gt_lot_end(me, error);
    gt_unlock(me);
  }
  gt_await_permit(me);
  me->why = GT_WHY_NOTHING;
  if (me->waits == number) return me->result;
  /* A handler has interrupted it, and has waited, too. */
  if (error == EINTR) return EINTR;
  return me->left == number ? EAGAIN : 0;
}

/* Whether one waiter is woken for each time that the object becomes free. */
static bool takes_turns(enum gt_why why) {
  return why == GT_WHY_MUTEX || why == GT_WHY_COND || why == GT_WHY_SEM || why == GT_WHY_SPIN ||
         why == GT_WHY_WORD;
}

void gt_lot_quit(struct gt_thread *me) {
  gt_lock(me);
  if (me->state == GT_PARKED) {
    me->left = me->waits++;
    gt_lot_end(me, 0);
  } else if (takes_turns(me->why)) {
    gt_lot_wake(me->key, 1);
  }
  gt_unlock(me);
  gt_await_permit(me);
  me->why = GT_WHY_NOTHING;
}

void gt_lot_lock_and_wake(struct gt_thread *me, const void *key, int most) {
  gt_lock(me);
  gt_lot_wake(key, most);
  gt_unlock(me);
}
