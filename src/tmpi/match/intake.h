/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file intake.h
 * Short messages between ranks that have a VP each: mailbox/intake.h has the ring.
 *
 * A sender puts a message into the receiver's ring, and is done. The receiver matches it with its
 * receives when it calls MPI next: each call that looks at the mailbox, or finds a request not
 * complete, first moves what has come from the ring into the mailbox. A sender whose message does
 * not fit there moves the ring's contents, too, before its own message enters the mailbox. So
 * messages of one sender stay in order. A receive that does not wait is posted without a look at
 * the ring: the look would take a slot's line from a sender that is about to write there, once for
 * each of many receives. The call that waits finds many slots full.
 *
 * Nobody is woken for what is in the ring. So a thread that is going to park until a message comes
 * shuts the intake, and looks at the mailbox after that: senders put nothing there until it has
 * opened the intake again (tests/models/intake.pml). A mailbox that defers messages is shut as
 * well, or else the ring would get around its bound (deferred.h).
 *
 * Relaxed: the reasons to shut it, which a sender reads as a hint and then under the lock.
 *
 * Rejected: a ring for each pair of ranks (memory in the square of ranks, and a receiver looks at
 * all of them); slots that senders reserve without a lock (a sender that has reserved one and loses
 * its CPU holds up what others have sent, and then their larger messages overtake); slots in an
 * order that the processor does not foresee (many messages at a time gain a tenth, ranks that poll
 * for one message lose an eighth); a receiver that lets several messages come before it takes the
 * first, or fetches the lines of later slots (no gain).
 */
#ifndef TM_MATCH_INTAKE_H
#define TM_MATCH_INTAKE_H

#include <stdbool.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/mailbox/intake.h"
#include "tmpi/rank/rank.h"

/** @return NULL: the rank has none. Most jobs do not touch the rank's line. */
static inline struct tm_intake *tm_intake_of(const struct tm_rank *rank) {
  return mt_unlikely(tm_job.past_mailboxes) ? rank->intake : NULL;
}

/** @return the most bytes that reach a rank in a line or a few, beside its queues. */
static inline size_t tm_few_bytes(const struct tm_rank *rank) {
  return tm_intake_of(rank) != NULL ? TM_INTAKE_MAX : TM_INLINE_SLOT_BYTES;
}

/** @return the first slot of the oldest message in a rank's ring, as tm_intake_first(). */
static inline const struct tm_intake_slot *tm_intake_oldest(const struct tm_rank *rank) {
  return tm_intake_first(tm_intake_of(rank));
}

/* ---- intake_move.c, for ranks that have an intake */

/** @return whether the message of a send that leaves a copy is in the receiver's ring. */
bool tm_intake_put(struct tm_intake *in, const struct tm_request *send);
/** Moves what has come into the mailbox; with its lock held, or not. */
void tm_intake_move(struct tm_rank *rank);
void tm_intake_lock_and_move(struct tm_rank *rank);

/** Moves what has come into the mailbox. Its lock is held, and may be released in between. */
static inline void tm_intake_drain(struct tm_rank *rank) {
  if (tm_intake_oldest(rank) != NULL) tm_intake_move(rank);
}

/** The same without the lock. @return whether anything had come. */
static inline bool tm_intake_poll(struct tm_rank *rank) {
  if (tm_intake_oldest(rank) == NULL) return false;
  tm_intake_lock_and_move(rank);
  return true;
}

static inline void tm_intake_count(struct tm_rank *rank, int reasons) {
  struct tm_intake *in = tm_intake_of(rank);
  if (in == NULL) return;
  mti_lock(&in->ilock);
  mt_store_relaxed(&in->shut, in->shut + (uint32_t)reasons);
  mti_unlock(&in->ilock);
}

/** Senders put nothing into the ring from now on, until tm_intake_open(). The mailbox's lock may be
 * held. */
static inline void tm_intake_shut(struct tm_rank *rank) { tm_intake_count(rank, 1); }
static inline void tm_intake_open(struct tm_rank *rank) { tm_intake_count(rank, -1); }

#endif
