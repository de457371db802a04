/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rank_wait.h
 * A thread of a rank waits for others: on the processor where tmpirun --wait says so (TMPI-2,
 * section 4), and then parked. Parks are inline: after a switch the processor predicts each
 * return from a function wrongly, which costs as much as a switch. What notes a call is always
 * inline: the frame that it notes lives for as long as the wait.
 *
 * Relaxed: what reports read.
 */
#ifndef TM_MATCH_RANK_WAIT_H
#define TM_MATCH_RANK_WAIT_H

#include <mltp/mltp.h>

#include "base/atomic.h"
#include "core/internal/fence.h"
#include "core/internal/park.h"
#include "core/internal/placement.h"
#include "tmpi/match/deferred.h"
#include "tmpi/match/transport.h"
#include "tmpi/object/comm.h"
#include "tmpi/rank/rank.h"
#include "tmpi/rank/user_code.h"

/** @return whether the calling rank has a VP of its own, which would spin for it when it parks, and
 * take another's rank meanwhile. */
static inline bool tm_has_vp(void) {
  int here = mt_load_relaxed(&tm_job.here); /* relaxed: a hint */
  return here <= tm_job.vp_count && mti_is_only_ready();
}

/** @return whether to spin for what a rank is to bring; NULL: any, or it is not known which. */
static inline bool tm_may_spin(const struct tm_rank *waker) {
  if (tm_job.wait == TM_WAIT_CONSCIOUS)
    return tm_has_vp() || (waker != NULL && mti_runs_elsewhere(mt_load_relaxed(&waker->thread)));
  return tm_job.wait == TM_WAIT_SPIN;
}

/** Spins until ended(what). @return whether it has ended; false: in time it has not. */
bool tm_spin(bool (*ended)(const void *), const void *what, const struct tm_rank *waker);

/** @return the rank that a receive names; NULL: any, or it is not known. */
static inline const struct tm_rank *tm_sender(const struct tm_request *recv) {
  if (recv->peer < 0) return NULL;
  return &tm_job.ranks[recv->comm->remote->ranks[recv->peer]];
}

/** Notes for reports what a rank is going to park for: struct tm_request, or the struct tm_comm
 * where it meets the others. @return false: other threads of the rank wait beside it, and are not
 * reported. */
__attribute__((always_inline)) static inline bool tm_note_call(struct tm_rank *rank,
                                                               const void *waits_for,
                                                               const char *call) {
  if (rank->thread != mltp_self()) return false;
  mt_store_relaxed(&rank->waits_for, waits_for);
  mt_store_relaxed(&rank->frame, __builtin_frame_address(0));
  mt_store_relaxed(&rank->call, call);
  return true;
}

/** The same, and counts the park. */
__attribute__((always_inline)) static inline bool tm_note_wait(struct tm_rank *rank,
                                                               const void *waits_for,
                                                               const char *call) {
  bool noted = tm_note_call(rank, waits_for, call);
  if (noted) rank->parks++;
  return noted;
}

/** Before a park for messages: what the rank has begun to send to other nodes leaves. */
static inline void tm_hurry(void) {
  if (mt_unlikely(tm_far() != NULL)) tm_far()->hurry();
}

static inline bool tm_has_deferred(const struct tm_rank *rank) {
  return mt_unlikely((mt_load_relaxed(&rank->attention) & TM_DEFERRED) != 0);
}

/** Before a park under another lock than that of the caller's own mailbox: releases deferred
 * messages; none is deferred once the call is noted. @return whether it is. */
__attribute__((always_inline)) static inline bool tm_begin_wait(struct tm_rank *rank,
                                                                const void *waits_for,
                                                                const char *call) {
  bool noted = tm_note_call(rank, waits_for, call);
  mti_fence_light(); /* DF-1: the call is stored; pairs DF-4 */
  /* DF-2: reads the mark; pairs DF-3 */
  if (tm_has_deferred(rank)) tm_deferred_release(rank);
  return noted;
}

/** Parks until a waker resumes the caller, once. The internal lock is held, and released.
 * waits_for: as of tm_note_wait(); NULL: nothing. */
static inline void tm_mailbox_park(struct tm_rank *rank, uint32_t *ilock, const void *waits_for,
                                   const char *call) {
  bool noted = tm_note_wait(rank, waits_for, call);
  bool lent = tm_user_code_lend(rank);
  mti_park_unlock(ilock, call);
  if (lent) tm_user_code_take(rank);
  if (noted) mt_store_relaxed(&rank->call, NULL);
}

/** Lets others run, from a call that does not wait. @return how long a program that calls again and
 * again should doze, ns: it takes the CPU from others; 0: not at all. */
static inline uint64_t tm_yield(void) {
  struct tm_rank *rank = tm_rank_self();
  if (tm_has_deferred(rank)) tm_deferred_release(rank);
  bool lent = tm_user_code_lend(rank);
  uint64_t doze_ns = mt_unlikely(tm_far() != NULL) ? tm_far()->test() : 0;
  mltp_yield();
  if (lent) tm_user_code_take(rank);
  return doze_ns;
}

/** What a waiter waits for is there. The internal lock is held. */
static inline void tm_waiter_end(struct tm_waiter *waiter) {
  if (mt_unlikely(waiter->dozes))
    mltp_await_store((uint32_t *)&waiter->missing, 0);
  else
    mt_store_relaxed(&waiter->missing, 0);
}

/** Parks the caller until its waiter, which dozes, is ended, or for some time. No lock is held. */
static inline void tm_doze(struct tm_rank *rank, const struct tm_waiter *waiter, uint64_t ns) {
  bool lent = tm_user_code_lend(rank);
  mltp_await_timed((const uint32_t *)&waiter->missing, 0, NULL, mltp_now() + ns);
  if (lent) tm_user_code_take(rank);
}

/** Resumes a thread that waits for messages of this mailbox, at home if that runs threads. */
static inline void tm_resume(struct tm_mailbox *box, struct mltp_thread *thread) {
  mti_resume_on(thread, box->home, &box->home_points);
}

#endif
