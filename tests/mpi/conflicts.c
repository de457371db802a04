/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses to windows that conflict, step by step (src/tmpi/check/windows.c): which of them are
 * compared, which ones are forgotten and when, and what is reported. One thread plays all members.
 * The linker hands malloc() and free() of the file to this test, which counts what is kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/check/check.h"
#include "tmpi/rma/access.h"

enum {
  MEMBERS = 3,
  FIRST_NUMBER = 10,
  APART = 64 * 256, /* bytes from view to view: the lists of all are in one place */
  KEPT_MAX = 1000,
  CELLS = 2000
};

const char *const tm_calls[] = {
    "MPI_Win_unlock",          "MPI_Win_unlock_all", "MPI_Win_flush", "MPI_Win_flush_all",
    "MPI_Win_flush_local",     "MPI_Win_free",       "MPI_Rget",      "MPI_Rget_c",
    "MPI_Win_flush_local_all", "MPI_Win_fence",      "MPI_Rput"};
enum {
  UNLOCK,
  UNLOCK_ALL,
  FLUSH,
  FLUSH_ALL,
  FLUSH_LOCAL,
  FREE,
  RGET,
  RGET_LARGE,
  FLUSH_LOCAL_ALL,
  FENCE,
  RPUT
};

static alignas(TM_LINE) char views[MEMBERS + 1][APART]; /* the last one is no member's */
static alignas(
    TM_LINE) char common_room[sizeof(struct tm_win_common) + sizeof views / APART * sizeof(void *)];
static struct tm_win *wins[MEMBERS + 1];
static struct tm_comm comms[MEMBERS];
static struct tm_rank ranks[MEMBERS];
static uint8_t accesses[MEMBERS][MEMBERS];
static struct tm_group *group;
static struct tm_seen seen[MEMBERS]; /* the calls that members are in */
static char cells[CELLS], said[1000];
static bool is_outside;

/* ---- the rest of the library */

void (*tm_access_hook)(const struct tm_access_call *c, const struct tm_access *access,
                       const char *low, const char *high);

struct tm_win *tm_win_of(MPI_Win handle) { return tm_win_in(handle); }

const struct tm_seen *tm_seen_of(int rank) {
  assert_in_range(rank, FIRST_NUMBER, FIRST_NUMBER + MEMBERS - 1);
  return is_outside ? NULL : &seen[rank - FIRST_NUMBER];
}

void tm_describe(char text[TM_CALL_TEXT], const struct tm_seen *call) {
  snprintf(text, TM_CALL_TEXT, "#%d", call->tag);
}

void tm_finding_print(const char *format, ...) {
  va_list list;
  assert_int_equal(locked, 0);
  assert_string_equal(said, "");
  va_start(list, format);
  vsnprintf(said, sizeof said, format, list);
  va_end(list);
}

/* ---- a window of three members */

static int make_window(void **state) {
  struct tm_win_common *common = (struct tm_win_common *)common_room;
  (void)state;
  group = calloc(1, sizeof *group + MEMBERS * sizeof(int));
  assert_non_null(group);
  assert_true(sizeof(struct tm_win) <= APART);
  memset(accesses, 0, sizeof accesses);
  common->size = MEMBERS;
  for (int i = 0; i < MEMBERS; i++) {
    group->ranks[i] = ranks[i].number = FIRST_NUMBER + i;
    comms[i] = (struct tm_comm){.rank = i, .owner = &ranks[i], .collectives = 1};
    wins[i] = common->views[i] = (struct tm_win *)views[i];
    *wins[i] = (struct tm_win){.magic = TM_WIN_MAGIC,
                               .common = common,
                               .comm = &comms[i],
                               .group = group,
                               .access = accesses[i]};
    seen[i] = (struct tm_seen){.rank = FIRST_NUMBER + i, .win = (MPI_Win)wins[i], .peer = TM_NONE};
  }
  wins[MEMBERS] = common->views[MEMBERS] = (struct tm_win *)views[MEMBERS];
  *wins[MEMBERS] = *wins[0];
  memory_is_out = is_outside = false;
  blocks = 0;
  said[0] = '\0';
  tm_windows_start();
  return 0;
}

static void begin(int member, int call, int target) {
  struct tm_seen now = {.call = call, .win = (MPI_Win)wins[member], .peer = target};
  MPI_Win handle = now.win;
  if (call == FREE) now.object = &handle;
  if (call == FREE) now.win = MPI_WIN_NULL; /* the handle is where it becomes MPI_WIN_NULL */
  tm_windows_begin(&now);
  assert_int_equal(locked, 0);
}

/* Nothing is left when all have freed their views. */
static int free_window(void **state) {
  (void)state;
  for (int i = 0; i <= MEMBERS; i++) begin(i, FREE, TM_NONE);
  assert_int_equal(blocks, 0);
  __real_free(group);
  return 0;
}

static void lock_all(void) { memset(accesses, TM_LOCKED_SHARED, sizeof accesses); }

/* The number of a member's call, and what it accesses. */
static void access_cells(int number, int origin, int target, enum tm_access_kind kind, int first,
                         int count) {
  struct tm_access_call c = {.kind = kind, .target = target, .op = MPI_SUM};
  struct tm_access a = {
      .win = wins[origin], .target = wins[target], .memory = {.bytes = (size_t)count}};
  seen[origin].tag = number;
  tm_access_hook(&c, &a, cells + first, cells + first + count);
  assert_int_equal(locked, 0);
}

/* Of one cell. @return whether it conflicts with an earlier access. */
static bool conflicts(int origin, int target, enum tm_access_kind kind, int cell) {
  access_cells(0, origin, target, kind, cell, 1);
  bool did = said[0] != '\0';
  said[0] = '\0';
  return did;
}

/* Forgets all accesses to a member. */
static void forget(int target) { begin(target, FREE, TM_NONE); }

/* ---- what conflicts */

static void bytes_in_common(void **state) {
  static const struct {
    int first, count;
    bool conflict;
  } rows[] = {{0, 10, false}, {0, 11, true},  {10, 1, true},  {19, 1, true},
              {20, 5, false}, {19, 5, true},  {9, 1, false},  {12, 3, true},
              {5, 30, true},  {10, 10, true}, {10, 0, false}, {20, 0, false}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    access_cells(1, 0, 2, TM_ACCESS_PUT, 10, 10);
    access_cells(2, 1, 2, TM_ACCESS_PUT, rows[i].first, rows[i].count);
    assert_int_equal(said[0] != '\0', rows[i].conflict);
    said[0] = '\0';
    forget(2);
  }
}

/* What the report says of each pair of kinds; NULL: they do not conflict. */
static void kinds_that_conflict(void **state) {
  static const char *const verbs[] = {"writes", "reads", "updates"};
  static char name[] = "halo";
  char expected[300];
  (void)state;
  for (int a = TM_ACCESS_PUT; a <= TM_ACCESS_UPDATE; a++)
    for (int b = TM_ACCESS_PUT; b <= TM_ACCESS_UPDATE; b++)
      for (int named = 0; named < 2; named++) {
        bool same = a == b && a != TM_ACCESS_PUT;
        snprintf(wins[1]->name, sizeof wins[1]->name, "%s", named ? name : "");
        snprintf(expected, sizeof expected,
                 "rank 11: #2 %s memory of rank 12 on %s that #1 of rank 10 %s in the same epoch"
                 " (a fence, flush or unlock has to come between)",
                 verbs[b], named ? name : "a window", verbs[a]);
        access_cells(1, 0, 2, (enum tm_access_kind)a, 3, 4);
        access_cells(2, 1, 2, (enum tm_access_kind)b, 6, 2);
        assert_string_equal(said, same ? "" : expected);
        said[0] = '\0';
        forget(2);
      }
}

/* The newest that conflicts is reported. */
static void one_of_several_is_reported(void **state) {
  (void)state;
  access_cells(1, 0, 2, TM_ACCESS_GET, 0, 8);
  access_cells(2, 1, 2, TM_ACCESS_GET, 0, 8);
  access_cells(3, 1, 2, TM_ACCESS_GET, 8, 8);
  access_cells(4, 0, 2, TM_ACCESS_PUT, 7, 1);
  assert_non_null(strstr(said, "rank 10: #4 writes memory of rank 12"));
  assert_non_null(strstr(said, "#2 of rank 11 reads"));
  said[0] = '\0';
}

static void other_targets_do_not_count(void **state) {
  (void)state;
  assert_false(conflicts(0, 2, TM_ACCESS_PUT, 5));
  assert_false(conflicts(1, 0, TM_ACCESS_PUT, 5));
  assert_false(conflicts(2, 1, TM_ACCESS_PUT, 5));
  for (int target = 0; target < MEMBERS; target++)
    assert_true(conflicts(0, target, TM_ACCESS_GET, 5));
}

static void what_is_not_looked_at(void **state) {
  const struct tm_access_call call = {.kind = TM_ACCESS_PUT, .target = 2, .op = MPI_SUM};
  struct tm_access_call reads = call;
  struct tm_access a = {.win = wins[0], .target = wins[2], .memory = {.bytes = 4}};
  (void)state;
  is_outside = true;
  tm_access_hook(&call, &a, cells, cells + 4);
  is_outside = false;
  wins[2]->magic = 0; /* of another node */
  tm_access_hook(&call, &a, cells, cells + 4);
  wins[2]->magic = TM_WIN_MAGIC;
  tm_access_hook(&call, &a, cells, cells + 5); /* of several pieces */
  tm_access_hook(&call, &a, cells, cells + 3);
  reads.op = MPI_NO_OP;
  tm_access_hook(&reads, &a, cells, cells + 4);
  memory_is_out = true;
  tm_access_hook(&call, &a, cells, cells + 4);
  memory_is_out = false;
  assert_int_equal(blocks, 0);
  tm_access_hook(&call, &a, cells, cells + 4);
  assert_int_equal(blocks, 1);
  assert_string_equal(said, "");
}

/* ---- epochs */

/* Each has an access; the next ones conflict with that of their own epoch alone. */
static void kinds_of_epochs(void **state) {
  static const uint8_t kinds[] = {0, TM_LOCKED_NOCHECK, TM_STARTED};
  enum { KINDS = sizeof kinds };
  (void)state;
  wins[2]->exposures = 1; /* the number of the fence's epoch, too */
  for (int again = 0; again < 2; again++)
    for (int kind = 0; kind < KINDS; kind++) {
      accesses[0][2] = kinds[kind];
      assert_int_equal(conflicts(0, 2, TM_ACCESS_PUT, 5), again);
    }
  forget(2);
  accesses[0][2] = TM_LOCKED_SHARED;
  assert_false(conflicts(0, 2, TM_ACCESS_PUT, 5));
  accesses[0][2] = TM_LOCKED_EXCLUSIVE | TM_STARTED;
  assert_true(conflicts(0, 2, TM_ACCESS_PUT, 5));
  accesses[0][2] = TM_STARTED;
  wins[0]->all_locked = true;
  assert_true(conflicts(0, 2, TM_ACCESS_PUT, 5));
  accesses[0][2] = 0;
  assert_true(conflicts(0, 2, TM_ACCESS_PUT, 5));
  wins[0]->all_locked = false;
  assert_false(conflicts(0, 2, TM_ACCESS_PUT, 5));
}

/* One of a later epoch of the same kind and target is forgotten, and nothing else. */
static void an_epoch_ends_by_the_next_one(void **state) {
  (void)state;
  for (int target = 1; target < MEMBERS; target++)
    assert_false(conflicts(0, target, TM_ACCESS_PUT, 5));
  accesses[0][2] = TM_LOCKED_SHARED;
  assert_false(conflicts(0, 2, TM_ACCESS_PUT, 5));
  accesses[0][2] = 0;
  assert_int_equal(blocks, 3);
  comms[0].collectives = 2;
  assert_false(conflicts(0, 2, TM_ACCESS_PUT, 5));
  assert_int_equal(blocks, 3);
  comms[0].collectives = 1; /* the first one is gone, that of the lock and the other target's not */
  assert_false(conflicts(0, 2, TM_ACCESS_GET, 5));
  assert_true(conflicts(0, 1, TM_ACCESS_GET, 5));
  accesses[0][2] = TM_LOCKED_SHARED;
  assert_true(conflicts(0, 2, TM_ACCESS_GET, 5));
  accesses[0][1] = TM_STARTED;
  for (wins[1]->exposures = 1; wins[1]->exposures < 3; wins[1]->exposures++)
    for (int again = 0; again < 2; again++)
      assert_int_equal(conflicts(0, 1, TM_ACCESS_PUT, 6), again);
}

/* Of a target the oldest is forgotten, while others' stay. */
static void many_accesses(void **state) {
  (void)state;
  for (int more = 0; more < 2; more++) {
    int others = KEPT_MAX - 1 + more;
    assert_false(conflicts(1, 1, TM_ACCESS_PUT, 0));
    assert_false(conflicts(0, 2, TM_ACCESS_PUT, 0));
    for (int i = 1; i <= others; i++) assert_false(conflicts(0, 2, TM_ACCESS_PUT, i));
    assert_int_equal(blocks, KEPT_MAX + more + 1);
    assert_int_equal(conflicts(1, 2, TM_ACCESS_GET, 0), !more);
    assert_true(conflicts(1, 2, TM_ACCESS_GET, 2));
    assert_int_equal(blocks, KEPT_MAX + 2);
    assert_true(conflicts(0, 1, TM_ACCESS_GET, 0));
    forget(1);
    forget(2);
    assert_int_equal(blocks, 0);
  }
}

/* ---- calls that end accesses */

enum { OWN_READ, OWN_WRITE, OWN_FENCED, OTHERS_WRITE, OTHER_TARGETS, KINDS };

/* Member 0 has accesses of each kind but one, member 1 that one. */
static void make_accesses(void) {
  lock_all();
  assert_false(conflicts(0, 2, TM_ACCESS_GET, OWN_READ));
  assert_false(conflicts(0, 2, TM_ACCESS_UPDATE, OWN_WRITE));
  assert_false(conflicts(1, 2, TM_ACCESS_PUT, OTHERS_WRITE));
  assert_false(conflicts(0, 0, TM_ACCESS_GET, OTHER_TARGETS));
  assert_false(conflicts(0, MEMBERS, TM_ACCESS_GET, 0)); /* which calls for all do not end */
  accesses[0][2] = 0;
  assert_false(conflicts(0, 2, TM_ACCESS_PUT, OWN_FENCED));
}

/* @return whether the access is still there. Its like conflicts with it. */
static bool is_there(int kind) {
  accesses[0][2] = kind == OWN_FENCED ? 0 : TM_LOCKED_SHARED;
  return conflicts(0, kind == OTHER_TARGETS ? 0 : 2, TM_ACCESS_PUT, kind);
}

static void ends_of_accesses(void **state) {
  static const struct {
    int call, target;
    bool ends[KINDS];
  } rows[] = {{UNLOCK, 2, {true, true, false, false, false}},
              {UNLOCK, 1, {false, false, false, false, false}},
              {UNLOCK, 0, {false, false, false, false, true}},
              {UNLOCK_ALL, TM_NONE, {true, true, false, false, true}},
              {FLUSH, 2, {true, true, false, false, false}},
              {FLUSH_ALL, TM_NONE, {true, true, false, false, true}},
              {FLUSH_LOCAL, 2, {true, false, false, false, false}},
              {FLUSH_LOCAL, MPI_PROC_NULL, {false, false, false, false, false}},
              {FLUSH_LOCAL_ALL, TM_NONE, {true, false, false, false, true}},
              {FENCE, TM_NONE, {false, false, false, false, false}},
              {RPUT, 2, {false, false, false, false, false}}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    make_accesses();
    begin(0, rows[i].call, rows[i].target);
    int left = KINDS + 1;
    for (int kind = 0; kind < KINDS; kind++) left -= rows[i].ends[kind];
    assert_int_equal(blocks, left);
    for (int kind = 0; kind < KINDS; kind++)
      if (is_there(kind) == rows[i].ends[kind]) fail_msg("row %zu, kind %d", i, kind);
    for (int target = 0; target <= MEMBERS; target++) forget(target);
  }
}

static void a_view_that_is_freed(void **state) {
  (void)state;
  make_accesses();
  begin(1, FREE, TM_NONE); /* nobody has accessed it */
  assert_int_equal(blocks, KINDS + 1);
  begin(2, FREE, TM_NONE);
  assert_int_equal(blocks, 2);
  assert_true(is_there(OTHER_TARGETS));
}

static void a_window_that_is_none(void **state) {
  (void)state;
  make_accesses();
  wins[0]->magic = 0;
  begin(0, UNLOCK_ALL, TM_NONE);
  begin(0, FREE, TM_NONE);
  wins[0]->magic = TM_WIN_MAGIC;
  assert_int_equal(blocks, KINDS + 1);
}

/* ---- requests */

static const char requests[3]; /* whose addresses are those of requests */

/* An access by a call that makes a request. */
static void get(int origin, int target, int cell, int call, int request) {
  struct tm_seen *now = &seen[origin];
  now->call = call;
  now->peer = target;
  assert_false(conflicts(origin, target, TM_ACCESS_GET, cell));
  tm_windows_end(now, &requests[request]);
  assert_int_equal(locked, 0);
}

static void complete(int request) {
  tm_windows_complete(&requests[request]);
  assert_int_equal(locked, 0);
}

/* The request of one ends that one, whichever is first. */
static void requests_end_their_gets(void **state) {
  (void)state;
  lock_all();
  for (int early = 0; early < 2; early++) {
    get(0, 2, 0, RGET, 0);
    get(0, 2, 1, RGET_LARGE, 1);
    assert_int_equal(blocks, 4);
    complete(2); /* of something else */
    assert_int_equal(blocks, 4);
    complete(early);
    assert_int_equal(blocks, 2);
    for (int cell = 0; cell < 2; cell++)
      assert_int_equal(conflicts(1, 2, TM_ACCESS_PUT, cell), cell != early);
    complete(1 - early);
    forget(2);
    assert_int_equal(blocks, 0);
  }
}

/* Members access one cell, and another target's. */
static void a_request_ends_no_other_access(void **state) {
  (void)state;
  lock_all();
  get(0, 2, 0, RGET, 0);
  get(1, 2, 0, RGET, 1);
  get(0, 0, 0, RGET, 2);
  assert_int_equal(blocks, 6);
  complete(0);
  complete(2);
  assert_int_equal(blocks, 2);
  assert_false(conflicts(2, 0, TM_ACCESS_PUT, 0));
  assert_true(conflicts(0, 2, TM_ACCESS_PUT, 0)); /* with that of member 1 */
  complete(1);
}

/* The newest access of the rank and of the call that has no request yet. */
static void whose_request_it_is(void **state) {
  struct tm_seen *now = &seen[0];
  (void)state;
  lock_all();
  seen[0].object = seen[1].object = &seen;
  assert_false(conflicts(0, 2, TM_ACCESS_GET, 0));
  assert_false(conflicts(0, 2, TM_ACCESS_GET, 1));
  assert_false(conflicts(1, 2, TM_ACCESS_GET, 2)); /* of another rank */
  assert_false(conflicts(0, 1, TM_ACCESS_GET, 3)); /* of another target */
  now->object = &blocks;
  assert_false(conflicts(0, 2, TM_ACCESS_GET, 4)); /* of another call */
  now->object = &seen;
  now->call = RGET;
  now->peer = 2;
  tm_windows_end(now, &requests[0]);
  tm_windows_end(now, &requests[1]);
  assert_int_equal(blocks, 7);
  tm_windows_end(now, &requests[2]); /* there is no more */
  assert_int_equal(blocks, 7);
  complete(0);
  assert_int_equal(blocks, 5);
  complete(1);
  assert_int_equal(blocks, 3);
  for (int cell = 0; cell < 5; cell++)
    assert_int_equal(conflicts(2, cell == 3 ? 1 : 2, TM_ACCESS_PUT, cell), cell >= 2);
}

/* The get that came last has the request that came first. */
static void requests_in_their_order(void **state) {
  (void)state;
  lock_all();
  seen[0].object = &seen;
  assert_false(conflicts(0, 2, TM_ACCESS_GET, 0));
  get(0, 2, 1, RGET, 0);
  complete(0);
  assert_false(conflicts(1, 2, TM_ACCESS_PUT, 1));
  assert_true(conflicts(1, 2, TM_ACCESS_PUT, 0));
}

/* Nothing is noted where there is no access, no target, no window, or no get. */
static void calls_without_a_get(void **state) {
  struct tm_seen now = {.call = RGET, .win = (MPI_Win)wins[0], .peer = 2, .rank = FIRST_NUMBER};
  (void)state;
  lock_all();
  tm_windows_end(&now, &requests[0]);
  now.peer = MPI_PROC_NULL;
  tm_windows_end(&now, &requests[0]);
  now.peer = 2;
  now.win = MPI_WIN_NULL;
  tm_windows_end(&now, &requests[0]);
  assert_int_equal(blocks, 0);
  get(0, 2, 0, RPUT, 0);
  assert_int_equal(blocks, 1);
  complete(0);
  assert_int_equal(blocks, 1);
}

/* The get is there until a flush. */
static void a_request_without_memory(void **state) {
  struct tm_seen *now = &seen[0];
  (void)state;
  lock_all();
  *now = (struct tm_seen){.call = RGET, .win = (MPI_Win)wins[0], .peer = 2, .rank = FIRST_NUMBER};
  assert_false(conflicts(0, 2, TM_ACCESS_GET, 0));
  memory_is_out = true;
  tm_windows_end(now, &requests[0]);
  memory_is_out = false;
  complete(0);
  assert_int_equal(blocks, 1);
  begin(0, FLUSH_LOCAL, 2);
  assert_int_equal(blocks, 0);
}

#define WINDOW(test) cmocka_unit_test_setup_teardown(test, make_window, free_window)

int main(void) {
  const struct CMUnitTest tests[] = {
      WINDOW(bytes_in_common),
      WINDOW(kinds_that_conflict),
      WINDOW(one_of_several_is_reported),
      WINDOW(other_targets_do_not_count),
      WINDOW(what_is_not_looked_at),
      WINDOW(kinds_of_epochs),
      WINDOW(an_epoch_ends_by_the_next_one),
      WINDOW(many_accesses),
      WINDOW(ends_of_accesses),
      WINDOW(a_view_that_is_freed),
      WINDOW(a_window_that_is_none),
      WINDOW(requests_end_their_gets),
      WINDOW(a_request_ends_no_other_access),
      WINDOW(whose_request_it_is),
      WINDOW(requests_in_their_order),
      WINDOW(calls_without_a_get),
      WINDOW(a_request_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
