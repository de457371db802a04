/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file note.h
 * What the nodes of a window write to each other: a head, pieces of the target's memory, packed
 * data. All nodes have the same version of it. Each note but an answer is answered.
 */
#ifndef TM_RMA_NOTE_H
#define TM_RMA_NOTE_H

#include <stdint.h>
#include <string.h>

#include "tmpi/layout/type.h"
#include "tmpi/match/far.h"
#include "tmpi/rma/win.h"

enum tm_win_note_kind {
  TM_NOTE_PUT,
  TM_NOTE_GET,
  TM_NOTE_UPDATE, /**< an accumulate, of whatever kind */
  TM_NOTE_SWAP,   /**< data: the new element, and what to compare */
  TM_NOTE_LOCK,   /**< and the gate's: answered by TM_NOTE_GRANT when the lock is there */
  TM_NOTE_UNLOCK,
  TM_NOTE_POSTED,
  TM_NOTE_COMPLETED,
  TM_NOTE_ANSWER,
  TM_NOTE_GRANT
};

struct tm_win_head {
  int32_t kind;    /**< enum tm_win_note_kind */
  int32_t what;    /**< of a lock: enum tm_win_wait_for */
  int32_t rank;    /**< the origin's, or of TM_NOTE_POSTED the target's */
  bool exclusive;  /**< of a lock */
  bool passes;     /**< of the gate's */
  bool reads;      /**< of TM_NOTE_UPDATE: there are data */
  bool fetches;    /**< likewise: the answer has the old elements */
  bool failed;     /**< of TM_NOTE_ANSWER: some memory is not attached */
  uint64_t to;     /**< view that gets it; of the gate's locks: what its members have in common */
  uint64_t from;   /**< view of the sender, for the answer */
  uint64_t asker;  /**< for the answer: struct tm_win_result, or tm_win_wait; 0: none */
  uint64_t skip;   /**< for the answer: bytes of the result before its data */
  uint64_t op;     /**< of TM_NOTE_UPDATE: handle */
  int32_t element; /**< likewise: index of the predefined type */
  uint32_t pieces; /**< how many follow */
  uint64_t bytes;  /**< of the pieces together */
};

/** What an access to another node brings. On the stack of its origin. */
struct tm_win_result {
  void *at; /**< NULL: nothing */
  const struct tm_type *type;
  bool failed;
};

/** @return a note with room for pieces and data behind its head. */
static inline struct tm_far_send *tm_win_note_new(const struct tm_win_head *head,
                                                  const struct tm_piece *pieces, size_t bytes,
                                                  char **data) {
  size_t list = head->pieces * sizeof *pieces;
  struct tm_far_send *note = tm_far_note_new(sizeof *head + list + bytes);
  char *at = tm_far_note_data(note);
  memcpy(at, head, sizeof *head);
  if (pieces != NULL) memcpy(at + sizeof *head, pieces, list);
  *data = at + sizeof *head + list;
  return note;
}

#endif
