/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for the first of several sends and receives; channel.h has the protocol.
 *
 * All channels are locked while the cases are tried: "none can be done" is then true
 * at one moment, and nothing can become possible unseen before the cases are in the
 * queues.
 *
 * Rejected: trying one channel after the other (an element that moves from the second
 * to the first is never seen); a claim word that wakers swap (the record's internal lock is
 * needed anyway, for the deadline, and the registers are saved once it is free).
 *
 * Relaxed: seed only has to differ.
 */
#include <errno.h>

#include "base/log.h"
#include "core/det/det.h"
#include "core/vp/vp.h"
#include "sync/channel.h"

/* Merges two lists that are in order, linked by locks_. */
static mltp_case_t *merge(mltp_case_t *a, mltp_case_t *b) {
  mltp_case_t *first = NULL, **link = &first;
  while (a != NULL && b != NULL) {
    mltp_case_t **lower = (uintptr_t)b->channel < (uintptr_t)a->channel ? &b : &a;
    *link = *lower;
    link = &(*link)->locks_;
    *lower = *link;
  }
  *link = a != NULL ? a : b;
  return first;
}

/* Links the cases by the addresses of their channels: a merge sort, whose lists[i] has 2^i cases
 * or none. A select may have thousands of cases, in any order. */
static mltp_case_t *in_lock_order(mltp_case_t *cases, size_t count) {
  enum { LISTS_MAX = 64 };
  mltp_case_t *lists[LISTS_MAX], *all = NULL;
  int used = 0;
  for (size_t i = 0; i < count; i++) {
    mltp_case_t *list = &cases[i];
    if (list->channel == NULL) continue;
    list->locks_ = NULL;
    int size = 0;
    for (; size < used && lists[size] != NULL; size++) {
      list = merge(lists[size], list);
      lists[size] = NULL;
    }
    lists[size] = list;
    if (size == used) used++;
  }
  for (int i = 0; i < used; i++) all = merge(lists[i], all);
  return all;
}

static void lock_all(const mltp_case_t *order) {
  const mltp_channel_t *last = NULL;
  for (const mltp_case_t *c = order; c != NULL; c = c->locks_) {
    if (c->channel != last) mt_ilock_lock(&c->channel->ilock);
    last = c->channel;
  }
}

static void unlock_all(const mltp_case_t *order) {
  while (order != NULL) {
    mltp_channel_t *channel = order->channel;
    while (order != NULL && order->channel == channel) order = order->locks_;
    mt_ilock_unlock(&channel->ilock); /* it may be freed from here on */
  }
}

/* Any number: the case to begin with. */
static uint32_t any_number(struct mltp_thread *self) {
  static uint32_t seed; /* [atomic] of threads without a VP */
  if (self->vp != NULL) return mt_random(self->vp);
  uint32_t x = mt_add_relaxed(&seed, 0x9e3779b9u);
  x = (x ^ x >> 16) * 0x85ebca6bu;
  return x ^ x >> 13;
}

/* Does one of the cases that can be done at once. Internal locks held. @return NULL: none can. */
static mltp_case_t *try_all(struct mltp_thread *self, mltp_case_t *cases, size_t count,
                            struct mltp_thread **peer) {
  size_t start = count > 1 ? any_number(self) % count : 0;
  for (size_t i = 0; i < count; i++) {
    mltp_case_t *c = &cases[start + i < count ? start + i : start + i - count];
    if (c->channel != NULL && mt_case_try(c, peer)) return c;
  }
  return NULL;
}

/* No case can be done at once: waits until another thread does one of them. The internal locks
 * are held, and released meanwhile. @return that case, or NULL: the timer came first. */
static mltp_case_t *wait(struct mltp_thread *self, mltp_case_t *order,
                         struct mt_wait_record *record, struct mt_timer *timer, enum mt_why why) {
  for (mltp_case_t *c = order; c != NULL; c = c->locks_) mt_case_enter(c, record);
  mt_ilock_lock(&record->queue.ilock_);
  bool entered = mt_wait_enter(self, &record->queue, timer);
  unlock_all(order);
  if (entered)
    mt_wait_park(self, &record->queue, why, timer);
  else
    mt_ilock_unlock(&record->queue.ilock_);
  const mltp_channel_t *served = record->done != NULL ? record->done->channel : NULL;
  for (mltp_case_t *c = order; c != NULL; c = c->locks_) {
    if (c->channel == served) continue; /* it may be gone */
    mt_step("select: leave a queue");
    mt_ilock_lock(&c->channel->ilock);
    mt_case_leave(c);
    mt_ilock_unlock(&c->channel->ilock);
  }
  return record->done;
}

int mt_select(struct mltp_thread *self, mltp_case_t *cases, size_t count, uint64_t deadline,
              enum mt_why why) {
  struct mltp_thread *peer = NULL;
  mltp_case_t *order = in_lock_order(cases, count);
  lock_all(order);
  mltp_case_t *done = try_all(self, cases, count, &peer);
  int error = ETIMEDOUT;
  unlock_all(order);
  if (done == NULL && deadline != 0) {
    struct mt_wait_record record = {.cases = cases, .count = count};
    struct mt_timer timer; /* armed before any internal lock is taken, so all is tried once more */
    mt_timer_arm(&timer, self, deadline);
    mt_step("select: to the queues");
    lock_all(order);
    done = try_all(self, cases, count, &peer);
    if (done != NULL)
      unlock_all(order);
    else
      done = wait(self, order, &record, &timer, why);
    error = mt_timer_disarm(&timer, ETIMEDOUT);
  }
  if (peer != NULL) mt_resume(peer);
  return done != NULL ? (int)(done - cases) : -error;
}

/* The public calls; a deadline of 0 does not wait. */
static int select_until(const char *call, mltp_case_t *cases, size_t count, size_t *chosen,
                        uint64_t deadline) {
  struct mltp_thread *self = mt_self(call);
  if (self == NULL) return EPERM;
  for (size_t i = 0; i < count; i++)
    if (cases[i].op != MLTP_SEND && cases[i].op != MLTP_RECV)
      return mt_misuse(EINVAL, call, self->id, mt_name(self),
                       "case %zu neither sends nor receives (use MLTP_CASE_SEND or "
                       "MLTP_CASE_RECV)",
                       i);
  mt_preempt(call);
  int index = mt_select(self, cases, count, deadline, MT_WHY_SELECT);
  mt_preempt(call);
  if (index < 0) return -index;
  *chosen = (size_t)index;
  return 0;
}

int mltp_select(mltp_case_t *cases, size_t count, size_t *chosen) {
  return select_until("mltp_select", cases, count, chosen, MLTP_NEVER);
}

int mltp_select_try(mltp_case_t *cases, size_t count, size_t *chosen) {
  int error = select_until("mltp_select_try", cases, count, chosen, 0);
  return error == ETIMEDOUT ? EAGAIN : error;
}

int mltp_select_timed(mltp_case_t *cases, size_t count, size_t *chosen, uint64_t deadline) {
  return select_until("mltp_select_timed", cases, count, chosen, deadline);
}
