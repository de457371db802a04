/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short messages enter a ring, and leave it for the mailbox; intake.h has the protocol.
 *
 * Relaxed: the first look of a sender whether the intake is shut, which it repeats under the lock.
 */
#include "tmpi/match/intake.h"

#include "arch/prefetch.h"
#include "core/internal/locks.h"
#include "tmpi/match/entries.h"
#include "tmpi/match/match.h"
#include "tmpi/match/meet.h"

enum { AHEAD = 2 /* slots */ };

static bool has_room(struct tm_intake *in) {
  if (in->tail - in->known_head < TM_INTAKE_SLOTS) return true;
  in->known_head = mt_load_acquire(&in->head); /* IK-3 acquire: slots were read; pairs IK-4 */
  return in->tail - in->known_head < TM_INTAKE_SLOTS;
}

/* A locked instruction waits until all earlier stores are in the sender's cache, so the next
 * message would wait for the line of this one's slot. The sender fetches the line of a later slot
 * now, if the receiver has read it. */
static void fetch_ahead(struct tm_intake *in) {
  if (in->tail + AHEAD - in->known_head < TM_INTAKE_SLOTS)
    mt_arch_prefetch_own(&in->slots[(in->tail + AHEAD) % TM_INTAKE_SLOTS]);
}

bool tm_intake_put(struct tm_intake *in, const struct tm_request *send) {
  if (tm_request_bytes(send) > TM_INLINE_SLOT_BYTES || mt_load_relaxed(&in->shut) != 0)
    return false;
  mti_lock(&in->ilock);
  bool room = in->shut == 0 && has_room(in);
  if (room) {
    struct tm_intake_slot *slot = &in->slots[in->tail % TM_INTAKE_SLOTS];
    tm_slot_fill(&slot->message, send);
    mt_store_release(&slot->sequence, ++in->tail); /* IK-1 release: the message; pairs IK-2 */
    fetch_ahead(in);
  }
  mti_unlock(&in->ilock);
  return room;
}

/* A receive that was posted has its message. The lock is held. */
static void complete(struct tm_rank *rank, struct tm_request *recv) {
  struct tm_mailbox *box = &rank->box;
  if (recv->parks) {
    tm_resume(box, recv->blocked);
    return;
  }
  bool freed;
  struct mltp_thread *thread = tm_request_mark_done(recv, &freed);
  if (thread != NULL) tm_resume(box, thread);
  if (!freed) return;
  mti_unlock(&box->ilock);
  tm_request_drop(recv);
  mti_lock(&box->ilock);
}

void tm_intake_move(struct tm_rank *rank) {
  struct tm_mailbox *box = &rank->box;
  const struct tm_inline_slot *slot;
  while ((slot = tm_intake_first(rank->intake)) != NULL) {
    struct tm_request *recv = tm_take_posted(box, &slot->envelope);
    if (recv == NULL)
      tm_leave(box, tm_message_of_slot(box, slot));
    else
      tm_slot_unpack(slot, recv);
    tm_intake_take(rank->intake);
    if (recv != NULL) complete(rank, recv);
  }
}

void tm_intake_lock_and_move(struct tm_rank *rank) {
  mti_lock(&rank->box.ilock);
  tm_intake_move(rank);
  mti_unlock(&rank->box.ilock);
}
