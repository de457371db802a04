/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred messages; deferred.h has the protocol.
 *
 * Relaxed: the mark and what its owner is doing, which the pair of fences orders; the mark is
 * otherwise changed under the mailbox's lock.
 */
#include "tmpi/match/deferred.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "core/internal/fence.h"
#include "core/internal/locks.h"
#include "tmpi/layout/type.h"
#include "tmpi/match/entries.h"
#include "tmpi/match/intake.h"
#include "tmpi/match/match.h"

static struct tm_rank *rank_of(struct tm_mailbox *box) {
  return (struct tm_rank *)((char *)box - offsetof(struct tm_rank, box));
}

/* @return whether the rank's main thread makes all its calls, and is in none that waits. */
static bool computes(const struct tm_rank *rank) {
  return rank->box.bounded && mt_load_relaxed(&rank->call) == NULL &&
         mt_load_relaxed(&rank->ended) == 0;
}

bool tm_deferred_wanted(const struct tm_rank *rank) {
  return rank->box.held >= TM_HELD_MAX && mti_fence_works() && computes(rank);
}

void tm_deferred_add(struct tm_rank *rank, struct tm_message *m) {
  struct tm_mailbox *box = &rank->box;
  if (box->deferred == NULL) tm_intake_shut(rank);
  m->deferred = true;
  m->prev = NULL;
  m->next = box->deferred;
  if (m->next != NULL) m->next->prev = m;
  box->deferred = m;
  mt_or_relaxed(&rank->attention, TM_DEFERRED); /* DF-3 relaxed: the fence follows; pairs DF-2 */
}

void tm_deferred_remove(struct tm_mailbox *box, struct tm_message *m) {
  m->deferred = false;
  *(m->prev != NULL ? &m->prev->next : &box->deferred) = m->next;
  if (m->next != NULL) m->next->prev = m->prev;
  if (box->deferred != NULL) return;
  mt_and_relaxed(&rank_of(box)->attention, ~TM_DEFERRED);
  tm_intake_open(rank_of(box));
}

void tm_deferred_settle(struct tm_rank *rank) {
  mti_fence_heavy();
  /* DF-4 relaxed: follows the fence; pairs DF-1 */
  if (mt_load_relaxed(&rank->call) != NULL || mt_load_relaxed(&rank->ended) != 0)
    tm_deferred_release(rank);
}

/* The message gets data of its own. @return its sender, which is complete then. */
static struct tm_request *take_data(struct tm_mailbox *box, struct tm_message *m) {
  struct tm_request *sender = m->sender;
  m->copy = malloc(m->bytes + 1);
  if (m->copy == NULL) tm_message_panic(m->bytes);
  tm_type_pack(m->copy, sender->buffer, sender->type, 0, m->bytes);
  m->sender = NULL;
  m->held = (uint32_t)(sizeof *m + m->bytes);
  box->held += m->held;
  tm_deferred_remove(box, m);
  return sender;
}

/* The lock is released before a sender is completed, which takes the lock of the sender's. */
void tm_deferred_release(struct tm_rank *rank) {
  struct tm_mailbox *box = &rank->box;
  for (;;) {
    mti_lock(&box->ilock);
    struct tm_request *sender = box->deferred != NULL ? take_data(box, box->deferred) : NULL;
    mti_unlock(&box->ilock);
    if (sender == NULL) return;
    tm_request_complete(sender);
  }
}
