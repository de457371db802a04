/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses, locks and epochs of targets on other nodes, as their origin sees them; win.h.
 *
 * An access goes in notes of a few KiB each. Puts and accumulates return when their data are in
 * notes, and complete when all answers have come, for which the call waits that ends the epoch. An
 * access that brings something, makes a request or is to a dynamic window waits itself. Notes
 * arrive in their order, and so accumulates happen in the order of their calls.
 */
#include <string.h>

#include "core/internal/locks.h"
#include "core/internal/thread.h"
#include "tmpi/match/match.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/rma/access.h"
#include "tmpi/rma/element.h"
#include "tmpi/rma/note.h"
#include "tmpi/rma/update.h"

enum {
  DATA_MAX = 12288, /* bytes of a note's data; with the pieces it stays below TM_FAR_NOTE_MAX */
  PIECES_MAX = 240,
  PENDING_MAX = 64 /* notes of a view on their way; more would only need memory */
};

/* ---- notes, and their answers */

static void count_note(struct tm_win *win) {
  mti_lock(&win->ilock);
  win->pending++;
  mti_unlock(&win->ilock);
}

/* Sends a note without pieces to a member. */
static void say(struct tm_win *win, const struct tm_win_head *head, int member) {
  char *data;
  struct tm_far_send *note = tm_win_note_new(head, NULL, 0, &data);
  if (head->kind != TM_NOTE_LOCK) count_note(win);
  tm_far_note_send(note, TM_FAR_WINDOW, tm_win_number(win, member), false);
}

/* A thread that waits for answers. */
struct tm_win_settling {
  struct tm_request request; /* complete: they are here */
  uint32_t most;
  struct tm_win_settling *next;
};

void tm_win_settle(struct tm_win *win, uint32_t most, const char *call) {
  struct tm_win_settling own = {.request = {.kind = TM_COLLECTIVE, .owner = win->comm->owner},
                                .most = most};
  struct tm_request *request = &own.request;
  mti_lock(&win->ilock);
  bool waits = win->pending > most;
  own.next = win->settling;
  if (waits) win->settling = &own;
  mti_unlock(&win->ilock);
  if (waits) tm_requests_wait(&request, 1, 1, call);
}

void tm_win_answered(struct tm_win *win) {
  struct tm_win_settling *settled = NULL, **link = &win->settling;
  mti_lock(&win->ilock);
  win->pending--;
  while (*link != NULL) {
    struct tm_win_settling *one = *link;
    if (win->pending > one->most) {
      link = &one->next;
      continue;
    }
    *link = one->next;
    one->next = settled;
    settled = one;
  }
  mti_unlock(&win->ilock);
  while (settled != NULL) {
    struct tm_win_settling *next = settled->next; /* it ends with the wait */
    tm_request_complete(&settled->request);
    settled = next;
  }
}

/* ---- accesses */

/* Bytes of an access that one note carries. */
struct load {
  struct tm_piece pieces[PIECES_MAX];
  size_t count, bytes;
};

/* Whole elements of the memory, from byte `done` on. */
static void load_next(struct load *load, const struct tm_access *a, size_t done, size_t all,
                      size_t element) {
  size_t most = DATA_MAX / element * element;
  load->bytes = all - done < most ? all - done : most;
  load->count =
      tm_type_pieces(load->pieces, PIECES_MAX, a->memory.at, a->memory.type, done, &load->bytes);
  for (size_t rest = load->bytes % element; rest > 0;) {
    struct tm_piece *last = &load->pieces[load->count - 1];
    size_t less = rest < last->bytes ? rest : last->bytes;
    last->bytes -= less;
    load->bytes -= less;
    rest -= less;
    if (last->bytes == 0) load->count--;
  }
}

/* What all notes of an access have in common. */
static struct tm_win_head head_of(const struct tm_access *a, enum tm_win_note_kind kind) {
  return (struct tm_win_head){.kind = (int32_t)kind,
                              .rank = a->win->comm->rank,
                              .to = a->far->view,
                              .from = (uintptr_t)a->win};
}

/* Sends an access to `all` bytes. head->reads: with the origin's data. */
static void send_access(const struct tm_access_call *c, const struct tm_access *a,
                        struct tm_win_head *head, size_t all, size_t element) {
  struct load load;
  char *data;
  for (size_t done = 0; done < all; done += load.bytes) {
    load_next(&load, a, done, all, element);
    head->skip = done;
    head->pieces = (uint32_t)load.count;
    head->bytes = load.bytes;
    tm_win_settle(a->win, PENDING_MAX, c->call);
    struct tm_far_send *note =
        tm_win_note_new(head, load.pieces, head->reads ? load.bytes : 0, &data);
    if (head->reads) tm_type_pack(data, a->origin.at, a->origin.type, done, load.bytes);
    count_note(a->win);
    tm_far_note_send(note, TM_FAR_WINDOW, tm_win_number(a->win, c->target), false);
  }
}

/* @return whether an access returns when it is complete. */
static bool waits(const struct tm_access_call *c, const struct tm_access *a) {
  return c->request != NULL || a->win->flavor == MPI_WIN_FLAVOR_DYNAMIC;
}

/* Waits for the result, and returns what the call does. */
static int finish(const struct tm_access_call *c, const struct tm_access *a,
                  const struct tm_win_result *result) {
  tm_win_settle(a->win, 0, c->call);
  if (result->failed)
    return tm_win_fail(a->win, c->call, MPI_ERR_RMA_RANGE,
                       "rank %d has not attached all of the memory", c->target);
  return tm_access_end(c, a);
}

int tm_far_put(const struct tm_access_call *c, struct tm_access *a) {
  if (a->far == NULL) return tm_access_end(c, a);
  int error = tm_access_part(c, a, c->origin, c->origin_count, c->origin_type, &a->origin);
  if (error == MPI_SUCCESS) error = tm_access_fits(c, a, a->origin.bytes, a->memory.bytes);
  if (error != MPI_SUCCESS) return error;
  struct tm_win_result result = {0};
  struct tm_win_head head = head_of(a, TM_NOTE_PUT);
  head.reads = true;
  head.asker = waits(c, a) ? (uintptr_t)&result : 0;
  send_access(c, a, &head, a->origin.bytes, 1);
  return waits(c, a) ? finish(c, a, &result) : MPI_SUCCESS;
}

int tm_far_get(const struct tm_access_call *c, struct tm_access *a) {
  if (a->far == NULL) return tm_access_end(c, a);
  int error = tm_access_part(c, a, c->origin, c->origin_count, c->origin_type, &a->origin);
  if (error == MPI_SUCCESS) error = tm_access_fits(c, a, a->memory.bytes, a->origin.bytes);
  if (error != MPI_SUCCESS) return error;
  struct tm_win_result result = {.at = a->origin.at, .type = a->origin.type};
  struct tm_win_head head = head_of(a, TM_NOTE_GET);
  head.asker = (uintptr_t)&result;
  send_access(c, a, &head, a->memory.bytes, 1);
  return finish(c, a, &result);
}

/* The index of the predefined type that is the same to an operation. */
static int32_t index_of(const struct tm_type *element) {
  for (int32_t i = 0; i < TM_PREDEFINED_COUNT; i++) {
    const struct tm_type *type = &tm_predefined[i];
    if (type->magic == TM_TYPE_MAGIC && tm_element_same(type, element)) return i;
  }
  return (int32_t)((uintptr_t)MPI_BYTE - TM_PREDEFINED_FIRST);
}

int tm_far_update(const struct tm_access_call *c, struct tm_access *a,
                  const struct tm_type *element, bool reads, bool fetches) {
  struct tm_win_result result = {0};
  struct tm_win_head head = head_of(a, TM_NOTE_UPDATE);
  if (fetches) result = (struct tm_win_result){.at = a->result.at, .type = a->result.type};
  head.asker = fetches || waits(c, a) ? (uintptr_t)&result : 0;
  head.reads = reads;
  head.fetches = fetches;
  head.op = (uintptr_t)c->op;
  head.element = index_of(element);
  send_access(c, a, &head, a->memory.bytes, element->size);
  return head.asker != 0 ? finish(c, a, &result) : MPI_SUCCESS;
}

int tm_far_swap(const struct tm_access_call *c, struct tm_access *a, const void *compare) {
  size_t bytes = a->memory.bytes;
  const struct tm_piece piece = {(uintptr_t)a->memory.at, bytes};
  struct tm_win_result result = {.at = a->result.at, .type = a->result.type};
  struct tm_win_head head = head_of(a, TM_NOTE_SWAP);
  char *data;
  head.asker = (uintptr_t)&result;
  head.pieces = 1;
  head.bytes = bytes;
  struct tm_far_send *note = tm_win_note_new(&head, &piece, 2 * bytes, &data);
  memcpy(data, a->origin.at, bytes);
  memcpy(data + bytes, compare, bytes);
  count_note(a->win);
  tm_far_note_send(note, TM_FAR_WINDOW, tm_win_number(a->win, c->target), false);
  return finish(c, a, &result);
}

/* ---- locks. The waiter's record is known to the other node, which answers when it has the lock.
 */

static bool is_granted(const void *wait) {
  /* relaxed: the waiter takes the lock afterwards */
  return mt_load_relaxed(&((const struct tm_win_wait *)wait)->granted) != 0;
}

static void wait_for_grant(struct tm_win_wait *wait, const struct tm_win_head *head, int member,
                           const char *call) {
  struct tm_win *win = (struct tm_win *)(uintptr_t)wait->win;
  wait->thread = mti_self(call);
  say(win, head, member);
  if (tm_may_spin(NULL)) tm_spin(is_granted, wait, NULL);
  mti_lock(&win->ilock);
  wait->parked = wait->granted == 0;
  if (wait->granted != 0)
    mti_unlock(&win->ilock);
  else
    tm_win_park(wait, &win->ilock, call);
}

static struct tm_win_head head_of_lock(const struct tm_win_wait *wait, uint64_t to) {
  return (struct tm_win_head){.kind = TM_NOTE_LOCK,
                              .what = (int32_t)wait->what,
                              .rank = wait->origin,
                              .exclusive = wait->exclusive,
                              .to = to,
                              .from = (uintptr_t)wait->win,
                              .asker = (uintptr_t)wait};
}

void tm_win_far_lock(struct tm_win_wait *wait, const char *call) {
  struct tm_win_head head = head_of_lock(wait, wait->win->common->far[wait->target].view);
  wait_for_grant(wait, &head, wait->target, call);
}

void tm_win_far_gate(struct tm_win_wait *wait, bool passes, const char *call) {
  struct tm_win_head head = head_of_lock(wait, wait->win->common->far[0].common);
  head.passes = passes;
  wait_for_grant(wait, &head, 0, call);
}

static struct tm_win_head head_to(const struct tm_win *win, enum tm_win_note_kind kind,
                                  int member) {
  return (struct tm_win_head){.kind = (int32_t)kind,
                              .what = TM_FOR_LOCK,
                              .rank = win->comm->rank,
                              .to = win->common->far[member].view,
                              .from = (uintptr_t)win};
}

void tm_win_far_unlock(struct tm_win *win, int target, bool exclusive) {
  struct tm_win_head head = head_to(win, TM_NOTE_UNLOCK, target);
  head.exclusive = exclusive;
  say(win, &head, target);
}

void tm_win_far_leave_gate(struct tm_win *win, bool all) {
  struct tm_win_head head = head_to(win, TM_NOTE_UNLOCK, 0);
  head.to = win->common->far[0].common;
  head.what = all ? TM_FOR_ALL : TM_FOR_GATE;
  say(win, &head, 0);
}

/* ---- epochs */

void tm_win_far_posted(struct tm_win *win, int origin) {
  struct tm_win_head head = head_to(win, TM_NOTE_POSTED, origin);
  say(win, &head, origin);
}

void tm_win_far_completed(struct tm_win *win, int target) {
  struct tm_win_head head = head_to(win, TM_NOTE_COMPLETED, target);
  say(win, &head, target);
}
