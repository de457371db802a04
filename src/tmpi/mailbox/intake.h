/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file intake.h
 * A ring beside a mailbox, into which senders put short messages without the mailbox's internal
 * lock. There is one for each rank where ranks have a VP each; match/intake.h has the rules.
 *
 * Between two processors a message costs the lines that are transferred. Through the mailbox these
 * are the line of its lock, those of its queue, and those of the request or the cell. Through the
 * ring it is the line of a slot, which two messages of up to eight bytes share; a longer one takes
 * whole lines, as many as it needs. A sender keeps the line of `tail`, and looks at `head` only
 * when the ring may be full. The receiver writes no slot.
 *
 * Relaxed: head, which a spinner reads as a hint; what the rank's threads know about answers.
 *
 * A slot is full when its sequence is one more than the count of the slots that were taken before
 * it (IK-1, IK-2). The later slots of a message are full when the first one is. A sender overwrites
 * a slot when `head` has passed it (IK-3, IK-4).
 */
#ifndef TM_MAILBOX_INTAKE_H
#define TM_MAILBOX_INTAKE_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "policy/wait.h"
#include "tmpi/mailbox/inline_slot.h"

enum {
  TM_INTAKE_SLOTS = 256,                                /* a power of two */
  TM_INTAKE_BYTES = 8,                                  /* of data in the first slot of a message */
  TM_INTAKE_MORE = TM_LINE / 2 - 4,                     /* in each other one */
  TM_INTAKE_MAX = TM_INTAKE_BYTES + 17 * TM_INTAKE_MORE /* of a message: `full` counts them */
};

/** Half a line. In later slots of a message there are data up to the sequence. IK-1, IK-4 */
struct tm_intake_slot {
  struct tm_envelope envelope;
  uint32_t full; /* as of struct tm_inline_slot */
  char data[TM_INTAKE_BYTES];
  uint32_t sequence; /* [atomic] IK-1, IK-2 */
};

_Static_assert(sizeof(struct tm_intake_slot) == TM_LINE / 2, "two slots share a line");
_Static_assert(offsetof(struct tm_intake_slot, sequence) == TM_INTAKE_MORE, "data precede it");
_Static_assert((int)TM_INTAKE_MAX < (int)TM_FULL_BYTES, "a slot tells the bytes of a message");

/** All zero: open, and empty. */
struct tm_intake {
  alignas(TM_LINE) uint32_t ilock; /* after the mailbox's internal lock */
  uint32_t shut;       /* [ilock] reasons not to use it; relaxed: a sender's first look */
  uint32_t tail;       /* [ilock] slots filled */
  uint32_t known_head; /* [ilock] slots taken, at least */
  alignas(TM_LINE) uint32_t head; /* [atomic] slots taken; the mailbox's lock is held. IK-3, IK-4;
                                     relaxed: a spinner looks */
  uint32_t asks;         /* relaxed: the rank has sent a message, and not waited for one since */
  struct mt_reply reply; /* relaxed: to what it sends */
  alignas(TM_LINE) struct tm_intake_slot slots[TM_INTAKE_SLOTS];
};

static inline struct tm_intake_slot *tm_intake_slot_at(struct tm_intake *in, uint32_t number) {
  return &in->slots[number % TM_INTAKE_SLOTS];
}

/** @return slots that a message takes from that number on. A message of several slots ends with a
 * line, so that the next one begins a line. */
static inline uint32_t tm_intake_slots_for(uint32_t number, size_t bytes) {
  if (mt_likely(bytes <= TM_INTAKE_BYTES)) return 1;
  uint32_t slots = 1 + ((uint32_t)bytes - TM_INTAKE_BYTES + TM_INTAKE_MORE - 1) / TM_INTAKE_MORE;
  return slots + (number + slots) % 2;
}

/** Any thread looks; what it sees lasts while it holds the mailbox's lock. @return the oldest
 * message's first slot; NULL: there is none, or no intake. */
static inline const struct tm_intake_slot *tm_intake_first(const struct tm_intake *in) {
  if (in == NULL) return NULL;
  uint32_t head = mt_load_relaxed(&in->head);
  const struct tm_intake_slot *slot = &in->slots[head % TM_INTAKE_SLOTS];
  /* IK-2 acquire: the message; pairs IK-1 */
  return mt_load_acquire(&slot->sequence) == head + 1 ? slot : NULL;
}

/** What the oldest message consists of. The mailbox's lock is held. */
struct tm_short_message {
  const struct tm_envelope *envelope;
  uint32_t full; /* as of struct tm_inline_slot */
  const char *data;
  char copy[TM_INTAKE_MAX]; /* `data` of several slots */
};

static inline void tm_intake_read(struct tm_intake *in, const struct tm_intake_slot *first,
                                  struct tm_short_message *m) {
  m->envelope = &first->envelope;
  m->full = first->full;
  m->data = first->data;
  const uint32_t bytes = tm_slot_bytes(m->full);
  if (mt_likely(bytes <= TM_INTAKE_BYTES)) return;
  memcpy(m->copy, first->data, TM_INTAKE_BYTES);
  uint32_t number = in->head + 1;
  for (uint32_t done = TM_INTAKE_BYTES; done < bytes; done += TM_INTAKE_MORE)
    memcpy(m->copy + done, tm_intake_slot_at(in, number++), TM_INTAKE_MORE);
  m->data = m->copy;
}

/** A message of that many bytes, the oldest, has been read. The mailbox's lock is held. */
static inline void tm_intake_take(struct tm_intake *in, size_t bytes) {
  /* IK-4 release: the slots were read; pairs IK-3 */
  mt_store_release(&in->head, in->head + tm_intake_slots_for(in->head, bytes));
}

#endif
