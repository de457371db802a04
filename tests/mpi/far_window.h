/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file far_window.h
 * A window of two members on two nodes, in tests of what these write to each other (src/tmpi/rma/
 * far_*.c). Both are in this process: rank 1 is the origin, and what it sends reaches rank 0 when
 * the test delivers it, or when a call waits. The rest of the library is here, too.
 */
#ifndef TESTS_MPI_FAR_WINDOW_H
#define TESTS_MPI_FAR_WINDOW_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mltp/mltp.h>

#include "core/internal/park.h"
#include "core/internal/thread.h"
#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/match/match.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/rma/access.h"
#include "tmpi/rma/note.h"
#include "tmpi/rma/update.h"
#include "traced_calls.h"

enum { OTHER, OWN }; /* members, and their nodes */

enum {
  CELLS = 40000, /* ints of memory, of which the spread types use each second one */
  GUARD = -77,
  DATA_MAX = 53248,
  LARGE_MIN = 65536,
  JOINED_MAX = 7936,
  PENDING_MAX = 64,
  QUEUE_MAX = 200
};

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_rank ranks[2];
static struct tm_comm comms[2];
static struct tm_win wins[2];
static uint8_t epochs_of[2][2]; /* of each member, by target */
static struct tm_win_common *common;
static alignas(TM_LINE) char common_room[sizeof *common + 2 * sizeof(void *)];
static struct tm_win_member far[2];
static struct tm_group *group;
static int origin[CELLS], target[CELLS], result[CELLS];
static struct tm_far_send *queue[QUEUE_MAX];
static int queue_first, queue_end, notes, parks;
static size_t sent_bytes, answered_bytes;      /* of the last note from the origin, and to it */
static const struct tm_type *combined;         /* the last update's elements */
static struct tm_far_send *unsent, *delivered; /* a note that is being made, or taken */
static jmp_buf job_end;
static bool may_end;          /* for want of memory */
static void (*at_wait)(void); /* of another thread */
static bool is_attached, has_lock;
static char room_of_wait[sizeof(struct tm_win_wait)];
static struct tm_win_wait *queued; /* at the target */

/* ---- the transport: what is sent is in a queue until it is delivered */

struct tm_far_send *tm_far_note_new(size_t bytes) {
  struct tm_far_send *send = malloc(sizeof *send + bytes);
  assert_non_null(send);
  *send = (struct tm_far_send){.header.bytes = bytes, .data = send->packed};
  return unsent = send;
}

void tm_far_note_send(struct tm_far_send *send, enum tm_far_service service, int dest,
                      bool inside) {
  assert_true(service == TM_FAR_WINDOW && queue_end < QUEUE_MAX && locked == 0);
  assert_true(send->fetched || send->header.bytes <= TM_FAR_NOTE_MAX);
  assert_int_equal(dest, inside ? OWN : OTHER);
  unsent = NULL;
  *(inside ? &answered_bytes : &sent_bytes) = send->header.bytes;
  send->header.source = 1 - dest;
  send->header.node = 1 - dest;
  queue[queue_end++] = send;
  notes++;
}

static void fetch(void *announced, void *to, struct tm_far_fetch *f, bool inside) {
  const struct tm_far_send *send = announced;
  assert_true(inside && f->bytes == send->header.bytes && f->node == send->header.node);
  memcpy(to, send->data, f->bytes);
  f->ended(f);
}

static bool deliver_one(void) {
  if (queue_first == queue_end) return false;
  struct tm_far_send *send = queue[queue_first++];
  if (queue_first == queue_end) queue_first = queue_end = 0;
  delivered = send;
  if (send->fetched)
    tm_win_take_announced(&send->header, send->packed, send);
  else
    tm_win_take_note(send->header.source, send->packed, send->header.bytes);
  assert_int_equal(locked, 0);
  free(send);
  delivered = NULL;
  return true;
}

static void deliver(void) {
  while (deliver_one()) continue;
}

static const struct tm_transport transport = {.fetch = fetch};

/* ---- the rest of the library */

static int locks_there, program_locks; /* initialised; held */

int mltp_lock_init(mltp_lock_t *lock, mltp_lock_class_t class, const char *name) {
  assert_true(class == MLTP_LOCK_STANDARD && name != NULL);
  *lock = (mltp_lock_t)MLTP_LOCK_INIT;
  locks_there++;
  return 0;
}

int mltp_lock_destroy(mltp_lock_t *lock) {
  assert_non_null(lock);
  locks_there--;
  return 0;
}

int mltp_lock(mltp_lock_t *lock) {
  assert_non_null(lock);
  assert_true(locks_there == 1 && program_locks++ == 0);
  return 0;
}

int mltp_unlock(mltp_lock_t *lock) {
  assert_non_null(lock);
  assert_int_equal(--program_locks, 0);
  return 0;
}

mltp_t *mltp_self(void) { return NULL; }
bool mti_is_only_ready(void) { return false; }
bool mti_runs_elsewhere(const struct mltp_thread *t) { return t != NULL; }
struct mltp_thread *mti_self(const char *call) { return call == NULL ? NULL : (void *)&ranks[OWN]; }

void mti_resume_on(struct mltp_thread *t, int vp, uint32_t *ticks) {
  assert_true(t == (void *)&ranks[OWN] && vp == 0 && ticks == &ranks[OWN].box.home_points);
  note("resume");
}

void tm_request_complete(struct tm_request *request) {
  assert_int_equal(locked, 0);
  request->done = 1;
}

void tm_requests_wait(struct tm_request *const *requests, int count, int wanted, const char *call) {
  assert_true(count == 1 && wanted == 1 && call != NULL && requests[0]->owner == &ranks[OWN]);
  void (*other)(void) = at_wait;
  at_wait = NULL;
  if (other != NULL) other();
  while (requests[0]->done == 0) assert_true(deliver_one());
}

void tm_panic(const char *format, ...) {
  if (!may_end) fail_msg("%s", format);
  longjmp(job_end, 1);
}

/* Whether the job ends when memory is out after some allocations. */
static inline bool ends_the_job(void (*action)(void), int allocations) {
  may_end = true;
  allocations_left = allocations;
  bool ends = setjmp(job_end) != 0;
  if (!ends) action();
  allocations_left = -1;
  may_end = false;
  free(unsent);
  free(delivered);
  unsent = delivered = NULL;
  return ends;
}

bool tm_spin(bool (*ended)(const void *), const void *what, const struct tm_rank *waker) {
  assert_null(waker);
  note("spin");
  assert_false(ended(what));
  deliver();
  assert_int_equal(ended(what), has_lock);
  return has_lock;
}

int tm_access_refuse(const struct tm_access_call *c, struct tm_win *win, MPI_Count count,
                     MPI_Datatype type) {
  assert_true(c != NULL && win == &wins[OWN] && count >= -1 && type != NULL);
  return MPI_ERR_COUNT;
}

int tm_access_too_long(const struct tm_access_call *c, const struct tm_access *access, size_t sent,
                       size_t room) {
  assert_true(c != NULL && access != NULL && sent > room);
  return MPI_ERR_TRUNCATE;
}

int tm_access_make_request(const struct tm_access_call *c, const struct tm_access *access) {
  assert_true(c->request != NULL && access->win == &wins[OWN]);
  note("request");
  return MPI_SUCCESS;
}

int tm_win_fail(struct tm_win *win, const char *call, int code, const char *format, ...) {
  assert_true(win == &wins[OWN] && call != NULL);
  assert_string_equal(format, "rank %d has not attached all of the memory");
  return code;
}

bool tm_win_is_attached(struct tm_win *win, const char *low, const char *high) {
  assert_true(win == &wins[OTHER] && low < high);
  return is_attached || low >= (char *)&target[CELLS / 2];
}

/* Ints are added; other elements are replaced. */
void tm_update(const struct tm_access *a, struct tm_type *element, MPI_Op op, const char *from,
               char *old) {
  static char packed[DATA_MAX];
  size_t bytes = a->memory.bytes;
  combined = element;
  assert_int_equal(a->memory.type->dense, a->memory.type->block_count == 1);
  assert_true(a->target == &wins[OTHER] && op == MPI_SUM && bytes % element->size == 0);
  assert_true(bytes <= sizeof packed);
  tm_type_pack(packed, a->memory.at, a->memory.type, 0, bytes);
  if (old != NULL) memcpy(old, packed, bytes);
  if (from == NULL) return;
  for (size_t at = 0; at < bytes; at += sizeof(int)) {
    int sum, more;
    memcpy(&sum, packed + at, sizeof sum);
    memcpy(&more, from + at, sizeof more);
    sum = element->basic == TM_INT32 ? sum + more : more;
    memcpy(packed + at, &sum, sizeof sum);
  }
  tm_type_unpack(a->memory.at, a->memory.type, 0, packed, bytes);
}

void tm_update_swap(struct tm_win *win, void *at, size_t bytes, const void *element,
                    const void *compare, void *old) {
  assert_ptr_equal(win, &wins[OTHER]);
  memcpy(old, at, bytes);
  if (memcmp(at, compare, bytes) == 0) memcpy(at, element, bytes);
}

bool tm_win_lock_try(struct tm_win *win, bool exclusive, int rank) {
  assert_true(win == &wins[OTHER] && locked == 1);
  note("lock %d %d", exclusive, rank);
  return has_lock;
}

bool tm_win_gate_try(struct tm_win_common *gate, bool all, bool passes) {
  assert_true(gate == common && locked == 1);
  note("gate %d %d", all, passes);
  return has_lock;
}

struct tm_win_wait tm_win_waiter(const struct tm_win *win, enum tm_win_wait_for what) {
  assert_ptr_equal(win, &wins[OWN]);
  return (struct tm_win_wait){.what = what, .win = win, .target = -1, .origin = OWN};
}

void tm_win_enqueue(struct tm_win_queue *waiters, struct tm_win_wait *wait) {
  assert_ptr_equal(waiters, wait->what == TM_FOR_LOCK ? &wins[OTHER].waiters : &common->waiters);
  assert_int_equal(wait->origin, OWN);
  note("queued %d", wait->exclusive);
  queued = wait;
}

struct tm_win_wait *tm_win_lock_release(struct tm_win *win, bool exclusive) {
  assert_ptr_equal(win, &wins[OTHER]);
  note("unlock %d", exclusive);
  return (struct tm_win_wait *)room_of_wait;
}

struct tm_win_wait *tm_win_gate_leave(struct tm_win_common *gate, bool all) {
  assert_ptr_equal(gate, common);
  note("leave %d", all);
  return (struct tm_win_wait *)room_of_wait;
}

struct tm_win_wait *tm_win_posted(struct tm_win *win, int rank) {
  assert_ptr_equal(win, &wins[OTHER]);
  note("posted %d", rank);
  return (struct tm_win_wait *)room_of_wait;
}

struct tm_win_wait *tm_win_completed(struct tm_win *win, int rank) {
  assert_ptr_equal(win, &wins[OTHER]);
  note("completed %d", rank);
  return (struct tm_win_wait *)room_of_wait;
}

struct tm_win_wait *tm_win_both(struct tm_win_wait *first, struct tm_win_wait *second) {
  assert_ptr_equal(first, room_of_wait);
  assert_true(second == NULL || second == first);
  return first;
}

void tm_win_wake(struct tm_win_wait *woken, bool inside) {
  assert_true(inside);
  if (woken == NULL) return;
  assert_ptr_equal(woken, room_of_wait);
  note("wake");
}

void tm_win_park(struct tm_win_wait *wait, uint32_t *ilock, const char *call) {
  assert_true(ilock == &wins[OWN].ilock && call != NULL && wait->parked);
  mti_unlock(ilock);
  parks++;
  deliver();
  if (queued != NULL) tm_win_wake(tm_win_grant(queued, true), true);
  queued = NULL;
  deliver();
  assert_int_equal(wait->granted, 1);
}

bool tm_user_code_lend_slow(struct tm_rank *rank) { return rank == NULL; }
void tm_user_code_take(struct tm_rank *rank) { fail_msg("%p", (void *)rank); }
void tm_deferred_release(struct tm_rank *rank) { fail_msg("%p", (void *)rank); }

/* ---- types */

static struct tm_block one_int[] = {{0, 4, 1, 0}}, one_byte[] = {{0, 1, 1, 0}};
static struct tm_block two_ints[] = {{0, 4, 2, 8}};
static struct tm_type spread; /* two ints, each with a gap of one behind it */

static struct tm_type *int_type(void) { return tm_type_of(MPI_INT); }

static void make_types(void) {
  struct tm_type *byte = &tm_predefined[(uintptr_t)MPI_BYTE - TM_PREDEFINED_FIRST];
  struct tm_type *whole = &tm_predefined[(uintptr_t)MPI_INT - TM_PREDEFINED_FIRST];
  struct tm_type type = {.magic = TM_TYPE_MAGIC,
                         .committed = true,
                         .predefined = true,
                         .dense = true,
                         .block_count = 1,
                         .repeats = 1};
  *byte = *whole = type;
  byte->basic = TM_BYTE;
  byte->size = 1;
  byte->ub = 1;
  byte->blocks = one_byte;
  whole->basic = TM_INT32;
  whole->size = 4;
  whole->ub = 4;
  whole->blocks = one_int;
  spread = type;
  spread.predefined = spread.dense = false;
  spread.basic = TM_INT64;
  spread.size = 8;
  spread.ub = 16;
  spread.blocks = two_ints;
}

/* ---- a window of two members */

static int start(void **state) {
  (void)state;
  blocks = 0;
  make_types();
  group = calloc(1, sizeof *group + 2 * sizeof(int));
  assert_non_null(group);
  common = (struct tm_win_common *)common_room;
  common->size = 2;
  common->far = far;
  tm_job = (struct tm_job){.size = 2,
                           .first_size = 2,
                           .local = 1,
                           .first = OWN,
                           .ranks = ranks,
                           .wait = TM_WAIT_PARK,
                           .far = &transport};
  memset(ranks, 0, sizeof ranks);
  memset(epochs_of, 0, sizeof epochs_of);
  for (int i = 0; i < 2; i++) {
    group->ranks[i] = i;
    comms[i] = (struct tm_comm){.rank = i, .owner = &ranks[i]};
    wins[i] = (struct tm_win){.magic = TM_WIN_MAGIC,
                              .common = common,
                              .comm = &comms[i],
                              .group = group,
                              .access = epochs_of[i]};
    far[i] = (struct tm_win_member){.view = (uintptr_t)&wins[i],
                                    .common = i == OTHER ? (uintptr_t)common : 0};
  }
  wins[OWN].notes = tm_win_notes_new();
  for (int i = 0; i < CELLS; i++) {
    origin[i] = 1000 + i;
    target[i] = 5 * i;
    result[i] = GUARD;
  }
  is_attached = true;
  has_lock = true;
  queued = NULL;
  trace[0] = '\0';
  queue_first = queue_end = notes = parks = 0;
  at_wait = NULL;
  return 0;
}

static int end(void **state) {
  (void)state;
  tm_win_settle(&wins[OWN], "end");
  assert_int_equal(queue_end, 0);
  tm_win_notes_free(wins[OWN].notes);
  free(group);
  assert_true(blocks == 0 && locks_there == 0);
  check_trace("");
  return 0;
}

static struct tm_access_call call_of(MPI_Request *request, size_t count, struct tm_type *type) {
  return (struct tm_access_call){.call = "MPI_X",
                                 .origin = origin,
                                 .origin_count = (MPI_Count)count,
                                 .origin_type = type == &spread ? (MPI_Datatype)&spread : MPI_INT,
                                 .result_count = 1,
                                 .target = OTHER,
                                 .op = MPI_SUM,
                                 .request = request};
}

static struct tm_access access_of(size_t count, struct tm_type *type) {
  struct tm_access_part part = {target, type, count * type->size};
  return (struct tm_access){.win = &wins[OWN], .far = &far[OTHER], .memory = part};
}

#define WINDOW(test) cmocka_unit_test_setup_teardown(test, start, end)

#endif
