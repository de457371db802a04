/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of a view to other nodes: joined, counted, answered; win.h.
 *
 * Small messages to members of one node are joined in a note, which is open until it is full, a
 * call needs an answer, or a call waits for all. A program that makes many small accesses in an
 * epoch so pays for few notes. Notes to a node go in the order of the calls, and so accumulates
 * happen in that order.
 *
 * Rejected: a note for each access, and its answer, which take the time of two system calls on each
 * node; notes that are joined by a timer, which delays the answer that a call waits for.
 */
#include <mltp/mltp.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/match/match.h"
#include "tmpi/rma/note.h"

enum {
  JOINED_MAX = 7936, /* bytes; with its header a note fits into what UCX sends at a time by TCP */
  ALONE_MIN = 2048,  /* a message of 2 KiB does not wait for others */
  PENDING_MAX = 64,  /* notes of a view on their way; more would only need memory */
  NO_MEMBER = -1     /* no lock is deferred */
};

/* A note that may get more messages. */
struct open_note {
  struct tm_far_send *note; /* NULL: none is open */
  size_t used, room;        /* bytes */
  size_t results;           /* bytes that its answer will have */
  int dest;                 /* a member's number in the job */
  bool large;               /* its last message is not joined by others */
  bool locks; /* it begins with room for a lock, and `room` leaves some for an unlock */
};

/* A thread that waits for answers. */
struct settling {
  struct tm_request request; /* complete: they are here */
  uint32_t most;
  struct settling *next;
};

struct tm_win_notes {
  mltp_lock_t lock;          /* of the rank's threads: notes go in the order of their calls */
  uint32_t pending;          /* [ilock of the view] notes that are not answered */
  uint32_t large;            /* [atomic] 1: large accesses may be among them; relaxed: the thread
                                that asks has begun them, or the program has ordered it */
  struct settling *settling; /* [ilock of the view] threads that wait for answers */
  int deferred;              /* [rank] member whose lock goes with its accesses, or NO_MEMBER */
  bool exclusive;            /* [rank] that lock */
  int nodes;                 /* [const] */
  struct open_note open[];   /* [lock] by node */
};

struct tm_win_notes *tm_win_notes_new(void) {
  int nodes = tm_node_count();
  struct tm_win_notes *notes = calloc(1, sizeof *notes + (size_t)nodes * sizeof *notes->open);
  if (notes == NULL) tm_panic("no memory for a window of %d nodes", nodes);
  mltp_lock_init(&notes->lock, MLTP_LOCK_STANDARD, "a window over nodes");
  notes->nodes = nodes;
  notes->deferred = NO_MEMBER;
  return notes;
}

void tm_win_notes_free(struct tm_win_notes *notes) {
  if (notes != NULL) mltp_lock_destroy(&notes->lock);
  free(notes);
}

/* ---- answers */

/* Waits until at most `most` notes are not answered. */
static void wait_for_answers(struct tm_win *win, uint32_t most, const char *call) {
  struct tm_win_notes *notes = win->notes;
  struct settling own = {.request = {.kind = TM_COLLECTIVE, .owner = win->comm->owner},
                         .most = most};
  struct tm_request *request = &own.request;
  mti_lock(&win->ilock);
  bool waits = notes->pending > most;
  own.next = notes->settling;
  if (waits) notes->settling = &own;
  mti_unlock(&win->ilock);
  if (waits) tm_requests_wait(&request, 1, 1, call);
}

void tm_win_answered(struct tm_win *win) {
  struct tm_win_notes *notes = win->notes;
  struct settling *settled = NULL, **link = &notes->settling;
  mti_lock(&win->ilock);
  if (--notes->pending == 0) mt_store_relaxed(&notes->large, 0); /* relaxed: see there */
  while (*link != NULL) {
    struct settling *one = *link;
    if (notes->pending > one->most) {
      link = &one->next;
      continue;
    }
    *link = one->next;
    one->next = settled;
    settled = one;
  }
  mti_unlock(&win->ilock);
  while (settled != NULL) {
    struct settling *next = settled->next; /* it ends with the wait */
    tm_request_complete(&settled->request);
    settled = next;
  }
}

/* ---- notes. The view's lock is held. */

static struct open_note *open_of(struct tm_win *win, int member) {
  return &win->notes->open[tm_rank_node(tm_win_number(win, member))];
}

static void send_open(struct tm_win *win, struct open_note *open) {
  if (open->note == NULL) return;
  mti_lock(&win->ilock);
  win->notes->pending++;
  mti_unlock(&win->ilock);
  tm_far_note_cut(open->note, open->used);
  tm_far_note_send(open->note, TM_FAR_WINDOW, open->dest, false);
  open->note = NULL;
}

void tm_win_notes_expect(struct tm_win *win, const char *call) {
  if (win->notes->deferred != NO_MEMBER) tm_win_far_lock_now(win->comm->owner, call);
  wait_for_answers(win, PENDING_MAX, call);
  mti_lock(&win->ilock);
  win->notes->pending++;
  mt_store_relaxed(&win->notes->large, 1); /* relaxed: see there */
  mti_unlock(&win->ilock);
}

bool tm_win_notes_have_large(struct tm_win *win) {
  return mt_load_relaxed(&win->notes->large) != 0; /* relaxed: see there */
}

static bool has_room(const struct open_note *open, const struct tm_win_head *head) {
  size_t bytes = tm_win_message_size(head);
  if (open->locks && head->kind == TM_NOTE_UNLOCK) return open->used <= open->room;
  return open->used + bytes <= open->room && open->results + tm_win_result_size(head) <= JOINED_MAX;
}

/* Opens a note with room for some bytes. */
static void open_anew(struct open_note *open, size_t bytes, int dest, bool locks) {
  size_t head = locks ? sizeof(struct tm_win_head) : 0;
  size_t room = bytes + 2 * head;
  if (room < JOINED_MAX) room = JOINED_MAX;
  *open = (struct open_note){.note = tm_far_note_new(room),
                             .used = head,
                             .room = room - head,
                             .dest = dest,
                             .locks = locks};
}

/* A deferred lock goes before what is not in its note, but is for the same node. */
static void lock_before(struct tm_win *win, int member, const struct tm_win_head *head,
                        const char *call) {
  int deferred = win->notes->deferred;
  const struct open_note *open = open_of(win, member);
  bool joins = member == deferred && (open->note == NULL || has_room(open, head));
  if (deferred != NO_MEMBER && open == open_of(win, deferred) && !joins)
    tm_win_far_lock_now(win->comm->owner, call);
}

char *tm_win_notes_begin(struct tm_win *win, int member, const struct tm_win_head *head,
                         const struct tm_piece *pieces, const char *call) {
  size_t bytes = tm_win_message_size(head);
  struct open_note *open = open_of(win, member);
  lock_before(win, member, head, call);
  mltp_lock(&win->notes->lock);
  if (open->note != NULL && !has_room(open, head)) send_open(win, open);
  if (open->note == NULL) {
    wait_for_answers(win, PENDING_MAX, call);
    open_anew(open, bytes, tm_win_number(win, member), member == win->notes->deferred);
  }
  char *data =
      tm_win_message_write((char *)tm_far_note_data(open->note) + open->used, head, pieces);
  open->used += bytes;
  open->results += tm_win_result_size(head);
  open->large = bytes >= ALONE_MIN;
  return data;
}

void tm_win_notes_end(struct tm_win *win, int member, bool soon) {
  struct open_note *open = open_of(win, member);
  if ((soon || open->large) && !open->locks) send_open(win, open);
  mltp_unlock(&win->notes->lock);
}

void tm_win_notes_send(struct tm_win *win, int member, const struct tm_win_head *head) {
  struct open_note *open = open_of(win, member);
  mltp_lock(&win->notes->lock);
  struct tm_far_send *note = open->note;
  if (note != NULL && open->locks) {
    tm_win_message_write(tm_far_note_data(note), head, NULL);
    tm_far_note_cut(note, open->used);
    open->note = NULL;
  } else {
    send_open(win, open);
    note = tm_win_note_new(head);
  }
  tm_far_note_send(note, TM_FAR_WINDOW, tm_win_number(win, member), false);
  mltp_unlock(&win->notes->lock);
}

void tm_win_notes_defer(struct tm_win *win, int member, bool exclusive) {
  mltp_lock(&win->notes->lock);
  send_open(win, open_of(win, member));
  win->notes->deferred = member;
  win->notes->exclusive = exclusive;
  mltp_unlock(&win->notes->lock);
}

int tm_win_notes_undefer(struct tm_win *win, bool *exclusive) {
  int member = win->notes->deferred;
  *exclusive = win->notes->exclusive;
  win->notes->deferred = NO_MEMBER;
  return member;
}

void tm_win_settle(struct tm_win *win, const char *call) {
  struct tm_win_notes *notes = win->notes;
  if (notes->deferred != NO_MEMBER) tm_win_far_lock_now(win->comm->owner, call);
  mltp_lock(&notes->lock);
  for (int i = 0; i < notes->nodes; i++) send_open(win, &notes->open[i]);
  mltp_unlock(&notes->lock);
  wait_for_answers(win, 0, call);
}
