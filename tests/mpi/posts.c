/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epochs between some members, step by step (src/tmpi/rma/post.c): what an origin and a target know
 * of each other, and which waiter is woken. One thread plays three members; two are here, and one
 * is on another node.
 */
#include <stdlib.h>

#include "core/internal/thread.h"
#include "internal_locks.h"
#include "window_calls.h"

enum { MEMBERS = 3, FAR = 2, FIRST_NUMBER = 10 };

struct tm_job tm_job;
static struct tm_win wins[MEMBERS];
static struct tm_comm comms[MEMBERS];
static struct tm_rank rank; /* that calls */
static uint8_t posts[MEMBERS][MEMBERS], exposed[MEMBERS][MEMBERS], accesses[MEMBERS][MEMBERS];
static struct tm_win_common *common;
static alignas(TM_LINE) char room[sizeof *common + MEMBERS * sizeof common->views[0]];
static struct tm_group *members;
static struct tm_win_wait waiting; /* a thread of another member's */

/* ---- the rest of the library */

static bool has_locks, fence_is_used;
static void (*meanwhile)(void);

void mti_preempt(const char *call) { note("@%s", call); }

struct mltp_thread *mti_self(const char *call) {
  assert_non_null(call);
  return (struct mltp_thread *)&tm_job;
}

struct tm_group *tm_group_of(MPI_Group handle) {
  return handle == MPI_GROUP_NULL ? NULL : (struct tm_group *)handle;
}

int tm_group_find(struct tm_group *group, int number) {
  for (int i = 0; i < group->size; i++)
    if (group->ranks[i] == number) return i;
  return MPI_UNDEFINED;
}

void tm_group_hold(struct tm_group *group) { group->refs++; }
void tm_group_release(struct tm_group *group) { group->refs--; }

struct tm_win_wait tm_win_waiter(const struct tm_win *win, enum tm_win_wait_for what) {
  return (struct tm_win_wait){.win = win, .what = what};
}

void tm_win_park(struct tm_win_wait *wait, uint32_t *ilock, const char *call) {
  struct tm_win *win = &wins[wait->win - wins];
  assert_true(*ilock == 1 && ilock == &win->ilock && call != NULL);
  assert_ptr_equal(wait->thread, &tm_job);
  assert_ptr_equal(wait->what == TM_FOR_POST ? win->starts : win->completes, wait);
  note(wait->what == TM_FOR_POST ? "waits for posts" : "waits for completes");
  mti_unlock(ilock);
  if (meanwhile != NULL) meanwhile();
}

void tm_win_wake(struct tm_win_wait *woken, bool inside) {
  assert_false(inside);
  note(woken == NULL ? "wakes none" : "wakes");
}

void tm_win_breathe(struct tm_win *win) {
  assert_int_equal(win->ilock, 0);
  note("breathes");
}

bool tm_win_has_locks(const struct tm_win *win) {
  (void)win;
  return has_locks;
}

bool tm_win_fence_in_use(const struct tm_win *win) {
  (void)win;
  return fence_is_used;
}

void tm_win_far_posted(struct tm_win *win, int origin) {
  note("far post of %d to %d", (int)(win - wins), origin);
}

void tm_win_far_completed(struct tm_win *win, int target) {
  note("far end of %d at %d", (int)(win - wins), target);
}

/* ---- a window of three members */

static struct tm_group *new_group(int size, ...) {
  struct tm_group *group = calloc(1, sizeof *group + (size_t)size * sizeof(int));
  va_list list;
  assert_non_null(group);
  group->size = size;
  group->refs = 1;
  va_start(list, size);
  for (int i = 0; i < size; i++) group->ranks[i] = FIRST_NUMBER + va_arg(list, int);
  va_end(list);
  return group;
}

static int start(void **state) {
  (void)state;
  memset(wins, 0, sizeof wins);
  memset(posts, 0, sizeof posts);
  memset(exposed, 0, sizeof exposed);
  memset(accesses, 0, sizeof accesses);
  memset(room, 0, sizeof room);
  common = (struct tm_win_common *)room;
  members = new_group(MEMBERS, 0, 1, 2);
  for (int i = 0; i < MEMBERS; i++) {
    comms[i].rank = i;
    comms[i].owner = &rank;
    wins[i] = (struct tm_win){.magic = TM_WIN_MAGIC,
                              .common = common,
                              .comm = &comms[i],
                              .group = members,
                              .fenced = true,
                              .posts = posts[i],
                              .exposed = exposed[i],
                              .access = accesses[i]};
    common->views[i] = i == FAR ? NULL : &wins[i];
  }
  rank.stage = TM_INITIALIZED;
  has_locks = fence_is_used = false;
  meanwhile = NULL;
  trace[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  for (int i = 0; i < MEMBERS; i++) assert_int_equal(wins[i].ilock, 0);
  assert_int_equal(members->refs, 1);
  free(members);
  return 0;
}

static MPI_Win handle(int member) { return (MPI_Win)&wins[member]; }
static MPI_Group of(struct tm_group *group) { return (MPI_Group)group; }

static void an_origin_waits_for_the_last_post(void **state) {
  (void)state;
  posts[0][0] = posts[0][1] = TM_AWAITED;
  wins[0].unposted = 2;
  wins[0].starts = &waiting;
  assert_null(tm_win_posted(&wins[0], 1));
  assert_int_equal(posts[0][1], TM_NOT_POSTED);
  assert_int_equal(wins[0].unposted, 1);
  assert_null(tm_win_posted(&wins[0], 2)); /* it comes before the origin asks */
  assert_int_equal(posts[0][2], TM_POSTED);
  assert_int_equal(wins[0].unposted, 1);
  assert_ptr_equal(tm_win_posted(&wins[0], 0), &waiting);
  assert_null(wins[0].starts);
}

static void a_target_waits_for_the_last_end(void **state) {
  (void)state;
  exposed[0][0] = exposed[0][1] = 1;
  wins[0].incomplete = 2;
  wins[0].completes = &waiting;
  assert_null(tm_win_completed(&wins[0], 1));
  assert_true(exposed[0][1] == 0 && exposed[0][0] == 1);
  assert_ptr_equal(tm_win_completed(&wins[0], 0), &waiting);
  assert_true(wins[0].completes == NULL && wins[0].incomplete == 0 && exposed[0][0] == 0);
}

/* Member 1 posts to members 2 and 0, of which one is far. */
static void a_post_reaches_its_origins(void **state) {
  struct tm_group *origins = new_group(2, 2, 0);
  int flag = -1;
  (void)state;
  posts[0][1] = TM_AWAITED;
  wins[0].unposted = 1;
  wins[0].starts = &waiting;
  assert_int_equal(PMPI_Win_post(of(origins), 0, handle(1)), MPI_SUCCESS);
  check_trace("far post of 1 to 2 wakes ");
  assert_true(wins[1].post == origins && origins->refs == 2 && !wins[1].fenced);
  assert_int_equal(wins[1].exposures, 1);
  assert_int_equal(wins[1].incomplete, 2);
  assert_true(exposed[1][0] == 1 && exposed[1][1] == 0 && exposed[1][2] == 1);
  assert_int_equal(PMPI_Win_post(of(origins), 0, handle(1)), MPI_ERR_RMA_SYNC);
  check_trace("[MPI_Win_post() has no MPI_Win_wait() yet] ");
  assert_int_equal(PMPI_Win_test(handle(1), &flag), MPI_SUCCESS);
  check_trace("breathes ");
  assert_int_equal(flag, 0);
  assert_non_null(wins[1].post);
  tm_win_completed(&wins[1], 0);
  tm_win_completed(&wins[1], 2);
  assert_int_equal(PMPI_Win_test(handle(1), &flag), MPI_SUCCESS);
  check_trace("");
  assert_int_equal(flag, 1);
  assert_true(wins[1].post == NULL && origins->refs == 1);
  assert_int_equal(PMPI_Win_test(handle(1), &flag), MPI_ERR_RMA_SYNC);
  check_trace("[there was no MPI_Win_post()] ");
  free(origins);
}

static void complete_two(void) {
  tm_win_completed(&wins[1], 0);
  tm_win_completed(&wins[1], 2);
}

static void a_wait_ends_when_all_have_completed(void **state) {
  struct tm_group *origins = new_group(2, 2, 0);
  (void)state;
  assert_int_equal(PMPI_Win_wait(handle(1)), MPI_ERR_RMA_SYNC);
  check_trace("[there was no MPI_Win_post()] ");
  for (int early = 0; early < 2; early++) {
    PMPI_Win_post(of(origins), 0, handle(1));
    check_trace("far post of 1 to 2 wakes none ");
    assert_int_equal(posts[0][1], TM_POSTED);
    meanwhile = early ? NULL : complete_two;
    if (early) complete_two();
    assert_int_equal(PMPI_Win_wait(handle(1)), MPI_SUCCESS);
    check_trace(early ? "@MPI_Win_wait " : "@MPI_Win_wait waits for completes ");
    assert_true(wins[1].post == NULL && origins->refs == 1);
  }
  assert_int_equal(wins[1].exposures, 2);
  free(origins);
}

static void post_last(void) {
  assert_null(tm_win_posted(&wins[0], 0));
  assert_non_null(tm_win_posted(&wins[0], 2));
}

/* Member 0 starts towards all, of which member 1 has posted already. */
static void a_start_waits_for_its_targets(void **state) {
  struct tm_group *targets = new_group(3, 0, 1, 2);
  (void)state;
  tm_win_posted(&wins[0], 1);
  accesses[0][1] = TM_LOCKED_SHARED;
  meanwhile = post_last;
  assert_int_equal(PMPI_Win_start(of(targets), 0, handle(0)), MPI_SUCCESS);
  check_trace("@MPI_Win_start waits for posts ");
  assert_true(wins[0].start == targets && targets->refs == 2 && !wins[0].fenced);
  assert_true(accesses[0][0] == TM_STARTED && accesses[0][2] == TM_STARTED);
  assert_int_equal(accesses[0][1], TM_STARTED | TM_LOCKED_SHARED);
  for (int i = 0; i < MEMBERS; i++) assert_int_equal(posts[0][i], TM_NOT_POSTED);
  assert_int_equal(wins[0].unposted, 0);
  assert_int_equal(PMPI_Win_start(of(targets), 0, handle(0)), MPI_ERR_RMA_SYNC);
  check_trace("[MPI_Win_start() has no MPI_Win_complete() yet] ");
  wins[0].incomplete = wins[1].incomplete = 2;
  wins[1].completes = &waiting;
  assert_int_equal(PMPI_Win_complete(handle(0)), MPI_SUCCESS);
  check_trace("wakes none wakes none far end of 0 at 2 ");
  for (int i = 0; i < MEMBERS; i++) assert_int_equal(accesses[0][i], 0);
  assert_int_equal(wins[1].incomplete, 1);
  assert_true(wins[0].start == NULL && targets->refs == 1);
  assert_int_equal(PMPI_Win_complete(handle(0)), MPI_ERR_RMA_SYNC);
  check_trace("[there was no MPI_Win_start()] ");
  free(targets);
}

static void a_start_that_finds_all_posts_does_not_wait(void **state) {
  struct tm_group *targets = new_group(1, 1);
  (void)state;
  tm_win_posted(&wins[0], 1);
  assert_int_equal(PMPI_Win_start(of(targets), 0, handle(0)), MPI_SUCCESS);
  check_trace("@MPI_Win_start ");
  assert_int_equal(posts[0][1], TM_NOT_POSTED);
  wins[1].incomplete = 1;
  wins[1].completes = &waiting;
#if MLTP_NODES
  wins[0].notes = (struct tm_win_notes *)&tm_job;
  PMPI_Win_complete(handle(0));
  check_trace("wakes settles a start ");
#else
  PMPI_Win_complete(handle(0));
  check_trace("wakes ");
#endif
  free(targets);
}

static void complete_last(void) { assert_non_null(tm_win_completed(&wins[1], 2)); }
static void post_only(void) { assert_non_null(tm_win_posted(&wins[0], 2)); }

/* One member that is not there yet is enough to wait for. */
static void the_last_member_is_waited_for(void **state) {
  struct tm_group *origins = new_group(2, 2, 0), *target = new_group(1, 2);
  (void)state;
  PMPI_Win_post(of(origins), 0, handle(1));
  assert_null(tm_win_completed(&wins[1], 0));
  trace[0] = '\0';
  meanwhile = complete_last;
  assert_int_equal(PMPI_Win_wait(handle(1)), MPI_SUCCESS);
  check_trace("@MPI_Win_wait waits for completes ");
  meanwhile = post_only;
  assert_int_equal(PMPI_Win_start(of(target), 0, handle(0)), MPI_SUCCESS);
  check_trace("@MPI_Win_start waits for posts ");
  free(origins);
  free(target);
}

static void epochs_that_do_not_fit_are_refused(void **state) {
  struct tm_group *others = new_group(2, 1, 5), *one = new_group(1, 1), *none = new_group(1, 5);
  (void)state;
  for (int i = 0; i < 2; i++) {
    int (*const call)(MPI_Group, int, MPI_Win) = i == 0 ? PMPI_Win_post : PMPI_Win_start;
    const int known = MPI_MODE_NOCHECK | (i == 0 ? MPI_MODE_NOSTORE | MPI_MODE_NOPUT : 0);
    const int all = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE |
                    MPI_MODE_NOSUCCEED;
    for (int bit = 1; bit <= all; bit *= 2)
      assert_int_equal(call(MPI_GROUP_NULL, all & bit, handle(0)),
                       (all & bit & ~known) != 0 ? MPI_ERR_ASSERT : MPI_ERR_GROUP);
    trace[0] = '\0';
    assert_int_equal(call(MPI_GROUP_NULL, 0, handle(0)), MPI_ERR_GROUP);
    check_trace("[the group is not valid] ");
    assert_int_equal(call(of(others), 0, handle(0)), MPI_ERR_GROUP);
    check_trace("[rank 1 of the group is no member] ");
    assert_int_equal(call(of(none), 0, handle(0)), MPI_ERR_GROUP);
    check_trace("[rank 0 of the group is no member] ");
    fence_is_used = true;
    assert_int_equal(call(of(one), 0, handle(0)), MPI_ERR_RMA_SYNC);
    check_trace("[there were accesses since the last MPI_Win_fence()] ");
    fence_is_used = false;
  }
  has_locks = true;
  assert_int_equal(PMPI_Win_start(of(one), 0, handle(0)), MPI_ERR_RMA_SYNC);
  check_trace("[the origin still holds a lock] ");
  assert_true(wins[0].start == NULL && wins[0].post == NULL && wins[0].fenced);
  assert_int_equal(one->refs, 1);
  free(one);
  free(none);
  free(others);
}

static void no_window_is_refused(void **state) {
  int flag;
  (void)state;
  rank.stage = 0;
  assert_int_equal(PMPI_Win_wait(handle(0)), MPI_ERR_WIN);
  check_trace("refused ");
  rank.stage = TM_INITIALIZED;
  wins[0].magic = 0;
  assert_int_equal(PMPI_Win_post(MPI_GROUP_NULL, 0, handle(0)), MPI_ERR_WIN);
  assert_int_equal(PMPI_Win_start(MPI_GROUP_NULL, 0, handle(0)), MPI_ERR_WIN);
  assert_int_equal(PMPI_Win_wait(handle(0)), MPI_ERR_WIN);
  assert_int_equal(PMPI_Win_test(handle(0), &flag), MPI_ERR_WIN);
  assert_int_equal(PMPI_Win_complete(handle(0)), MPI_ERR_WIN);
  check_trace("refused refused refused refused refused ");
}

#define EPOCHS(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  nested_most = 2;
  const struct CMUnitTest tests[] = {
      EPOCHS(an_origin_waits_for_the_last_post),
      EPOCHS(a_target_waits_for_the_last_end),
      EPOCHS(a_post_reaches_its_origins),
      EPOCHS(a_wait_ends_when_all_have_completed),
      EPOCHS(a_start_waits_for_its_targets),
      EPOCHS(a_start_that_finds_all_posts_does_not_wait),
      EPOCHS(the_last_member_is_waited_for),
      EPOCHS(epochs_that_do_not_fit_are_refused),
      EPOCHS(no_window_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
