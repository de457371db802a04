/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file inline_slot.h
 * Room for one short message in the line of a mailbox that holds its internal lock. Between two
 * processors a message costs the transfers of lines that it takes: by a cell those of internal
 * lock, queue and cell, by this one, which the internal lock brings along, one for the sender and
 * one for the receiver.
 *
 * It is filled when there is no other message: what is in it is older than all in `arrived`, and
 * looked at first. The mailbox's internal lock protects it (tests/models/mailbox.pml).
 */
#ifndef TM_MAILBOX_INLINE_SLOT_H
#define TM_MAILBOX_INLINE_SLOT_H

#include <stddef.h>
#include <stdint.h>

#include "tmpi/mailbox/queue.h"

enum {
  TM_LINE = 64,              /**< bytes of a cache line */
  TM_INLINE_SLOT_BYTES = 36, /**< of data there is room for: a line without the rest */
  TM_FULL_BYTES = 0x1ff      /**< bits of `full` that tell the bytes */
};

struct tm_inline_slot {
  struct tm_envelope envelope;
  uint32_t full; /* 0: empty; otherwise 1 and the bytes of data, in the lowest 9 bits, and above
                    them the sender's tm_inline_slot_tag() */
  char data[TM_INLINE_SLOT_BYTES];
};

/** @return bytes of data, from `full` of a slot that is full. */
static inline uint32_t tm_slot_bytes(uint32_t full) { return (full & TM_FULL_BYTES) - 1; }

/** @return which request sent it, among those of one envelope that can be cancelled at a time:
 * they differ in these bits of their addresses. */
static inline uint32_t tm_inline_slot_tag(const void *request) {
  return (uint32_t)((uintptr_t)request >> 4) * (TM_FULL_BYTES + 1);
}

/** @return `full` of a slot with that many bytes of a request. */
static inline uint32_t tm_slot_full(const void *request, size_t bytes) {
  return tm_inline_slot_tag(request) | (1 + (uint32_t)bytes);
}

/** @return the tag in `full`, as a message that was in a slot keeps it: never 0. */
static inline uint32_t tm_slot_tag_kept(uint32_t full) {
  return (full & ~(uint32_t)TM_FULL_BYTES) | 1;
}

#endif
