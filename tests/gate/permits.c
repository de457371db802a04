/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads run, and all counts after each step (played.h). */
#include "played.h"

/* ---- the queue */

static void higher_priorities_come_first(void) {
  static const int priorities[] = {0, 0, 5, 3, 5, 0};
  struct gt_queue queue = {NULL, NULL};
  begin(1, 1);
  for (int i = 0; i < 6; i++) {
    t[i].priority = priorities[i];
    gt_queue_push(&queue, &t[i], false);
  }
  check_queue(&queue, "243015");
  gt_queue_push(&queue, &t[6], true);
  check_queue(&queue, "6243015");
  gt_queue_take(&queue, &t[3]);
  gt_queue_take(&queue, &t[6]);
  gt_queue_take(&queue, &t[5]);
  check_queue(&queue, "2401");
  t[7].priority = 5;
  gt_queue_push(&queue, &t[7], false);
  check_queue(&queue, "24701");
  static const int rest[] = {2, 4, 7, 0, 1};
  for (int i = 0; i < 5; i++) gt_queue_take(&queue, &t[rest[i]]);
  check_queue(&queue, "");
}

/* ---- permits */

static void as_many_run_as_permits(void) {
  begin(2, 3);
  make_ready(0, 0);
  EQUAL(others.reports, 0); /* it has not joined mltpd */
  begin(2, 3);
  gt_gate.joined = true;
  for (int i = 0; i < 4; i++) {
    make_ready(i, i);
    EQUAL(others.reports, i + 1);
    EQUAL(others.active, i < 2 ? i + 1 : 2);
    EQUAL(others.demand, i < 3 ? i + 1 : 3);
    EQUAL(others.watches, i < 2 ? 0 : i - 1);
  }
  check_counts(2, 2, 2);
  check_queue(&gt_gate.queue, "23");
  check_list(gt_gate.runs, "10");
  for (int i = 0; i < 2; i++) {
    EQUAL(t[i].state, GT_RUNS);
    EQUAL(t[i].wake, GT_GRANTED);
    EQUAL(t[i].away, 1);
    EQUAL(t[i].turn, i + 1);
    CHECK(t[i].counted && !t[i].besides && t[i + 2].state == GT_READY);
  }
  EQUAL(others.turns, 2);
  EQUAL(gt_gate.turns, 2);
  EQUAL(others.woken_count, 0); /* none sleeps */
  t[4].priority = 1;            /* the kernel decides when a real-time thread runs */
  make_ready(4, 4);
  EQUAL(t[4].state, GT_RUNS);
  CHECK(!t[4].counted);
  check_counts(2, 2, 2);
  gt_gate.extra = 1;
  make_ready(5, 5);
  check_counts(3, 2, 2);
  check_queue(&gt_gate.queue, "35");
  CHECK(t[2].besides && t[2].state == GT_RUNS);
  gt_gate.due = true;
  gt_gate.extra = 2;
  make_ready(6, 6); /* a permit changes hands: nobody has to give way */
  CHECK(!gt_gate.due && t[3].state == GT_RUNS);
}

static void each_sleeper_is_woken_once(void) {
  begin(MANY, MANY);
  for (int i = 0; i < MANY; i++) t[i].sleeps = i != 1;
  gt_lock(&gt_me);
  for (int i = 0; i < MANY; i++) gt_make_ready(&t[i]);
  EQUAL(others.woken_count, MANY - 1 - AWAKE);
  gt_unlock(&gt_me);
  EQUAL(others.woken_count, MANY - 1);
  for (int i = 0; i < MANY; i++) {
    int times = 0;
    for (int j = 0; j < others.woken_count; j++) times += others.woken[j] == &t[i].wake;
    EQUAL(times, i != 1);
    EQUAL(t[i].sleeps, 0);
  }
  gt_lock(&gt_me);
  gt_unlock(&gt_me);
  EQUAL(others.woken_count, MANY - 1);
}

static void a_permit_goes_to_the_next(void) {
  begin(1, 1);
  make_ready(0, 1);
  t[0].passed = 3;
  gt_lock(&gt_me);
  gt_release(&t[0], GT_PARKED);
  gt_unlock(&gt_me);
  EQUAL(t[0].state, GT_PARKED);
  EQUAL(t[0].wake, GT_NO_PERMIT);
  EQUAL(t[0].cpu, HERE);
  EQUAL(t[0].passed, 0);
  EQUAL(t[1].state, GT_RUNS);
  check_counts(1, 0, 0);
  check_list(gt_gate.runs, "1");
  gt_lock(&gt_me);
  gt_release(&t[1], GT_CALL);
  check_counts(0, 0, 0);
  gt_release(&t[1], GT_READY); /* out of a call, so that it has none to give */
  gt_unlock(&gt_me);
  check_counts(1, 0, 0);
  t[2].priority = 1;
  make_ready(2, 2);
  check_list(gt_gate.runs, "21");
  gt_lock(&gt_me);
  gt_release(&t[2], GT_PARKED);
  gt_unlock(&gt_me);
  check_counts(1, 0, 0);
  check_list(gt_gate.runs, "1");
}

/* The monitor's extra permits end as threads give theirs up. */
static void extra_permits_end(void) {
  static const int cases[][4] = {/* permits, running, extra, extra afterwards */
                                 {1, 3, 2, 1},
                                 {1, 2, 2, 0},
                                 {1, 4, 1, 1},
                                 {2, 2, 1, 0},
                                 {1, 3, 1, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin(cases[i][1], cases[i][1]);
    make_ready(0, cases[i][1] - 1);
    gt_gate.permits = cases[i][0];
    gt_gate.extra = cases[i][2];
    gt_lock(&gt_me);
    gt_release(&t[0], GT_PARKED);
    gt_unlock(&gt_me);
    EQUAL(gt_gate.extra, cases[i][3]);
    EQUAL(gt_gate.running, cases[i][1] - 1);
  }
}

/* ---- the thread that last ran here is the best after one that leaves its CPU */

static void pick_case(int near, int passed, int expected, int passed_then) {
  begin(2, 2);
  for (int i = 0; i < MANY; i++) t[i].cpu = i == near + 2 ? HERE : ELSEWHERE;
  make_ready(0, 11);
  t[2].passed = passed;
  gt_lock(&gt_me);
  gt_release(&t[0], GT_PARKED);
  gt_unlock(&gt_me);
  EQUAL(t[2 + expected].state, GT_RUNS);
  EQUAL(t[2].passed, passed_then);
  check_counts(2, 9, 9);
}

static void the_best_after_the_caller(void) {
  pick_case(0, 0, 0, 0);
  pick_case(1, 0, 1, 1);
  pick_case(7, 2, 7, 3);
  pick_case(8, 0, 0, 0); /* too far behind */
  pick_case(1, 7, 1, 8);
  pick_case(1, 8, 0, 8); /* the first has waited for long */

  begin(1, 1); /* there is one CPU */
  t[1].cpu = ELSEWHERE, t[2].cpu = HERE;
  make_ready(0, 2);
  gt_lock(&gt_me);
  gt_release(&t[0], GT_PARKED);
  gt_unlock(&gt_me);
  EQUAL(t[1].state, GT_RUNS);

  begin(2, 2); /* the seed chooses */
  t[2].cpu = ELSEWHERE, t[3].cpu = HERE;
  make_ready(0, 3);
  gt_seeded = true;
  gt_lock(&gt_me);
  gt_release(&t[0], GT_PARKED);
  gt_unlock(&gt_me);
  EQUAL(t[2].state, GT_RUNS);
  EQUAL(others.seed_picks, 0); /* another one runs */

  begin(2, 2); /* the caller stays on its CPU */
  t[2].cpu = ELSEWHERE, t[3].cpu = HERE;
  make_ready(0, 3);
  gt_gate.permits = 3;
  gt_lock(&gt_me);
  gt_grant();
  gt_unlock(&gt_me);
  EQUAL(t[2].state, GT_RUNS);

  begin(2, 2); /* a caller that gives way to others is not the next itself */
  make_ready(0, 0);
  caller_runs();
  t[1].cpu = ELSEWHERE;
  make_ready(1, 1);
  gt_me.gave_way = true;
  gt_lock(&gt_me);
  gt_release(&gt_me, GT_READY);
  gt_unlock(&gt_me);
  EQUAL(t[1].state, GT_RUNS);
  check_queue(&gt_gate.queue, "-");
  check_counts(2, 1, 0);
  EQUAL(t[1].passed, 0);
}

static void the_seed_may_choose_nobody(void) {
  begin(1, 1);
  make_ready(0, 1);
  gt_seeded = true;
  gt_lock(&gt_me);
  gt_release(&t[0], GT_PARKED);
  EQUAL(others.seed_picks, 1);
  EQUAL(t[1].state, GT_READY);
  others.picks = true;
  gt_grant();
  gt_unlock(&gt_me);
  EQUAL(t[1].state, GT_RUNS);
}

/* ---- a permit that waits for a CPU */

static void overtake_case(bool overtakes, int passed, bool claimed, bool away, bool counted,
                          bool gave_way) {
  begin(1, 1);
  make_ready(0, 0);
  t[0].passed = passed;
  t[0].wake = claimed ? GT_CLAIMED : GT_GRANTED;
  t[0].away = away;
  t[0].counted = counted;
  gt_me.state = GT_CALL;
  gt_me.gave_way = gave_way;
  gt_lock(&gt_me);
  gt_release(&gt_me, GT_READY);
  gt_unlock(&gt_me);
  EQUAL(gt_me.state, overtakes ? GT_RUNS : GT_READY);
  check_queue(&gt_gate.queue, overtakes ? "0" : "-");
  check_list(gt_gate.runs, overtakes ? "-" : "0");
  EQUAL(t[0].passed, passed + overtakes);
  check_counts(1, 1, !gave_way);
  if (!overtakes) return;
  EQUAL(t[0].state, GT_READY);
  EQUAL(t[0].wake, GT_NO_PERMIT);
  EQUAL(t[0].sleeps, 1);
  EQUAL(gt_me.wake, GT_GRANTED);
}

static void a_caller_on_a_cpu_overtakes(void) {
  overtake_case(true, 0, false, true, true, false);
  overtake_case(true, 63, false, true, true, false);
  overtake_case(false, 64, false, true, true, false);
  overtake_case(false, 0, true, true, true, false);
  overtake_case(false, 0, false, false, true, false);
  overtake_case(false, 0, false, true, false, false);
  overtake_case(false, 0, false, true, true, true);
  begin(3, 3); /* one of them does */
  make_ready(0, 2);
  t[2].away = 0;
  t[1].wake = GT_CLAIMED;
  gt_me.state = GT_CALL;
  gt_lock(&gt_me);
  gt_release(&gt_me, GT_READY);
  gt_unlock(&gt_me);
  check_list(gt_gate.runs, "-21");
  check_queue(&gt_gate.queue, "0");
  begin(1, 1); /* not against the seed */
  make_ready(0, 0);
  gt_seeded = true;
  gt_lock(&gt_me);
  gt_release(&gt_me, GT_READY);
  gt_unlock(&gt_me);
  EQUAL(gt_me.state, GT_READY);
}

/* ---- permits that are lent */

static void a_lent_permit_goes_to_a_woken_thread(void) {
  for (int gave_way = 0; gave_way < 2; gave_way++) {
    begin(1, 1);
    make_ready(0, 0);
    t[0].lent = t[0].open = 1;
    t[1].gave_way = gave_way;
    make_ready(1, 1);
    EQUAL(t[0].state, gave_way ? GT_RUNS : GT_CAUGHT);
    EQUAL(t[1].state, gave_way ? GT_READY : GT_RUNS);
    EQUAL(t[0].open, gave_way);
    EQUAL(gt_gate.caught, !gave_way);
    check_counts(1, gave_way, 0);
    check_list(gt_gate.stray, gave_way ? "" : "0");
  }
  begin(1, 1);
  make_ready(0, 0);
  make_ready(1, 1);
  EQUAL(t[1].state, GT_READY); /* nothing is lent */
  t[2].priority = 1;
  make_ready(2, 2);
  t[2].lent = 1; /* it has no permit */
  gt_lock(&gt_me);
  gt_grant();
  EQUAL(t[1].state, GT_READY);
  t[0].lent = 1;
  gt_grant();
  check_list(gt_gate.stray, "0");
  check_list(gt_gate.runs, "12");
  gt_release(&t[0], GT_PARKED);
  EQUAL(gt_gate.caught, 0);
  check_list(gt_gate.stray, "");
  check_counts(1, 0, 0);
  gt_unlock(&gt_me);
}

/* ---- new threads */

static void new_threads_begin_early(void) {
  enum { MOST = 2, EARLIEST = 8 };
  begin(MOST, MOST);
  gt_aside_allowed = gt_gate.joined = true;
  gt_lock(&gt_me);
  for (int i = 0; i < MOST; i++) gt_begin(&t[i]);
  CHECK(t[1].counted && !t[1].early);
  for (int i = 0; i < EARLIEST; i++) {
    gt_begin(&t[MOST + i]);
    CHECK(t[MOST + i].early && !t[MOST + i].counted && t[MOST + i].state == GT_RUNS);
    EQUAL(gt_gate.early, i + 1);
  }
  EQUAL(others.active, MOST);
  EQUAL(others.reports, MOST + EARLIEST);
  t[30].away = 0;
  for (int i = 0; i < MOST; i++) t[i].away = 0; /* they have their CPUs */
  gt_begin(&t[30]);
  EQUAL(t[30].state, GT_READY);
  check_counts(MOST, 1, 1);
  gt_release(&t[MOST], GT_PARKED); /* an early thread has no permit to give */
  EQUAL(gt_gate.early, EARLIEST - 1);
  CHECK(!t[MOST].early && t[30].state == GT_READY);
  gt_count_early();
  EQUAL(gt_gate.early, 0);
  check_counts(MOST + EARLIEST - 1, 1, 1);
  for (int i = 1; i < EARLIEST; i++) {
    CHECK(t[MOST + i].counted && !t[MOST + i].early);
    EQUAL(t[MOST + i].turn, gt_gate.turns);
  }
  CHECK(t[0].turn == 1);
  gt_unlock(&gt_me);

  for (int reason = 0; reason < 3;
       reason++) { /* not where others want the CPUs, nor with a priority */
    begin(reason == 1 ? 1 : 2, 2);
    gt_aside_allowed = reason != 0;
    t[5].priority = reason == 2;
    make_ready(0, 1);
    t[0].away = t[1].away = 0;
    gt_lock(&gt_me);
    gt_begin(&t[5]);
    gt_unlock(&gt_me);
    EQUAL(gt_gate.early, 0);
    EQUAL(t[5].state, reason == 2 ? GT_RUNS : GT_READY);
  }
  begin(2, 2); /* mltpd has just granted fewer */
  gt_aside_allowed = gt_gate.joined = true;
  make_ready(0, 1);
  t[0].away = t[1].away = 0;
  granted = 1;
  gt_lock(&gt_me);
  gt_begin(&t[5]);
  gt_unlock(&gt_me);
  EQUAL(gt_gate.permits, 1);
  EQUAL(t[5].state, GT_READY);
  begin(1, 1); /* an extra permit is free, too */
  gt_aside_allowed = true;
  make_ready(0, 0);
  gt_gate.extra = 1;
  gt_lock(&gt_me);
  gt_begin(&t[1]);
  gt_unlock(&gt_me);
  CHECK(t[1].counted && !t[1].early);
}

int main(void) {
  higher_priorities_come_first();
  as_many_run_as_permits();
  each_sleeper_is_woken_once();
  a_permit_goes_to_the_next();
  extra_permits_end();
  the_best_after_the_caller();
  the_seed_may_choose_nobody();
  a_caller_on_a_cpu_overtakes();
  a_lent_permit_goes_to_a_woken_thread();
  new_threads_begin_early();
}
