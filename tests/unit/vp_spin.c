/* SPDX-License-Identifier: Apache-2.0 */
/* How long a waiter spins (src/core/wait/alone.c, await.c), counted in looks, on VPs that nobody
 * runs: with a clock that advances at each reading, each look has its place. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <string.h>

#include "core/sched/runq.h"
#include "core/vp/tuned.h"
#include "core/wait/alone.h"
#include "core/wait/await.h"
#include "support/support.h"
#include "support/vp_stage.h"

enum {
  STEP = 100,      /* ns that pass at each reading of the clock */
  PER_CLOCK = 10,  /* looks between two readings */
  BRIEF_NS = 1000, /* MT_IDLE_SPIN_NS */
  LONG_NS = 5000,  /* MT_ALONE_SPIN_NS */
  AWAIT_NS = 2000, /* MT_AWAIT_SPIN_NS */
  NEVER = 1 << 30
};

static struct mltp_thread waiter, other;

static int looks, there_at, yields; /* there_at: the look that finds the end */
static int nearer_until;            /* up to this look the end comes nearer */
static bool nearer;

void __wrap_os_yield(void);
void __wrap_os_yield(void) { yields++; }

static bool has_ended(const void *what) {
  CHECK(what == &there_at);
  if (++looks <= nearer_until) nearer = true;
  return looks >= there_at;
}

static void stage_spin(int found_at) {
  stage(2, 2, 2);
  mt_tuning_assume(&mt_tuning);
  mt_tuning.value[MT_LOOKS_PER_CLOCK] = PER_CLOCK;
  mt_tuning.value[MT_LOOK_PAUSES] = 1;
  mt_tuning.value[MT_IDLE_SPIN_NS] = BRIEF_NS;
  mt_tuning.value[MT_ALONE_SPIN_NS] = LONG_NS;
  mt_tuning.value[MT_AWAIT_SPIN_NS] = AWAIT_NS;
  mt_tuning.value[MT_REPLY_PAUSES] = 100;
  memset(&waiter, 0, sizeof waiter);
  memset(&other, 0, sizeof other);
  waiter.vp = &vps[0];
  step = STEP;
  looks = yields = nearer_until = 0;
  nearer = false;
  there_at = found_at;
}

static void check_ends(uint64_t paid, uint64_t failed) {
  CHECK_EQUAL(vps[0].stats.awaits[MT_AWAIT_PAID], paid);
  CHECK_EQUAL(vps[0].stats.awaits[MT_AWAIT_FAILED], failed);
  CHECK_EQUAL(vps[0].stats.awaits[MT_AWAIT_PARKED], 0);
}

static bool spins_alone(bool *comes_nearer) {
  return mt_spin_alone(&waiter, has_ended, &there_at, comes_nearer);
}

/* ---- alone on a VP */

static void a_spin_has_its_time(void) {
  stage_spin(NEVER);
  CHECK(!spins_alone(NULL));
  CHECK_EQUAL(looks, LONG_NS / STEP * PER_CLOCK);
  CHECK_EQUAL(yields, (LONG_NS - BRIEF_NS) / STEP); /* others may want the CPU */
  check_ends(0, 1);
  stage_spin(37);
  CHECK(spins_alone(NULL));
  CHECK_EQUAL(looks, 37);
  CHECK_EQUAL(yields, 0);
  check_ends(1, 0);
  stage_spin(NEVER);
  mt_tuning.value[MT_ALONE_SPIN_NS] = BRIEF_NS - 1; /* never less than an idle VP */
  CHECK(!spins_alone(NULL));
  CHECK_EQUAL(looks, BRIEF_NS / STEP * PER_CLOCK);
  stage_spin(NEVER);
  mt_rt.idle.awake = 3; /* of two CPUs */
  mt_rt.idle.target = 3;
  CHECK(!spins_alone(NULL));
  CHECK_EQUAL(looks, PER_CLOCK);
  stage_spin(1);
  waiter.vp = NULL;
  CHECK(!spins_alone(NULL));
  CHECK_EQUAL(looks, 0);
  check_ends(0, 0);
}

static void a_spinner_leaves_for_other_work(void) {
  for (int duty = 0; duty < 4; duty++) {
    stage_spin(NEVER);
    check_case("%d", duty);
    if (duty == 0) mt_runq_post(&vps[0], &other, &other);
    if (duty == 1) mt_runq_push(&vps[0], &other);
    if (duty == 2) vps[0].timers.earliest = now + 3 * STEP;
    if (duty == 3) mt_rt.idle.target = 1;
    CHECK(!spins_alone(NULL));
    CHECK_EQUAL(looks, duty == 0 ? 1 : duty == 2 ? 2 * PER_CLOCK : PER_CLOCK);
    check_ends(0, 1);
  }
}

static uint64_t jump_at, jump; /* the look from which on the clock jumps once, and how far */

static void jump_once(void) {
  if ((uint64_t)looks < jump_at || jump == 0) return;
  now += jump;
  jump = 0;
}

/* A spinner that another program has taken the CPU from spins briefly for a while. */
static void a_lost_cpu_is_noticed(void) {
  for (int found = 0; found < 2; found++) {
    stage_spin(found ? 2 * PER_CLOCK + 1 : NEVER);
    check_case("%d", found);
    jump_at = 2 * PER_CLOCK;
    jump = MT_TAKEN_NS - STEP;
    at_clock = jump_once;
    CHECK_EQUAL(spins_alone(NULL), found);
    CHECK_EQUAL(looks, 2 * PER_CLOCK + 1); /* one more, as it may be there by now */
    CHECK_EQUAL(vps[0].search.taken_level, 1);
    CHECK_EQUAL(vps[0].search.taken_at, now);
    looks = 0;
    there_at = NEVER;
    CHECK(!spins_alone(NULL));
    CHECK_EQUAL(looks, BRIEF_NS / STEP * PER_CLOCK);
    now += 2 * MT_TAKEN_REST_NS;
    looks = 0;
    CHECK(!spins_alone(NULL));
    CHECK_EQUAL(looks, LONG_NS / STEP * PER_CLOCK);
  }
  stage_spin(NEVER);
  jump_at = 2 * PER_CLOCK;
  jump = MT_TAKEN_NS - STEP - 1;
  at_clock = jump_once;
  CHECK(!spins_alone(NULL));
  CHECK_EQUAL(vps[0].search.taken_level, 0);
}

static void lose_cpu_for(uint64_t ns) {
  jump_at = (uint64_t)looks + PER_CLOCK;
  jump = ns;
  at_clock = jump_once;
  CHECK(!spins_alone(NULL));
}

/* What counts is the time between the end of a loss and the begin of the next one. */
static void losses_in_a_row_may_be_long(void) {
  stage_spin(NEVER);
  lose_cpu_for(MT_TAKEN_NS);
  for (uint8_t level = 1; level < MT_TAKEN_MOST; level++) {
    CHECK_EQUAL(vps[0].search.taken_level, level);
    lose_cpu_for(MT_TAKEN_REST_NS << (level + 2));
  }
  CHECK_EQUAL(vps[0].search.taken_level, MT_TAKEN_MOST);
  CHECK_EQUAL(vps[0].search.taken_at, now);
  now += MT_TAKEN_REST_NS << (MT_TAKEN_MOST + 1);
  lose_cpu_for(MT_TAKEN_NS);
  CHECK_EQUAL(vps[0].search.taken_level, 1);
}

/* Its time begins anew, and it reads the clock at once. */
static void a_spinner_stays_while_the_end_comes_nearer(void) {
  stage_spin(NEVER);
  nearer_until = 600;
  CHECK(!spins_alone(&nearer));
  CHECK_EQUAL(looks, 600 + LONG_NS / STEP * PER_CLOCK);
  CHECK(!nearer);
  stage_spin(NEVER); /* the look may have taken long itself */
  nearer_until = 5;
  jump_at = 3;
  jump = 2 * MT_TAKEN_NS;
  at_clock = jump_once;
  CHECK(!spins_alone(&nearer));
  CHECK_EQUAL(vps[0].search.taken_level, 0);
}

/* ---- answers */

/* The delay before the first look follows from where the last answers were. */
static void a_reply_is_looked_for_when_it_is_due(void) {
  static const struct {
    const char *name;
    struct mt_reply reply;
    int there_at;
    uint32_t delay;
    int looks;
  } rows[] = {
      {"at once", {24, 3}, 1, 24, 1},
      {"later", {24, 3}, 3, 25, 3},
      {"at the last look", {24, 3}, MT_REPLY_LOOKS + 1, 12, MT_REPLY_LOOKS + 1},
      {"at the last look but one", {24, 3}, MT_REPLY_LOOKS, 25, MT_REPLY_LOOKS},
      {"beyond", {24, 3}, MT_REPLY_LOOKS + 2, 12, MT_REPLY_LOOKS + 2},
      {"as late as may be", {100, 3}, 2, 100, 2},
      {"a probe", {24, 8}, 1, 22, 1},
      {"a probe too early", {24, 8}, 2, 24, 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct mt_reply reply = rows[i].reply;
    stage_spin(rows[i].there_at);
    check_case("%s", rows[i].name);
    CHECK(mt_spin_for_reply(&waiter, has_ended, &there_at, &reply));
    CHECK_EQUAL(looks, rows[i].looks);
    CHECK_EQUAL(reply.delay, rows[i].delay);
    CHECK_EQUAL(reply.waits, rows[i].reply.waits + 1);
    check_ends(rows[i].looks > MT_REPLY_LOOKS + 1, 0);
  }
  struct mt_reply reply = {24, 3};
  for (int busy = 0; busy < 2; busy++)
    for (int there = 0; there < 2; there++) {
      stage_spin(there ? 1 : NEVER);
      if (busy) mt_runq_push(&vps[0], &other);
      if (!busy) waiter.vp = NULL;
      CHECK_EQUAL(mt_spin_for_reply(&waiter, has_ended, &there_at, &reply), there);
      CHECK_EQUAL(looks, 1);
      CHECK(reply.delay == 24 && reply.waits == 3);
    }
}

/* ---- words */

static bool spins_for(const struct mltp_thread *waker, uint64_t fixed_ns) {
  looks = 0;
  return mt_await_spin(&waiter, has_ended, &there_at, waker, fixed_ns);
}

/* Where the last wait was on this VP as well, and a thread runs that may end this one. */
static void a_waiter_spins_where_it_may_pay(void) {
  const int all = AWAIT_NS / STEP * PER_CLOCK - 1;
  stage_spin(NEVER);
  CHECK(!spins_for(NULL, 0)); /* the first time here */
  CHECK_EQUAL(looks, 0);
  CHECK_EQUAL(waiter.waited_on, 1);
  check_ends(0, 0);
  CHECK(!spins_for(NULL, 0));
  CHECK_EQUAL(looks, all);
  check_ends(0, 1);
  mt_rt.idle.awake = 1; /* its own */
  CHECK(!spins_for(NULL, 0));
  CHECK_EQUAL(looks, 0);
  mt_rt.outside.bound_live = 1;
  CHECK(!spins_for(NULL, 0));
  CHECK_EQUAL(looks, all);
  CHECK(!spins_for(&other, 0)); /* which does not run */
  CHECK_EQUAL(looks, 0);
  mt_set_where(&other, MT_RUNNING, 1);
  CHECK(!spins_for(&other, 0));
  CHECK_EQUAL(looks, all);
  mt_set_where(&waiter, MT_RUNNING, 0);
  CHECK(!spins_for(&waiter, 0));
  CHECK_EQUAL(looks, 0);
  waiter.vp = &vps[1];
  CHECK(!spins_for(&other, 0));
  CHECK_EQUAL(looks, 0);
  CHECK_EQUAL(waiter.waited_on, 2);
  there_at = 25;
  CHECK(spins_for(&other, 0));
  CHECK_EQUAL(vps[1].stats.awaits[MT_AWAIT_PAID], 1);
  stage_spin(NEVER);
  CHECK(!spins_for(&other, 500)); /* even if its waker does not run */
  CHECK_EQUAL(looks, 500 / STEP * PER_CLOCK - 1);
}

/* Threads with kernel threads of their own count for all. */
static void waits_outside_are_counted_together(void) {
  stage_spin(NEVER);
  waiter.vp = NULL;
  for (int end = 0; end < 3; end++) mt_await_count(&waiter, (enum mt_await_end)end);
  mt_await_count(&waiter, MT_AWAIT_FAILED);
  check_ends(0, 0);
  CHECK_EQUAL(mt_rt.outside.awaits[MT_AWAIT_PAID], 1);
  CHECK_EQUAL(mt_rt.outside.awaits[MT_AWAIT_FAILED], 2);
  CHECK_EQUAL(mt_rt.outside.awaits[MT_AWAIT_PARKED], 1);
  waiter.vp = &vps[1];
  mt_await_count(&waiter, MT_AWAIT_PARKED);
  mltp_await_counters_t counters = {.size = sizeof counters};
  CHECK_EQUAL(mltp_await_counts(&counters), 0);
  CHECK(counters.spins_paid == 1 && counters.spins_failed == 2 && counters.parks == 2);
  counters.size--;
  CHECK_EQUAL(mltp_await_counts(&counters), EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_spin_has_its_time),
      TEST_BARE(a_spinner_leaves_for_other_work),
      TEST_BARE(a_lost_cpu_is_noticed),
      TEST_BARE(losses_in_a_row_may_be_long),
      TEST_BARE(a_spinner_stays_while_the_end_comes_nearer),
      TEST_BARE(a_reply_is_looked_for_when_it_is_due),
      TEST_BARE(a_waiter_spins_where_it_may_pay),
      TEST_BARE(waits_outside_are_counted_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
