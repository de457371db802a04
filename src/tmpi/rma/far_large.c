/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large puts and gets of windows over nodes: the data go straight from one rank's memory to the
 * other's; win.h.
 *
 * What goes in notes is copied into a note, and from what UCX has received into memory. Beyond
 * LARGE_MIN bytes these copies take longer than the answers that a fetch needs. A note then
 * announces the data, and the node that wants them fetches them. Of a put that is the target's
 * node. Of a get a small message asks the target's node to announce them.
 *
 * The target may be unlocked, or its epoch end, only when the data have been fetched. So a message
 * that ends something waits for all answers first.
 *
 * Rejected: accumulates in this form. Their data must come to other memory first, and they would
 * overtake each other.
 */
#include <stdlib.h>
#include <string.h>

#include "tmpi/error/errors.h"
#include "tmpi/rma/access.h"
#include "tmpi/rma/note.h"

enum { LARGE_MIN = 65536 };

bool tm_far_is_large(const struct tm_access *a, size_t bytes) {
  return bytes > LARGE_MIN && a->win->flavor != MPI_WIN_FLAVOR_DYNAMIC &&
         tm_type_is_flat(a->origin.type) && tm_type_is_flat(a->memory.type);
}

/* @return a note that announces data, and tells where they go. */
static struct tm_far_send *announce(const struct tm_win_head *head, uint64_t to, const void *data) {
  const struct tm_piece piece = {to, head->bytes};
  struct tm_far_send *note = tm_far_note_new(sizeof *head + sizeof piece);
  tm_win_message_write(tm_far_note_data(note), head, &piece);
  tm_far_note_announces(note, data, head->bytes);
  return note;
}

static struct tm_win_head head_of(const struct tm_access *a, enum tm_win_note_kind kind,
                                  size_t bytes) {
  return (struct tm_win_head){.kind = (int32_t)kind,
                              .rank = a->win->comm->rank,
                              .pieces = 1,
                              .to = a->far->view,
                              .from = (uintptr_t)a->win,
                              .bytes = bytes};
}

void tm_far_put_large(const struct tm_access_call *c, const struct tm_access *a) {
  const struct tm_win_head head = head_of(a, TM_NOTE_PUT_LARGE, a->origin.bytes);
  tm_win_notes_expect(a->win, c->call);
  tm_far_note_send(announce(&head, (uintptr_t)a->memory.at, a->origin.at), TM_FAR_WINDOW,
                   tm_win_number(a->win, c->target), false);
}

void tm_far_get_large(const struct tm_access_call *c, const struct tm_access *a) {
  struct tm_win_head head = head_of(a, TM_NOTE_GET_LARGE, a->memory.bytes);
  const struct tm_piece piece = {(uintptr_t)a->memory.at, head.bytes};
  head.skip = (uintptr_t)a->origin.at;
  tm_win_notes_expect(a->win, c->call);
  tm_win_notes_begin(a->win, c->target, &head, &piece, c->call);
  tm_win_notes_end(a->win, c->target, true);
}

/* ---- in a taker of notes */

void tm_win_answer_large(const struct tm_win_head *asked, const char *list, int source) {
  struct tm_piece piece;
  const struct tm_win_head head = {
      .kind = TM_NOTE_DATA, .pieces = 1, .to = asked->from, .bytes = asked->bytes};
  memcpy(&piece, list, sizeof piece);
  tm_far_note_send(announce(&head, asked->skip, (const void *)(uintptr_t)piece.at), TM_FAR_WINDOW,
                   source, true);
}

/* Data that are being fetched. */
struct large {
  struct tm_far_fetch fetch; /* the first member */
  struct tm_win_head head;
  int source;
};

static void has_come(struct tm_far_fetch *fetch) {
  struct large *large = (struct large *)fetch;
  const struct tm_win_head answer = {.kind = TM_NOTE_ANSWER, .to = large->head.from};
  if (large->head.kind == TM_NOTE_DATA)
    tm_win_answered((struct tm_win *)(uintptr_t)large->head.to);
  else
    tm_far_note_send(tm_win_note_new(&answer), TM_FAR_WINDOW, large->source, true);
  free(large);
}

void tm_win_take_announced(const struct tm_far_header *header, const void *note, void *announced) {
  struct tm_piece piece;
  struct large *large = malloc(sizeof *large);
  if (large == NULL) tm_panic("no memory for an access of another node");
  memcpy(&large->head, note, sizeof large->head);
  memcpy(&piece, (const char *)note + sizeof large->head, sizeof piece);
  large->fetch =
      (struct tm_far_fetch){.bytes = piece.bytes, .node = header->node, .ended = has_come};
  large->source = header->source;
  tm_job.far->fetch(announced, (void *)(uintptr_t)piece.at, &large->fetch, true);
}
