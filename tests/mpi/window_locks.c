/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks of windows, step by step (src/tmpi/rma/lock.c, wait.c): which member has a lock, which ones
 * wait for it, and in which order they get it. Each member that waits has a stack of its own. The
 * last member may be on another node, and so may the gate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "core/internal/park.h"
#include "core/internal/placement.h"
#include "core/internal/thread.h"
#include "internal_locks.h"
#include "tmpi/match/rank_wait.h"
#include "window_calls.h"

enum { MEMBERS = 4, LAST = MEMBERS - 1 };

struct tm_job tm_job;
static struct tm_win wins[MEMBERS];
static struct tm_comm comms[MEMBERS];
static struct tm_rank ranks[MEMBERS];
static uint8_t access[MEMBERS][MEMBERS];
static struct tm_win_common *common;
static alignas(TM_LINE) char room[sizeof *common + MEMBERS * sizeof common->views[0]];
static struct tm_group some_group, *const group = &some_group;
static bool fence_is_used, defers;
static int yields, preempts;

/* ---- the rest of the library */

void mti_preempt(const char *call) { preempts += call != NULL; }
mltp_t *mltp_self(void) { return NULL; }
void mltp_yield(void) { yields++; }
struct tm_rank *tm_rank_self(void) { return &ranks[0]; }
struct mltp_thread *mti_self(const char *call) { return call == NULL ? NULL : (void *)&ranks; }
void tm_deferred_release(struct tm_rank *rank) { assert_null(rank); }
bool tm_user_code_lend_slow(struct tm_rank *rank) { return rank == NULL; }
void tm_user_code_take(struct tm_rank *rank) { assert_null(rank); }

static ucontext_t test, contexts[MEMBERS]; /* of members that wait, or have waited */
static alignas(16) char stacks[MEMBERS][32768];
static bool resumed[MEMBERS];
static int running = -1; /* the member; -1: the test */

/* Lets a member run until it parks, or has its lock. */
static void run(int member) {
  running = member;
  swapcontext(&test, &contexts[member]);
  running = -1;
}

void mti_park_unlock(uint32_t *lock, const char *text) {
  assert_true(running >= 0 && text != NULL);
  mti_unlock(lock);
  note("parks%d", running);
  swapcontext(&contexts[running], &test);
}

/* The mailbox says which rank continues. */
void mti_resume_on(struct mltp_thread *t, int vp, uint32_t *ticks) {
  assert_true(t == (void *)&ranks && locked == 0);
  assert_ptr_equal(ticks, &ranks[vp].box.home_points);
  resumed[vp] = true;
  note("resumes%d", vp);
}

struct tm_win_wait *tm_win_grant(struct tm_win_wait *wait, bool inside) {
  note("grants%d%s", wait->asker_number, inside ? " inside" : "");
  return wait->asker_number == 5 ? (struct tm_win_wait *)wait->asker : NULL;
}

bool tm_win_fence_in_use(const struct tm_win *win) {
  (void)win;
  return fence_is_used;
}

void tm_win_far_lock_now(struct tm_rank *rank, const char *call) {
  assert_non_null(call);
  note("now%d", (int)(rank - ranks));
}

bool tm_win_far_defer(struct tm_win *win, int target, bool exclusive) {
  if (defers) note("defers%d %d %d", win->comm->rank, target, exclusive);
  return defers;
}

void tm_win_far_lock(struct tm_win_wait *wait, const char *call) {
  assert_true(wait->what == TM_FOR_LOCK && call != NULL);
  note("far lock%d %d %d", wait->origin, wait->target, wait->exclusive);
}

void tm_win_far_unlock(struct tm_win *win, int target, bool exclusive) {
  note("far unlock%d %d %d", win->comm->rank, target, exclusive);
}

void tm_win_far_gate(struct tm_win_wait *wait, bool passes, const char *call) {
  assert_true(wait->exclusive == (wait->what == TM_FOR_GATE) && call != NULL);
  note("far gate%d %s%s", wait->origin, wait->what == TM_FOR_ALL ? "all" : "one",
       passes ? " passes" : "");
}

void tm_win_far_leave_gate(struct tm_win *win, bool all) {
  note("far leave%d %s", win->comm->rank, all ? "all" : "one");
}

/* ---- a window */

static int start(void **state) {
  (void)state;
  memset(room, 0, sizeof room);
  memset(access, 0, sizeof access);
  memset(ranks, 0, sizeof ranks);
  common = (struct tm_win_common *)room;
  common->size = MEMBERS;
  for (int i = 0; i < MEMBERS; i++) {
    comms[i].rank = i;
    comms[i].owner = &ranks[i];
    ranks[i].stage = TM_INITIALIZED;
    ranks[i].box.home = i;
    ranks[i].thread = &ranks; /* another one than mltp_self(): it is not noted */
    wins[i] = (struct tm_win){.magic = TM_WIN_MAGIC,
                              .common = common,
                              .comm = &comms[i],
                              .group = group,
                              .exclusive_holder = -1,
                              .fenced = true,
                              .access = access[i]};
    common->views[i] = &wins[i];
  }
  fence_is_used = defers = false;
  yields = 0;
  memset(resumed, 0, sizeof resumed);
  trace[0] = '\0';
  return 0;
}

/* Nothing is held any more. */
static int end(void **state) {
  (void)state;
  assert_true(common->exclusive == 0 && common->all == 0 && common->waiters.first == NULL);
  for (int i = 0; i < MEMBERS; i++) {
    assert_true(wins[i].shared_holders == 0 && wins[i].exclusive_holder == -1);
    assert_true(wins[i].locked == 0 && wins[i].exclusives == 0 && wins[i].ilock == 0);
    assert_null(wins[i].waiters.first);
  }
  assert_int_equal(common->ilock, 0);
  return 0;
}

static void go_over_nodes(void) {
  common->far = (struct tm_win_member *)room;
  common->views[LAST] = NULL;
}

static void go_away_with_gate(void) {
  go_over_nodes();
  common->views[0] = NULL;
}

static MPI_Win handle(int member) { return (MPI_Win)&wins[member]; }

static void lock(int origin, int target, bool exclusive) {
  int type = exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
  assert_int_equal(PMPI_Win_lock(type, target, 0, handle(origin)), MPI_SUCCESS);
}

static void unlock(int origin, int target) {
  assert_int_equal(PMPI_Win_unlock(target, handle(origin)), MPI_SUCCESS);
}

static void lock_all(int origin) {
  assert_int_equal(PMPI_Win_lock_all(0, handle(origin)), MPI_SUCCESS);
}

static void unlock_all(int origin) {
  assert_int_equal(PMPI_Win_unlock_all(handle(origin)), MPI_SUCCESS);
}

/* ---- locks that are free */

static void a_lock_is_held_until_it_is_unlocked(void **state) {
  (void)state;
  lock(0, 2, true);
  assert_true(wins[2].exclusive_holder == 0 && wins[2].shared_holders == 0);
  assert_true(access[0][2] == TM_LOCKED_EXCLUSIVE && !wins[0].fenced);
  assert_true(wins[0].locked == 1 && wins[0].exclusives == 1 && common->exclusive == 1);
  assert_true(tm_win_has_locks(&wins[0]) && !tm_win_has_locks(&wins[2]));
  lock(0, 1, false);
  assert_true(wins[1].shared_holders == 1 && access[0][1] == TM_LOCKED_SHARED);
  assert_true(wins[0].locked == 2 && wins[0].exclusives == 1 && common->exclusive == 1);
  unlock(0, 2);
  assert_true(wins[2].exclusive_holder == -1 && access[0][2] == 0 && common->exclusive == 0);
  lock(3, 1, false);
  assert_int_equal(wins[1].shared_holders, 2);
  unlock(0, 1);
  unlock(3, 1);
  check_trace("");
}

static void all_targets_are_locked_at_once(void **state) {
  (void)state;
  lock_all(0);
  lock_all(1);
  lock(2, 0, false); /* a shared one fits */
  assert_true(common->all == 2 && wins[0].all_locked && tm_win_has_locks(&wins[0]));
  assert_false(wins[0].fenced);
  unlock_all(0);
  assert_true(common->all == 1 && !wins[0].all_locked);
  unlock_all(1);
  unlock(2, 0);
  check_trace("");
}

static void what_needs_no_check_acquires_nothing(void **state) {
  (void)state;
  preempts = 0;
  lock(1, 2, true);
  assert_int_equal(PMPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, MPI_MODE_NOCHECK, handle(0)), MPI_SUCCESS);
  assert_int_equal(access[0][2], TM_LOCKED_NOCHECK);
  assert_true(wins[2].exclusive_holder == 1 && wins[0].locked == 1 && wins[0].exclusives == 0);
  wins[0].notes = (struct tm_win_notes *)room; /* to other nodes */
  unlock(0, 2);
  check_trace(MLTP_NODES ? "settles " : "");
  assert_int_equal(PMPI_Win_lock_all(MPI_MODE_NOCHECK, handle(0)), MPI_SUCCESS);
  assert_true(common->all == 0 && wins[0].all_locked && wins[0].all_nocheck);
  assert_int_equal(preempts, 3); /* other ranks may run before each lock */
  trace[0] = '\0';
  unlock_all(0);
  check_trace(MLTP_NODES ? "settles " : "");
  wins[0].notes = NULL;
  unlock(1, 2);
  check_trace("");
}

/* ---- locks that are not */

static struct {
  int target; /* -1: all */
  bool exclusive;
} asked;

static void ask(void) {
  if (asked.target < 0)
    lock_all(running);
  else
    lock(running, asked.target, asked.exclusive);
}

/* A member asks for a lock that it does not get yet. target -1: of all. */
static void wait_for(int member, int target, bool exclusive) {
  char expected[20];
  asked.target = target;
  asked.exclusive = exclusive;
  getcontext(&contexts[member]);
  contexts[member].uc_stack.ss_sp = stacks[member];
  contexts[member].uc_stack.ss_size = sizeof stacks[member];
  contexts[member].uc_link = &test;
  makecontext(&contexts[member], ask, 0);
  run(member);
  snprintf(expected, sizeof expected, "parks%d ", member);
  check_trace(expected);
}

/* The member returns with the lock that it has been given. */
static void get(int member) {
  assert_true(resumed[member]);
  resumed[member] = false;
  run(member);
  check_trace("");
}

static void a_waiter_gets_the_lock_when_it_is_released(void **state) {
  (void)state;
  for (int way = 0; way < 3; way++) {
    bool held = way != 1, wanted = way != 2; /* exclusively; both shared is no wait */
    lock(1, 2, held);
    wait_for(0, 2, wanted);
    unlock(1, 2);
    check_trace("resumes0 ");
    assert_true(wins[2].exclusive_holder == (wanted ? 0 : -1) && wins[2].shared_holders == !wanted);
    get(0);
    unlock(0, 2);
  }
}

static void waiters_get_it_in_their_order(void **state) {
  (void)state;
  lock(0, 2, false);
  wait_for(1, 2, true);
  wait_for(3, 2, false); /* it would fit, but comes later */
  unlock(0, 2);
  check_trace("resumes1 ");
  assert_true(wins[2].exclusive_holder == 1 && wins[2].shared_holders == 0);
  get(1);
  unlock(1, 2);
  check_trace("resumes3 ");
  assert_int_equal(wins[2].shared_holders, 1);
  get(3);
  unlock(3, 2);
}

static void readers_get_it_together(void **state) {
  (void)state;
  lock(0, 2, true);
  wait_for(1, 2, false);
  wait_for(3, 2, false);
  unlock(0, 2);
  check_trace("resumes3 resumes1 ");
  assert_int_equal(wins[2].shared_holders, 2);
  get(3);
  get(1);
  unlock(1, 2);
  unlock(3, 2);
}

/* ---- the gate */

static void an_exclusive_lock_waits_for_locks_of_all(void **state) {
  (void)state;
  lock_all(1);
  wait_for(0, 2, true);
  assert_int_equal(common->waiters.first->target, 2); /* reports show it */
  unlock_all(1);
  check_trace("resumes0 ");
  get(0);
  assert_true(common->exclusive == 1 && common->all == 0 && wins[2].exclusive_holder == 0);
  unlock(0, 2);
}

static void a_lock_of_all_waits_for_exclusive_ones(void **state) {
  (void)state;
  lock(1, 2, true);
  wait_for(0, -1, false);
  unlock(1, 2);
  check_trace("resumes0 ");
  get(0);
  assert_true(common->exclusive == 0 && common->all == 1);
  unlock_all(0);
}

/* A holder that waited behind them would wait for itself. */
static void a_holder_passes_waiters_at_the_gate(void **state) {
  (void)state;
  lock(1, 2, true);
  wait_for(0, -1, false);
  lock(1, 3, true);
  unlock(1, 3);
  check_trace("");
  wait_for(3, -1, false);
  unlock(1, 2);
  check_trace("resumes3 resumes0 ");
  get(0);
  get(3);
  assert_int_equal(common->all, 2);
  unlock_all(0);
  unlock_all(3);
}

static void the_gate_opens_in_the_order_of_waiters(void **state) {
  (void)state;
  lock_all(3);
  wait_for(0, 2, true);
  wait_for(1, -1, false); /* it would fit, but comes later */
  unlock_all(3);
  check_trace("resumes0 ");
  get(0);
  assert_true(common->exclusive == 1 && common->all == 0);
  unlock(0, 2);
  check_trace("resumes1 ");
  get(1);
  assert_int_equal(common->all, 1);
  unlock_all(1);
}

static void one_that_came_later_waits_for_the_first(void **state) {
  (void)state;
  lock(1, 2, true);
  wait_for(0, -1, false);
  wait_for(3, 1, true); /* which fits what is held, and not what comes first */
  unlock(1, 2);
  check_trace("resumes0 ");
  get(0);
  assert_true(common->exclusive == 0 && common->all == 1);
  unlock_all(0);
  check_trace("resumes3 ");
  get(3);
  unlock(3, 1);
}

/* ---- over nodes */

static void locks_of_other_nodes_are_asked_for(void **state) {
  (void)state;
  if (!MLTP_NODES) skip();
  go_over_nodes();
  lock(1, LAST, false);
  check_trace("now1 far lock1 3 0 ");
  unlock(1, LAST);
  check_trace("far unlock1 3 0 ");
  lock(1, LAST, true);
  check_trace("now1 far lock1 3 1 ");
  assert_int_equal(common->exclusive, 1);
  unlock(1, LAST);
  check_trace("far unlock1 3 1 ");
  defers = true;
  lock(1, LAST, false);
  check_trace("now1 defers1 3 0 ");
  unlock(1, LAST);
  check_trace("far unlock1 3 0 ");
  lock(1, 2, false);
  check_trace("now1 ");
  assert_int_equal(wins[2].shared_holders, 1);
  unlock(1, 2);
  lock_all(1);
  check_trace("now1 ");
  assert_int_equal(common->all, 1);
  unlock_all(1);
  check_trace("");
}

static void the_gate_may_be_on_another_node(void **state) {
  (void)state;
  if (!MLTP_NODES) skip();
  go_away_with_gate();
  lock(1, 2, true);
  check_trace("now1 far gate1 one ");
  lock(1, LAST, true); /* it holds one */
  check_trace("now1 far gate1 one passes far lock1 3 1 ");
  unlock(1, LAST);
  check_trace("far unlock1 3 1 far leave1 one ");
  unlock(1, 2);
  check_trace("far leave1 one ");
  lock_all(1);
  check_trace("now1 far gate1 all ");
  unlock_all(1);
  check_trace("far leave1 all ");
}

/* A waiter of another node may bring others, which are woken after it, and before the rest. */
static void waiters_of_other_nodes_are_granted_the_lock(void **state) {
  struct tm_win_wait brought = {.win = &wins[1], .thread = (void *)&ranks};
  struct tm_win_wait last = {.win = &wins[2], .thread = (void *)&ranks};
  struct tm_win_wait first = {.asker = (uintptr_t)&brought, .asker_number = 5, .next = &last};
  struct tm_win_wait alone = {.asker = 1, .asker_number = 6};
  (void)state;
  tm_win_wake(&first, false);
  check_trace("grants5 resumes1 resumes2 ");
  tm_win_wake(&alone, true);
  check_trace("grants6 inside ");
  tm_win_wake(NULL, false);
  check_trace("");
}

static void takers_try_locks(void **state) {
  (void)state;
  assert_true(tm_win_gate_try(common, false, false));
  assert_false(tm_win_gate_try(common, true, false));
  assert_null(tm_win_gate_leave(common, false));
  assert_true(tm_win_lock_try(&wins[2], false, 1));
  assert_false(tm_win_lock_try(&wins[2], true, 3));
  assert_null(tm_win_lock_release(&wins[2], false));
  assert_true(tm_win_lock_try(&wins[2], true, 3));
  assert_false(tm_win_lock_try(&wins[2], false, 1));
  assert_int_equal(wins[2].exclusive_holder, 3);
  assert_null(tm_win_lock_release(&wins[2], true));
}

/* ---- errors, and calls that are repeated */

static void check_lock_fails(int type, int rank, int assertion, int error, const char *why) {
  assert_int_equal(PMPI_Win_lock(type, rank, assertion, handle(0)), error);
  check_trace(why);
}

static void locks_that_do_not_fit_are_refused(void **state) {
  (void)state;
  check_lock_fails(0, 1, 0, MPI_ERR_LOCKTYPE, "[0 is no type of lock] ");
  check_lock_fails(MPI_LOCK_SHARED, MEMBERS, 0, MPI_ERR_RANK, "[no target 4] ");
  check_lock_fails(MPI_LOCK_SHARED, -7, 0, MPI_ERR_RANK, "[no target -7] ");
  check_lock_fails(MPI_LOCK_SHARED, 1, 1 << 20, MPI_ERR_ASSERT, "");
  check_lock_fails(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, MPI_SUCCESS, "");
  assert_int_equal(PMPI_Win_unlock(MPI_PROC_NULL, handle(0)), MPI_SUCCESS);
  assert_int_equal(PMPI_Win_unlock(MEMBERS, handle(0)), MPI_ERR_RANK);
  check_trace("[no target 4] ");
  assert_int_equal(PMPI_Win_unlock(1, handle(0)), MPI_ERR_RMA_SYNC);
  check_trace("[the origin does not hold the lock of this target] ");
  access[0][1] = TM_STARTED; /* it is no lock */
  assert_int_equal(PMPI_Win_unlock(1, handle(0)), MPI_ERR_RMA_SYNC);
  check_trace("[the origin does not hold the lock of this target] ");
  check_lock_fails(MPI_LOCK_SHARED, 1, 0, MPI_ERR_RMA_SYNC,
                   "[the origin holds the lock of this target already] ");
  assert_int_equal(PMPI_Win_unlock_all(handle(0)), MPI_ERR_RMA_SYNC);
  check_trace("[there was no MPI_Win_lock_all()] ");
  assert_int_equal(PMPI_Win_lock_all(1 << 20, handle(0)), MPI_ERR_ASSERT);
  assert_true(wins[0].fenced && !wins[0].all_locked);
}

static void check_no_epoch(const char *why) {
  check_lock_fails(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, MPI_ERR_RMA_SYNC, why);
  assert_int_equal(PMPI_Win_lock_all(0, handle(0)), MPI_ERR_RMA_SYNC);
  check_trace(why);
}

static void other_epochs_come_to_their_end_first(void **state) {
  (void)state;
  wins[0].start = group;
  check_no_epoch("[MPI_Win_start() has no MPI_Win_complete() yet] ");
  wins[0].start = NULL;
  fence_is_used = true;
  check_no_epoch("[there were accesses since the last MPI_Win_fence()] ");
  fence_is_used = false;
  lock_all(0);
  check_no_epoch("[MPI_Win_lock_all() has no MPI_Win_unlock_all() yet] ");
  unlock_all(0);
  lock(0, 1, false);
  assert_int_equal(PMPI_Win_lock_all(0, handle(0)), MPI_ERR_RMA_SYNC);
  check_trace("[the origin holds the lock of a single target] ");
  unlock(0, 1);
}

static void no_window_is_refused(void **state) {
  (void)state;
  wins[0].magic = 0;
  check_lock_fails(MPI_LOCK_SHARED, 1, 0, MPI_ERR_WIN, "refused ");
  assert_int_equal(PMPI_Win_unlock(1, handle(0)), MPI_ERR_WIN);
  assert_int_equal(PMPI_Win_lock_all(0, handle(0)), MPI_ERR_WIN);
  assert_int_equal(PMPI_Win_unlock_all(handle(0)), MPI_ERR_WIN);
  check_trace("refused refused refused ");
}

static void every_eighth_unlock_lets_others_run(void **state) {
  (void)state;
  for (int i = 0; i < 16; i++) {
    assert_int_equal(yields, i / 8);
    if (i % 2 == 0) {
      lock(0, 1, false);
      unlock(0, 1);
    } else {
      lock_all(0);
      unlock_all(0);
    }
  }
  assert_int_equal(yields, 2);
}

#define LOCKS(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      LOCKS(a_lock_is_held_until_it_is_unlocked),
      LOCKS(all_targets_are_locked_at_once),
      LOCKS(what_needs_no_check_acquires_nothing),
      LOCKS(a_waiter_gets_the_lock_when_it_is_released),
      LOCKS(waiters_get_it_in_their_order),
      LOCKS(readers_get_it_together),
      LOCKS(an_exclusive_lock_waits_for_locks_of_all),
      LOCKS(a_lock_of_all_waits_for_exclusive_ones),
      LOCKS(a_holder_passes_waiters_at_the_gate),
      LOCKS(the_gate_opens_in_the_order_of_waiters),
      LOCKS(one_that_came_later_waits_for_the_first),
      LOCKS(locks_of_other_nodes_are_asked_for),
      LOCKS(the_gate_may_be_on_another_node),
      LOCKS(waiters_of_other_nodes_are_granted_the_lock),
      LOCKS(takers_try_locks),
      LOCKS(locks_that_do_not_fit_are_refused),
      LOCKS(other_epochs_come_to_their_end_first),
      LOCKS(no_window_is_refused),
      LOCKS(every_eighth_unlock_lets_others_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
