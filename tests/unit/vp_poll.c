/* SPDX-License-Identifier: Apache-2.0 */
/* Which VP looks for events, and runs what it finds (src/core/sched/poll.c): each step on VPs that
 * nobody runs, with a poller of the test's own. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <string.h>

#include "core/sched/poll.h"
#include "core/sched/runq.h"
#include "core/sched/wake.h"
#include "core/vp/tuned.h"
#include "policy/wait.h"
#include "support/support.h"
#include "support/vp_stage.h"

enum { EACH_NS = 100, WAKE_NS = 1000, THREADS = 8 };

/* ---- the poller */

static struct mltp_thread threads[THREADS];
static int found; /* what the next look finds */
static int waits, deliveries, interrupts;
static uint64_t deadline_seen;
static struct mt_vp *delivered_to;

static void wait(struct mt_poll_batch *batch, uint64_t deadline) {
  waits++;
  deadline_seen = deadline;
  batch->count = found;
  found = 0;
}

/* A ready thread for each event. */
static void deliver(const struct mt_poll_batch *batch, struct mt_vp *here) {
  deliveries++;
  delivered_to = here;
  for (int i = 0; here != NULL && i < batch->count; i++) mt_runq_push(here, &threads[i]);
}

static void interrupt(void) { interrupts++; }

static const struct mt_poller poller = {.wait = wait, .deliver = deliver, .interrupt = interrupt};

static uint64_t interruptions; /* of the calling kernel thread, by other programs */

uint64_t __wrap_os_thread_taken(void);
uint64_t __wrap_os_thread_taken(void) { return interruptions; }

static void stage_poller(int count) {
  stage(count, count, count);
  memset(threads, 0, sizeof threads);
  mt_tuning_assume(&mt_tuning);
  mt_tuning.value[MT_IDLE_SPIN_NS] = WAKE_NS;
  waits = deliveries = interrupts = found = 0;
  interruptions = 0;
  delivered_to = NULL;
  mt_rt.poll.poller = &poller;
}

/* ---- sleeping in it */

static void the_last_vp_sleeps_in_the_poller(void) {
  stage_poller(2);
  fall_asleep(0);
  CHECK(!mt_poll_claim(&vps[0])); /* a VP is awake */
  fall_asleep(1);
  mt_rt.poll.poller = NULL;
  CHECK(!mt_poll_claim(&vps[1]));
  mt_rt.poll.poller = &poller;
  CHECK(mt_poll_claim(&vps[1]));
  CHECK(mt_rt.poll.sleeper == &vps[1]);
  CHECK(!mt_poll_claim(&vps[0]));
  mt_vp_rouse(&vps[1]);
  CHECK_EQUAL(interrupts, 1);
  check_roused(1, 0);
  CHECK_EQUAL(mt_poll_sleep(&vps[1], now + 1), 0); /* it was interrupted */
  CHECK(waits == 1 && deadline_seen == now + 1 && deliveries == 0);
  CHECK(mt_rt.poll.sleeper == NULL);
  CHECK_EQUAL(mt_poll_sleep(&vps[1], now), ETIMEDOUT);
  check_counts(0, 2, 0, 0);
  found = 3;
  mt_rt.poll.sleeper = &vps[1];
  CHECK_EQUAL(mt_poll_sleep(&vps[1], MLTP_NEVER), 0);
  CHECK(deliveries == 1 && delivered_to == &vps[1]);
  check_counts(1, 1, 0, 1); /* it is awake, and runs what it found */
  CHECK(vps[1].search.searching);
  CHECK(vps[1].search.batch == 3 && vps[1].search.batch_at == now);
}

static void a_sleeper_takes_over_where_none_polls(void) {
  stage_poller(3);
  CHECK(mt_poll_heir() == NULL); /* nobody sleeps */
  fall_asleep(0);
  fall_asleep(1);
  CHECK(mt_poll_heir() == NULL); /* a VP is awake, and polls */
  mt_block(&vps[2]);
  check_roused(1, 1);
  CHECK(mt_poll_heir() == &vps[1]);
  mt_rt.poll.sleeper = &vps[0];
  CHECK(mt_poll_heir() == NULL);
  mt_rt.poll.sleeper = NULL;
  mt_rt.poll.poller = NULL;
  CHECK(mt_poll_heir() == NULL);
  vps[1].sleep.futex = 0;
  mt_poll_install(&poller);
  CHECK(mt_poller() == &poller);
  check_roused(1, 1);
  check_nobody_roused();
  stage_poller(2);
  fall_asleep(1);
  mt_rt.sleep.watchdog = &vps[0]; /* which is awake, and may not look for long */
  mt_poll_install(&poller);
  CHECK(mt_rt.sleep.watchdog == &vps[1]);
  check_roused(1, 1);
}

/* ---- looking at it */

static void one_vp_looks_at_a_time(void) {
  stage_poller(2);
  mt_poll_now(&vps[0], now);
  CHECK(waits == 1 && deadline_seen == 0 && deliveries == 0);
  CHECK_EQUAL(mt_rt.poll.polled_at, now);
  CHECK_EQUAL(mt_rt.poll.busy, 0);
  mt_rt.poll.busy = 1;
  mt_poll_now(&vps[0], now);
  mt_rt.poll.busy = 0;
  mt_rt.poll.sleeper = &vps[1];
  mt_poll_now(&vps[0], now);
  mt_rt.poll.sleeper = NULL;
  mt_rt.poll.poller = NULL;
  mt_poll_now(&vps[0], now);
  mt_rt.poll.poller = &poller;
  mt_rt.poll.keeps = &vps[1]; /* it looks when it has run what it found */
  mt_rt.poll.keeps_until = now + 1;
  mt_poll_now(&vps[0], now);
  CHECK_EQUAL(waits, 1);
  mt_poll_now(&vps[1], now);
  CHECK_EQUAL(waits, 2);
  mt_poll_now(NULL, now);
  CHECK_EQUAL(waits, 3);
  mt_poll_now(&vps[0], now + 1); /* it has taken too long */
  CHECK_EQUAL(waits, 4);
  CHECK(!mt_poll_is_due(now + 1 + MT_POLL_NS - 1));
  CHECK(mt_poll_is_due(now + 1 + MT_POLL_NS));
  found = 2;
  mt_poll_now(NULL, now); /* to where the threads ran last */
  CHECK(deliveries == 1 && delivered_to == NULL && vps[0].search.batch == 0);
}

/* More threads than the caller can run at once wake a VP, unless it keeps them or searches. */
static void what_was_found_is_kept_or_wakes_a_vp(void) {
  static const struct {
    int found;
    uint64_t each_ns;
    uint8_t searching;
    uint32_t kept;
    bool wakes;
  } rows[] = {
      {1, 0, 0, 0, false},
      {2, 0, 0, 0, true},
      {2, 0, 1, 0, false},
      {3, EACH_NS, 0, 3, false},
      {4, 4 * WAKE_NS - 1, 0, 4, false},
      {4, 4 * WAKE_NS, 0, 0, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    stage_poller(2);
    check_case("row %zu", i);
    fall_asleep(1);
    vps[0].search.each_ns = rows[i].each_ns;
    vps[0].search.searching = rows[i].searching;
    mt_rt.idle.searching = rows[i].searching;
    found = rows[i].found;
    mt_poll_now(&vps[0], now);
    CHECK_EQUAL(vps[0].search.batch, rows[i].found);
    CHECK_EQUAL(vps[0].search.kept, rows[i].kept);
    CHECK(mt_rt.poll.keeps == (rows[i].kept != 0 ? &vps[0] : NULL));
    CHECK_EQUAL(mt_rt.poll.keeps_until, now + 2 * (uint64_t)rows[i].found * rows[i].each_ns);
    CHECK_EQUAL(vps[1].sleep.status, rows[i].wakes ? MT_VP_AWAKE : MT_VP_ASLEEP);
  }
  stage_poller(2); /* more than it keeps: some were ready before */
  fall_asleep(1);
  vps[0].search.each_ns = EACH_NS;
  mt_runq_push(&vps[0], &threads[THREADS - 1]);
  found = 2;
  mt_poll_now(&vps[0], now);
  CHECK_EQUAL(vps[0].search.kept, 2);
  CHECK_EQUAL(vps[1].sleep.status, MT_VP_AWAKE);
}

/* The time that each took, unless another program had the CPU meanwhile. */
static void a_delivery_is_judged_when_it_was_run(void) {
  stage_poller(1);
  mt_poll_judge(&vps[0], now); /* there was none */
  CHECK_EQUAL(vps[0].search.each_ns, 0);
  CHECK_EQUAL(mt_rt.poll.keeps_until, 0);
  vps[0].search.batch = 4;
  vps[0].search.batch_at = now;
  mt_rt.poll.keeps = &vps[0];
  mt_poll_judge(&vps[0], now + 400);
  CHECK_EQUAL(vps[0].search.each_ns, 101);
  CHECK_EQUAL(vps[0].search.batch, 0);
  CHECK_EQUAL(mt_rt.poll.keeps_until, now + 400 + 2 * WAKE_NS);
  mt_poll_judge(&vps[0], now + 900);
  CHECK_EQUAL(vps[0].search.each_ns, 101);
  vps[0].search.batch = 1;
  vps[0].search.batch_at = now;
  mt_rt.poll.keeps = NULL;
  mt_poll_judge(&vps[0], now + 1000); /* at most twice the mean counts */
  CHECK_EQUAL(vps[0].search.each_ns, (3 * 101 + 2 * 101) / 4 + 1);
  CHECK_EQUAL(mt_rt.poll.keeps_until, now + 400 + 2 * WAKE_NS);
}

static void run_batch_for(uint64_t ns) {
  vps[0].search.batch = 1;
  vps[0].search.batch_at = now;
  interruptions++;
  now += ns;
  mt_poll_judge(&vps[0], now);
}

/* What counts is the time between the end of a loss and the begin of the next one. */
static void losses_in_a_row_may_be_long(void) {
  stage_poller(1);
  now += MT_TAKEN_REST_NS;
  for (uint8_t level = 1; level <= MT_TAKEN_MOST; level++) {
    run_batch_for(MT_TAKEN_REST_NS << (level + 2));
    CHECK_EQUAL(mt_rt.poll.taken_level, level);
    CHECK_EQUAL(mt_rt.poll.taken_at, now);
    CHECK(mt_poll_rests(now - 1)); /* of a VP that has read the clock before */
  }
  CHECK_EQUAL(vps[0].search.each_ns, 0);
  now += MT_TAKEN_REST_NS << (MT_TAKEN_MOST + 1);
  run_batch_for(MT_TAKEN_REST_NS);
  CHECK_EQUAL(mt_rt.poll.taken_level, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(the_last_vp_sleeps_in_the_poller),
      TEST_BARE(a_sleeper_takes_over_where_none_polls),
      TEST_BARE(one_vp_looks_at_a_time),
      TEST_BARE(what_was_found_is_kept_or_wakes_a_vp),
      TEST_BARE(a_delivery_is_judged_when_it_was_run),
      TEST_BARE(losses_in_a_row_may_be_long),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
