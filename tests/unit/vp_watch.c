/* SPDX-License-Identifier: Apache-2.0 */
/* Which VP watches, when it wakes, and what silence and rest are (src/core/sched/wake.c,
 * watchdog.c, silence.c, src/core/vp/runtime_state.c): each step on VPs that nobody runs. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <string.h>

#include "base/options.h"
#include "core/sched/silence.h"
#include "core/sched/steal.h"
#include "core/sched/wake.h"
#include "core/sched/watchdog.h"
#include "core/timer/timer.h"
#include "support/support.h"
#include "support/vp_stage.h"

/* ---- the watch */

static void a_timer_too_early_for_the_watchdog_makes_another(void) {
  static const struct {
    bool unwatched;
    uint64_t deadline, timer;
    bool changes;
  } rows[] = {{true, 1000, 999, true},
              {true, 1000, 1000, false},
              {false, 1000, 999, false},
              {true, 1000, 1001, false},
              {true, MLTP_NEVER, 5, true}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    stage(3, 3, 3);
    check_case("row %zu", i);
    fall_asleep(0);
    mt_rt.sleep.watchdog_deadline = rows[i].deadline;
    vps[1].timers.unwatched = rows[i].unwatched;
    vps[1].timers.earliest = rows[i].timer;
    mt_vp_sleep_begin(&vps[1]);
    CHECK(mt_rt.sleep.watchdog == &vps[rows[i].changes ? 1 : 0]);
    CHECK(!vps[1].timers.unwatched);
    if (!rows[i].changes) continue;
    mt_wake_one(); /* the other one, as the watch would have to be handed over */
    CHECK(vps[0].sleep.status == MT_VP_AWAKE && vps[1].sleep.status == MT_VP_ASLEEP);
    CHECK(mt_rt.sleep.watchdog == &vps[1]);
  }
}

/* While a VP is awake the watchdog looks again after a time that has a bound. */
static void a_watchdog_that_would_oversleep_is_roused(void) {
  const uint64_t longest = begin + 16 * ms;
  static const struct {
    int others; /* awake */
    uint64_t more;
    int rouses;
  } rows[] = {{1, 0, 0}, {1, 1, 1}, {0, 1, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    stage(2 + rows[i].others, 3, 3);
    check_case("row %zu", i);
    fall_asleep(0);
    mt_rt.sleep.watchdog_deadline = longest + rows[i].more;
    mt_vp_sleep_begin(&vps[1]);
    check_roused(0, rows[i].rouses);
    check_nobody_roused();
  }
}

static void the_watch_is_passed_on(void) {
  stage(3, 3, 3);
  for (int i = 0; i < 3; i++) fall_asleep(i);
  mt_watch_pass_on(); /* a sleeper watches */
  check_nobody_roused();
  mt_vp_sleep_cancel(&vps[0]); /* the watchdog goes */
  check_counts(1, 2, 0, 0);
  CHECK(mt_rt.sleep.watchdog == &vps[2]);
  check_roused(2, 1);
  check_nobody_roused();
  mt_vp_sleep_cancel(&vps[0]); /* it is awake */
  check_counts(1, 2, 0, 0);
  mt_vp_sleep_cancel(&vps[1]);
  check_counts(2, 1, 0, 0);
  check_nobody_roused();
  mt_vp_sleep_cancel(&vps[2]);
  check_counts(3, 0, 0, 0);
  CHECK(mt_rt.sleep.watchdog == NULL);
  mt_watch_pass_on();
  check_nobody_roused();
}

/* It keeps the watch for a moment if it is the only VP awake and a monitor would notice that the
 * moment is a long one. */
static void a_watchdog_alone_keeps_the_watch(void) {
  for (int row = 0; row < 6; row++) {
    int others = row == 1, blocked = row == 2;
    bool runs = row != 3, watches = row != 4, keeps = row == 0;
    stage(3 + others + blocked, VPS, VPS);
    check_case("row %d", row);
    fall_asleep(watches ? 0 : 1);
    fall_asleep(watches ? 1 : 0);
    fall_asleep(2);
    if (row == 5) mt_vp_sleep_cancel(&vps[1]), mt_vp_sleep_cancel(&vps[2]);
    if (blocked) mt_block(&vps[3]);
    if (row == 5) mt_rt.idle.awake = 0; /* the others have gone */
    mt_rt.handover.runs = runs;
    mt_rt.sleep.watchdog_deadline = begin;
    mt_vp_wake_watchdog(&vps[0]);
    CHECK_EQUAL(vps[0].sleep.status, MT_VP_AWAKE);
    check_roused(0, 0);
    CHECK_EQUAL(vps[0].timers.unwatched, keeps);
    CHECK_EQUAL(mt_rt.sleep.watchdog_deadline, keeps ? MLTP_NEVER : begin);
    if (row < 4) {
      CHECK(mt_rt.sleep.watchdog == &vps[keeps ? 0 : 2]);
      check_roused(2, !keeps);
    }
    if (row == 4) CHECK(mt_rt.sleep.watchdog == &vps[1]);
    if (row == 5) CHECK(mt_rt.sleep.watchdog == NULL);
    check_nobody_roused();
    if (!keeps) continue;
    mt_watch_pass_on();
    CHECK(mt_rt.sleep.watchdog == &vps[2]);
    check_roused(2, 1);
    mt_vp_wake_watchdog(&vps[0]); /* it is awake */
    check_counts(1, 2, 0, 0);
    check_nobody_roused();
  }
}

static void the_watchdog_knows_when_to_wake(void) {
  stage(2, 2, 2);
  struct mt_vp *watchdog = &vps[0];
  for (uint8_t level = 0; level < 5; level++) {
    watchdog->search.backoff = level;
    CHECK_EQUAL(mt_watchdog_deadline(watchdog), begin + (ms << level));
    CHECK_EQUAL(mt_rt.sleep.watchdog_deadline, begin + (ms << level));
  }
  vps[1].timers.earliest = begin + 5;
  CHECK_EQUAL(mt_watchdog_deadline(watchdog), begin + 5);
  CHECK_EQUAL(mt_rt.sleep.watchdog_deadline, begin + 5);
  CHECK_EQUAL(mt_timers_earliest(), begin + 5);
  vps[1].timers.earliest = MLTP_NEVER;
  CHECK_EQUAL(mt_timers_earliest(), MLTP_NEVER);
  mt_rt.idle.awake = 0;
  mt_rt.sleep.wake_count = 3;
  mt_rt.sleep.checked_at = 2;
  CHECK_EQUAL(mt_watchdog_deadline(watchdog), begin + 100 * ms);
  mt_rt.sleep.checked_at = 3; /* it has looked for a deadlock since a VP was awake */
  CHECK_EQUAL(mt_watchdog_deadline(watchdog), begin + 1000 * ms);
  mt_options.deadlock = MT_DEADLOCK_OFF;
  CHECK_EQUAL(mt_watchdog_deadline(watchdog), MLTP_NEVER);
}

static void an_earlier_timer_rouses_the_watchdog(void) {
  stage(3, 3, 3);
  mt_watchdog_rearm(1); /* nobody sleeps */
  check_nobody_roused();
  fall_asleep(0);
  fall_asleep(1);
  mt_rt.sleep.watchdog_deadline = 100;
  mt_watchdog_rearm(101);
  mt_watchdog_rearm(100);
  check_nobody_roused();
  mt_watchdog_rearm(99);
  check_roused(0, 1);
  check_nobody_roused();
  mt_rt.sleep.watchdog = &vps[2]; /* which is awake, for a moment */
  mt_watchdog_rearm(99);
  CHECK(mt_rt.sleep.watchdog == &vps[1]);
  check_roused(1, 1);
  check_nobody_roused();
}

/* ---- silence */

static void a_vp_without_scheduling_points_is_silent(void) {
  stage(2, 2, 2);
  struct mt_vp *vp = &vps[0];
  uint64_t silent = mt_rt.handover.silent_ns;
  CHECK(!mt_is_silent(vp, now)); /* the first look notes it */
  CHECK(!mt_is_silent(vp, now + silent - 1));
  CHECK(mt_is_silent(vp, now + silent));
  CHECK(!mt_is_silent(vp, now - 1)); /* a clock that another VP read before */
  mt_store_relaxed(&vp->points.tick, 1);
  CHECK(!mt_is_silent(vp, now + silent));
  CHECK_EQUAL(vp->handover.seen_at, now + silent);
  CHECK_EQUAL(vp->handover.seen_tick, 1);
  CHECK(!mt_is_silent(vp, now + 2 * silent - 1));
  CHECK(mt_is_silent(vp, now + 2 * silent));
  vp->sleep.status = MT_VP_ASLEEP;
  CHECK(!mt_is_silent(vp, now + 3 * silent));
  vp->handover.judged_at = now;
  CHECK(!mt_is_due(vp, now + silent - 1));
  CHECK(mt_is_due(vp, now + silent));
}

static void a_look_moves_the_alarm(void) {
  stage(2, 2, 2);
  uint64_t silent = mt_rt.handover.silent_ns;
  mt_rt.handover.look_at = now;
  mt_look_now(now - 1);
  CHECK_EQUAL(alarms, 0);
  mt_look_for_silence(now);
  CHECK(alarms == 1 && alarm_ns == silent);
  CHECK_EQUAL(mt_rt.handover.look_at, now + silent / 2);
  mt_look_for_silence(now + silent / 2 - 1);
  CHECK_EQUAL(alarms, 1);
  mt_store_relaxed(&vps[0].points.tick, 1);
  mt_look_now(now + silent);
  CHECK(alarms == 2 && alarm_ns == 1); /* VP 1 is silent, at once */
  vps[1].handover.judged_at = now + silent;
  mt_store_relaxed(&vps[0].points.tick, 2);
  mt_look_now(now + 2 * silent - 1);
  CHECK(alarms == 3 && alarm_ns == silent); /* and was looked at */
  mt_rt.handover.rests = true;
  mt_silence_ends(&vps[1]);
  CHECK(alarms == 4 && alarm_ns == silent && !mt_rt.handover.rests);
  CHECK(vps[1].handover.seen_at == 0 && vps[0].handover.seen_at != 0);
  mt_silence_ends(NULL);
  CHECK_EQUAL(alarms, 4);
}

/* ---- rest */

static void rest_is_noticed(void) {
  memset(&mt_rt, 0, sizeof mt_rt);
  CHECK_EQUAL(mt_rest_mark(), 1); /* no VPs */
  CHECK(mt_vps_still_rest() && mt_vps_note_rest() && !mt_vps_rest_as_noted());
  stage(2, 2, 2);
  CHECK_EQUAL(mt_rest_mark(), 0);
  CHECK(!mt_vps_still_rest() && !mt_vps_note_rest());
  CHECK(!mt_task_rests(TASK) && !mt_task_rests(TASK + 2));
  fall_asleep(0);
  CHECK(mt_task_rests(TASK) && !mt_task_rests(TASK + 1));
  CHECK_EQUAL(mt_rest_mark(), 0);
  fall_asleep(1);
  CHECK_EQUAL(mt_rest_mark(), 3);
  mt_rt.handover.task = 7;
  CHECK(mt_task_rests(7));
  mt_rt.sleep.wake_count = 5;
  mt_rt.sleep.checked_at = 4;
  CHECK(!mt_vps_still_rest() && !mt_vps_note_rest() && mt_rt.sleep.noted_at == 0);
  mt_rt.sleep.checked_at = 5;
  CHECK(mt_vps_still_rest() && !mt_vps_rest_as_noted());
  CHECK(mt_vps_note_rest() && mt_vps_rest_as_noted());
  mt_rt.handover.carries = true;
  CHECK(!mt_vps_still_rest() && !mt_vps_rest_as_noted());
  CHECK_EQUAL(mt_rest_mark(), 0);
  mt_rt.handover.carries = false;
  mt_rt.sleep.blocked = 1;
  CHECK(!mt_vps_still_rest());
  mt_rt.sleep.blocked_in_locks = 1;
  CHECK(mt_vps_still_rest());
  vps[1].timers.earliest = 1;
  CHECK_EQUAL(mt_rest_mark(), 0);
  vps[1].timers.earliest = MLTP_NEVER;
  vps[1].runq.length = 1;
  CHECK_EQUAL(mt_rest_mark(), 0);
}

static void a_thief_sees_when_its_victim_moved_last(void) {
  stage(1, 1, 1);
  mt_store_relaxed(&vps[0].points.tick, 3);
  CHECK_EQUAL(mt_unmoved_ns(&vps[0], now), 0);
  CHECK_EQUAL(mt_unmoved_ns(&vps[0], now + 7), 7);
  mt_store_relaxed(&vps[0].points.tick, 4);
  CHECK_EQUAL(mt_unmoved_ns(&vps[0], now + 9), 0);
  CHECK_EQUAL(mt_unmoved_ns(&vps[0], now + 10), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_timer_too_early_for_the_watchdog_makes_another),
      TEST_BARE(a_watchdog_that_would_oversleep_is_roused),
      TEST_BARE(the_watch_is_passed_on),
      TEST_BARE(a_watchdog_alone_keeps_the_watch),
      TEST_BARE(the_watchdog_knows_when_to_wake),
      TEST_BARE(an_earlier_timer_rouses_the_watchdog),
      TEST_BARE(a_vp_without_scheduling_points_is_silent),
      TEST_BARE(a_look_moves_the_alarm),
      TEST_BARE(rest_is_noticed),
      TEST_BARE(a_thief_sees_when_its_victim_moved_last),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
