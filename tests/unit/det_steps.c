/* SPDX-License-Identifier: Apache-2.0 */
/* The choices of deterministic mode (src/core/det/det.h), point by point, on a VP that nobody runs:
 * by a list, by priorities and at random, and what a point does besides. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <string.h>

#include "core/det/det.c"

#include "core/sched/det_choose.c"
#include "support/noted.h"
#include "support/vp_stage.h"

enum { THREADS = 4, START_STEP = 100 };

static struct mltp_thread threads[THREADS], self;
static uint64_t earliest;

void __wrap_mt_schedule_log(uint64_t at, uint32_t choice, uint32_t count,
                            const struct mltp_thread *from, const char *call,
                            const struct mltp_thread *to);
void __wrap_mt_schedule_log(uint64_t at, uint32_t choice, uint32_t count,
                            const struct mltp_thread *from, const char *call,
                            const struct mltp_thread *to) {
  CHECK(from == mt_current());
  if (strcmp(call, "call") == 0) CHECK_EQUAL(vps[0].runq.inside, 1);
  CHECK_EQUAL(at, mt_det.step);
  note("%s:%u/%u=%c", call, choice, count, to == &self ? 's' : (char)('0' + (to - threads)));
}

uint64_t __wrap_mt_timers_earliest(void);
uint64_t __wrap_mt_timers_earliest(void) { return earliest; }

void __wrap_mt_timers_run_due(uint64_t at);
void __wrap_mt_timers_run_due(uint64_t at) {
  CHECK_EQUAL(at, mt_det.clock);
  note("timers");
}

static void note_livelock(uint64_t at) { note("livelock:%lu", (unsigned long)at); }

extern const struct mt_debug_hooks __wrap_mt_debug;
const struct mt_debug_hooks __wrap_mt_debug = {.livelock = note_livelock};

/* A runtime by a schedule, whose VP has `count` ready threads; the caller runs. */
static void stage_run(const char *schedule, int64_t seed, int count) {
  stage(1, 1, 1);
  mt_options.schedule = schedule;
  mt_options.schedule_log = "none";
  mt_options.seed = seed;
  mt_options.steps_max = 0;
  mt_options.lock = MLTP_LOCK_REACTIVE;
  mt_options.backend = MT_BACKEND_UCONTEXT;
  mt_det_on = false;
  CHECK_EQUAL(mt_det_init(), 0);
  mt_det.step = START_STEP;
  self = (struct mltp_thread){.kind = MT_UNBOUND, .vp = &vps[0], .priority = 50};
  for (int i = 0; i < count; i++) {
    threads[i] = (struct mltp_thread){.kind = MT_UNBOUND, .priority = 10 * i};
    mt_runq_push(&vps[0], &threads[i]);
  }
  mt_set_current(&self);
  trace[0] = '\0';
}

static void leave_stage(void) {
  mt_set_current(NULL);
  mt_det_on = false;
}

static void check_queue(const char *expected) {
  char found[THREADS + 2];
  int length = 0;
  for (const struct mltp_thread *t = vps[0].runq.head; t != NULL; t = t->next)
    found[length++] = (char)('0' + (t - threads));
  found[length] = '\0';
  CHECK_TEXT(found, expected);
}

/* ---- how a run begins */

static void a_seed_or_a_schedule_switches_it_on(void) {
  static const struct {
    const char *schedule;
    int64_t seed;
    bool on;
  } rows[] = {{"random", 0, false}, {"random", 1, true}, {"fifo", 0, true}, {"pct:2:9", 0, true}};
  for (int i = 0; i < 4; i++)
    for (int standard = 0; standard < 2; standard++) {
      stage_run(rows[i].schedule, rows[i].seed, 0);
      mt_options.lock = standard ? MLTP_LOCK_REACTIVE : MLTP_LOCK_QUEUE;
      mt_options.backend = MT_BACKEND_UCONTEXT;
      CHECK_EQUAL(mt_det_init(), 0);
      CHECK_EQUAL(mt_det_on, rows[i].on);
      CHECK_EQUAL(mt_options.backend, rows[i].on ? MT_BACKEND_NATIVE : MT_BACKEND_UCONTEXT);
      CHECK_EQUAL(mt_det_inlined_lock, rows[i].on ? NO_CLASS : MLTP_LOCK_REACTIVE);
      bool inlined = standard && !rows[i].on;
      CHECK_EQUAL(mt_det_inlined_standard, inlined ? MLTP_LOCK_STANDARD : NO_CLASS);
    }
  mt_options.schedule = "none of them";
  CHECK_EQUAL(mt_det_init(), EINVAL);
  mt_options.schedule = "random";
  mt_options.schedule_log = "/no/such/folder/log";
  CHECK_EQUAL(mt_det_init(), EINVAL);
  leave_stage();
}

static void a_run_begins_at_the_same_place(void) {
  stage_run("pct:3:100", 7, 0);
  uint64_t generator = 7;
  mt_det_on = false;
  mt_det.lowest = -5;
  CHECK_EQUAL(mt_det_init(), 0);
  CHECK_EQUAL(mt_det.step, 0);
  CHECK_EQUAL(mt_det.lowest, 0);
  CHECK_EQUAL(mt_det_now(), START_NS);
  for (int i = 0; i < 2; i++) CHECK_EQUAL(mt_det.falls[i], 1 + mt_schedule_draw(&generator) % 100);
  CHECK_EQUAL(mt_det.generator, generator);
  mt_det.step = 9; /* a later runtime of the process continues */
  CHECK_EQUAL(mt_det_init(), 0);
  CHECK_EQUAL(mt_det.step, 9);
  mt_options.seed = 8; /* by another seed it begins anew */
  CHECK_EQUAL(mt_det_init(), 0);
  CHECK_EQUAL(mt_det.step, 0);
  leave_stage();
}

static void the_clock_moves_with_the_steps(void) {
  stage_run("random", 1, 0);
  uint64_t clock = mt_det_now();
  mt_options.steps_max = START_STEP + 2;
  mt_det_advance();
  TRACE("");
  mt_det_advance();
  TRACE("livelock:102");
  mt_det_advance();
  TRACE("");
  CHECK_EQUAL(mt_det_now(), clock + 3 * STEP_NS);
  CHECK_EQUAL(mt_det_to_os(mt_det_now() + 5), begin + 5);
  CHECK_EQUAL(mt_det_to_os(mt_det_now()), begin);
  CHECK_EQUAL(mt_det_to_os(0), begin);
  CHECK_EQUAL(mt_det_to_os(MLTP_NEVER), MLTP_NEVER);
  earliest = MLTP_NEVER;
  CHECK(!mt_det_skip_time());
  TRACE("");
  earliest = clock; /* it is over */
  CHECK(mt_det_skip_time());
  TRACE("timers");
  CHECK_EQUAL(mt_det_now(), clock + 3 * STEP_NS);
  earliest = clock + 77 * STEP_NS;
  CHECK(mt_det_skip_time());
  TRACE("timers");
  CHECK_EQUAL(mt_det_now(), earliest);
  leave_stage();
}

/* ---- choices */

static void a_list_says_where_another_runs(void) {
  stage_run("101:2,103:3,104:1", 0, 3);
  mt_det_choose(&vps[0]);
  TRACE("idle:2/3=2");
  check_queue("201");
  mt_det_choose(&vps[0]);
  TRACE("idle:0/3=2");
  mt_det_choose(&vps[0]); /* no thread has that number */
  TRACE("idle:0/3=2");
  check_queue("201");
  mt_det_choose(&vps[0]);
  TRACE("idle:1/3=0");
  check_queue("021");
  stage_run("101:1", 0, 0);
  mt_det_choose(&vps[0]); /* nobody is ready */
  TRACE("");
  CHECK_EQUAL(mt_det.step, START_STEP + 1);
  leave_stage();
}

static void the_highest_priority_runs(void) {
  stage_run("pct:2:1000", 1, 3);
  mt_det.falls[0] = START_STEP + 3;
  mt_det.falls[1] = START_STEP + 2;          /* of a run with a greater depth */
  threads[1].priority = threads[2].priority; /* the first of equals */
  threads[3] = (struct mltp_thread){.kind = MT_UNBOUND, .priority = 5};
  mt_runq_post(&vps[0], &threads[3], &threads[3]);
  mt_det_preempt("call");
  TRACE("timers call:0/5=s");
  CHECK_EQUAL(vps[0].runq.inside, 0);
  mt_det_choose(&vps[0]);
  TRACE("idle:1/4=1");
  check_queue("1023");
  mt_det_choose(&vps[0]); /* here it falls below all others */
  TRACE("idle:2/4=2");
  CHECK_EQUAL(threads[1].priority, -1);
  CHECK_EQUAL(mt_det.lowest, -1);
  check_queue("2103");
  mt_det_choose(&vps[0]);
  TRACE("idle:0/4=2");
  leave_stage();
}

/* A run that gets much longer than expected continues at random. */
static void priorities_end_in_long_runs(void) {
  for (int late = 0; late < 2; late++) {
    stage_run("pct:1:10", 3, 3);
    mt_det.step = MUCH_LONGER * 10 - 2 + (uint64_t)late;
    uint64_t after = mt_det.generator, random;
    do { /* until chance differs from the priorities */
      mt_det.generator = after;
      random = mt_schedule_draw(&after) % 3;
    } while (random == 2);
    mt_det_choose(&vps[0]);
    CHECK_EQUAL(vps[0].runq.head - threads, late ? random : 2);
    CHECK_EQUAL(mt_det.generator == after, late);
  }
  leave_stage();
}

/* ---- points at which a thread gives its VP up */

static void a_point_may_belong_to_the_idle_context(void) {
  stage_run("fifo", 0, 2);
  vps[0].points.tick = 40;
  vps[0].points.probe = 1;
  CHECK(!mt_det_check(&vps[0]));
  CHECK_EQUAL(vps[0].points.check_at, 40);
  CHECK_EQUAL(mt_det.step, START_STEP); /* it is no step */
  vps[0].points.probe = 0;
  vps[0].timers.earliest = mt_det.clock + STEP_NS; /* due at the step that begins */
  CHECK(!mt_det_check(&vps[0]));
  CHECK_EQUAL(mt_det.step, START_STEP + 1);
  vps[0].timers.earliest = mt_det.clock + STEP_NS + 1;
  CHECK(mt_det_check(&vps[0]));
  TRACE("yield:0/2=0");
  vps[0].timers.earliest = MLTP_NEVER;
  for (int waiters = 0; waiters < 2; waiters++) /* for descriptors */
    for (uint64_t step_of_round = 0; step_of_round < MT_TICKS_PER_CHECK; step_of_round++) {
      mt_rt.poll.waiters = (uint32_t)waiters;
      mt_det.step = 4 * MT_TICKS_PER_CHECK + step_of_round - 1;
      CHECK_EQUAL(mt_det_check(&vps[0]), waiters == 0 || step_of_round >= 2);
      trace[0] = '\0';
    }
  leave_stage();
}

static void a_thread_that_yields_falls(void) {
  stage_run("fifo", 0, 2);
  CHECK(mt_det_check(&vps[0]));
  TRACE("yield:0/2=0");
  CHECK_EQUAL(self.priority, -1);
  self.why = MT_WHY_SEM; /* it waits */
  CHECK(mt_det_check(&vps[0]));
  TRACE("wait for a semaphore:0/2=0");
  CHECK_EQUAL(self.priority, -1);
  self.kind = MT_IDLE; /* one that has ended */
  self.why = MT_WHY_NOTHING;
  CHECK(mt_det_check(&vps[0]));
  TRACE("end:0/2=0");
  CHECK_EQUAL(self.priority, -1);
  leave_stage();
}

static void threads_of_no_vp_have_no_points(void) {
  stage_run("fifo", 0, 1);
  self.vp = NULL;
  threads[0].priority = -9;
  mt_det_preempt("call");
  mt_det_created("call", &threads[0]);
  CHECK_EQUAL(threads[0].priority, -9);
  mt_set_current(NULL);
  mt_det_preempt("call");
  TRACE("");
  CHECK_EQUAL(mt_det.step, START_STEP);
  mt_set_current(&self);
  self.vp = &vps[0];
  mt_det_created("create", &threads[0]);
  TRACE("timers create:0/2=s");
  CHECK(threads[0].priority >= 0);
  leave_stage();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_seed_or_a_schedule_switches_it_on),
      TEST_BARE(a_run_begins_at_the_same_place),
      TEST_BARE(the_clock_moves_with_the_steps),
      TEST_BARE(a_list_says_where_another_runs),
      TEST_BARE(the_highest_priority_runs),
      TEST_BARE(priorities_end_in_long_runs),
      TEST_BARE(a_point_may_belong_to_the_idle_context),
      TEST_BARE(a_thread_that_yields_falls),
      TEST_BARE(threads_of_no_vp_have_no_points),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
