/* SPDX-License-Identifier: Apache-2.0 */
/* How an idle VP searches, and when it sleeps (vp_idle.h). */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "unit/vp_idle.h"

/* ---- the end of a search */

static void the_last_searcher_wakes_the_next(void) {
  static const struct {
    uint8_t searching, backoff;
    uint32_t others, kept; /* that search; threads that it keeps */
    int sleepers, own, ready_elsewhere;
    bool no_room;
    const char *asked;
  } rows[] = {
      {.searching = 0, .sleepers = 1, .own = 5, .asked = ""},
      {.searching = 1, .sleepers = 1, .own = 2, .asked = "fence wake"},
      {.searching = 1, .sleepers = 1, .own = 1, .asked = "fence"},
      {.searching = 1, .sleepers = 1, .own = 1, .ready_elsewhere = 1, .asked = "fence wake"},
      {.searching = 1, .sleepers = 0, .own = 2, .asked = ""},
      {.searching = 1, .sleepers = 1, .own = 2, .others = 1, .asked = ""},
      {.searching = 1, .sleepers = 1, .own = 2, .no_room = true, .asked = ""},
      {.searching = 1, .sleepers = 1, .own = 2, .backoff = MT_BACKOFF_MOST, .asked = ""},
      {.searching = 1,
       .sleepers = 1,
       .own = 2,
       .backoff = MT_BACKOFF_MOST - 1,
       .asked = "fence wake"},
      {.searching = 1, .sleepers = 1, .own = 3, .kept = 3, .asked = "fence"},
      {.searching = 1, .sleepers = 1, .own = 4, .kept = 3, .asked = "fence wake"},
      {.searching = 1, .sleepers = 1, .own = 2, .kept = 2, .asked = "fence"},
      {.searching = 1, .sleepers = 1, .own = 1, .kept = 1, .asked = "fence"},
      {.searching = 1, .sleepers = 1, .own = 2, .kept = 1, .asked = "fence wake"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct mt_vp *vp = stage_idle(3, 3, 3);
    check_case("row %zu", i);
    if (rows[i].sleepers != 0) fall_asleep(2);
    if (rows[i].no_room) mt_rt.idle.target = 2;
    vp->search.backoff = rows[i].backoff;
    vp->search.kept = rows[i].kept;
    for (int j = 0; j < rows[i].own; j++) push(1, j);
    if (rows[i].ready_elsewhere) push(0, THREADS - 1);
    if (rows[i].searching) mt_count_searching(vp, true);
    mt_rt.idle.searching += rows[i].others;
    search_end_found(vp);
    TRACE(rows[i].asked);
    CHECK(!vp->search.searching);
    CHECK_EQUAL(mt_rt.idle.searching, rows[i].others);
    CHECK_EQUAL(vp->search.kept, 0);
  }
}

/* ---- searching */

static void fill_own_queue(const char *word) {
  if (strcmp(word, "hook") == 0) push(1, 0);
}

static void post_at_theft(const char *word) {
  if (strncmp(word, "steal", 5) == 0) post(1, 0);
}

static void stop_at_hook(const char *word) {
  if (strcmp(word, "hook") == 0) mt_rt.stopping = 1;
}

static void leave_no_room(const char *word) {
  if (strcmp(word, "hook") == 0) mt_rt.idle.target = 1;
}

/* A look at all else, then four at the inbox. */
static void a_search_ends_with_its_time(void) {
  struct mt_vp *vp = stage_idle(2, 2, 2);
  step = 500;
  vp->search.skips = 7;
  CHECK(!look_around(vp));
  TRACE("here timers:1000 hook steal:1000 timers:1500 poll:1500 hook steal:1500");
  CHECK_EQUAL(vp->search.skips, 0);
  check_counts(2, 0, 0, 1);
  mt_tuning.value[MT_SCAN_PAUSES] = 1;
  step = 250;
  now = begin;
  CHECK(!look_around(vp));
  TRACE(
      "here timers:500 hook steal:500 timers:750 poll:750 hook steal:750 timers:1000 poll:1000 "
      "hook steal:1000 timers:1250 poll:1250 hook steal:1250");
  vp = stage_idle(2, 2, 2); /* alone, and a foreign thread may post */
  fall_asleep(0);
  CHECK(!look_around(vp));
  TRACE("here timers:0 hook steal:0");
  mt_rt.outside.foreign_live = 1;
  step = SPIN_NS / 2;
  CHECK(!look_around(vp));
  TRACE("here timers:1000 hook steal:1000 timers:1500 poll:1500 hook steal:1500");
}

static void what_a_search_finds_ends_it(void) {
  struct mt_vp *vp = stage_idle(2, 2, 2);
  post(1, 0);
  CHECK(look_around(vp));
  TRACE("here");
  CHECK_EQUAL(vp->search.inbox_polls, 64);
  for (uint64_t polls = 1; polls < 3; polls++) { /* it comes behind the first look */
    vp = stage_idle(2, 2, 2);
    mt_tuning.value[MT_INBOX_PAUSES] = polls;
    at_note = post_at_theft;
    CHECK(look_around(vp));
    TRACE("here timers:0 hook steal:0");
    CHECK_EQUAL(vp->search.inbox_polls, polls == 2 ? 64 : 0);
  }
  vp = stage_idle(2, 2, 2);
  at_note = fill_own_queue;
  CHECK(look_around(vp));
  TRACE("here timers:0 hook");
  vp = stage_idle(2, 2, 2);
  world.steals = true;
  CHECK(look_around(vp));
  TRACE("here timers:0 hook steal:0");
  vp = stage_idle(2, 2, 2);
  at_note = stop_at_hook;
  CHECK(!look_around(vp));
  TRACE("here timers:0 hook");
  vp = stage_idle(2, 2, 2);
  at_note = leave_no_room;
  CHECK(!look_around(vp));
  TRACE("here timers:0 hook");
  vp = stage_idle(2, 2, 2);
  mt_client_view.seen = *mt_client_view.granted + 1; /* the grant has changed */
  world.steals = true;
  CHECK(look_around(vp));
  TRACE("here timers:0 hook follow steal:0");
}

/* Other VPs wait for CPUs: only the watchdog takes their threads. */
static void nobody_but_the_watchdog_steals_in_a_crowd(void) {
  struct mt_vp *vp = stage_idle(2, 2, 1);
  step = 500;
  world.steals = true;
  CHECK(!look_around(vp));
  TRACE("here timers:1000 hook");
  vp->search.is_watchdog_round = 1;
  now = begin;
  CHECK(look_around(vp));
  TRACE("here timers:1000 hook steal_again:1000");
  CHECK(!vp->search.is_watchdog_round);
}

static void an_inbox_is_polled_alone(void) {
  struct mt_vp *vp = stage_idle(2, 2, 2);
  post(1, 0);
  mt_tuning.value[MT_INBOX_PAUSES] = 1;
  CHECK(!poll_inbox(vp)); /* nothing came there lately */
  vp->search.inbox_polls = 3;
  CHECK(poll_inbox(vp));
  CHECK_EQUAL(vp->search.inbox_polls, 2);
  mt_count_searching(vp, true);
  CHECK(!poll_inbox(vp));
  mt_count_searching(vp, false);
  push(1, 1);
  CHECK(!poll_inbox(vp));
  mt_runq_pop(vp);
  CHECK_EQUAL(vp->search.inbox_polls, 2);
  mt_tuning.value[MT_INBOX_PAUSES] = 0;
  CHECK(!poll_inbox(vp));
  CHECK_EQUAL(vp->search.inbox_polls, 0);
  mt_tuning.value[MT_INBOX_PAUSES] = 2;
  vp->search.inbox_polls = 1;
  vp->runq.inbox = NULL;
  CHECK(!poll_inbox(vp));
  CHECK_EQUAL(vp->search.inbox_polls, 0);
  TRACE("");
}

/* ---- an alternative */

static uint32_t waiting;

static uint32_t waiting_for(const struct mt_vp *vp) {
  CHECK(vp == NULL || vp == &vps[1]);
  return waiting;
}

static void search_begins(struct mt_vp *vp) {
  CHECK(vp == &vps[1]);
  note("begins");
}

static bool search_ends(struct mt_vp *vp) {
  CHECK(vp == &vps[1]);
  note("ends");
  return world.is_found;
}

static void an_alternative_hears_of_searches(void) {
  static const struct mt_alternative alternative = {
      .waiting = waiting_for, .search_begins = search_begins, .search_ends = search_ends};
  if (!MLTP_ALTERNATIVES) return;
  for (int row = 0; row < 4; row++) {
    struct mt_vp *vp = stage_idle(2, 2, 1);
    check_case("row %d", row);
    mt_alternative = &alternative;
    world.is_found = row % 2 != 0;
    waiting = row / 2;
    CHECK_EQUAL(search(vp), row != 0);
    TRACE(waiting != 0 ? "begins here ends" : "begins here timers:0 hook ends");
    mt_alternative = NULL;
    CHECK_EQUAL(search(vp), false);
    TRACE("here timers:0 hook");
    mt_alternative = &alternative;
    order_sleep(true); /* it may post a thread */
    TRACE("fence");
    for (waiting = 1; waiting < 3; waiting++) {
      vp = stage_idle(3, 3, 3);
      fall_asleep(2);
      mt_count_searching(vp, true);
      search_end_found(vp);
      TRACE(waiting == 1 ? "fence" : "fence wake");
    }
    mt_alternative = NULL;
  }
}

/* ---- sleeping */

static void some_vps_must_stay_awake(void) {
  struct mt_vp *vp = stage_idle(3, 3, 3);
  fall_asleep(1);
  CHECK(!must_stay_awake(vp));
  push(1, 0);
  CHECK(must_stay_awake(vp));
  mt_runq_pop(vp);
  push(0, 1);
  CHECK(must_stay_awake(vp));
  vp->search.skips = MT_SKIPS_UNTIL_FUTILE;
  CHECK(!must_stay_awake(vp));
  vp->search.skips--;
  CHECK(must_stay_awake(vp));
  mt_rt.idle.target = 2;
  CHECK(!must_stay_awake(vp));
  mt_rt.stopping = 1;
  CHECK(must_stay_awake(vp));
}

static void a_fence_orders_the_last_look(void) {
  for (int row = 0; row < 4; row++) {
    bool last = row % 2, outside = row / 2;
    stage_idle(2, 2, 2);
    check_case("row %d", row);
    mt_rt.outside.bound_live = outside;
    order_sleep(last);
    TRACE(last && !outside ? "" : "fence");
  }
}

static void wake_up_unnoticed(const char *word) {
  if (!is_sleep(word)) return;
  vps[1].sleep.woken_at = 0;
  vps[1].sleep.status = MT_VP_AWAKE;
}

static int interruptions;

static void wake_up_at_the_third(const char *word) {
  if (is_sleep(word) && ++interruptions == 3) wake_up(word);
}

static void a_sleeper_sleeps_until_it_is_woken(void) {
  struct mt_vp *vp = stage_idle(2, 2, 2);
  world.deadline = begin + 7;
  world.sleep_result = ETIMEDOUT;
  vp->sleep.woken_at = 5;
  sleep_in_list(vp); /* it is awake already */
  TRACE("");
  at_note = wake_up;
  mt_rt.sleep.watchdog = &vps[0];
  vp->sleep.status = MT_VP_ASLEEP;
  sleep_in_list(vp);
  TRACE("sleep:never learn:40");
  mt_rt.sleep.watchdog = vp;
  vp->sleep.status = MT_VP_ASLEEP;
  sleep_in_list(vp);
  TRACE("sleep:7 check learn:40");
  interruptions = 0;
  at_note = wake_up_at_the_third;
  vp->sleep.status = MT_VP_ASLEEP;
  sleep_in_list(vp);
  TRACE("sleep:7 check sleep:7 check sleep:7 check learn:40");
  at_note = wake_up_unnoticed;
  world.sleep_result = 0;
  world.claims = true;
  vp->sleep.status = MT_VP_ASLEEP;
  sleep_in_list(vp);
  TRACE("sleep_in_poller:7");
  CHECK_EQUAL(mt_rt.sleep.ilock, 0);
}

static void a_vp_looks_before_it_sleeps(void) {
  struct mt_vp *vp = stage_idle(2, 2, 2);
  at_note = wake_up;
  fall_asleep(0);
  sleep_until_woken(vp); /* the last one needs no fence */
  TRACE("hook:sleeps stacks finalizer sleep:never learn:40 restore");
  for (int row = 0; row < 4; row++) { /* a thread waits for a stack, which there is */
    bool awaited = row % 2, can_give = row / 2;
    vp = stage_idle(3, 3, 3);
    check_case("row %d", row);
    at_note = wake_up;
    mt_stack_waiters = awaited;
    world.can_give = can_give;
    sleep_until_woken(vp);
    if (awaited && can_give) {
      TRACE("hook:sleeps stacks fence finalizer restore");
      check_counts(3, 0, 0, 0);
    } else {
      TRACE("hook:sleeps stacks fence finalizer sleep:never learn:40 restore");
    }
  }
  vp = stage_idle(3, 3, 3);
  push(0, 0);
  sleep_until_woken(vp);
  TRACE("hook:sleeps stacks fence finalizer restore");
  check_counts(3, 0, 0, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(the_last_searcher_wakes_the_next),
      TEST_BARE(a_search_ends_with_its_time),
      TEST_BARE(what_a_search_finds_ends_it),
      TEST_BARE(nobody_but_the_watchdog_steals_in_a_crowd),
      TEST_BARE(an_inbox_is_polled_alone),
      TEST_BARE(an_alternative_hears_of_searches),
      TEST_BARE(some_vps_must_stay_awake),
      TEST_BARE(a_fence_orders_the_last_look),
      TEST_BARE(a_sleeper_sleeps_until_it_is_woken),
      TEST_BARE(a_vp_looks_before_it_sleeps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
