/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reports read of ranks that may run (src/tmpi/report/activity*.c), copy by copy: what a rank
 * waits for, which copies are left out because they cannot be right, and which ranks hold a lock.
 * The objects are made here, so there is no rank; an address may be unreadable.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/internal/placement.h"
#include "core/internal/process.h"
#include "counted_blocks.h"
#include "tmpi/mailbox/mailbox.h"
#include "tmpi/report/activity.h"
#include "tmpi/report/location.h"
#include "tmpi/report/text.h"
#include "tmpi/rma/win.h"

enum { RANKS = 12, CONTEXT = 700 };

struct tm_job tm_job;
static struct tm_rank ranks[RANKS];
static struct tm_comm comm;
static struct tm_type type = {.size = 8};
static struct tm_request request;
static const void *unreadable;

/* What it reads may be an object of another type, and shorter: only the copy tells. */
__attribute__((no_sanitize("address"))) bool mti_peek(void *copy, const void *from, size_t size) {
  if (from == unreadable || (uintptr_t)from < 4096) return false;
  for (size_t i = 0; i < size; i++) ((volatile char *)copy)[i] = ((const volatile char *)from)[i];
  return true;
}

bool mti_blocks_in(char *text, size_t size, const struct mltp_thread *t) {
  assert_ptr_equal(t, ranks);
  snprintf(text, size, "read");
  return true;
}

static bool nothing_came; /* from other nodes */

bool tm_gathered_read(struct tm_activity *activity, int number) {
  if (nothing_came) return false;
  activity->state = 100 + number;
  return true;
}

const void *tm_location_call_site(const void *frame) {
  return frame == NULL ? NULL : (const char *)frame + 1;
}

static int located;

const void *tm_location_find(const struct mltp_thread *thread, char *callee, size_t size) {
  assert_ptr_equal(thread, ranks);
  snprintf(callee, size, "fft");
  located++;
  return &type;
}

int tm_text_ranks(char text[TM_RANKS_TEXT], const bool *set, int size) {
  int count = 0;
  strcpy(text, "ranks");
  for (int i = 0; i < size; i++)
    if (set[i]) {
      count++;
      sprintf(text + strlen(text), " %d", i);
    }
  return count;
}

/* The ranks of a group are the job's from the last to the first. */
static struct tm_group *group_of(int size) {
  static struct tm_group *groups[RANKS + 1];
  if (groups[size] == NULL) {
    groups[size] = malloc(sizeof *groups[0] + (size_t)size * sizeof(int));
    assert_non_null(groups[size]);
    groups[size]->size = size;
    for (int i = 0; i < size; i++) groups[size]->ranks[i] = RANKS - 1 - i;
  }
  return groups[size];
}

static int start(void **state) {
  (void)state;
  memset(ranks, 0, sizeof ranks);
  memset(&request, 0, sizeof request);
  tm_job = (struct tm_job){.ranks = ranks, .size = RANKS, .first_size = RANKS, .local = RANKS};
  for (int i = 0; i < RANKS; i++) ranks[i].thread = ranks;
  comm = (struct tm_comm){.magic = TM_COMM_MAGIC,
                          .context = CONTEXT,
                          .size = 3,
                          .group = group_of(3),
                          .remote = group_of(3)};
  request = (struct tm_request){.magic = TM_REQUEST_MAGIC,
                                .kind = TM_RECV,
                                .comm = &comm,
                                .count = 5,
                                .type = &type,
                                .peer = 1};
  request.entry.envelope.tag = 9;
  request.entry.envelope.context = CONTEXT;
  unreadable = NULL;
  memory_is_out = false;
  located = 0;
  return 0;
}

static struct tm_activity read_rank(int number) {
  struct tm_activity activity;
  memset(&activity, 0x77, sizeof activity);
  tm_activity_read(&activity, number);
  return activity;
}

static struct tm_activity waits_for(const void *what) {
  ranks[2].call = "MPI_Wait";
  ranks[2].waits_for = what;
  ranks[2].frame = &comm;
  return read_rank(2);
}

/* ---- states */

static void a_rank_is_in_the_program_or_waits_or_has_ended(void **state) {
  (void)state;
  struct tm_activity a = read_rank(2);
  assert_int_equal(a.state, TM_OUTSIDE);
  assert_string_equal(a.blocks_in, "read");
  assert_true(a.call == NULL && a.site == NULL && !a.what.known && !a.unstarted.is);
  ranks[2].unstarted = tm_unstarted_word(true, 4, 6);
  a = waits_for(NULL);
  assert_int_equal(a.state, TM_WAITS);
  assert_string_equal(a.call, "MPI_Wait");
  assert_string_equal(a.blocks_in, "");
  assert_ptr_equal(a.frame, &comm);
  assert_ptr_equal(a.site, (char *)&comm + 1);
  assert_false(a.what.known);
  assert_true(a.unstarted.is && a.unstarted.sends && a.unstarted.peer == 4);
  ranks[2].ended = 1;
  a = read_rank(2);
  assert_int_equal(a.state, TM_ENDED);
  assert_string_equal(a.blocks_in, "");
  assert_null(a.frame);
}

static void other_nodes_tell_of_their_own(void **state) {
  (void)state;
  tm_job.local = 3;
  struct tm_activity a = waits_for(&request);
  assert_int_equal(a.state, TM_WAITS);
  a = read_rank(5);
  assert_true(a.state == 105 && a.call == NULL);
  nothing_came = true;
  assert_int_equal(read_rank(5).state, TM_ELSEWHERE);
  nothing_came = false;
  a.state = TM_OUTSIDE;
  tm_activity_locate(&a, 5);
  assert_int_equal(located, 0);
}

/* Where ranks outside of MPI are takes time to find. */
static void the_first_eight_outside_are_located(void **state) {
  (void)state;
  struct tm_activity all[RANKS];
  ranks[0].call = "MPI_Recv";
  tm_activity_read_all(all);
  assert_int_equal(located, 8);
  assert_true(all[0].site == NULL && all[9].site == NULL);
  assert_string_equal(all[8].callee, "fft");
  assert_ptr_equal(all[1].site, &type);
  tm_job.full_reports = true;
  tm_activity_read_all(all);
  assert_int_equal(located, 8 + RANKS - 1);
  assert_ptr_equal(all[9].site, &type);
}

/* ---- requests */

static void a_request_is_described(void **state) {
  (void)state;
  struct tm_wanted what = waits_for(&request).what;
  assert_true(what.known && !what.inner && what.kind == TM_RECV && what.peer == 1);
  assert_int_equal(what.number, RANKS - 2);
  assert_int_equal(what.tag, 9);
  assert_true(what.has_bytes && what.bytes == 40);
  assert_true(what.missing == 0 && what.requests == 0);
  assert_true(what.has_comm && what.context == CONTEXT && !what.has_window);
  request.entry.envelope.context = CONTEXT + 1; /* a collective's */
  request.type = NULL;                          /* a probe's */
  request.peer = MPI_ANY_SOURCE;
  what = waits_for(&request).what;
  assert_true(what.known && what.inner && !what.has_bytes && what.number == -1);
  assert_int_equal(what.peer, MPI_ANY_SOURCE);
  request.peer = 0;
  assert_int_equal(waits_for(&request).what.number, RANKS - 1);
}

static void what_is_no_object_any_more_is_left_out(void **state) {
  (void)state;
  struct tm_wanted what;
  unreadable = &type.size;
  assert_false(waits_for(&request).what.has_bytes);
  unreadable = &comm.group->ranks[1];
  assert_int_equal(waits_for(&request).what.number, -1);
  unreadable = &comm;
  what = waits_for(&request).what;
  assert_true(what.known && !what.has_comm && what.number == -1);
  unreadable = NULL;
  comm.magic++;
  what = waits_for(&request).what;
  assert_true(what.known && !what.has_comm);
  request.comm = NULL;
  assert_false(waits_for(&request).what.has_comm);
  unreadable = &request;
  assert_false(waits_for(&request).what.known);
  unreadable = NULL;
  request.magic++;
  assert_false(waits_for(&request).what.known);
}

/* A thread waits for three requests, after one that is complete: one of them is done by now. */
static void the_first_missing_request_is_described(void **state) {
  struct tm_request three[3], *of[5] = {&three[0], NULL, &three[1], &three[2], &three[2]};
  struct tm_waiter waiter = {.of = of, .count = 4, .before = 2};
  (void)state;
  request.waiter = &waiter;
  for (int i = 0; i < 3; i++) {
    three[i] = request;
    three[i].entry.envelope.tag = 20 + i;
  }
  three[0].done = 1;
  struct tm_wanted what = waits_for(&request).what;
  assert_true(what.missing == 2 && what.requests == 5 && what.tag == 21);
  three[1].magic = 0;
  what = waits_for(&request).what;
  assert_true(what.missing == 1 && what.requests == 4 && what.tag == 22);
  unreadable = &of[3];
  what = waits_for(&request).what;
  assert_true(what.missing == 0 && what.requests == 3 && what.tag == 9);
  unreadable = &waiter;
  what = waits_for(&request).what;
  assert_true(what.missing == 0 && what.requests == 0 && what.tag == 9);
  unreadable = NULL;
  request.parks = true; /* it names a thread, and no waiter */
  what = waits_for(&request).what;
  assert_true(what.missing == 0 && what.requests == 0);
}

/* ---- communicators */

static void a_collective_has_no_peer(void **state) {
  (void)state;
  strcpy(comm.name, "grid");
  struct tm_wanted what = waits_for(&comm).what;
  assert_true(what.known && what.inner && what.number == -1 && what.peer == -1);
  assert_true(what.has_comm && what.context == CONTEXT && !what.has_bytes);
  assert_string_equal(what.comm, "grid");
  comm.context = 0; /* of the first communicator */
  assert_true(waits_for(&comm).what.inner);
  strcpy(comm.name, "x");
  assert_string_equal(waits_for(&comm).what.comm, "x");
  memset(comm.name, 'x', sizeof comm.name); /* it is being set */
  what = waits_for(&comm).what;
  assert_int_equal(strlen(what.comm), MPI_MAX_OBJECT_NAME - 1);
}

static void check_name(int size, const char *expected) {
  comm.size = size;
  comm.group = comm.remote = group_of(size);
  assert_string_equal(waits_for(&comm).what.comm, expected);
}

static void a_communicator_without_a_name_has_its_first_members(void **state) {
  (void)state;
  check_name(1, "a communicator of 1 rank (11)");
  check_name(2, "a communicator of 2 ranks (11, 10)");
  check_name(4, "a communicator of 4 ranks (11, 10, 9, 8)");
  check_name(5, "a communicator of 5 ranks (11, 10, 9, 8, ...)");
  comm.inter = true;
  check_name(5, "");
}

/* A rank's communicators are a list, of which the wanted one is the second. */
static void a_rank_is_asked_for_its_communicator(void **state) {
  struct tm_comm first = comm;
  char name[MPI_MAX_OBJECT_NAME];
  (void)state;
  first.context = CONTEXT - 2;
  first.next = &comm;
  ranks[4].comms = &first;
  comm.collectives = 6;
  comm.recent[5] = "MPI_Bcast";
  comm.rooted[5] = (struct tm_rooted){5, 2};
  assert_int_equal(tm_activity_source(name, 4, CONTEXT, 2), RANKS - 3);
  assert_string_equal(name, "a communicator of 3 ranks (11, 10, 9)");
  assert_int_equal(tm_activity_source(name, 4, CONTEXT + 2, 2), -1);
  assert_int_equal(tm_activity_source(name, 3, CONTEXT, 2), -1);
  struct tm_member member = tm_activity_member(4, CONTEXT);
  assert_true(member.found && member.collectives == 6 && member.rooted[5].root == 2);
  assert_string_equal(member.recent[5], "MPI_Bcast");
  comm.inter = true; /* its groups name other roots */
  member = tm_activity_member(4, CONTEXT);
  assert_true(member.found && member.collectives == 6 && member.rooted[5].root == 0);
  member = tm_activity_member(4, CONTEXT + 2);
  assert_true(!member.found && member.collectives == 0 && member.recent[5] == NULL);
  unreadable = &comm;
  assert_false(tm_activity_member(4, CONTEXT).found);
  first.magic = 0;
  unreadable = NULL;
  assert_false(tm_activity_member(4, CONTEXT).found);
}

static void a_list_that_changes_ends(void **state) {
  (void)state;
  comm.next = &comm;
  ranks[4].comms = &comm;
  assert_false(tm_activity_member(4, CONTEXT + 2).found);
}

static int members(int **list) { return tm_activity_members(4, CONTEXT, list); }

static void members_of_both_groups_are_listed(void **state) {
  int *list;
  (void)state;
  assert_int_equal(members(&list), 0);
  assert_null(list);
  ranks[4].comms = &comm;
  assert_int_equal(members(&list), 3);
  assert_true(list[0] == 11 && list[1] == 10 && list[2] == 9);
  free(list);
  comm.inter = true;
  comm.remote = group_of(2);
  assert_int_equal(members(&list), 5);
  assert_true(list[2] == 9 && list[3] == 11 && list[4] == 10);
  free(list);
  unreadable = comm.group->ranks;
  assert_int_equal(members(&list), 2);
  assert_true(list[0] == 11 && list[1] == 10);
  free(list);
  unreadable = &comm.remote->size;
  assert_int_equal(members(&list), 0);
  unreadable = NULL;
  memory_is_out = true;
  assert_int_equal(members(&list), 0);
}

/* Sizes that cannot be right are of memory that was freed. */
static void groups_of_impossible_sizes_are_not_listed(void **state) {
  struct tm_group wrong = *group_of(0);
  int *list;
  (void)state;
  ranks[4].comms = &comm;
  comm.size = -1;
  assert_int_equal(members(&list), 0);
  comm.size = RANKS + 1;
  assert_int_equal(members(&list), 0);
  comm.size = RANKS;
  comm.group = group_of(RANKS);
  assert_int_equal(members(&list), RANKS);
  free(list);
  comm.inter = true;
  comm.remote = &wrong;
  wrong.size = -1;
  assert_int_equal(members(&list), 0);
  wrong.size = RANKS + 1;
  assert_int_equal(members(&list), 0);
  wrong.size = 0;
  assert_int_equal(members(&list), RANKS);
  free(list);
  comm.size = 0;
  comm.remote = group_of(RANKS);
  assert_int_equal(members(&list), RANKS);
  free(list);
}

/* ---- windows: four members, of which member 1 waits. Member i is rank 11 - i. */

enum { MEMBERS = 4 };
static struct tm_win wins[MEMBERS];
static uint8_t accesses[MEMBERS][MEMBERS], posts[MEMBERS], exposed[MEMBERS];
static struct tm_win_common *common;
static alignas(TM_LINE) char common_room[sizeof *common + MEMBERS * sizeof common->views[0]];
static struct tm_win_wait waiter;

static int start_window(void **state) {
  start(state);
  memset(accesses, 0, sizeof accesses);
  memset(posts, 0, sizeof posts);
  memset(exposed, 0, sizeof exposed);
  common = (struct tm_win_common *)common_room;
  memset(common_room, 0, sizeof common_room);
  common->size = MEMBERS;
  for (int i = 0; i < MEMBERS; i++) {
    wins[i] = (struct tm_win){.magic = TM_WIN_MAGIC,
                              .common = common,
                              .group = group_of(MEMBERS),
                              .exclusive_holder = -1,
                              .posts = posts,
                              .exposed = exposed,
                              .access = accesses[i]};
    common->views[i] = &wins[i];
  }
  waiter = (struct tm_win_wait){.magic = TM_WIN_WAIT_MAGIC, .win = &wins[1], .target = 3};
  return 0;
}

static void check_window(enum tm_win_wait_for what, int number, const char *expected) {
  waiter.what = what;
  struct tm_wanted wanted = waits_for(&waiter).what;
  assert_true(wanted.known && wanted.has_window && !wanted.has_comm);
  assert_string_equal(wanted.window, expected);
  assert_int_equal(wanted.number, number);
}

static void a_lock_is_held_by_its_holders(void **state) {
  (void)state;
  check_window(TM_FOR_LOCK, -1,
               "other waiters come first, and nobody holds a lock of rank 8 on a window");
  accesses[0][3] = TM_LOCKED_EXCLUSIVE;
  accesses[0][2] = TM_LOCKED_EXCLUSIVE;
  check_window(TM_FOR_LOCK, 11, "ranks 11 holds a lock of rank 8 on a window");
  accesses[2][3] = TM_LOCKED_SHARED;
  check_window(TM_FOR_LOCK, 11, "ranks 11 holds a lock of rank 8 on a window");
  waiter.exclusive = true;
  strcpy(wins[1].name, "halo");
  check_window(TM_FOR_LOCK, 9, "ranks 9 11 hold a lock of rank 8 on halo");
  accesses[0][3] |= TM_LOCK_DEFERRED; /* it has it not yet */
  check_window(TM_FOR_LOCK, 9, "ranks 9 holds a lock of rank 8 on halo");
  accesses[2][3] = 0;
  wins[3].exclusive_holder = 0; /* of another node: its view is not here */
  check_window(TM_FOR_LOCK, 11, "ranks 11 holds a lock of rank 8 on halo");
  common->views[3] = NULL;
  check_window(TM_FOR_LOCK, -1,
               "other waiters come first, and nobody holds a lock of rank 8 on halo");
  common->far = (struct tm_win_member *)common_room;
  check_window(TM_FOR_LOCK, -1, "a rank of another node holds a lock of rank 8 on halo");
}

static void a_gate_is_kept_by_locks_of_all(void **state) {
  (void)state;
  accesses[0][3] = TM_LOCKED_EXCLUSIVE;
  wins[0].exclusives = 1;
  check_window(TM_FOR_GATE, -1,
               "other waiters come first, and nobody holds a lock of rank 8 on a window");
  wins[2].all_locked = true;
  wins[2].all_nocheck = 1; /* it holds nothing */
  wins[3].all_locked = true;
  check_window(TM_FOR_GATE, 8, "ranks 8 holds a lock of rank 8 on a window");
  wins[2].all_nocheck = 0;
  check_window(TM_FOR_GATE, 8, "ranks 8 9 hold a lock of rank 8 on a window");
}

static void a_lock_of_all_waits_for_exclusive_ones(void **state) {
  (void)state;
  waiter.target = -1; /* it has none */
  check_window(TM_FOR_ALL, -1,
               "other waiters come first, and nobody holds exclusive locks on a window");
  wins[2].all_locked = true;
  wins[3].exclusives = 1;
  check_window(TM_FOR_ALL, 8, "ranks 8 holds exclusive locks on a window");
  wins[0].exclusives = 2;
  check_window(TM_FOR_ALL, 8, "ranks 8 11 hold exclusive locks on a window");
}

static void an_epoch_waits_for_posts_or_their_ends(void **state) {
  (void)state;
  check_window(TM_FOR_POST, -1, "an unknown rank has not called MPI_Win_post on a window");
  check_window(TM_FOR_COMPLETE, -1, "an unknown rank has not called MPI_Win_complete on a window");
  posts[0] = TM_AWAITED;
  posts[2] = TM_POSTED;
  exposed[1] = 1;
  check_window(TM_FOR_POST, 11, "ranks 11 has not called MPI_Win_post on a window");
  check_window(TM_FOR_COMPLETE, 10, "ranks 10 has not called MPI_Win_complete on a window");
  posts[3] = TM_AWAITED;
  exposed[2] = 1;
  check_window(TM_FOR_POST, 8, "ranks 8 11 have not called MPI_Win_post on a window");
  check_window(TM_FOR_COMPLETE, 9, "ranks 9 10 have not called MPI_Win_complete on a window");
  unreadable = &posts[3];
  check_window(TM_FOR_POST, 11, "ranks 11 has not called MPI_Win_post on a window");
  posts[0] = TM_POSTED;
  common->far = (struct tm_win_member *)common_room;
  check_window(TM_FOR_POST, -1, "a rank of another node has not called MPI_Win_post on a window");
}

/* Numbers that are no ranks of the job come from a group that is gone. */
static void members_that_are_no_ranks_are_left_out(void **state) {
  (void)state;
  posts[0] = posts[2] = TM_AWAITED;
  tm_job.size = 11;
  check_window(TM_FOR_POST, 9, "ranks 9 has not called MPI_Win_post on a window");
  unreadable = &group_of(MEMBERS)->ranks[2];
  check_window(TM_FOR_POST, -1, "an unknown rank has not called MPI_Win_post on a window");
}

static bool has_window(void) { return waits_for(&waiter).what.has_window; }

static void a_window_that_is_gone_is_left_out(void **state) {
  const void *const parts[] = {&waiter, &wins[1], common};
  (void)state;
  assert_true(has_window());
  for (int i = 0; i < 3; i++) {
    unreadable = parts[i];
    assert_false(has_window());
  }
  unreadable = NULL;
  memory_is_out = true;
  assert_false(has_window());
  memory_is_out = false;
  common->size = RANKS + 1;
  assert_false(has_window());
  common->size = MEMBERS;
  waiter.target = MEMBERS;
  assert_false(has_window());
  waiter.target = 0;
  wins[1].magic++;
  assert_false(has_window());
  wins[1].magic--;
  waiter.magic++;
  assert_false(has_window());
  waiter.magic--;
  waiter.win = NULL;
  assert_false(has_window());
}

#define RANK(test) cmocka_unit_test_setup(test, start)
#define WINDOW(test) cmocka_unit_test_setup(test, start_window)

int main(void) {
  const struct CMUnitTest tests[] = {
      RANK(a_rank_is_in_the_program_or_waits_or_has_ended),
      RANK(other_nodes_tell_of_their_own),
      RANK(the_first_eight_outside_are_located),
      RANK(a_request_is_described),
      RANK(what_is_no_object_any_more_is_left_out),
      RANK(the_first_missing_request_is_described),
      RANK(a_collective_has_no_peer),
      RANK(a_communicator_without_a_name_has_its_first_members),
      RANK(a_rank_is_asked_for_its_communicator),
      RANK(a_list_that_changes_ends),
      RANK(members_of_both_groups_are_listed),
      RANK(groups_of_impossible_sizes_are_not_listed),
      WINDOW(a_lock_is_held_by_its_holders),
      WINDOW(a_gate_is_kept_by_locks_of_all),
      WINDOW(a_lock_of_all_waits_for_exclusive_ones),
      WINDOW(an_epoch_waits_for_posts_or_their_ends),
      WINDOW(members_that_are_no_ranks_are_left_out),
      WINDOW(a_window_that_is_gone_is_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
