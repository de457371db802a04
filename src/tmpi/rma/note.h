/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file note.h
 * What the nodes of a window write to each other. A note has one or more messages: a head, pieces
 * of the target's memory, packed data. All nodes have the same version of it.
 *
 * A note to the members of a node is answered once, whatever the number of its messages. The answer
 * has the results that they bring. A lock comes first in its note. What follows it waits for the
 * lock, too, and the grant is the answer to all of it.
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
  TM_NOTE_LOCK,   /**< and the gate's: answered by TM_NOTE_GRANT */
  TM_NOTE_UNLOCK,
  TM_NOTE_POSTED,
  TM_NOTE_COMPLETED,
  TM_NOTE_ANSWER,    /**< `pieces` results follow, each with its data */
  TM_NOTE_GRANT,     /**< as TM_NOTE_ANSWER, and the lock is there */
  TM_NOTE_PUT_LARGE, /**< announces the data: far_large.c */
  TM_NOTE_GET_LARGE, /**< asks for: */
  TM_NOTE_DATA       /**< announces them; `to`: the origin's view */
};

struct tm_win_head {
  int32_t kind;    /**< enum tm_win_note_kind */
  int32_t what;    /**< of a lock: enum tm_win_wait_for */
  int32_t rank;    /**< the origin's, or of TM_NOTE_POSTED the target's */
  bool exclusive;  /**< of a lock */
  bool passes;     /**< of the gate's */
  bool reads;      /**< of TM_NOTE_UPDATE: there are data */
  bool fetches;    /**< likewise: the answer has the old elements */
  bool direct;     /**< `asker` is where the result's data go */
  uint64_t to;     /**< view that gets it; of the gate's locks: what its members have in common */
  uint64_t from;   /**< view of the sender, for the answer */
  uint64_t asker;  /**< for the answer: struct tm_win_result, or tm_win_wait; 0: none */
  uint64_t skip;   /**< for the answer: bytes of the result before its data. Of
                        TM_NOTE_GET_LARGE: where the data go */
  uint64_t op;     /**< of TM_NOTE_UPDATE: handle */
  int32_t element; /**< likewise: index of the predefined type */
  uint32_t pieces; /**< how many follow */
  uint64_t bytes;  /**< of the pieces together */
};

/** What an access to another node brings, if its call waits. On the stack of its origin. */
struct tm_win_result {
  void *at; /**< NULL: nothing */
  const struct tm_type *type;
  bool failed;
};

/** A result in an answer; its data follow. */
struct tm_win_answer {
  uint64_t asker, skip, bytes;
  bool direct;
  bool failed; /**< some memory is not attached */
};

/** @return the bytes of data in a message. */
static inline size_t tm_win_data_size(const struct tm_win_head *head) {
  switch ((enum tm_win_note_kind)head->kind) {
    case TM_NOTE_PUT: return head->bytes;
    case TM_NOTE_UPDATE: return head->reads ? head->bytes : 0;
    case TM_NOTE_SWAP: return 2 * head->bytes;
    default: return 0;
  }
}

/** @return the bytes of a message. */
static inline size_t tm_win_message_size(const struct tm_win_head *head) {
  return sizeof *head + head->pieces * sizeof(struct tm_piece) + tm_win_data_size(head);
}

/** @return the bytes that a message's result takes in the answer. */
static inline size_t tm_win_result_size(const struct tm_win_head *head) {
  bool brings = head->kind == TM_NOTE_GET || head->kind == TM_NOTE_SWAP || head->fetches;
  if (head->asker == 0) return 0;
  return sizeof(struct tm_win_answer) + (brings ? head->bytes : 0);
}

/** Writes a message but for its data. pieces NULL: there are none. @return where the data go. */
static inline char *tm_win_message_write(char *at, const struct tm_win_head *head,
                                         const struct tm_piece *pieces) {
  size_t list = pieces != NULL ? head->pieces * sizeof *pieces : 0;
  memcpy(at, head, sizeof *head);
  if (list > 0) memcpy(at + sizeof *head, pieces, list);
  return at + sizeof *head + list;
}

/** @return a note with a message without pieces and data. */
static inline struct tm_far_send *tm_win_note_new(const struct tm_win_head *head) {
  struct tm_far_send *note = tm_far_note_new(sizeof *head);
  tm_win_message_write(tm_far_note_data(note), head, NULL);
  return note;
}

#endif
