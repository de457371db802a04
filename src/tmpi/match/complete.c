/* SPDX-License-Identifier: Apache-2.0 */
/* Requests become complete, and threads wait for that; mailbox.h has the protocol. */
#include <mltp/mltp.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "core/internal/thread.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/match/drop.h"
#include "tmpi/match/intake.h"
#include "tmpi/match/match.h"
#include "tmpi/match/rank_wait.h"

void tm_request_empty(struct tm_request *request) { tm_request_empty_here(request); }

void tm_request_drop(struct tm_request *request) {
  if (request->kind == TM_GENERALIZED && request->freed) request->release(request->extra);
  if (request->kind >= TM_COLLECTIVE && request->drop != NULL) request->drop(request);
  tm_request_empty_here(request);
  tm_request_free(request);
}

bool tm_request_done_by_now(struct tm_request *request) {
  return tm_intake_poll(request->owner) && tm_request_was_done(request);
}

bool tm_request_poll(struct tm_request *request) {
  if (tm_request_done(request)) return true;
  tm_requests_poll(&request, 1);
  return tm_request_done(request);
}

struct mltp_thread *tm_request_mark_done(struct tm_request *request, bool *freed) {
  struct tm_waiter *waiter = request->waiter;
  *freed = request->freed;
  mt_store_release(&request->done, 1); /* MB-1 release: the results; pairs MB-2 */
  if (waiter == NULL) return NULL;
  if (mt_unlikely(waiter->dozes)) {
    tm_waiter_end(waiter);
    return NULL;
  }
  return --waiter->missing == 0 ? waiter->thread : NULL;
}

void tm_request_complete(struct tm_request *request) {
  struct tm_mailbox *box = &request->owner->box;
  bool freed;
  mti_lock(&box->ilock);
  struct mltp_thread *thread = tm_request_mark_done(request, &freed);
  mti_unlock(&box->ilock); /* from here on request and waiter may be gone */
  if (thread != NULL) tm_resume(box, thread);
  if (freed) tm_request_drop(request);
}

/* @return the rank that completes a request; NULL: any, or it is not known. */
static const struct tm_rank *partner_of(const struct tm_request *request) {
  if (request->kind == TM_SEND) return request->dest;
  return request->kind == TM_RECV ? tm_sender(request) : NULL;
}

/* What a call waits for. */
struct wanted {
  struct tm_request *const *requests;
  int count, wanted;
  int *from;              /* the first that was not complete */
  struct tm_taker *taker; /* NULL: none */
};

/* @return whether all of the requests are complete. It continues where it found one that was not: a
 * look at each would take its line from the sender that is about to write there. */
static bool all_done(const struct wanted *w) {
  for (int i = *w->from; i < w->count; i++) {
    if (w->requests[i] != NULL && !tm_request_done(w->requests[i])) {
      *w->from = i;
      return false;
    }
    if (w->taker != NULL && w->taker->taken == i) w->taker->take(w->taker);
  }
  *w->from = w->count;
  return true;
}

/* @return whether the wanted number of the requests, or all of them, are complete. Needs no
 * internal lock. */
static bool enough_done(const void *what) {
  const struct wanted *w = what;
  int done = 0, missing = 0;
  if (w->wanted >= w->count) return all_done(w);
  for (int i = 0; i < w->count; i++) {
    if (w->requests[i] == NULL) continue;
    if (tm_request_done(w->requests[i]))
      done++;
    else
      missing++;
  }
  return missing == 0 || done >= w->wanted;
}

/* For several requests there is no one waker to look at: the last of them decides. */
static bool spin(const struct wanted *w) {
  const struct tm_rank *waker = w->count == 1 ? partner_of(w->requests[0]) : NULL;
  return tm_may_spin(waker) && tm_spin(enough_done, w, waker);
}

/* ---- parked */

/* The requests that are not complete get the waiter. From here on the internal lock is held, and
 * senders put nothing into the intake. @return the first of them; NULL: enough are complete. */
__attribute__((always_inline)) static inline const struct tm_request *enter(
    struct tm_rank *rank, struct tm_waiter *waiter) {
  struct tm_mailbox *box = &rank->box;
  const struct tm_request *first = NULL;
  tm_intake_shut(rank);
  mti_lock(&box->ilock);
  tm_intake_drain(rank);
  while (tm_has_deferred(rank)) {
    mti_unlock(&box->ilock);
    tm_deferred_release(rank);
    mti_lock(&box->ilock);
  }
  int missing = 0;
  for (int i = 0; i < waiter->count; i++) {
    if (waiter->of[i] == NULL) continue;
    if (waiter->of[i]->done) {
      waiter->missing--;
      continue;
    }
    /* a thread that dozes leaves a request to one that waits for it */
    if (mt_likely(!waiter->dozes) || waiter->of[i]->waiter == NULL) waiter->of[i]->waiter = waiter;
    if (missing++ == 0) first = waiter->of[i];
  }
  if (waiter->missing > missing) waiter->missing = missing;
  return waiter->missing > 0 ? first : NULL;
}

__attribute__((always_inline)) static inline void leave(struct tm_rank *rank,
                                                        const struct tm_waiter *waiter) {
  for (int i = 0; i < waiter->count; i++)
    if (waiter->of[i] != NULL && waiter->of[i]->waiter == waiter) waiter->of[i]->waiter = NULL;
  mti_unlock(&rank->box.ilock);
  tm_intake_open(rank);
}

/* before: others of the call, which are complete. */
__attribute__((always_inline)) static inline void park_for(struct tm_request *const *requests,
                                                           int count, int wanted, int before,
                                                           const char *call) {
  tm_hurry();
  struct tm_rank *rank = tm_rank_self();
  struct tm_waiter waiter = {mti_self("wait"), NULL, wanted, requests, count, before, false};
  mti_preempt(call);
  const struct tm_request *first = enter(rank, &waiter);
  if (first != NULL) {
    tm_mailbox_park(rank, &rank->box.ilock, first, call);
    mti_lock(&rank->box.ilock);
  }
  leave(rank, &waiter);
}

void tm_requests_wait(struct tm_request *const *requests, int count, int wanted, const char *call) {
  int from = 0;
  const struct wanted w = {requests, count, wanted, &from, NULL};
  if (!enough_done(&w) && !spin(&w)) park_for(requests, count, wanted, 0, call);
}

void tm_requests_wait_all(struct tm_request *const *requests, int count, struct tm_taker *taker,
                          const char *call) {
  int from = 0;
  const struct wanted w = {requests, count, count, &from, taker};
  if (enough_done(&w) || spin(&w)) return;
  int left = count - taker->taken;
  park_for(requests + taker->taken, left, left, taker->taken, call);
}

/* ---- tested */

/* Until one of them is complete. */
static void doze_for(struct tm_request *const *requests, int count, uint64_t ns) {
  struct tm_rank *rank = tm_rank_self();
  struct tm_waiter waiter = {NULL, NULL, 1, requests, count, 0, true};
  tm_hurry();
  if (enter(rank, &waiter) != NULL) {
    mti_unlock(&rank->box.ilock);
    tm_doze(rank, &waiter, ns);
    mti_lock(&rank->box.ilock);
  }
  leave(rank, &waiter);
}

void tm_requests_poll(struct tm_request *const *requests, int count) {
  uint64_t doze_ns = tm_yield();
  if (doze_ns != 0) doze_for(requests, count, doze_ns);
}
