/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decisions of src/policy: each boundary by hand; decisions recorded from real runs, replayed.
 *
 * tests/unit/policy.recorded holds a recording. `policy --record` runs the same scenes and writes a
 * new one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instrument/decisions.h"
#include "policy/backoff.h"
#include "policy/home.h"
#include "policy/idle.h"
#include "policy/steal.h"
#include "policy/tuning.h"
#include "policy/wait.h"
#include "support/support.h"

/* ---- boundaries */

static void lone_threads_are_left_to_a_vp_that_proceeds(void) {
  struct mt_victim_seen seen = {.awake = 1, .ready = 1, .unmoved_ns = 4999, .lone_ns = 5000};
  CHECK(mt_victim_is_skipped(seen));
  seen.unmoved_ns = 5000;
  CHECK(!mt_victim_is_skipped(seen));
  seen.unmoved_ns = 0;
  seen.awake = 0; /* nobody runs them soon */
  CHECK(!mt_victim_is_skipped(seen));
  seen.awake = 1;
  seen.ready = 2;
  CHECK(!mt_victim_is_skipped(seen));
}

static void a_reluctant_thief_leaves_all_of_them(void) {
  struct mt_victim_seen seen = {
      .awake = 1, .ready = 100, .lone_ns = 5000, .level = MT_BACKOFF_MOST};
  CHECK(mt_victim_is_skipped(seen));
  seen.level = MT_BACKOFF_MOST - 1;
  CHECK(!mt_victim_is_skipped(seen));
  seen.level = MT_BACKOFF_MOST;
  seen.try_again = 1;
  CHECK(!mt_victim_is_skipped(seen));
  seen.try_again = 0;
  seen.unmoved_ns = MT_RELUCTANT_LONES * seen.lone_ns - 1; /* it may create threads */
  CHECK(mt_victim_is_skipped(seen));
  seen.unmoved_ns++;
  CHECK(!mt_victim_is_skipped(seen));
}

static void a_thief_gets_half_within_a_bound(void) {
  CHECK_EQUAL(mt_steal_share(0), 0);
  CHECK_EQUAL(mt_steal_share(1), 1);
  CHECK_EQUAL(mt_steal_share(7), 4);
  CHECK_EQUAL(mt_steal_share(1000), MT_STEAL_MOST);
}

static void thefts_that_do_not_pay_make_reluctant(void) {
  struct mt_theft_seen seen = {.count = 4, .busy_ns = 999, .move_ns = 250};
  for (int thefts = 0; thefts < 10; thefts++) seen.level = mt_backoff_after_theft(seen);
  CHECK_EQUAL(seen.level, MT_BACKOFF_MOST);
  CHECK(mt_backoff_is_reluctant(seen.level));
  CHECK_EQUAL(mt_backoff_wake_threshold(seen.level), UINT32_MAX);
  CHECK_EQUAL(mt_backoff_watch_ns(seen.level), 16000000);
  seen.busy_ns = 1000;
  CHECK_EQUAL(mt_backoff_after_theft(seen), 0);
}

/* However often: then any thread but a lone one still wakes the VP. */
static void futile_searches_stop_lone_wake_ups_only(void) {
  struct mt_search_seen seen = {.skips = MT_SKIPS_UNTIL_FUTILE - 1};
  CHECK_EQUAL(mt_backoff_after_search(seen), 0);
  seen.skips++;
  CHECK_EQUAL(mt_backoff_after_search(seen), 1);
  for (int searches = 0; searches < 10; searches++) seen.level = mt_backoff_after_search(seen);
  CHECK_EQUAL(seen.level, MT_BACKOFF_LONE);
  CHECK(!mt_backoff_is_reluctant(seen.level));
  CHECK_EQUAL(mt_backoff_wake_threshold(seen.level), 1);
  CHECK_EQUAL(mt_backoff_wake_threshold(0), 0);
  seen.level = MT_BACKOFF_MOST; /* and they do not make it less */
  CHECK_EQUAL(mt_backoff_after_search(seen), MT_BACKOFF_MOST);
}

static void vps_are_woken_for_cpus_and_within_the_target(void) {
  struct mt_vps_seen seen = {.awake = 1, .target = 2, .cpus = 2};
  CHECK(mt_vps_may_wake_one(seen));
  seen.awake = 2;
  CHECK(!mt_vps_may_wake_one(seen) && !mt_vps_over_target(seen) && !mt_vps_crowded(seen));
  seen.target = 8; /* more than CPUs: the watchdog alone wakes */
  CHECK(!mt_vps_may_wake_one(seen));
  seen.ending = 1;
  CHECK(mt_vps_may_wake_one(seen));
  seen.awake = 3;
  CHECK(mt_vps_crowded(seen) && !mt_vps_over_target(seen));
  seen.target = 2;
  CHECK(mt_vps_over_target(seen) && !mt_vps_may_wake_one(seen));
}

static void a_search_lasts_while_somebody_can_bring_work(void) {
  struct mt_idle_seen seen = {.vps = {.awake = 2, .target = 2, .cpus = 2}, .spin_ns = 50000};
  CHECK_EQUAL(mt_idle_spin_ns(seen), 50000);
  seen.vps.awake = 1;
  CHECK_EQUAL(mt_idle_spin_ns(seen), 0);
  seen.outside = 1;
  CHECK_EQUAL(mt_idle_spin_ns(seen), 50000);
  seen.vps.awake = 3;
  CHECK_EQUAL(mt_idle_spin_ns(seen), 0);
}

static void no_vp_sleeps_on_work_that_it_alone_sees(void) {
  struct mt_sleep_seen seen = {.may_wake = 1, .waiting = 1};
  CHECK(mt_sleep_is_refused(seen));
  seen.futile = 1;
  CHECK(!mt_sleep_is_refused(seen));
  seen.own_ready = 1;
  CHECK(mt_sleep_is_refused(seen));
  seen = (struct mt_sleep_seen){.waiting = 1};
  CHECK(!mt_sleep_is_refused(seen));
  seen.ending = 1;
  CHECK(mt_sleep_is_refused(seen));
}

/* A delivery is run by one VP if that takes less than 16 wake-ups; the time for each has to be
 * known, and the look must not have found as many as it can. Where other programs want the CPUs, it
 * is run by one VP if that takes less than a time slice. */
static void short_deliveries_stay(void) {
  struct mt_batch_seen seen = {.count = 16, .most = 128, .each_ns = 9999, .wake_ns = 10000};
  CHECK(mt_batch_is_kept(seen));
  seen.each_ns = 10000;
  CHECK(!mt_batch_is_kept(seen));
  seen.count = 15;
  CHECK(mt_batch_is_kept(seen));
  seen.each_ns = 0;
  CHECK(!mt_batch_is_kept(seen));
  seen = (struct mt_batch_seen){.count = 128, .most = 128, .each_ns = 1, .wake_ns = 10000};
  CHECK(!mt_batch_is_kept(seen));
  seen.taken = 1;
  CHECK(mt_batch_is_kept(seen));
  seen.each_ns = MT_BATCH_TAKEN_NS / 128;
  CHECK(!mt_batch_is_kept(seen));
  CHECK_EQUAL(mt_batch_kept_ns(seen), 2 * MT_BATCH_TAKEN_NS);
  CHECK_EQUAL(mt_batch_each_ns(0, 0), 1);
  CHECK_EQUAL(mt_batch_each_ns(400, 800), 501);
  CHECK_EQUAL(mt_batch_each_ns(400, 10000000), 501);
}

static void a_waker_wakes_unless_somebody_searches(void) {
  struct mt_wake_seen seen = {.ready = 1};
  CHECK(mt_wake_is_due(seen));
  seen.threshold = 1;
  CHECK(!mt_wake_is_due(seen));
  seen.ready = 2;
  CHECK(mt_wake_is_due(seen));
  seen.searching = 1;
  CHECK(!mt_wake_is_due(seen));
}

static void a_waiter_spins_where_its_waker_runs(void) {
  struct mt_wait_seen seen = {.spin_ns = 700, .affinity = 1, .waker_runs = 1};
  CHECK_EQUAL(mt_wait_spin_ns(seen), 700);
  seen.affinity = 0;
  CHECK_EQUAL(mt_wait_spin_ns(seen), 0);
  seen.affinity = 1;
  seen.waker_runs = 0;
  CHECK_EQUAL(mt_wait_spin_ns(seen), 0);
  seen.fixed_ns = 20000;
  CHECK_EQUAL(mt_wait_spin_ns(seen), 20000);
}

/* Long as long as nobody else wants the CPU, then briefly, for longer after each loss. */
static void a_lone_waiter_spins_long_until_its_cpu_is_taken(void) {
  struct mt_alone_seen seen = {.brief_ns = 50000, .long_ns = 1000000};
  CHECK_EQUAL(mt_alone_spin_ns(seen), 1000000);
  for (int losses = 1; losses <= 10; losses++) {
    uint8_t level = mt_alone_level(seen);
    CHECK_EQUAL(level, losses < MT_TAKEN_MOST ? losses : MT_TAKEN_MOST);
    seen.level = level;
    seen.since_ns = (MT_TAKEN_REST_NS << level) - 1;
    CHECK_EQUAL(mt_alone_spin_ns(seen), 50000);
    seen.since_ns++;
    CHECK_EQUAL(mt_alone_spin_ns(seen), 1000000);
  }
  seen.since_ns = MT_TAKEN_REST_NS << (MT_TAKEN_MOST + 1);
  CHECK_EQUAL(mt_alone_level(seen), 1);
  seen.crowded = 1;
  CHECK_EQUAL(mt_alone_spin_ns(seen), 0);
}

static void a_lock_learns_its_delay(void) {
  CHECK_EQUAL(mt_lock_delay((struct mt_lock_seen){.delay = 16, .looks = 1, .most = 32}), 12);
  CHECK_EQUAL(mt_lock_delay((struct mt_lock_seen){.delay = 8, .looks = 2, .most = 32}), 18);
  CHECK_EQUAL(mt_lock_delay((struct mt_lock_seen){.delay = 30, .looks = 4, .most = 32}), 32);
  CHECK_EQUAL(mt_lock_delay((struct mt_lock_seen){.delay = 30, .looks = 5, .most = 32}), 15);
  uint32_t delay = 0; /* however busy the lock is: the first part of its fairness bound */
  for (int i = 0; i < 100; i++) delay = mt_lock_delay((struct mt_lock_seen){delay, 2, 32});
  CHECK_EQUAL(delay, 32);
  CHECK_EQUAL(mt_pauses_twice(0, 16), 1);
  CHECK_EQUAL(mt_pauses_twice(12, 16), 16);
}

/* A wait for an answer that comes after a number of pauses, with two pauses from look to look. */
static struct mt_reply wait_for_reply(struct mt_reply reply, uint32_t comes) {
  uint32_t first = mt_reply_first(reply), looks = 1;
  while (looks <= MT_REPLY_LOOKS && first + 2 * (looks - 1) < comes) looks++;
  return mt_reply_learned(reply, first, looks, 30);
}

static struct mt_reply wait_for_replies(struct mt_reply reply, int count, uint32_t comes) {
  for (int i = 0; i < count; i++) reply = wait_for_reply(reply, comes);
  return reply;
}

static void a_look_for_an_answer_comes_when_answers_do(void) {
  struct mt_reply reply = wait_for_replies((struct mt_reply){0, 0}, 200, 15);
  CHECK_EQUAL(reply.delay, 15);
  for (int i = 0; i < 100; i++) { /* one look in eight is earlier */
    CHECK(mt_reply_first(reply) >= 13 && mt_reply_first(reply) <= 15);
    reply = wait_for_reply(reply, 15);
  }
  reply = wait_for_replies(reply, 100, 11); /* they come earlier by now */
  CHECK_EQUAL(reply.delay, 11);
  reply = wait_for_replies(reply, 200, 0); /* they are there */
  CHECK_EQUAL(reply.delay, 0);
  reply = wait_for_replies(reply, 200, 20);
  CHECK_EQUAL(wait_for_replies(reply, 1, 1000).delay, 10); /* one comes late */
  CHECK_EQUAL(wait_for_replies(reply, 10, 1000).delay, 0);
  reply = wait_for_replies(reply, 200, 20);
  reply = wait_for_replies(reply, 200, 35); /* later than the longest delay */
  CHECK_EQUAL(reply.delay, 30);
}

static void waiters_sleep_where_a_lock_is_acquired_again_and_again(void) {
  struct mt_lock_fight_seen seen = {
      .since_ns = 800, .delay = 17, .looks = 2, .most = 32, .spin_ns = 100, .nap_ns = 1000};
  for (int i = 1; i < MT_LOCK_NAP_LEVEL; i++) {
    seen.level = mt_lock_level(seen);
    CHECK_EQUAL(seen.level, i);
  }
  seen.since_ns = 801; /* it was not fought for in between */
  CHECK_EQUAL(mt_lock_level(seen), 0);
  seen.since_ns = 800;
  seen.delay = 16; /* waiters find it free soon */
  CHECK_EQUAL(mt_lock_level(seen), 0);
  seen.delay = 17;
  seen.looks = MT_LOCK_SHORT_LOOKS + 1; /* sections are long */
  CHECK_EQUAL(mt_lock_level(seen), 0);
  seen.looks = 1;
  seen.level = mt_lock_level(seen);
  CHECK_EQUAL(seen.level, MT_LOCK_LEVEL_MOST);
  seen.since_ns = 4800; /* waiters sleep now */
  seen.delay = 0;
  int sleeps = 0;
  for (; seen.level >= MT_LOCK_NAP_LEVEL; sleeps++) {
    seen.looks = sleeps % 2 == 0 ? 1 : MT_LOCK_SHORT_LOOKS + 1;
    seen.level = mt_lock_level(seen);
  }
  CHECK_EQUAL(sleeps, 12);
  seen.level = MT_LOCK_NAP_LEVEL;
  seen.looks = 2;
  CHECK_EQUAL(mt_lock_level(seen), MT_LOCK_LEVEL_MOST);
  seen.since_ns = 4801;
  CHECK_EQUAL(mt_lock_level(seen), 0);
}

static void threads_go_home_to_a_vp_that_proceeds(void) {
  struct mt_home_seen seen = {.awake = 1, .points = 8, .points_at = 7};
  CHECK(mt_goes_home(seen));
  seen.points_at = 8;
  CHECK(!mt_goes_home(seen));
  seen = (struct mt_home_seen){.awake = 0, .points = 8, .points_at = 7};
  CHECK(!mt_goes_home(seen));
  CHECK(!mt_group_goes_home((struct mt_group_seen){1, MT_HOME_POINTS - 1}));
  CHECK(mt_group_goes_home((struct mt_group_seen){1, MT_HOME_POINTS}));
  CHECK(mt_group_goes_home((struct mt_group_seen){0, 0}));
}

/* ---- the table of constants */

static void a_constant_follows_its_cost(void) {
  struct mt_tuning usual, slow, fast;
  mt_tuning_assume(&usual);
  /* a short pause, so that times differ that are counted in pauses */
  CHECK_EQUAL(mt_tuning_parse(&usual, "pause_ps=5000\n"), 0);
  slow = fast = usual;
  CHECK_EQUAL(mt_tuning_parse(&slow, "clock_ns=200\nline_ns=400\npark_ns=1000\nwake_ns=150000\n"),
              0);
  CHECK_EQUAL(mt_tuning_parse(&fast, "clock_ns=8\nline_ns=40\npark_ns=90\nwake_ns=15000\n"), 0);
  for (int i = MT_COSTS; i < MT_TUNABLES; i++) {
    const struct mt_tunable_row *row = mt_tunable_row((enum mt_tunable)i);
    check_case("%s", row->key);
    CHECK(slow.value[i] > usual.value[i] && usual.value[i] > fast.value[i]);
    CHECK(slow.value[i] <= row->most && fast.value[i] >= row->least);
  }
  /* 40 transfers of 100 ns each, in pauses of 1 ns */
  CHECK_EQUAL(mt_tunable_derived(MT_LOCK_DELAY_PAUSES, 100, 999), 4000);
}

/* What a rank works on and its messages are some twenty lines. */
static void ranks_that_compute_briefly_are_not_worth_a_theft(void) {
  struct mt_tuning usual;
  mt_tuning_assume(&usual);
  const uint64_t line_ns = usual.value[MT_LINE_NS];
  struct mt_theft_seen seen = {
      .count = 4, .busy_ns = 4 * 20 * line_ns - 1, .move_ns = usual.value[MT_RANK_MOVE_NS]};
  CHECK(!mt_theft_paid(seen));
  seen.busy_ns++;
  CHECK(mt_theft_paid(seen));
}

/* A lone rank waits for its VP as long as its array takes to follow it. */
static void a_lone_rank_is_left_to_its_vp_for_longer(void) {
  struct mt_tuning usual;
  mt_tuning_assume(&usual);
  struct mt_victim_seen seen = {.awake = 1,
                                .ready = 1,
                                .unmoved_ns = usual.value[MT_LONE_NS],
                                .lone_ns = usual.value[MT_LONE_NS]};
  CHECK(!mt_victim_is_skipped(seen));
  seen.lone_ns = usual.value[MT_RANK_LONE_NS];
  CHECK(mt_victim_is_skipped(seen));
  seen.unmoved_ns = 500 * usual.value[MT_LINE_NS];
  CHECK(!mt_victim_is_skipped(seen));
}

/* A few samples suffice; one that another program delayed does little. */
static void a_cost_is_learned(void) {
  uint64_t value = 100;
  for (int i = 0; i < 30; i++) value = mt_cost_learned(MT_LINE_NS, value, 400);
  CHECK(value > 300 && value <= 400);
  for (int i = 0; i < 30; i++) value = mt_cost_learned(MT_LINE_NS, value, 50);
  CHECK(value >= 50 && value < 60);
  CHECK(mt_cost_learned(MT_LINE_NS, 100, 1000000) <= 113);
  CHECK_EQUAL(mt_cost_learned(MT_LINE_NS, 20, 0), mt_tunable_row(MT_LINE_NS)->least);
}

static void a_row_that_was_set_stays(void) {
  struct mt_tuning tuning;
  mt_tuning_assume(&tuning);
  CHECK_EQUAL(mt_tuning_parse(&tuning, "# lab\n\n  lone_ns=77 \nline_ns=400"), 0);
  CHECK_EQUAL(tuning.value[MT_LONE_NS], 77);
  CHECK_EQUAL(tuning.value[MT_MOVE_NS], 1000);
}

static void a_wrong_line_changes_nothing(void) {
  static const char *const wrong[] = {"line_ns",
                                      "line_ns=",
                                      "line=5",
                                      "line_ns=-5",
                                      "line_ns=5ns",
                                      "line_ns =5",
                                      "line_ns=99999999999999999999"};
  struct mt_tuning before, tuning;
  mt_tuning_assume(&before);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    char text[80];
    tuning = before;
    snprintf(text, sizeof text, "lone_ns=77\n%s\n", wrong[i]);
    check_case("%s", wrong[i]);
    CHECK_EQUAL(mt_tuning_parse(&tuning, text), 2);
    CHECK(memcmp(&tuning, &before, sizeof tuning) == 0);
  }
}

/* ---- replaying */

enum { SEEN_MOST = 8 };

#define REPLAY(function, type)                                                                     \
  static uint64_t replay_##function(const uint64_t *numbers) {                                     \
    type seen;                                                                                     \
    memcpy(&seen, numbers, sizeof seen);                                                           \
    return function(seen);                                                                         \
  }
REPLAY(mt_victim_is_skipped, struct mt_victim_seen)
REPLAY(mt_backoff_after_theft, struct mt_theft_seen)
REPLAY(mt_backoff_after_search, struct mt_search_seen)
REPLAY(mt_idle_spin_ns, struct mt_idle_seen)
REPLAY(mt_sleep_is_refused, struct mt_sleep_seen)
REPLAY(mt_wait_spin_ns, struct mt_wait_seen)

static const struct decision {
  const char *name;
  uint64_t (*decide)(const uint64_t *numbers);
  size_t size;
} decisions[] = {
    {"victim_is_skipped", replay_mt_victim_is_skipped, sizeof(struct mt_victim_seen)},
    {"backoff_after_theft", replay_mt_backoff_after_theft, sizeof(struct mt_theft_seen)},
    {"backoff_after_search", replay_mt_backoff_after_search, sizeof(struct mt_search_seen)},
    {"idle_spin_ns", replay_mt_idle_spin_ns, sizeof(struct mt_idle_seen)},
    {"sleep_is_refused", replay_mt_sleep_is_refused, sizeof(struct mt_sleep_seen)},
    {"wait_spin_ns", replay_mt_wait_spin_ns, sizeof(struct mt_wait_seen)},
};

enum { DECISIONS = sizeof decisions / sizeof decisions[0] };

static const struct decision *find(const char *name) {
  for (int i = 0; i < DECISIONS; i++)
    if (strcmp(decisions[i].name, name) == 0) return &decisions[i];
  return NULL;
}

/* A line: the name, the observations, ->, the decision. */
static void replay(const char *line) {
  char name[32], *at;
  int used = 0;
  uint64_t numbers[SEEN_MOST];
  size_t count = 0;
  check_case("%s", line);
  CHECK_EQUAL(sscanf(line, "%31s%n", name, &used), 1);
  const struct decision *decision = find(name);
  CHECK(decision != NULL);
  for (at = (char *)line + used; count < SEEN_MOST && strncmp(at, " ->", 3) != 0; count++)
    numbers[count] = strtoull(at, &at, 10);
  if (decision == NULL || count * sizeof numbers[0] != decision->size) {
    CHECK_EQUAL(count, decision != NULL ? decision->size / sizeof numbers[0] : 0);
    return;
  }
  CHECK_EQUAL(decision->decide(numbers), strtoull(at + 3, NULL, 10));
}

static void a_recorded_run_decides_the_same(void) {
  char line[256];
  int lines = 0;
  FILE *file = fopen(RECORDED, "r");
  CHECK(file != NULL);
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '#') continue;
    replay(line);
    lines++;
  }
  if (file != NULL) fclose(file);
  CHECK(lines >= 50);
}

/* ---- recording */

enum { RECORD_MOST = 40000, LINES_OF_A_KIND = 40 };

static struct record {
  const char *name;
  uint64_t numbers[SEEN_MOST];
  uint64_t decision;
  uint32_t count;
} records[RECORD_MOST];
static uint32_t record_count;

static void record(const char *name, const uint64_t *seen, size_t count, uint64_t decision) {
  uint32_t index = __atomic_fetch_add(&record_count, 1, __ATOMIC_RELAXED);
  if (index >= RECORD_MOST) return;
  struct record *to = &records[index];
  to->name = name;
  to->count = (uint32_t)count;
  to->decision = decision;
  memcpy(to->numbers, seen, count * sizeof *seen);
}

static void line_of(const struct record *r, char *line, size_t size) {
  size_t used = (size_t)snprintf(line, size, "%s", r->name);
  for (uint32_t i = 0; i < r->count; i++)
    used += (size_t)snprintf(line + used, size - used, " %lu", (unsigned long)r->numbers[i]);
  snprintf(line + used, size - used, " -> %lu", (unsigned long)r->decision);
}

static void *nothing(void *arg) { return arg; }

static void *compute(void *arg) {
  for (volatile int i = 0; i < 20000; i++) continue;
  return arg;
}

static mltp_sem_t ball[2];

static void *pass_the_ball(void *arg) {
  int me = arg != NULL;
  for (int i = 0; i < scaled(3000); i++) {
    mltp_sem_wait(&ball[me]);
    mltp_sem_post(&ball[!me]);
  }
  return arg;
}

static void batch(void *(*body)(void *), int threads) {
  mltp_t *made[64];
  for (int i = 0; i < threads; i++) made[i] = spawn(body, NULL);
  for (int i = 0; i < threads; i++) mltp_join(made[i], NULL);
}

/* Threads that compute, null threads, two that exchange a ball, waits for a word and pauses. */
static void scenes(void) {
  uint32_t word = 0;
  for (int i = 0; i < scaled(20); i++) batch(compute, 16);
  for (int i = 0; i < scaled(400); i++) batch(nothing, 64);
  mltp_sem_init(&ball[0], 1, "ball 0");
  mltp_sem_init(&ball[1], 0, "ball 1");
  mltp_t *other = spawn(pass_the_ball, &ball);
  pass_the_ball(NULL);
  mltp_join(other, NULL);
  for (int i = 0; i < 10; i++) {
    CHECK_EQUAL(mltp_await_timed(&word, 1, NULL, mltp_after(100000)), ETIMEDOUT);
    batch(compute, 2);
  }
}

static void decisions_of_this_run_are_the_policys(void) {
  record_count = 0;
  mt_decision_hook = record;
  CHECK_EQUAL(mltp_init(2), 0);
  scenes();
  CHECK_EQUAL(mltp_finalize(), 0);
  mt_decision_hook = NULL;
  CHECK(record_count > 0);
  uint32_t kept = record_count < RECORD_MOST ? record_count : RECORD_MOST;
  for (uint32_t i = 0; i < kept; i++) {
    char line[256];
    line_of(&records[i], line, sizeof line);
    replay(line);
  }
}

/* Writes some different lines of each kind and decision. */
static void write_record(void) {
  puts("# SPDX-License-Identifier: Apache-2.0");
  printf("# Observations and decisions of a run, by `policy --record`; tests/unit/policy.c\n");
  uint32_t kept = record_count < RECORD_MOST ? record_count : RECORD_MOST;
  for (uint32_t i = 0; i < kept; i++) {
    int same_kind = 0, equal = 0;
    for (uint32_t j = 0; j < i && same_kind < LINES_OF_A_KIND; j++) {
      bool kind = records[j].name == records[i].name && records[j].decision == records[i].decision;
      same_kind += kind;
      equal |=
          kind && memcmp(records[j].numbers, records[i].numbers, sizeof records[i].numbers) == 0;
    }
    char line[256];
    line_of(&records[i], line, sizeof line);
    if (same_kind < LINES_OF_A_KIND && !equal) puts(line);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(lone_threads_are_left_to_a_vp_that_proceeds),
      TEST_BARE(a_reluctant_thief_leaves_all_of_them),
      TEST_BARE(a_thief_gets_half_within_a_bound),
      TEST_BARE(thefts_that_do_not_pay_make_reluctant),
      TEST_BARE(futile_searches_stop_lone_wake_ups_only),
      TEST_BARE(vps_are_woken_for_cpus_and_within_the_target),
      TEST_BARE(a_search_lasts_while_somebody_can_bring_work),
      TEST_BARE(no_vp_sleeps_on_work_that_it_alone_sees),
      TEST_BARE(short_deliveries_stay),
      TEST_BARE(a_waker_wakes_unless_somebody_searches),
      TEST_BARE(a_waiter_spins_where_its_waker_runs),
      TEST_BARE(a_lone_waiter_spins_long_until_its_cpu_is_taken),
      TEST_BARE(a_lock_learns_its_delay),
      TEST_BARE(a_look_for_an_answer_comes_when_answers_do),
      TEST_BARE(waiters_sleep_where_a_lock_is_acquired_again_and_again),
      TEST_BARE(threads_go_home_to_a_vp_that_proceeds),
      TEST_BARE(a_constant_follows_its_cost),
      TEST_BARE(ranks_that_compute_briefly_are_not_worth_a_theft),
      TEST_BARE(a_lone_rank_is_left_to_its_vp_for_longer),
      TEST_BARE(a_cost_is_learned),
      TEST_BARE(a_row_that_was_set_stays),
      TEST_BARE(a_wrong_line_changes_nothing),
      TEST_BARE(a_recorded_run_decides_the_same),
      TEST_BARE(decisions_of_this_run_are_the_policys),
  };
  if (argc == 2 && strcmp(argv[1], "--record") == 0) {
    decisions_of_this_run_are_the_policys();
    write_record();
    return 0;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
