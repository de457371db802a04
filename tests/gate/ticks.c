/* SPDX-License-Identifier: Apache-2.0 */
/* What the monitor sees at a tick, and what it does then (watched.h). */
#include "watched.h"

/* ---- CPU times and states */

static void a_look_is_at_some_threads(void) {
  pid_t tids[LOOKED_AT];
  begin(MANY, true);
  EQUAL(collect(&gt_me, &gt_gate.runs, tids), 64);
  for (int i = 0; i < 64; i++) EQUAL(tids[i], FIRST + i);
  begin(3, true);
  t[1].away = 1;
  EQUAL(collect(&gt_me, &gt_gate.runs, tids), 3);
  gt_seeded = true; /* nobody else may run instead of it */
  EQUAL(collect(&gt_me, &gt_gate.runs, tids), 2);
  EQUAL(tids[1], FIRST + 2);
}

static void threads_that_have_run_are_awake(void) {
  pid_t asleep[LOOKED_AT];
  begin(4, true);
  last = (struct times){.tids = {FIRST + 3, FIRST, FIRST + 1, FIRST + 2 /* of an older look */},
                        .cpu_ns = {7, 5, 5},
                        .count = 3,
                        .at = seen.now - 2 * MS};
  kernel.cpu_ns[0] = 5 + MS; /* for half of the time: not enough */
  kernel.cpu_ns[1] = 5 + MS + 1;
  kernel.cpu_ns[2] = 100 * MS; /* it had no permit then */
  kernel.cpu_ns[3] = 7;
  for (int i = 0; i < 4; i++) kernel.state[i] = i < 3 ? OS_TASK_SLEEPS : OS_TASK_RUNS;
  EQUAL(find_asleep(&gt_me, asleep), 2);
  EQUAL(asleep[0], FIRST);
  EQUAL(asleep[1], FIRST + 2);
  EQUAL(seen.states_read, 3);
  CHECK(!all_have_run);
  EQUAL(last.at, seen.now);
  EQUAL(last.count, 4);
  EQUAL(last.cpu_ns[2], 100 * MS);
  seen.now += 2 * MS;
  for (int i = 0; i < 4; i++) kernel.cpu_ns[i] += 2 * MS;
  EQUAL(find_asleep(&gt_me, asleep), 0);
  CHECK(all_have_run);
  kernel.state[0] = OS_TASK_UNKNOWN;
  EQUAL(find_asleep(&gt_me, asleep), 2);
}

static void threads_that_sleep_are_caught(void) {
  begin(4, true);
  kernel.state[0] = kernel.state[2] = kernel.state[3] = OS_TASK_SLEEPS;
  kernel.state[1] = OS_TASK_RUNS;
  t[2].counted = false;
  CHECK(catch_blocked(&gt_me));
  EQUAL(seen.caught_count, 2);
  EQUAL(seen.caught[0], 0);
  EQUAL(seen.caught[1], 3);
  EQUAL(seen.grants, 1);
  EQUAL(seen.messages, 0);
  seen.turn_meanwhile = true; /* what was read is old */
  CHECK(!catch_blocked(&gt_me));
  EQUAL(seen.grants, 1);
  begin(2, true);
  kernel.state[0] = kernel.state[1] = OS_TASK_RUNS;
  CHECK(!catch_blocked(&gt_me));
  EQUAL(seen.caught_count + seen.grants, 0);
  kernel.state[1] = OS_TASK_SLEEPS; /* one of them is enough */
  CHECK(catch_blocked(&gt_me));
  EQUAL(seen.grants, 1);
}

static void the_longest_time_counts(void) {
  begin(2, true);
  begun = (struct times){.tids = {FIRST, FIRST + 1}, .cpu_ns = {100, 200}, .count = 2};
  kernel.cpu_ns[0] = 100;
  kernel.cpu_ns[1] = 200;
  EQUAL(ran_since_begun(&gt_me), 0); /* no thread has had a CPU */
  kernel.cpu_ns[0] = 150;
  kernel.cpu_ns[1] = 500;
  EQUAL(ran_since_begun(&gt_me), 300);
  EQUAL(ticked.cpu_ns[1], 500);
  kernel.cpu_ns[0] = 900;
  EQUAL(ran_since_begun(&gt_me), 800);
  t[1].tid = FIRST + 2; /* another has its permit */
  kernel.cpu_ns[2] = 70;
  EQUAL(ran_since_begun(&gt_me), 0);
  EQUAL(begun.tids[1], FIRST + 2);
  kernel.cpu_ns[2] = 75;
  EQUAL(ran_since_begun(&gt_me), 5);
  struct stall stall = {.asked = true, .alone = true, .ran_ns = 9};
  begin_stall(&stall, 30);
  CHECK(stall.turns == 10 && stall.since == 30 && stall.looked_at == 30 && stall.cpu_since == 0 &&
        !stall.asked && !stall.alone && stall.ran_ns == 0);
  EQUAL(begun.cpu_ns[1], 75);
  seen.cpu_ns = 55;
  gt_seeded = true;
  begun.count = 0;
  begin_stall(&stall, 40);
  EQUAL(stall.cpu_since, 55);
  EQUAL(begun.count, 0);
}

/* ---- times */

static void times_of_a_stall(void) {
  begin(1, true);
  struct stall stall = {.since = 100, .ran_ns = 40};
  EQUAL(kept_ns(&stall, 100 + 100 * 40), 40);
  EQUAL(kept_ns(&stall, 100 + 100 * 41), 41); /* starved */
  EQUAL(slice_ns(&stall), 10 * MS);
  ask_ns = 2 * MS;
  CHECK(!all_spin());
  stall.alone = true;
  EQUAL(slice_ns(&stall), 10 * MS);
  ask_ns--;
  CHECK(all_spin());
  EQUAL(slice_ns(&stall), 2 * MS - 1);
  stall.ran_ns = 2 * MS - 2;
  CHECK(!is_over(&stall, 100));
  stall.ran_ns++;
  CHECK(is_over(&stall, 100));
  stall.alone = false;
  EQUAL(slice_ns(&stall), 10 * MS);
  CHECK(!is_over(&stall, 100));
  gt_seeded = true;
  for (int steps = 0; steps < 2; steps++) {
    seen.steps = steps;
    stall.cpu_since = 7;
    seen.cpu_ns = 7 + (steps ? 100 : 1) * (uint64_t)100 * MS;
    CHECK(!is_over(&stall, 100));
    seen.cpu_ns++;
    CHECK(is_over(&stall, 100));
  }
}

static void turns_become_shorter_and_longer(void) {
  static const int shorter[] = {4 * MS, 2 * MS, MS, MS / 2, MS / 2},
                   longer[] = {750000, 1125000, 1687500, 2531250};
  begin(1, true);
  for (int i = 0; i < 5; i++) {
    adapt(true);
    EQUAL(ask_ns, shorter[i]);
  }
  for (int i = 0; i < 4; i++) {
    adapt(false);
    EQUAL(ask_ns, longer[i]);
  }
  ask_ns = 6 * MS;
  adapt(false);
  EQUAL(ask_ns, 8 * MS);
}

static void a_tick_is_no_longer_than_needed(void) {
  static const struct {
    int ask_us, calm, ran_us;
    bool asked, seeded;
    int tick_us;
  } cases[] = {
      {8000, 0, 0, false, false, 2000},    {8000, 1, 0, false, false, 4000},
      {8000, 2, 0, false, false, 8000},    {8000, 2, 0, false, true, 2000},
      {8000, 2, 1, false, false, 7999},    {8000, 0, 6000, false, false, 2000},
      {8000, 0, 6001, false, false, 1999}, {8000, 0, 8000, false, false, 2000},
      {8000, 0, 8000, true, false, 2000},  {8000, 0, 8500, true, false, 1500},
      {8000, 0, 10000, true, false, 2000}, {7999, 2, 8500, true, false, 2000},
      {1999, 2, 8500, true, false, 1999},  {2000, 0, 0, false, false, 2000},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin(1, true);
    ask_ns = (uint64_t)cases[i].ask_us * 1000;
    calm = cases[i].calm;
    gt_seeded = cases[i].seeded;
    struct stall stall = {
        .since = 5, .ran_ns = (uint64_t)cases[i].ran_us * 1000, .asked = cases[i].asked};
    EQUAL(tick_ns(&stall, 5), cases[i].tick_us * 1000);
  }
}

/* ---- looks */

static void a_look_without_a_turn(void) {
  begin(1, true);
  struct stall stall = {.turns = 10, .since = seen.now, .ran_ns = 8 * MS - 1};
  calm = 1;
  CHECK(look(&gt_me, &stall, seen.now, 77));
  EQUAL(watching, WATCHES);
  EQUAL(seen.grants, 0);
  EQUAL(seen.counts, 1);
  EQUAL(seen.passed, 77);
  EQUAL(calm, 0);
  CHECK(!gt_gate.due && !stall.asked && !stall.alone);
  stall.ran_ns++;
  gt_gate.permits = 1;
  all_have_run = true;
  CHECK(look(&gt_me, &stall, seen.now, 0));
  CHECK(gt_gate.due && stall.asked && stall.alone);
  for (int i = 1; i < 4; i++) {
    EQUAL(calm, i < 2 ? i : 2);
    CHECK(look(&gt_me, &stall, seen.now, 0));
  }
  EQUAL(ask_ns, ASK_NS);
  gt_gate.due = stall.asked = false;
  gt_seeded = true;
  CHECK(look(&gt_me, &stall, seen.now, 0));
  CHECK(!gt_gate.due && !stall.asked);
  gt_seeded = false;
  gt_gate.queue.first = NULL;
  CHECK(!look(&gt_me, &stall, seen.now, 0));
  EQUAL(watching, RESTS);
  CHECK(!gt_gate.due && !stall.asked);
}

static void a_look_after_a_turn(void) {
  begin(2, true);
  struct stall stall = {.turns = 9, .since = 5, .ran_ns = 8 * MS};
  calm = 1;
  ask_ns = 4 * MS;
  CHECK(look(&gt_me, &stall, seen.now, 0));
  EQUAL(seen.grants, 1);
  EQUAL(stall.turns, 10);
  EQUAL(stall.since, seen.now);
  EQUAL(calm, 2);
  EQUAL(ask_ns, 4 * MS); /* it had not asked */
  CHECK(!gt_gate.due);
  EQUAL(seen.states_read, 0);
  static const struct {
    int turns_since; /* of t[1] */
    bool counted;
    enum os_task_state strays[2]; /* threads that were caught */
    bool shorter;
    int states_read;
  } cases[] = {
      {1, true, {OS_TASK_SLEEPS, OS_TASK_SLEEPS}, false, 2},
      {2, true, {OS_TASK_SLEEPS, OS_TASK_SLEEPS}, true, 0},
      {2, false, {OS_TASK_SLEEPS, OS_TASK_SLEEPS}, false, 2},
      {1, true, {OS_TASK_SLEEPS, OS_TASK_RUNS}, true, 2},
      {1, true, {OS_TASK_RUNS, OS_TASK_SLEEPS}, true, 1},
      {1, true, {OS_TASK_SLEEPS, OS_TASK_UNKNOWN}, false, 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin(2, true);
    ask_ns = 4 * MS;
    t[1].turn = gt_gate.turns - (unsigned)cases[i].turns_since;
    t[1].counted = cases[i].counted;
    gt_gate.stray = &t[5];
    t[5].after = &t[6];
    kernel.state[5] = cases[i].strays[0];
    kernel.state[6] = cases[i].strays[1];
    stall = (struct stall){.turns = 9, .asked = true};
    CHECK(look(&gt_me, &stall, seen.now, 0));
    EQUAL(ask_ns, cases[i].shorter ? 2 * MS : 6 * MS);
    EQUAL(seen.states_read, cases[i].states_read);
  }
  for (int helped = 0; helped < 2; helped++) { /* a thread has left its permit when others ran */
    begin(2, true);
    ask_ns = 4 * MS;
    gt_gate.helped_at = 5;
    gt_gate.helped = helped;
    stall = (struct stall){.turns = 9, .asked = true};
    CHECK(look(&gt_me, &stall, seen.now, 0));
    EQUAL(ask_ns, helped ? 2 * MS : 6 * MS);
    CHECK(!gt_gate.helped && gt_gate.helped_at == 0);
  }
  begin(1, false); /* nobody is ready */
  stall = (struct stall){.turns = 9};
  CHECK(!look(&gt_me, &stall, seen.now, 0));
  EQUAL(seen.grants, 0);
}

static void a_look_may_let_the_gate_stand_aside(void) {
  begin(1, true);
  struct stall stall = {.turns = 10, .since = seen.now};
  seen.aside = 1;
  CHECK(!look(&gt_me, &stall, seen.now, 0));
  EQUAL(watching, STANDS_ASIDE);
  EQUAL(aside_until, seen.now + 1);
  EQUAL(seen.aside_began, seen.now);
}

static void others_run_besides(void) {
  for (int i = 0; i < 4; i++) {
    bool spins = i % 2 != 0, ready = i / 2 == 0;
    begin(1, ready);
    ask_ns = spins ? MS : 4 * MS;
    gt_gate.extra = 1;
    struct stall stall = {.turns = 9, .ran_ns = 5};
    let_others_run(&gt_me, &stall, seen.now);
    EQUAL(gt_gate.extra, !ready ? 1 : spins ? 1 + 3 : 2);
    EQUAL(seen.grants, 1);
    CHECK(stall.asked && stall.turns == 10 && stall.since == seen.now && stall.ran_ns == 0);
    EQUAL(ask_ns, spins ? MS : 4 * MS);
    EQUAL(gt_gate.helped_at, ready ? seen.now : 0);
    EQUAL(gt_gate.helped_turn, ready ? gt_gate.turns : 0);
  }
  for (int i = 0; i < 2; i++) {
    begin(1, true);
    t[0].turn = 8;
    struct stall stall = {.asked = i != 0};
    let_others_run(&gt_me, &stall, seen.now);
    EQUAL(ask_ns, i != 0 ? 4 * MS : 8 * MS);
  }
}

static void a_run_that_may_not_replay_says_so_once(void) {
  struct stall stall = {0};
  begin(1, true);
  let_others_run(&gt_me, &stall, seen.now);
  EQUAL(seen.messages, 0); /* it replays nothing */
  gt_seeded = true;
  let_others_run(&gt_me, &stall, seen.now);
  int said = seen.messages;
  let_others_run(&gt_me, &stall, seen.now);
  kernel.state[0] = OS_TASK_SLEEPS;
  CHECK(catch_blocked(&gt_me));
  EQUAL(said, 1);
  EQUAL(seen.messages, 1);
}

int main(void) {
  a_run_that_may_not_replay_says_so_once(); /* first, as it is said once */
  a_look_is_at_some_threads();
  threads_that_have_run_are_awake();
  threads_that_sleep_are_caught();
  the_longest_time_counts();
  times_of_a_stall();
  turns_become_shorter_and_longer();
  a_tick_is_no_longer_than_needed();
  a_look_without_a_turn();
  a_look_after_a_turn();
  a_look_may_let_the_gate_stand_aside();
  others_run_besides();
}
