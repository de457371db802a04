/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What members on other nodes do to the views of this node, and their answers: win.h. All of it
 * runs in a taker of notes (match/far.h) and never waits.
 *
 * The pieces of a note become a datatype of one element, so that memory is read, written and
 * updated as by an origin of this node, and atomically towards those.
 */
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/rma/note.h"
#include "tmpi/rma/update.h"

/* ---- accesses */

enum { FEW = 4 };

/* The memory that a note accesses. */
struct memory {
  struct tm_access access;
  struct tm_type type;
  struct tm_block few[FEW];
};

static bool is_attached(struct tm_win *view, const struct tm_piece *piece) {
  const char *low = (const char *)(uintptr_t)piece->at;
  return view->flavor != MPI_WIN_FLAVOR_DYNAMIC ||
         tm_win_is_attached(view, low, low + piece->bytes);
}

/* An access has a piece at least. @return false: some of it is not attached. */
static bool find_memory(struct memory *m, struct tm_win *view, const struct tm_win_head *head,
                        const char *list) {
  struct tm_block *blocks = m->few;
  struct tm_piece piece;
  bool attached = true;
  memcpy(&piece, list, sizeof piece);
  const uint64_t base = piece.at;
  if (head->pieces > FEW) blocks = malloc(head->pieces * sizeof *blocks);
  if (blocks == NULL) tm_panic("no memory for an access of another node");
  for (uint32_t i = 0; i < head->pieces; i++) {
    memcpy(&piece, list + i * sizeof piece, sizeof piece);
    attached = attached && is_attached(view, &piece);
    blocks[i] =
        (struct tm_block){.at = (ptrdiff_t)(piece.at - base), .length = piece.bytes, .count = 1};
  }
  m->type = (struct tm_type){.magic = TM_TYPE_MAGIC,
                             .dense = head->pieces == 1,
                             .size = head->bytes,
                             .blocks = blocks,
                             .block_count = head->pieces,
                             .repeats = 1};
  m->access = (struct tm_access){.target = view,
                                 .memory = {(void *)(uintptr_t)base, &m->type, head->bytes}};
  return attached;
}

/* Performs an access. result: what it brings; NULL: nothing. */
static void perform(const struct memory *m, const struct tm_win_head *head, const char *data,
                    char *result) {
  const struct tm_access_part *memory = &m->access.memory;
  switch ((enum tm_win_note_kind)head->kind) {
    case TM_NOTE_PUT: tm_type_unpack(memory->at, memory->type, 0, data, memory->bytes); break;
    case TM_NOTE_GET: tm_type_pack(result, memory->at, memory->type, 0, memory->bytes); break;
    case TM_NOTE_UPDATE:
      tm_update(&m->access, &tm_predefined[head->element], (MPI_Op)(uintptr_t)head->op,
                head->reads ? data : NULL, result);
      break;
    case TM_NOTE_SWAP:
      tm_update_swap(m->access.target, memory->at, memory->bytes, data, data + memory->bytes,
                     result);
      break;
    default: break;
  }
}

/* @return where the next result goes. */
static char *take_access(struct tm_win *view, const struct tm_win_head *head, const char *list,
                         char *results) {
  struct memory m;
  size_t result = tm_win_result_size(head);
  bool answers = result != 0, found = find_memory(&m, view, head, list);
  struct tm_win_answer answer = {head->asker, head->skip, 0, head->direct, !found};
  if (answers && found) answer.bytes = result - sizeof answer;
  char *brings = answer.bytes != 0 ? results + sizeof answer : NULL;
  if (found) perform(&m, head, list + head->pieces * sizeof(struct tm_piece), brings);
  if (m.type.blocks != m.few) free(m.type.blocks);
  if (!answers) return results;
  memcpy(results, &answer, sizeof answer);
  return results + sizeof answer + answer.bytes;
}

static void take_results(const struct tm_win_head *head, const char *at) {
  for (uint32_t i = 0; i < head->pieces; i++) {
    struct tm_win_answer answer;
    memcpy(&answer, at, sizeof answer);
    at += sizeof answer;
    struct tm_win_result *result = (struct tm_win_result *)(uintptr_t)answer.asker;
    if (answer.direct)
      memcpy((char *)(uintptr_t)answer.asker + answer.skip, at, answer.bytes);
    else if (answer.failed)
      result->failed = true;
    else if (answer.bytes > 0)
      tm_type_unpack(result->at, result->type, answer.skip, at, answer.bytes);
    at += answer.bytes;
  }
}

/* ---- what comes with a note, and its answer */

/* woken: gets waiters to be woken when the answer is sent. */
static char *take_message(const struct tm_win_head *head, const char *list, int source,
                          char *results, struct tm_win_wait **woken) {
  struct tm_win *view = (struct tm_win *)(uintptr_t)head->to;
  void *gate = view;
  switch ((enum tm_win_note_kind)head->kind) {
    case TM_NOTE_UNLOCK:
      *woken =
          tm_win_both(head->what == TM_FOR_LOCK ? tm_win_lock_release(view, head->exclusive)
                                                : tm_win_gate_leave(gate, head->what == TM_FOR_ALL),
                      *woken);
      return results;
    case TM_NOTE_POSTED:
      *woken = tm_win_both(tm_win_posted(view, head->rank), *woken);
      return results;
    case TM_NOTE_COMPLETED:
      *woken = tm_win_both(tm_win_completed(view, head->rank), *woken);
      return results;
    case TM_NOTE_GET_LARGE: tm_win_answer_large(head, list, source); return results;
    default: return take_access(view, head, list, results);
  }
}

/* Adds what the answer to some messages needs. @return its bytes. */
static size_t size_answer(struct tm_win_head *answer, const char *at, const char *end) {
  size_t bytes = sizeof *answer;
  for (struct tm_win_head head; at < end; at += tm_win_message_size(&head)) {
    memcpy(&head, at, sizeof head);
    answer->to = head.from;
    answer->pieces += head.asker != 0;
    bytes += tm_win_result_size(&head);
  }
  return bytes;
}

/* @return waiters to be woken. inside: as of tm_far_note_send(). */
static struct tm_win_wait *take_messages(struct tm_win_head answer, int source, const char *at,
                                         const char *end, bool inside) {
  struct tm_win_wait *woken = NULL;
  struct tm_far_send *note = tm_far_note_new(size_answer(&answer, at, end));
  char *data = tm_far_note_data(note), *results = tm_win_message_write(data, &answer, NULL);
  for (struct tm_win_head head; at < end; at += tm_win_message_size(&head)) {
    memcpy(&head, at, sizeof head);
    results = take_message(&head, at + sizeof head, source, results, &woken);
  }
  tm_far_note_cut(note, (size_t)(results - data));
  tm_far_note_send(note, TM_FAR_WINDOW, source, inside);
  return woken;
}

/* ---- locks */

/* Stands for a waiter of another node. */
struct far_waiter {
  struct tm_win_wait wait; /* the first member */
  size_t bytes;            /* of the messages that came with the lock */
  char messages[];
};

static struct tm_win_wait *grant(uint64_t asker, int number, const char *at, size_t bytes,
                                 bool inside) {
  const struct tm_win_head answer = {.kind = TM_NOTE_GRANT, .asker = asker};
  return take_messages(answer, number, at, at + bytes, inside);
}

struct tm_win_wait *tm_win_grant(struct tm_win_wait *wait, bool inside) {
  struct far_waiter *waiter = (struct far_waiter *)wait;
  struct tm_win_wait *woken =
      grant(wait->asker, wait->asker_number, waiter->messages, waiter->bytes, inside);
  free(waiter);
  return woken;
}

static struct tm_win_wait *wait_for_other(const struct tm_win_head *head, int source,
                                          const char *messages, size_t bytes) {
  struct far_waiter *waiter = malloc(sizeof *waiter + bytes);
  if (waiter == NULL) tm_panic("no memory for a lock of another node");
  *waiter = (struct far_waiter){.wait = {.what = (enum tm_win_wait_for)head->what,
                                         .exclusive = head->exclusive,
                                         .origin = head->rank,
                                         .asker = head->asker,
                                         .asker_number = source},
                                .bytes = bytes};
  memcpy(waiter->messages, messages, bytes);
  return &waiter->wait;
}

/* @return false: the lock is not free. wait: is then queued; NULL: nothing is. */
static bool try_lock(const struct tm_win_head *head, struct tm_win_wait *wait) {
  void *at = (void *)(uintptr_t)head->to;
  struct tm_win_common *gate = at;
  struct tm_win *target = at;
  bool one = head->what == TM_FOR_LOCK;
  uint32_t *ilock = one ? &target->ilock : &gate->ilock;
  mti_lock(ilock);
  bool has = one ? tm_win_lock_try(target, head->exclusive, head->rank)
                 : tm_win_gate_try(gate, head->what == TM_FOR_ALL, head->passes);
  if (!has && wait != NULL) tm_win_enqueue(one ? &target->waiters : &gate->waiters, wait);
  mti_unlock(ilock);
  return has;
}

/* messages: that have come with it. They are copied only if they have to wait. */
static void take_lock(const struct tm_win_head *head, int source, const char *messages,
                      size_t bytes) {
  struct tm_win_wait *woken = NULL;
  if (try_lock(head, NULL)) {
    woken = grant(head->asker, source, messages, bytes, true);
  } else {
    struct tm_win_wait *wait = wait_for_other(head, source, messages, bytes);
    if (try_lock(head, wait)) woken = tm_win_grant(wait, true);
  }
  tm_win_wake(woken, true);
}

/* The record may be gone when its waiter has seen the mark. */
static void take_grant(struct tm_win_wait *wait) {
  struct tm_win *win = (struct tm_win *)(uintptr_t)wait->win;
  struct mltp_thread *thread = wait->thread;
  mti_lock(&win->ilock);
  bool parked = wait->parked;
  mt_store_relaxed(&wait->granted, 1); /* relaxed: under the lock; a spinner looks */
  mti_unlock(&win->ilock);
  if (parked) tm_resume(&win->comm->owner->box, thread);
}

/* ---- what comes */

void tm_win_take_note(int source, const void *data, size_t bytes) {
  struct tm_win_head head;
  memcpy(&head, data, sizeof head);
  const char *at = data, *rest = at + sizeof head, *end = at + bytes;
  switch ((enum tm_win_note_kind)head.kind) {
    case TM_NOTE_ANSWER:
      take_results(&head, rest);
      tm_win_answered((struct tm_win *)(uintptr_t)head.to);
      return;
    case TM_NOTE_GRANT:
      take_results(&head, rest);
      take_grant((struct tm_win_wait *)(uintptr_t)head.asker);
      return;
    case TM_NOTE_LOCK: take_lock(&head, source, rest, (size_t)(end - rest)); return;
    default:
      tm_win_wake(
          take_messages((struct tm_win_head){.kind = TM_NOTE_ANSWER}, source, at, end, true), true);
  }
}
