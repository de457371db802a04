/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses, locks and epochs of targets on other nodes, as their origin sees them; win.h.
 *
 * An access goes in messages of a few KiB each, which are joined in notes (far_notes.c). It returns
 * when its data are in notes, and completes when all answers have come, for which the call waits
 * that ends the epoch. An answer brings data straight into the origin's buffer. An access waits
 * itself if it makes a request, is to a dynamic window, brings one element, which its caller wants
 * next, or brings data that do not lie in one piece, since their datatype may be freed before they
 * come.
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
  HAS_GATE = 0, /* the member whose node has the gate */
  PIECES_MAX = 240,
  DATA_MAX = 53248 /* bytes of a message's data; with the pieces it stays below TM_FAR_NOTE_MAX */
};

/* ---- accesses */

_Static_assert(3 * sizeof(struct tm_win_head) + PIECES_MAX * sizeof(struct tm_piece) + DATA_MAX <=
                   TM_FAR_NOTE_MAX,
               "a message is a note, with a lock and an unlock");

/* Bytes of an access that one message carries. */
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

/* What all messages of an access have in common. */
static struct tm_win_head head_of(const struct tm_access *a, enum tm_win_note_kind kind) {
  return (struct tm_win_head){.kind = (int32_t)kind,
                              .rank = a->win->comm->rank,
                              .to = a->far->view,
                              .from = (uintptr_t)a->win};
}

/* @return whether the call returns when the access is complete. to: what it brings; NULL: nothing.
 */
static bool waits(const struct tm_access_call *c, const struct tm_access *a,
                  const struct tm_access_part *to) {
  bool one = to == &a->result && c->result_count == 0; /* MPI_Fetch_and_op() has no count */
  return c->request != NULL || a->win->flavor == MPI_WIN_FLAVOR_DYNAMIC || one ||
         (to != NULL && !tm_type_is_flat(to->type));
}

/* Names in the head what takes the result, if there is one. */
static void expect(const struct tm_access_call *c, const struct tm_access *a,
                   const struct tm_access_part *to, struct tm_win_head *head,
                   struct tm_win_result *result) {
  *result = (struct tm_win_result){.failed = false};
  if (to != NULL) *result = (struct tm_win_result){.at = to->at, .type = to->type};
  head->direct = to != NULL && !waits(c, a, to);
  if (head->direct)
    head->asker = (uintptr_t)to->at;
  else if (waits(c, a, to))
    head->asker = (uintptr_t)result;
}

/* Sends an access to `all` bytes. head->reads: with the origin's data. */
static void send_access(const struct tm_access_call *c, const struct tm_access *a,
                        struct tm_win_head *head, size_t all, size_t element) {
  struct load load;
  bool soon = head->asker != 0 && !head->direct;
  for (size_t done = 0; done < all; done += load.bytes) {
    load_next(&load, a, done, all, element);
    head->skip = done;
    head->pieces = (uint32_t)load.count;
    head->bytes = load.bytes;
    char *data = tm_win_notes_begin(a->win, c->target, head, load.pieces, c->call);
    if (head->reads) tm_type_pack(data, a->origin.at, a->origin.type, done, load.bytes);
    tm_win_notes_end(a->win, c->target, soon);
  }
}

/* Waits for the result if the call does so, and returns what it does. */
static int finish(const struct tm_access_call *c, const struct tm_access *a,
                  const struct tm_win_head *head, const struct tm_win_result *result) {
  if (head->asker != (uintptr_t)result) return MPI_SUCCESS;
  tm_win_settle(a->win, c->call);
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
  struct tm_win_result result;
  struct tm_win_head head = head_of(a, TM_NOTE_PUT);
  head.reads = true;
  expect(c, a, NULL, &head, &result);
  if (tm_far_is_large(a, a->origin.bytes))
    tm_far_put_large(c, a);
  else
    send_access(c, a, &head, a->origin.bytes, 1);
  return finish(c, a, &head, &result);
}

int tm_far_get(const struct tm_access_call *c, struct tm_access *a) {
  if (a->far == NULL) return tm_access_end(c, a);
  int error = tm_access_part(c, a, c->origin, c->origin_count, c->origin_type, &a->origin);
  if (error == MPI_SUCCESS) error = tm_access_fits(c, a, a->memory.bytes, a->origin.bytes);
  if (error != MPI_SUCCESS) return error;
  struct tm_win_result result;
  struct tm_win_head head = head_of(a, TM_NOTE_GET);
  expect(c, a, &a->origin, &head, &result);
  if (tm_far_is_large(a, a->memory.bytes))
    tm_far_get_large(c, a);
  else
    send_access(c, a, &head, a->memory.bytes, 1);
  return finish(c, a, &head, &result);
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
  struct tm_win_result result;
  struct tm_win_head head = head_of(a, TM_NOTE_UPDATE);
  expect(c, a, fetches ? &a->result : NULL, &head, &result);
  head.reads = reads;
  head.fetches = fetches;
  head.op = (uintptr_t)c->op;
  head.element = index_of(element);
  send_access(c, a, &head, a->memory.bytes, element->size);
  return finish(c, a, &head, &result);
}

int tm_far_swap(const struct tm_access_call *c, struct tm_access *a, const void *compare) {
  size_t bytes = a->memory.bytes;
  const struct tm_piece piece = {(uintptr_t)a->memory.at, bytes};
  struct tm_win_result result;
  struct tm_win_head head = head_of(a, TM_NOTE_SWAP);
  expect(c, a, &a->result, &head, &result);
  head.pieces = 1;
  head.bytes = bytes;
  char *data = tm_win_notes_begin(a->win, c->target, &head, &piece, c->call);
  memcpy(data, a->origin.at, bytes);
  memcpy(data + bytes, compare, bytes);
  tm_win_notes_end(a->win, c->target, !head.direct);
  return finish(c, a, &head, &result);
}

/* ---- locks. The waiter's record is known to the other node, which answers when it has the lock.
 *
 * A rank that makes one call of MPI at a time need not wait when it locks a target: the lock goes
 * in the note of the first accesses, and if they are few the unlock does, too. One answer then ends
 * the epoch. The rank has one such lock at a time, and gets it before it asks for another one, in
 * whichever window, so that it gets locks in the order of its calls. A rank that has windows within
 * its node does not defer: their locks know nothing of this. So does none whose threads may call
 * MPI at a time, since one of them could wait here while another is to release a lock.
 */

static bool is_granted(const void *wait) {
  /* relaxed: the waiter takes the lock afterwards */
  return mt_load_relaxed(&((const struct tm_win_wait *)wait)->granted) != 0;
}

static void wait_for_grant(struct tm_win_wait *wait, const struct tm_win_head *head, int member,
                           const char *call) {
  struct tm_win *win = (struct tm_win *)(uintptr_t)wait->win;
  wait->thread = mti_self(call);
  tm_win_notes_send(win, member, head);
  if (tm_may_spin(NULL)) tm_spin(is_granted, wait, NULL);
  mti_lock(&win->ilock);
  wait->parked = wait->granted == 0;
  if (wait->granted != 0)
    mti_unlock(&win->ilock);
  else
    tm_win_park(wait, &win->ilock, call);
}

bool tm_win_far_defer(struct tm_win *win, int target, bool exclusive) {
  struct tm_rank *rank = win->comm->owner;
  if (rank->thread_level == MPI_THREAD_MULTIPLE || rank->windows_within > 0) return false;
  tm_win_notes_defer(win, target, exclusive);
  win->access[target] |= TM_LOCK_DEFERRED;
  rank->deferred_lock = win;
  return true;
}

void tm_win_far_lock_now(struct tm_rank *rank, const char *call) {
  struct tm_win *win = rank->deferred_lock;
  if (win == NULL) return;
  struct tm_win_wait wait = tm_win_waiter(win, TM_FOR_LOCK);
  wait.target = tm_win_notes_undefer(win, &wait.exclusive);
  rank->deferred_lock = NULL;
  tm_win_far_lock(&wait, call);
  win->access[wait.target] &= (uint8_t)~TM_LOCK_DEFERRED;
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
  struct tm_win_head head = head_of_lock(wait, wait->win->common->far[HAS_GATE].common);
  head.passes = passes;
  wait_for_grant(wait, &head, HAS_GATE, call);
}

static struct tm_win_head head_to(const struct tm_win *win, enum tm_win_note_kind kind,
                                  int member) {
  return (struct tm_win_head){.kind = (int32_t)kind,
                              .what = TM_FOR_LOCK,
                              .rank = win->comm->rank,
                              .to = win->common->far[member].view,
                              .from = (uintptr_t)win};
}

/* A message without data comes after the accesses before it, and after data that are fetched. soon:
 * another rank may wait for it. */
static void say(struct tm_win *win, const struct tm_win_head *head, int member, bool soon,
                const char *call) {
  if (soon) tm_win_far_lock_now(win->comm->owner, call); /* it would wait in that lock's note */
  if (tm_win_notes_have_large(win)) tm_win_settle(win, call);
  tm_win_notes_begin(win, member, head, NULL, call);
  tm_win_notes_end(win, member, soon);
}

void tm_win_far_unlock(struct tm_win *win, int target, bool exclusive) {
  static const char call[] = "MPI_Win_unlock";
  struct tm_win_head head = head_to(win, TM_NOTE_UNLOCK, target);
  head.exclusive = exclusive;
  say(win, &head, target, false, call);
  tm_win_settle(win, call); /* a deferred lock goes with all of it */
}

void tm_win_far_leave_gate(struct tm_win *win, bool all) {
  struct tm_win_head head = head_to(win, TM_NOTE_UNLOCK, HAS_GATE);
  head.to = win->common->far[HAS_GATE].common;
  head.what = all ? TM_FOR_ALL : TM_FOR_GATE;
  say(win, &head, HAS_GATE, true, all ? "MPI_Win_unlock_all" : "MPI_Win_unlock");
}

/* ---- epochs */

void tm_win_far_posted(struct tm_win *win, int origin) {
  struct tm_win_head head = head_to(win, TM_NOTE_POSTED, origin);
  say(win, &head, origin, true, "MPI_Win_post");
}

void tm_win_far_completed(struct tm_win *win, int target) {
  struct tm_win_head head = head_to(win, TM_NOTE_COMPLETED, target);
  say(win, &head, target, false, "MPI_Win_complete");
}
