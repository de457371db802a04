/* SPDX-License-Identifier: Apache-2.0 */
/* What the watchdog looks at when its time has come, and for which of it a VP wakes up
 * (src/core/sched/watchdog.c): on VPs that nobody runs. VP 0 is the watchdog. */
#define _GNU_SOURCE /* the runtime's headers want it */
#define mt_debug noted_debug
#include "core/sched/watchdog.c"

#include <stdio.h>
#include <string.h>

#include "support/noted.h"
#include "support/support.h"
#include "support/vp_stage.h"

enum { DEADLOCK_NS = 100000000 };

/* ---- what is asked of other files */

void __wrap_mt_share_look(struct mt_vp *vp, uint64_t at);
void __wrap_mt_share_look(struct mt_vp *vp, uint64_t at) {
  CHECK(vp == &vps[0] && at == now);
  note("share");
}

void __wrap_mt_poll_now(struct mt_vp *vp, uint64_t at);
void __wrap_mt_poll_now(struct mt_vp *vp, uint64_t at) {
  CHECK(vp == NULL && at == now);
  note("poll");
}

void __wrap_mt_stacks_trim(uint64_t at, bool busy);
void __wrap_mt_stacks_trim(uint64_t at, bool busy) {
  CHECK(at == now && !busy);
  note("trim");
}

void __wrap_mt_share_refused(void);
void __wrap_mt_share_refused(void) { note("refused"); }

void __wrap_mt_share_follow(void);
void __wrap_mt_share_follow(void) { note("follow"); }

static void suspected(void) { note("deadlock"); }

const struct mt_debug_hooks noted_debug = {.deadlock_suspected = suspected};

/* ---- stages */

/* Some VPs, of which the first ones sleep and have looked at all queues. */
static void stage_watch(int count, int asleep, int target, int cpus) {
  stage(count, target, cpus);
  trace[0] = '\0';
  mt_client_view.seen = *mt_client_view.granted;
  for (int i = asleep - 1; i >= 0; i--) {
    fall_asleep(i);
    vps[i].sleep.rests = true;
  }
  mt_rt.sleep.watchdog = &vps[0];
  mt_rt.sleep.asleep_since = now - DEADLOCK_NS;
  mt_rt.sleep.wake_count = 7;
}

#define LOOK(expected) look(__LINE__, expected, false)
#define LOOK_AND_WAKE(expected) look(__LINE__, expected, true)

static void look(int line, const char *expected, bool wakes) {
  check_case("look of line %d", line);
  trace[0] = '\0';
  mt_watchdog_check(&vps[0]);
  CHECK_TEXT(trace, expected);
  CHECK_EQUAL(vps[0].sleep.status, wakes ? MT_VP_AWAKE : MT_VP_ASLEEP);
  CHECK_EQUAL(vps[0].search.is_watchdog_round, wakes);
  CHECK_EQUAL(vps[0].search.searching, wakes);
  CHECK_EQUAL(mt_rt.idle.searching, wakes);
  CHECK_EQUAL(mt_rt.sleep.ilock, 0);
}

/* ---- while all VPs sleep */

static void a_deadlock_is_suspected_when_all_rest(void) {
  stage_watch(3, 3, 3, 3);
  LOOK("share deadlock trim");
  CHECK_EQUAL(mt_rt.sleep.checked_at, 7);
  stage_watch(3, 3, 3, 3);
  mt_rt.sleep.asleep_since++; /* it is too soon */
  LOOK("share trim");
  CHECK_EQUAL(mt_rt.sleep.checked_at, 0);
  for (int i = 0; i < 3; i++) { /* one is about to look at the queues */
    stage_watch(3, 3, 3, 3);
    vps[i].sleep.rests = false;
    LOOK("share trim");
    CHECK_EQUAL(mt_rt.sleep.checked_at, 0);
  }
  stage_watch(3, 3, 3, 3);
  vps[1].timers.earliest = now + 1;
  LOOK("share trim");
  CHECK_EQUAL(mt_rt.sleep.checked_at, 7);
  stage_watch(3, 3, 3, 3);
  mt_rt.sleep.asleep_since = now;
  mt_det_on = true; /* no waker can be on its way */
  LOOK("share deadlock trim");
  mt_det_on = false;
}

static void a_timer_that_is_due_wakes_the_watchdog(void) {
  stage_watch(3, 3, 3, 3);
  vps[2].timers.earliest = now;
  LOOK_AND_WAKE("share");
  stage_watch(3, 2, 3, 3);
  vps[2].timers.earliest = now;
  LOOK_AND_WAKE("share");
}

static void a_thread_that_waits_wakes_the_watchdog(void) {
  stage_watch(3, 3, 3, 3);
  vps[2].runq.length = 1;
  LOOK_AND_WAKE("share");
  stage_watch(3, 3, 3, 3);
  vps[0].runq.length = 1; /* its own */
  LOOK_AND_WAKE("share");
}

static const struct mt_poller no_poller;

static void events_and_grants_are_looked_at_first(void) {
  stage_watch(3, 3, 3, 3);
  mt_rt.poll.poller = &no_poller;
  mt_rt.poll.polled_at = now - MT_POLL_NS;
  mt_client_view.seen++;
  LOOK("share follow poll deadlock trim");
  mt_rt.poll.polled_at++;
  mt_client_view.seen--;
  LOOK("share deadlock trim");
}

/* ---- while VP 1 is awake */

static void threads_of_others_wake_the_watchdog(void) {
  stage_watch(2, 1, 2, 2);
  LOOK("share trim");
  vps[0].runq.length = 1; /* it looks at these by itself */
  LOOK("share trim");
  vps[0].runq.length = 0;
  vps[1].runq.length = 1;
  LOOK_AND_WAKE("share");
  stage_watch(2, 1, 1, 2); /* no more may be awake */
  vps[1].runq.length = 1;
  LOOK("share refused trim");
  vps[1].runq.length = 0;
  LOOK("share trim");
}

/* Each CPU has a VP that is awake. */
static void a_blocked_vp_wakes_the_watchdog(void) {
  for (int row = 0; row < 4; row++) {
    uint64_t unmoved = MT_BLOCKED_NS - (row == 1);
    bool busy = row != 2, moved = row == 3;
    stage_watch(2, 1, 2, 1);
    vps[1].runq.length = busy;
    mt_store_relaxed(&vps[1].points.tick, 3);
    mt_unmoved_ns(&vps[1], now - unmoved);
    if (moved) mt_store_relaxed(&vps[1].points.tick, 4);
    if (row == 0)
      LOOK_AND_WAKE("share");
    else
      LOOK("share trim");
  }
}

static uint32_t waiting;

static uint32_t waiting_for_any(const struct mt_vp *vp) { return vp == NULL ? waiting : 0; }

static void threads_of_an_alternative_wait_for_any_vp(void) {
  static const struct mt_alternative alternative = {.waiting = waiting_for_any};
  if (!MLTP_ALTERNATIVES) return;
  mt_alternative = &alternative;
  for (int row = 0; row < 3; row++) {
    stage_watch(3, 1, 3, 2);
    mt_rt.idle.awake = 2;
    waiting = row != 0;
    if (row == 2) vps[1].sleep.status = vps[2].sleep.status = MT_VP_BLOCKED;
    for (int i = 1; i < 3; i++) {
      mt_store_relaxed(&vps[i].points.tick, 3);
      mt_unmoved_ns(&vps[i], now - MT_BLOCKED_NS * (i == 2));
    }
    if (row == 1)
      LOOK_AND_WAKE("share");
    else
      LOOK("share trim");
  }
  mt_alternative = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_deadlock_is_suspected_when_all_rest),
      TEST_BARE(a_timer_that_is_due_wakes_the_watchdog),
      TEST_BARE(a_thread_that_waits_wakes_the_watchdog),
      TEST_BARE(events_and_grants_are_looked_at_first),
      TEST_BARE(threads_of_others_wake_the_watchdog),
      TEST_BARE(a_blocked_vp_wakes_the_watchdog),
      TEST_BARE(threads_of_an_alternative_wait_for_any_vp),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
