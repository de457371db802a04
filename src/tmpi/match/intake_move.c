/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short messages enter a ring, and leave it for the mailbox; intake.h has the protocol.
 *
 * Relaxed: the first look of a sender whether the intake is shut, which it repeats under the lock;
 * the sequence of a message's later slots, where nobody looks.
 */
#include "tmpi/match/intake.h"

#include "arch/prefetch.h"
#include "core/internal/locks.h"
#include "tmpi/match/entries.h"
#include "tmpi/match/match.h"
#include "tmpi/match/meet.h"

enum { AHEAD = 4 /* slots: beyond the line where the receiver looks for the next message */ };

static bool has_room(struct tm_intake *in, uint32_t slots) {
  if (in->tail + slots - in->known_head <= TM_INTAKE_SLOTS) return true;
  in->known_head = mt_load_acquire(&in->head); /* IK-3 acquire: slots were read; pairs IK-4 */
  return in->tail + slots - in->known_head <= TM_INTAKE_SLOTS;
}

/* A locked instruction waits until all earlier stores are in the sender's cache, so the next
 * message would wait for the line of this one's slot. The sender fetches the line of a later slot
 * now, if the receiver has read it. */
static void fetch_ahead(struct tm_intake *in, uint32_t tail) {
  if (tail + AHEAD - in->known_head < TM_INTAKE_SLOTS)
    mt_arch_prefetch_own(tm_intake_slot_at(in, tail + AHEAD));
}

/* The data of a message that takes several slots. The later ones are filled first: the receiver
 * looks at the first one, and may take its line back while the sender waits for their line. */
static void pack_several(struct tm_intake *in, const struct tm_request *send, size_t bytes,
                         uint32_t slots) {
  char packed[TM_INTAKE_MAX];
  const char *data = send->buffer;
  if (!tm_type_is_flat(send->type)) {
    tm_type_pack(packed, send->buffer, send->type, 0, bytes);
    data = packed;
  }
  size_t done = TM_INTAKE_BYTES;
  for (uint32_t number = in->tail + 1; number < in->tail + slots; number++) {
    struct tm_intake_slot *slot = tm_intake_slot_at(in, number);
    if (done + TM_INTAKE_MORE <= bytes)
      memcpy(slot, data + done, TM_INTAKE_MORE);
    else if (done < bytes)
      memcpy(slot, data + done, bytes - done);
    done += TM_INTAKE_MORE;
    mt_store_relaxed(&slot->sequence, number + 1); /* else it would be older than a lap */
  }
  memcpy(tm_intake_slot_at(in, in->tail)->data, data, TM_INTAKE_BYTES);
}

/* The ring is open and has room for the message. Its lock is held. */
static inline void put(struct tm_intake *in, const struct tm_request *send, size_t bytes,
                       uint32_t slots) {
  uint32_t tail = in->tail;
  struct tm_intake_slot *slot = tm_intake_slot_at(in, tail);
  if (mt_likely(slots == 1))
    tm_short_pack(slot->data, send, bytes);
  else
    pack_several(in, send, bytes, slots);
  tm_envelope_copy(&slot->envelope, &send->entry.envelope);
  slot->full = tm_slot_full(send, bytes);
  in->tail = tail + slots;
  mt_store_release(&slot->sequence, tail + 1); /* IK-1 release: the message; pairs IK-2 */
  fetch_ahead(in, in->tail);
}

bool tm_intake_put(struct tm_intake *in, const struct tm_request *send) {
  size_t bytes = tm_request_bytes(send);
  if (bytes > TM_INTAKE_MAX || mt_load_relaxed(&in->shut) != 0) return false;
  mti_lock(&in->ilock);
  uint32_t slots = tm_intake_slots_for(in->tail, bytes);
  bool room = in->shut == 0 && has_room(in, slots);
  if (room) put(in, send, bytes, slots);
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

/* The oldest message enters the mailbox: no receive that was posted fits it. */
static void leave_oldest(struct tm_mailbox *box, struct tm_intake *in,
                         const struct tm_intake_slot *slot) {
  struct tm_short_message m;
  tm_intake_read(in, slot, &m);
  tm_leave(box, tm_message_of_short(box, m.envelope, m.full, m.data));
  tm_intake_take(in, tm_slot_bytes(m.full));
}

void tm_intake_move(struct tm_rank *rank) {
  struct tm_mailbox *box = &rank->box;
  struct tm_intake *in = rank->intake;
  const struct tm_intake_slot *slot;
  while ((slot = tm_intake_first(in)) != NULL) {
    struct tm_request *recv = tm_take_posted(box, &slot->envelope);
    if (mt_likely(recv != NULL)) {
      tm_intake_unpack(in, slot, recv);
      complete(rank, recv);
    } else {
      leave_oldest(box, in, slot);
    }
  }
}

void tm_intake_lock_and_move(struct tm_rank *rank) {
  mti_lock(&rank->box.ilock);
  tm_intake_move(rank);
  mti_unlock(&rank->box.ilock);
}
