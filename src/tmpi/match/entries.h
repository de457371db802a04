/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file entries.h
 * The contents of a mailbox; mailbox.h has the protocol. The caller of a function that takes a
 * mailbox holds its internal lock.
 *
 * Relaxed: mail, which a spinner reads as a hint.
 */
#ifndef TM_MATCH_ENTRIES_H
#define TM_MATCH_ENTRIES_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/mailbox/mailbox.h"
#include "tmpi/match/deferred.h"
#include "tmpi/match/hook.h"

/** @return NULL for NULL. */
static inline struct tm_request *tm_request_of(struct tm_entry *entry) {
  return entry != NULL ? (struct tm_request *)((char *)entry - offsetof(struct tm_request, entry))
                       : NULL;
}

static inline struct tm_message *tm_message_of(struct tm_message_entry *entry) {
  return (struct tm_message *)entry; /* its first member */
}

static inline size_t tm_request_bytes(const struct tm_request *request) {
  return request->count * request->type->size;
}

/* ---- queues: receives that are posted, messages that have come */

static inline void tm_post(struct tm_mailbox *box, struct tm_request *recv) {
  recv->posted = true;
  tm_queue_add_receive(&box->posted, &recv->entry);
}

static inline void tm_withdraw(struct tm_mailbox *box, struct tm_request *recv) {
  recv->posted = false;
  tm_queue_remove_receive(&box->posted, &recv->entry);
}

static inline struct tm_request *tm_take_posted(struct tm_mailbox *box,
                                                const struct tm_envelope *message) {
  struct tm_request *recv = tm_request_of(tm_queue_take_receive(&box->posted, message));
  if (recv != NULL) recv->posted = false;
  return recv;
}

static inline void tm_count_mail(struct tm_mailbox *box, int change) {
  mt_store_relaxed(&box->mail, box->mail + (uint32_t)change);
}

static inline void tm_take_out(struct tm_mailbox *box, struct tm_message *m) {
  tm_count_mail(box, -1);
  box->held -= m->held;
  if (mt_unlikely(m->deferred)) tm_deferred_remove(box, m);
  tm_queue_remove_message(&box->arrived, &m->entry);
}

static inline struct tm_message *tm_take_message(struct tm_mailbox *box,
                                                 const struct tm_envelope *wanted) {
  if (box->arrived.count == 0) return NULL;
  struct tm_message *m = tm_message_of(tm_queue_find_message(&box->arrived, wanted));
  if (m != NULL) tm_take_out(box, m);
  return m;
}

/* ---- short messages. What tm_match_hook wants to know there is no room for. */

/** @return whether a message may go into the inline slot without waking a thread. */
static inline bool tm_inline_slot_takes(const struct tm_mailbox *box,
                                        const struct tm_request *send) {
  return box->mail == 0 && tm_request_bytes(send) <= TM_INLINE_SLOT_BYTES && box->probers == NULL &&
         tm_match_hook == NULL;
}

/** Copies what a slot has room for. The usual sizes need no call. */
static inline void tm_slot_copy(char *to, const char *from, size_t bytes) {
  if (mt_likely(bytes == 8))
    memcpy(to, from, 8);
  else if (bytes == 4)
    memcpy(to, from, 4);
  else if (bytes > 0)
    memcpy(to, from, bytes);
}

static inline void tm_short_pack(char *data, const struct tm_request *send, size_t bytes) {
  if (mt_likely(tm_type_is_flat(send->type)))
    tm_slot_copy(data, send->buffer, bytes);
  else
    tm_type_pack(data, send->buffer, send->type, 0, bytes);
}

static inline void tm_inline_slot_fill(struct tm_mailbox *box, const struct tm_request *send) {
  struct tm_inline_slot *slot = &box->inline_slot;
  size_t bytes = tm_request_bytes(send);
  tm_envelope_copy(&slot->envelope, &send->entry.envelope);
  slot->full = tm_slot_full(send, bytes);
  tm_short_pack(slot->data, send, bytes);
  tm_count_mail(box, 1);
}

static inline void tm_inline_slot_empty(struct tm_mailbox *box) {
  box->inline_slot.full = 0;
  tm_count_mail(box, -1);
}

static inline bool tm_inline_slot_has(const struct tm_mailbox *box,
                                      const struct tm_envelope *wanted) {
  return box->inline_slot.full != 0 && tm_envelope_fits(&box->inline_slot.envelope, wanted);
}

/** @return a free cell for a message, NULL: there is none. */
static inline struct tm_message *tm_cell_take(struct tm_mailbox *box,
                                              const struct tm_envelope *envelope, size_t bytes) {
  struct tm_message *m = box->cells;
  if (m == NULL) return NULL;
  box->cells = m->next;
  box->cell_count--;
  tm_envelope_copy(&m->entry.entry.envelope, envelope);
  m->bytes = bytes;
  m->type = NULL;
  m->slot_tag = 0;
  return m;
}

/** @return a cell the data are in, NULL: none is free, or they do not fit. */
static inline struct tm_message *tm_cell_fill(struct tm_mailbox *box,
                                              const struct tm_request *send) {
  size_t bytes = tm_request_bytes(send);
  if (bytes > TM_CELL_BYTES || tm_match_hook != NULL) return NULL;
  struct tm_message *m = tm_cell_take(box, &send->entry.envelope, bytes);
  if (m == NULL) return NULL;
  tm_type_pack(m->data, send->buffer, send->type, 0, m->bytes);
  return m;
}

/** @return false: it is no cell, or there are enough. */
static inline bool tm_cell_keep(struct tm_mailbox *box, struct tm_message *m) {
  if (!m->is_cell || box->cell_count == TM_CELLS_MAX) return false;
  m->next = box->cells;
  box->cells = m;
  box->cell_count++;
  return true;
}

/* ---- messages that are allocated */

_Noreturn static inline void tm_message_panic(size_t bytes) {
  tm_panic("no memory for a message of %zu bytes (fewer or smaller unreceived messages)", bytes);
}

/** @return a message without data yet, with room for `bytes`. */
static inline struct tm_message *tm_message_new(const struct tm_envelope *envelope, size_t bytes,
                                                size_t room) {
  struct tm_message *m = malloc(sizeof *m + room);
  if (m == NULL) tm_message_panic(bytes);
  *m = (struct tm_message){
      .entry.entry.envelope = *envelope, .bytes = bytes, .is_cell = room == TM_CELL_BYTES};
  return m;
}

/** @return a message with what is in a slot, or several, in a cell if one is free. full: as of
 * struct tm_inline_slot. */
static inline struct tm_message *tm_message_of_short(struct tm_mailbox *box,
                                                     const struct tm_envelope *envelope,
                                                     uint32_t full, const char *data) {
  size_t bytes = tm_slot_bytes(full);
  size_t room = bytes > TM_CELL_BYTES ? bytes : TM_CELL_BYTES;
  struct tm_message *m = bytes > TM_CELL_BYTES ? NULL : tm_cell_take(box, envelope, bytes);
  if (m == NULL) m = tm_message_new(envelope, bytes, room);
  m->held = (uint32_t)(sizeof *m + room);
  m->slot_tag = tm_slot_tag_kept(full);
  memcpy(m->data, data, bytes);
  return m;
}

/** NULL: none. */
static inline void tm_message_discard(struct tm_message *m) {
  if (m == NULL) return;
  if (m->type != NULL) tm_type_release(m->type);
  free(m->copy);
  free(m);
}

#endif
