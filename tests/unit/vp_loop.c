/* SPDX-License-Identifier: Apache-2.0 */
/* What an idle VP runs, and the order of its duties (vp_idle.h). */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "unit/vp_idle.h"

#include <setjmp.h>

/* ---- running */

static void a_thread_is_taken_out_and_prepared(void) {
  for (int row = 0; row < 2; row++) {
    struct mt_vp *vp = stage_idle(2, 2, 2);
    world.starts = row != 0;
    run_one(vp);
    TRACE("");
    vp->timers.unwatched = true;
    push(1, 2);
    post(1, 3);
    run_one(vp);
    TRACE("watch run:2");
    vp->timers.unwatched = false;
    run_one(vp);
    TRACE("run:3");
    CHECK_EQUAL(vp->runq.length, 0);
    CHECK_EQUAL(vp->runq.inside, 0);
  }
}

static void a_late_probe_is_between_two_threads(void) {
  struct mt_vp *vp = stage_idle(2, 2, 2);
  push(1, 0);
  CHECK(!probe_between(vp)); /* it looks at timers */
  vp->points.tick = MT_TICKS_PER_CHECK - 1;
  CHECK(probe_between(vp));
  vp->points.tick = MT_TICKS_PER_CHECK;
  CHECK(!probe_between(vp));
  vp->points.tick++;
  CHECK(probe_between(vp));
  TRACE("");
  mt_client_view.seen = *mt_client_view.granted + 1;
  CHECK(probe_between(vp));
  TRACE("follow");
  mt_client_view.seen = *mt_client_view.granted;
  mt_rt.idle.target = 1;
  CHECK(!probe_between(vp));
  mt_rt.idle.target = 2;
  mt_runq_pop(vp);
  CHECK(!probe_between(vp));
}

static void a_theft_is_judged_when_it_was_run(void) {
  struct mt_vp *vp = stage_idle(2, 2, 2);
  judge_theft(vp);
  TRACE("");
  vp->search.stolen_count = 1;
  push(1, 0);
  judge_theft(vp);
  TRACE("");
  mt_runq_pop(vp);
  judge_theft(vp);
  TRACE("theft:0");
}

/* ---- the loop */

static const char *stop_at; /* the loop ends behind this */
static jmp_buf out;

static void stop_there(const char *word) {
  if (is_sleep(word)) wake_up(word);
  if (strcmp(word, stop_at) != 0) return;
  mt_rt.stopping = 1;
}

static void jump_out(const char *word) {
  if (strcmp(word, stop_at) == 0) longjmp(out, 1);
}

static void loop(const char *stop) {
  stop_at = stop;
  at_note = stop_there;
  mt_idle_loop(&vps[1]);
  at_note = NULL;
}

static void a_vp_searches_then_sleeps(void) {
  struct mt_vp *vp = stage_idle(3, 3, 3);
  mt_rt.poll.polled_at = begin;
  mt_rt.handover.look_at = begin;
  vp->points.probe = 1;
  mt_tuning.value[MT_IDLE_SPIN_NS] = 0;
  loop("restore");
  TRACE(
      "timers:0 share:0 silence:0 judge:0 poll:0 here timers:0 hook steal:0 hook:sleeps stacks "
      "fence finalizer sleep:never learn:40 restore");
  CHECK_EQUAL(vp->points.probe, 0);
  stage_idle(3, 3, 3);
  fall_asleep(2);
  mt_tuning.value[MT_IDLE_SPIN_NS] = 0;
  world.steals = true; /* what it takes is gone again */
  mt_stack_waiters = 1;
  loop("fence");
  TRACE("timers:0 share:0 give judge:0 poll:0 here timers:0 hook steal:0 fence");
  check_counts(2, 1, 0, 0);
}

static void a_busy_vp_runs_its_threads(void) {
  struct mt_vp *vp = stage_idle(3, 3, 3);
  push(1, 0);
  push(1, 1);
  push(1, 2);
  loop("run:1");
  TRACE("timers:0 share:0 trim:0 run:0 timers:0 share:0 trim:0 run:1");
  CHECK_EQUAL(vp->runq.length, 1);
  mt_rt.stopping = 0;
  vp->search.inbox_polls = 2; /* what comes by the inbox runs before all else */
  mt_runq_pop(vp);
  post(1, 5);
  loop("judge:0");
  TRACE(
      "run:5 timers:0 share:0 judge:0 poll:0 here timers:0 hook hook:sleeps stacks fence "
      "finalizer restore");
  CHECK_EQUAL(vp->search.inbox_polls, 0);
}

static const struct mt_poller no_poller;

static void a_busy_vp_looks_for_events_now_and_then(void) {
  for (int row = 0; row < 2; row++) {
    stage_idle(3, 3, 3);
    push(1, 0);
    mt_rt.poll.poller = &no_poller;
    mt_rt.poll.polled_at = now - (MT_POLL_NS - (row == 0));
    loop("run:0");
    TRACE(row == 0 ? "timers:0 share:0 trim:0 run:0" : "timers:0 share:0 poll:0 trim:0 run:0");
  }
}

static void a_vp_too_many_gives_its_threads_away(void) {
  stage_idle(3, 2, 3);
  loop("hand_off");
  TRACE("timers:0 share:0 judge:0 poll:0 hand_off hook:sleeps stacks fence finalizer restore");
  struct mt_vp *vp = stage_idle(3, 2, 3);
  push(1, 0);
  loop("hand_off"); /* nobody takes them */
  TRACE("timers:0 share:0 trim:0 refused hand_off");
  CHECK_EQUAL(vp->runq.length, 1);
  vp = stage_idle(3, 2, 3);
  mt_client_view.seen = *mt_client_view.granted + 1;
  mt_count_searching(vp, true);
  loop("hand_off");
  TRACE(
      "timers:0 share:0 judge:0 poll:0 follow hand_off hook:sleeps stacks fence finalizer "
      "restore");
  check_counts(3, 0, 0, 0); /* it does not search any more */
}

static void late_probes_come_between_threads(void) {
  if (!MLTP_ALTERNATIVES) return;
  struct mt_vp *vp = stage_idle(3, 3, 3);
  mt_options.probe = MT_PROBE_LATE;
  vp->points.tick = 1;
  push(1, 0);
  push(1, 1);
  loop("poll:0");
  TRACE(
      "run:0 run:1 timers:0 share:0 judge:0 poll:0 here timers:0 hook hook:sleeps stacks fence "
      "finalizer restore");
  mt_options.probe = MT_PROBE_EAGER;
}

/* The first VP stays for main, which ends on it, unless main is elsewhere. */
static void the_first_vp_stays(void) {
  struct mt_vp *vp = stage_idle(3, 3, 3);
  mt_rt.stopping = 1;
  mt_count_searching(vp, true);
  mt_idle_loop(vp);
  TRACE("");
  check_counts(3, 0, 0, 0);
  mt_rt.main_is_bound = 1;
  mt_idle_loop(&vps[0]);
  TRACE("");
  mt_rt.main_is_bound = 0;
  stop_at = "timers:0";
  at_note = jump_out;
  if (setjmp(out) == 0) mt_idle_loop(&vps[0]);
  TRACE("timers:0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_thread_is_taken_out_and_prepared),
      TEST_BARE(a_late_probe_is_between_two_threads),
      TEST_BARE(a_theft_is_judged_when_it_was_run),
      TEST_BARE(a_vp_searches_then_sleeps),
      TEST_BARE(a_busy_vp_runs_its_threads),
      TEST_BARE(a_busy_vp_looks_for_events_now_and_then),
      TEST_BARE(a_vp_too_many_gives_its_threads_away),
      TEST_BARE(late_probes_come_between_threads),
      TEST_BARE(the_first_vp_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
