/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file intake.h
 * A ring beside a mailbox, into which senders put short messages without the mailbox's internal
 * lock. There is one for each rank where ranks have a VP each; match/intake.h has the rules.
 *
 * Between two processors a message costs the lines that are transferred. Through the mailbox these
 * are the line of its lock, those of its queue, and those of the request or the cell. Through the
 * ring it is the line of a slot. A sender keeps the line of `tail`, and looks at `head` only when
 * the ring may be full. The receiver writes no slot.
 *
 * Relaxed: head, which a spinner reads as a hint.
 *
 * A slot is full when its sequence is one more than the count of the messages that were taken
 * before it (IK-1, IK-2). A sender overwrites it when `head` has passed it (IK-3, IK-4).
 */
#ifndef TM_MAILBOX_INTAKE_H
#define TM_MAILBOX_INTAKE_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "tmpi/mailbox/inline_slot.h"

enum { TM_INTAKE_SLOTS = 64 /* a power of two */ };

struct tm_intake_slot {
  alignas(TM_LINE) struct tm_inline_slot message; /* IK-1, IK-4 */
  uint32_t sequence;                              /* [atomic] IK-1, IK-2 */
};

/** All zero: open, and empty. */
struct tm_intake {
  alignas(TM_LINE) uint32_t ilock; /* after the mailbox's internal lock */
  uint32_t shut;       /* [ilock] reasons not to use it; relaxed: a sender's first look */
  uint32_t tail;       /* [ilock] messages put */
  uint32_t known_head; /* [ilock] messages taken, at least */
  alignas(TM_LINE) uint32_t head; /* [atomic] messages taken; the mailbox's lock is held. IK-3,
                                     IK-4; relaxed: a spinner looks */
  struct tm_intake_slot slots[TM_INTAKE_SLOTS];
};

/** Any thread looks; what it sees lasts while it holds the mailbox's lock. @return the oldest
 * message; NULL: there is none, or no intake. */
static inline const struct tm_inline_slot *tm_intake_first(const struct tm_intake *in) {
  if (in == NULL) return NULL;
  uint32_t head = mt_load_relaxed(&in->head);
  const struct tm_intake_slot *slot = &in->slots[head % TM_INTAKE_SLOTS];
  /* IK-2 acquire: the message; pairs IK-1 */
  return mt_load_acquire(&slot->sequence) == head + 1 ? &slot->message : NULL;
}

/** The oldest message has been read. The mailbox's lock is held. */
static inline void tm_intake_take(struct tm_intake *in) {
  mt_store_release(&in->head, in->head + 1); /* IK-4 release: the slot was read; pairs IK-3 */
}

#endif
