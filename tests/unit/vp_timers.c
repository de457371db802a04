/* SPDX-License-Identifier: Apache-2.0 */
/* Timers (src/core/timer/timer.c): in which order they fire, how many at a time, what a wait that
 * has ended was, and which VP looks at them. Each step on VPs that nobody runs. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <string.h>

#include "core/sched/runq.h"
#include "core/timer/timer.h"
#include "core/wait/park.h"
#include "support/support.h"
#include "support/vp_stage.h"

enum { MOST = 1100, PER_LOCK = 32, PER_LOOK = 1024 };

static struct mltp_thread threads[MOST];
static struct mt_timer timers[MOST];
static mltp_waitq_t queue;

static void stage_timers(int count) {
  stage(count, count, count);
  memset(threads, 0, sizeof threads);
  memset(timers, 0xa5, sizeof timers);
  memset(&queue, 0, sizeof queue);
}

/* A thread that ran on a VP last waits in the queue until a deadline. */
static void wait_until(int i, int vp, uint64_t deadline) {
  threads[i].vp = &vps[vp];
  mt_timer_arm(&timers[i], &threads[i], deadline);
  mt_waitq_append(&queue, &threads[i]);
  threads[i].waitq = &queue;
  CHECK(threads[i].timer == &timers[i]);
  CHECK(timers[i].armed == 1 && timers[i].fired == 0 && timers[i].meaning == ETIMEDOUT);
}

/* The threads that a VP got since the last look, in this order; -1 after the last. */
static void check_woken(int vp, const int *expected) {
  struct mltp_thread *last, *t = mt_runq_take_inbox(&vps[vp], &last);
  for (; *expected >= 0; expected++, t = t->next) {
    CHECK(t == &threads[*expected]);
    if (t != &threads[*expected]) return;
    CHECK(t->timed_out == 1 && t->waitq == NULL);
    CHECK(timers[*expected].armed == 0 && timers[*expected].fired == 1);
  }
  CHECK(t == NULL);
}

#define WOKEN(vp, ...) check_woken(vp, (const int[]){__VA_ARGS__, -1})
#define NONE_WOKEN(vp) check_woken(vp, (const int[]){-1})

static void timers_fire_in_order_and_not_before(void) {
  stage_timers(2);
  static const uint64_t deadlines[] = {30, 10, 20, 10};
  for (int i = 0; i < 4; i++) wait_until(i, 0, deadlines[i]);
  wait_until(4, 1, 15);
  CHECK_EQUAL(vps[0].timers.earliest, 10);
  CHECK_EQUAL(mt_timers_earliest(), 10);
  mt_timers_run_due(9);
  NONE_WOKEN(0);
  CHECK_EQUAL(queue.count_, 5);
  mt_timers_run_due(10);
  WOKEN(0, 1, 3); /* as they came */
  NONE_WOKEN(1);
  CHECK_EQUAL(vps[0].timers.earliest, 20);
  CHECK_EQUAL(mt_timers_earliest(), 15);
  mt_timers_run_due(MLTP_NEVER - 1);
  WOKEN(0, 2, 0);
  WOKEN(1, 4);
  CHECK_EQUAL(queue.count_, 0);
  CHECK_EQUAL(mt_timers_earliest(), MLTP_NEVER);
  CHECK_EQUAL(mt_rt.timers_firing, 0);
}

/* Others that arm or disarm a timer wait for a batch, and a scheduling point for some batches. */
static void many_fire_in_batches(void) {
  static const struct {
    int count, left;
    uint32_t batches;
  } rows[] = {
      {1, 0, 1},
      {PER_LOCK - 1, 0, 1},
      {PER_LOCK, 0, 2}, /* whether there are more is seen by the next one */
      {PER_LOCK + 1, 0, 2},
      {PER_LOOK, 0, PER_LOOK / PER_LOCK},
      {MOST, MOST - PER_LOOK, PER_LOOK / PER_LOCK},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    stage_timers(1);
    check_case("%d", rows[i].count);
    for (int t = 0; t < rows[i].count; t++) wait_until(t, 0, 5);
    mt_timers_run_due(5);
    CHECK_EQUAL(vps[0].timers.heap.count, rows[i].left);
    CHECK_EQUAL(queue.count_, rows[i].left);
    CHECK_EQUAL(vps[0].timers.batch, 2 * rows[i].batches);
    CHECK_EQUAL(vps[0].timers.earliest, rows[i].left != 0 ? 5 : MLTP_NEVER);
    mt_timers_run_due(5);
    CHECK_EQUAL(vps[0].timers.heap.count, 0);
  }
}

/* A thread's own deadline ends a wait as a cancellation does, if it comes first. */
static void the_earlier_deadline_counts(void) {
  static const struct {
    uint8_t cancel;
    uint64_t own, deadline, key;
    int meaning;
    bool armed;
  } rows[] = {
      {0, 5, 10, 10, ETIMEDOUT, true},
      {MT_HAS_DEADLINE, 5, 10, 5, ECANCELED, true},
      {MT_HAS_DEADLINE, 10, 10, 10, ETIMEDOUT, true},
      {MT_HAS_DEADLINE, 11, 10, 10, ETIMEDOUT, true},
      {MT_HAS_DEADLINE, 11, MLTP_NEVER, 11, ECANCELED, true},
      {0, 5, MLTP_NEVER, MLTP_NEVER, ETIMEDOUT, false},
      {MT_CANCELLED, 5, 10, 10, ECANCELED, false},
      {MT_CANCELLED | MT_HAS_DEADLINE, 11, 10, 10, ECANCELED, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int bound = 0; bound < 2; bound++) {
      bool cancelled = (rows[i].cancel & MT_CANCELLED) != 0, armed = rows[i].armed && !bound;
      stage_timers(1);
      check_case("row %zu, %d", i, bound);
      threads[0].vp = bound ? NULL : &vps[0];
      threads[0].cancel = rows[i].cancel;
      threads[0].deadline = rows[i].own;
      mt_timer_arm(&timers[0], &threads[0], rows[i].deadline);
      CHECK(timers[0].thread == &threads[0] && timers[0].vp == threads[0].vp);
      CHECK_EQUAL(timers[0].node.key, rows[i].key);
      CHECK_EQUAL(timers[0].armed, armed);
      CHECK_EQUAL(vps[0].timers.heap.count, armed);
      CHECK_EQUAL(vps[0].timers.earliest, armed ? rows[i].key : MLTP_NEVER);
      CHECK_EQUAL(timers[0].fired, cancelled);
      now = rows[i].key - 1;
      CHECK_EQUAL(mt_timer_passed(&timers[0]), cancelled);
      now++;
      CHECK(mt_timer_passed(&timers[0]));
      CHECK_EQUAL(mt_timer_disarm(&timers[0], ETIMEDOUT), rows[i].meaning);
      CHECK(threads[0].timer == NULL && timers[0].armed == 0);
      CHECK_EQUAL(vps[0].timers.heap.count, 0);
      CHECK_EQUAL(vps[0].timers.earliest, MLTP_NEVER);
      CHECK_EQUAL(mt_timer_disarm(&timers[0], 0), 0);
      CHECK_EQUAL(mt_timer_disarm(&timers[0], EBUSY), EBUSY);
      CHECK_EQUAL(mt_rt.outside.timeouts, 0);
    }
}

static void the_second_is_the_first_when_that_one_is_disarmed(void) {
  stage_timers(1);
  wait_until(0, 0, 10);
  wait_until(1, 0, 20);
  CHECK_EQUAL(mt_timer_disarm(&timers[0], 0), 0);
  CHECK_EQUAL(vps[0].timers.earliest, 20);
  CHECK_EQUAL(mt_timer_disarm(&timers[1], 0), 0);
  CHECK_EQUAL(vps[0].timers.earliest, MLTP_NEVER);
}

/* One that comes after others is no news for the watchdog. */
static void the_first_timer_rouses_the_watchdog(void) {
  stage_timers(2);
  fall_asleep(1);
  wait_until(0, 0, 50);
  check_roused(1, 1);
  mt_rt.sleep.watchdog_deadline = 60;
  wait_until(1, 0, 55);
  check_roused(1, 0);
  wait_until(2, 0, 40);
  check_roused(1, 1);
  mt_rt.sleep.watchdog_deadline = 40;
  wait_until(3, 0, 39);
  check_roused(1, 1);
  CHECK(!vps[0].timers.unwatched);
}

/* A VP that has nothing else to run keeps the watch itself when it sleeps. */
static void a_timer_of_an_idle_vp_is_not_watched_at_once(void) {
  for (int row = 0; row < 4; row++) {
    bool idle = row == 0;
    stage_timers(2);
    check_case("%d", row);
    fall_asleep(1);
    vps[0].points.tick = 7;
    vps[0].points.check_at = 64;
    if (row == 1) mt_runq_push(&vps[0], &threads[1]);
    if (row == 2) mt_runq_post(&vps[0], &threads[1], &threads[1]);
    threads[0].vp = &vps[0];
    if (row == 3)
      mt_timer_arm(&timers[0], &threads[0], 50);
    else
      mt_timer_arm_to_sleep(&timers[0], &threads[0], 50);
    CHECK_EQUAL(vps[0].timers.earliest, 50);
    CHECK_EQUAL(vps[0].timers.unwatched, idle);
    CHECK_EQUAL(vps[0].points.check_at, idle ? 8 : 64);
    check_roused(1, !idle);
    mt_timers_watch(&vps[0]); /* it is going to run a thread */
    CHECK(!vps[0].timers.unwatched);
    check_roused(1, 1);
  }
}

/* It fires before its thread has entered the queue, or after another has taken it out. */
static void a_thread_in_no_queue_is_left_alone(void) {
  stage_timers(1);
  threads[0].vp = &vps[0];
  mt_timer_arm(&timers[0], &threads[0], 5);
  mt_timers_run_due(5);
  NONE_WOKEN(0);
  CHECK(timers[0].fired == 1 && timers[0].armed == 0 && threads[0].timed_out == 0);
  CHECK(!mt_park_timeout(&threads[0]));
  mt_waitq_append(&queue, &threads[0]);
  threads[0].waitq = &queue;
  CHECK(mt_park_timeout(&threads[0]));
  WOKEN(0, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(timers_fire_in_order_and_not_before),
      TEST_BARE(many_fire_in_batches),
      TEST_BARE(the_earlier_deadline_counts),
      TEST_BARE(the_second_is_the_first_when_that_one_is_disarmed),
      TEST_BARE(the_first_timer_rouses_the_watchdog),
      TEST_BARE(a_timer_of_an_idle_vp_is_not_watched_at_once),
      TEST_BARE(a_thread_in_no_queue_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
