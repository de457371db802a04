/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which VPs the monitor hands over, and to which ones (src/core/sched/monitor.c): each step on VPs
 * that nobody runs. The test notes what is asked of the kernel and of other files.
 */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "core/sched/monitor.c"

#include <stdarg.h>
#include <stdio.h>

#include "support/noted.h"
#include "support/noted_message.h"
#include "support/support.h"
#include "support/vp_stage.h"

enum { THREADS = 12, MS = 1000000 };

static struct mltp_thread threads[THREADS];

/* ---- the stand-ins */

/* What the kernel says. */
static struct {
  enum os_task_state state, own_state; /* of a VP's kernel thread; of the monitor's own */
  uint64_t cpu_ns;
  int looks; /* at the state */
  int spawn_error;
} kernel;

enum os_task_state __wrap_os_task_state(const struct os_task *task);
enum os_task_state __wrap_os_task_state(const struct os_task *task) {
  if (task->tid == 7) return kernel.own_state;
  kernel.looks++;
  return kernel.state;
}

uint64_t __wrap_os_task_cpu_time(const struct os_task *task);
uint64_t __wrap_os_task_cpu_time(const struct os_task *task) {
  CHECK(task->tid >= TASK && task->tid < TASK + VPS);
  return kernel.cpu_ns;
}

void __wrap_os_task_self(struct os_task *task);
void __wrap_os_task_self(struct os_task *task) { task->tid = 7; }

int __wrap_mt_vp_spawn_as(const struct os_manner *given);
int __wrap_mt_vp_spawn_as(const struct os_manner *given) {
  uint32_t count = mt_rt.vp_count;
  CHECK(given == &manner);
  note("spawn");
  if (kernel.spawn_error != 0) return kernel.spawn_error;
  mt_rt.vps[count] = &vps[count];
  vps[count].index = vps[count].runq.index = count;
  vps[count].timers.earliest = MLTP_NEVER;
  mt_rt.vp_count++;
  return 0;
}

/* It wakes the VP. */
void __wrap_mt_post(struct mt_vp *to, struct mltp_thread *first, struct mltp_thread *last);
void __wrap_mt_post(struct mt_vp *to, struct mltp_thread *first, struct mltp_thread *last) {
  note("post:%d:%d-%d", (int)(to - vps), (int)(first - threads), (int)(last - threads));
  for (struct mltp_thread *t = first; t != last; t = t->next) CHECK(t->next == t + 1);
  CHECK(last->next == NULL && mt_rt.handover.carries);
  if (to->sleep.status == MT_VP_ASLEEP) to->sleep.status = MT_VP_AWAKE;
}

void __wrap_mt_wake_one(void);
void __wrap_mt_wake_one(void) { note("wake"); }

void __wrap_mt_watch_pass_on(void);
void __wrap_mt_watch_pass_on(void) { note("watch"); }

void __wrap_mt_poll_now(struct mt_vp *vp, uint64_t at);
void __wrap_mt_poll_now(struct mt_vp *vp, uint64_t at) {
  CHECK(vp == NULL && at == now);
  note("poll");
}

void __wrap_os_thread_refusal(int error, char *text, size_t size);
void __wrap_os_thread_refusal(int error, char *text, size_t size) {
  snprintf(text, size, "error %d", error);
}

/* ---- stages */

static void stage_monitor(int count, int target, int cpus) {
  stage(count, target, cpus);
  memset(threads, 0, sizeof threads);
  memset(&kernel, 0, sizeof kernel);
  kernel.state = OS_TASK_SLEEPS;
  mt_options.slice_ms = 0;
  mt_rt.handover.silent_ns = MT_SILENT_NS;
  mt_rt.handover.carries = true; /* as while it hands over */
  out_of_vps_reported = 0;
  trace[0] = '\0';
}

static void push(int vp, int from, int to) {
  for (int i = from; i <= to; i++) mt_runq_push(&vps[vp], &threads[i]);
}

/* A VP reached its last scheduling point some time ago. */
static void be_silent_for(int vp, uint64_t ns) {
  vps[vp].handover.seen_at = now - ns;
  vps[vp].handover.seen_tick = vps[vp].points.tick;
}

/* ---- no VP is left */

static void it_is_said_once_that_no_vp_is_left(void) {
  stage_monitor(2, 2, 2);
  mt_rt.sleep.blocked = 1;
  mt_monitor_no_vp(EAGAIN);
  TRACE("");
  mt_rt.sleep.blocked = 2;
  mt_monitor_no_vp(EAGAIN);
  TRACE("message");
  CHECK(strstr(message, "2 VPs of 2 are blocked") != NULL && strstr(message, ": error 11") != NULL);
  mt_monitor_no_vp(EAGAIN);
  TRACE("");
  out_of_vps_reported = 0;
  mt_rt.vp_count = MT_VPS_MAX;
  mt_rt.sleep.blocked = MT_VPS_MAX;
  mt_monitor_no_vp(EAGAIN);
  TRACE("message");
  CHECK(strstr(message, "the greatest number") != NULL);
  mt_rt.vp_count = 2;
}

/* ---- the VP that takes the threads */

static void a_substitute_is_new(void) {
  stage_monitor(2, 2, 2);
  mt_rt.sleep.blocked = 3; /* all but the new one */
  CHECK(substitute() == &vps[2]);
  TRACE("spawn");
  mt_rt.sleep.blocked = 0;
  kernel.spawn_error = EAGAIN;
  CHECK(substitute() == NULL);
  TRACE("spawn");
  mt_rt.sleep.blocked = 3;
  CHECK(substitute() == NULL);
  TRACE("spawn message");
}

static void a_live_vp_is_awake_and_moves(void) {
  stage_monitor(4, 4, 4);
  vps[0].sleep.status = MT_VP_ASLEEP;
  be_silent_for(1, MT_SILENT_NS);
  be_silent_for(2, MT_SILENT_NS - 1);
  CHECK(live_vp(now) == &vps[2]);
  vps[2].sleep.status = MT_VP_CAUGHT;
  be_silent_for(3, MT_SILENT_NS);
  CHECK(live_vp(now) == NULL);
  mt_store_relaxed(&vps[3].points.tick, 1);
  CHECK(live_vp(now) == &vps[3]);
}

static void a_helper_sleeps_or_is_new(void) {
  stage_monitor(3, 3, 3);
  vps[2].sleep.status = MT_VP_ASLEEP;
  CHECK(helper() == &vps[2]);
  TRACE("");
  vps[0].sleep.status = MT_VP_ASLEEP;
  CHECK(helper() == &vps[0]);
  vps[0].sleep.status = vps[2].sleep.status = MT_VP_BLOCKED;
  CHECK(helper() == &vps[3]);
  TRACE("spawn");
}

static void check_cut(int64_t count, int expected) {
  struct mltp_thread *list = threads;
  for (int i = 0; i < 4; i++) threads[i].next = i < 3 ? &threads[i + 1] : NULL;
  CHECK(cut(&list, count) == &threads[expected - 1]);
  CHECK(list == (expected < 4 ? &threads[expected] : NULL));
  CHECK(threads[expected - 1].next == NULL);
}

static void a_list_is_cut_behind_a_number_of_threads(void) {
  stage_monitor(1, 1, 1);
  check_cut(1, 1);
  check_cut(2, 2);
  check_cut(4, 4);
  check_cut(5, 4);
  check_cut(INT64_MAX, 4);
}

/* VP 0 computes, and some others sleep. */
static void threads_are_shared_out(void) {
  static const struct {
    int count, target, cpus, awake, ready;
    bool stopping, no_memory;
    const char *posts;
  } rows[] = {
      {4, 4, 4, 1, 5, false, false, "post:1:0-1 post:2:2-3 post:3:4-4"},
      {4, 4, 4, 2, 6, false, false, "post:2:0-2 post:3:3-5"},
      {4, 4, 4, 2, 5, false, false, "post:2:0-2 post:3:3-4"},
      {4, 4, 3, 1, 4, false, false, "post:1:0-1 post:2:2-3"},
      {4, 3, 4, 1, 4, false, false, "post:1:0-1 post:2:2-3"},
      {4, 4, 4, 1, 2, false, false, "post:1:0-0 post:2:1-1"},
      {4, 4, 4, 3, 5, false, false, NULL}, /* one may wake */
      {4, 4, 4, 1, 1, false, false, NULL}, /* one thread is ready */
      {4, 4, 4, 1, 0, false, false, NULL},
      {2, 3, 3, 1, 5, false, false, "post:1:0-2 spawn post:2:3-4"},
      {2, 3, 3, 1, 5, false, true, "post:1:0-2 spawn post:0:3-4"},
      {1, 3, 3, 1, 5, false, true, "spawn post:0:0-4"},
      {4, 4, 4, 1, 5, true, false, "post:0:0-1 post:0:2-3 post:0:4-4"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    stage_monitor(rows[i].count, rows[i].target, rows[i].cpus);
    check_case("row %zu", i);
    for (int j = rows[i].awake; j < rows[i].count; j++) fall_asleep(j);
    push(0, 0, rows[i].ready - 1);
    mt_rt.stopping = rows[i].stopping;
    kernel.spawn_error = rows[i].no_memory ? EAGAIN : 0;
    CHECK_EQUAL(share_out(&vps[0]), rows[i].posts != NULL);
    TRACE(rows[i].posts != NULL ? rows[i].posts : "");
    CHECK_EQUAL(vps[0].runq.length, rows[i].posts != NULL ? 0 : rows[i].ready);
  }
}

/* ---- handing over */

static void hand_overs_are_counted_by_their_delay(void) {
  static const struct {
    uint64_t ns;
    int n;
  } rows[] = {{0, 0},
              {MS - 1, 0},
              {MS, 1},
              {2 * MS, 2},
              {3 * MS, 2},
              {4 * MS, 3},
              {16384ull * MS - 1, 14},
              {16384ull * MS, 15},
              {900000ull * MS, 15}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    stage_monitor(1, 1, 1);
    check_case("row %zu", i);
    now += 1000000ull * MS;
    be_silent_for(0, rows[i].ns);
    count_handover(&vps[0]);
    CHECK_EQUAL(mt_rt.handover.count, 1);
    for (int n = 0; n < MT_HANDOVER_TIMES; n++)
      CHECK_EQUAL(mt_rt.handover.after[n], n == rows[i].n);
  }
}

/* VP 0 is blocked, with threads in its queue. */
static void ready_threads_go_to_another_vp(void) {
  stage_monitor(2, 2, 2);
  push(0, 0, 2);
  be_silent_for(0, MT_SILENT_NS);
  mt_rt.handover.carries = false;
  hand_over(&vps[0], false);
  TRACE("spawn post:2:0-2");
  CHECK_EQUAL(vps[0].sleep.status, MT_VP_CAUGHT);
  CHECK(vps[0].runq.claim != 0 && !mt_rt.handover.carries);
  CHECK_EQUAL(mt_rt.handover.count, 1);
  CHECK_EQUAL(mt_rt.idle.company, 0);

  stage_monitor(3, 2, 2); /* a sleeper takes its place, and finds its threads itself */
  fall_asleep(2);
  push(0, 0, 2);
  hand_over(&vps[0], false);
  TRACE("wake");
  CHECK_EQUAL(vps[0].runq.length, 3);

  stage_monitor(3, 2, 2); /* none may wake: one that runs takes them */
  push(0, 0, 2);
  be_silent_for(1, MT_SILENT_NS);
  hand_over(&vps[0], false);
  TRACE("post:2:0-2");

  stage_monitor(2, 2, 2); /* nothing is ready, and no VP can be had */
  kernel.spawn_error = EAGAIN;
  hand_over(&vps[0], false);
  TRACE("spawn");

  stage_monitor(2, 2, 2); /* the runtime ends */
  push(0, 0, 2);
  mt_rt.stopping = 1;
  hand_over(&vps[0], false);
  TRACE("");
  CHECK_EQUAL(vps[0].sleep.status, MT_VP_AWAKE);

  stage_monitor(2, 2, 2); /* it has moved meanwhile */
  push(0, 0, 2);
  be_silent_for(0, MT_SILENT_NS);
  mt_store_relaxed(&vps[0].points.tick, 1);
  hand_over(&vps[0], false);
  TRACE("");
  CHECK_EQUAL(mt_rt.handover.count, 0);

  stage_monitor(4, 4, 4); /* it computes */
  for (int i = 1; i < 4; i++) fall_asleep(i);
  push(0, 0, 2);
  hand_over(&vps[0], true);
  TRACE("post:1:0-0 post:2:1-1 post:3:2-2");
  CHECK_EQUAL(mt_rt.idle.company, 1);
}

/* ---- looking at kernel threads */

static void a_kernel_thread_sleeps_as_the_kernel_says(void) {
  static const struct {
    uint64_t had, passed; /* CPU time since the last look, and time */
    bool first, no_clock;
    enum os_task_state state;
    bool asleep, ran;
    int looks;
  } rows[] = {
      {0, 100, false, false, OS_TASK_SLEEPS, true, false, 1},
      {0, 100, false, false, OS_TASK_RUNS, false, false, 1},
      {49, 100, false, false, OS_TASK_SLEEPS, true, true, 1},
      {50, 100, false, false, OS_TASK_SLEEPS, false, true, 0},       /* it computes */
      {5000000000, 100, true, false, OS_TASK_SLEEPS, true, true, 1}, /* the first look */
      {0, 100, false, true, OS_TASK_RUNS, false, true, 1},
      {0, 100, false, true, OS_TASK_SLEEPS, true, true, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    bool ran;
    stage_monitor(1, 1, 1);
    check_case("row %zu", i);
    vps[0].handover.task.has_clock = !rows[i].no_clock;
    vps[0].handover.judged_at = rows[i].first ? 0 : now - rows[i].passed;
    vps[0].handover.judged_cpu_ns = 1000;
    kernel.cpu_ns = 1000 + rows[i].had;
    kernel.state = rows[i].state;
    CHECK_EQUAL(sleeps(&vps[0], now, &ran), rows[i].asleep);
    CHECK_EQUAL(ran, rows[i].ran);
    CHECK_EQUAL(kernel.looks, rows[i].looks);
    CHECK_EQUAL(vps[0].handover.judged_at, now);
    CHECK_EQUAL(vps[0].handover.judged_cpu_ns, kernel.cpu_ns);
  }
}

static void without_proc_a_clock_that_stands_still_tells(void) {
  bool ran;
  stage_monitor(1, 1, 1);
  vps[0].handover.task.has_clock = true;
  kernel.state = OS_TASK_UNKNOWN;
  kernel.own_state = OS_TASK_RUNS; /* that one has ended */
  CHECK(!sleeps(&vps[0], now, &ran));
  TRACE("");
  kernel.own_state = OS_TASK_UNKNOWN;
  CHECK(sleeps(&vps[0], now + 10, &ran));
  TRACE("message");
  CHECK(strstr(message, "for 10 ms") != NULL);
  CHECK(sleeps(&vps[0], now + 20, &ran));
  kernel.cpu_ns++;
  CHECK(!sleeps(&vps[0], now + 30, &ran));
  CHECK(sleeps(&vps[0], now + 40, &ran));
  vps[0].handover.task.has_clock = false;
  CHECK(!sleeps(&vps[0], now + 50, &ran));
  TRACE("");
}

static void a_thread_overruns_its_slice(void) {
  stage_monitor(2, 2, 2);
  push(1, 0, 0);
  be_silent_for(0, 50 * MS);
  CHECK(!overruns(&vps[0], now)); /* any time */
  mt_options.slice_ms = 50;
  CHECK(overruns(&vps[0], now));
  CHECK(!overruns(&vps[0], now - 1));
  mt_rt.sleep.blocked = 1;
  CHECK(overruns(&vps[0], now - 25 * MS));
  CHECK(!overruns(&vps[0], now - 25 * MS - 1));
  mt_runq_pop(&vps[1]);
  CHECK(!overruns(&vps[0], now));
  push(0, 1, 1); /* its own wait, too */
  CHECK(overruns(&vps[0], now));
}

enum judged { LEFT, BLOCKED, COMPUTES };

static enum judged judge_it(void) {
  kernel.cpu_ns = 0;
  judge(&vps[0], now);
  if (vps[0].sleep.status != MT_VP_CAUGHT) return LEFT;
  CHECK_EQUAL(vps[0].handover.caught_at, now - 60 * MS);
  return vps[0].sleep.computes ? COMPUTES : BLOCKED;
}

static void stage_judge(void) {
  stage_monitor(2, 2, 2);
  push(0, 0, 0);
  be_silent_for(0, 60 * MS);
  mt_options.slice_ms = 50;
  vps[0].handover.judged_at = now - MT_SILENT_NS;
  vps[0].handover.task.has_clock = true;
}

static void silent_vps_are_judged(void) {
  stage_judge();
  CHECK_EQUAL(judge_it(), BLOCKED);
  stage_judge();
  vps[0].handover.task.tid = 0; /* its kernel thread has not begun */
  CHECK_EQUAL(judge_it(), LEFT);
  stage_judge();
  mt_store_relaxed(&vps[0].points.tick, 1);
  CHECK_EQUAL(judge_it(), LEFT);
  stage_judge();
  vps[0].handover.judged_at++;
  CHECK_EQUAL(judge_it(), LEFT);
  CHECK_EQUAL(kernel.looks, 0);
  stage_judge();
  kernel.state = OS_TASK_RUNS; /* another program has its CPU */
  CHECK_EQUAL(judge_it(), LEFT);
  stage_judge();
  vps[0].handover.task.has_clock = false;
  kernel.state = OS_TASK_RUNS;
  CHECK_EQUAL(judge_it(), COMPUTES);
  stage_judge();
  vps[0].handover.task.has_clock = false;
  kernel.state = OS_TASK_RUNS;
  mt_options.slice_ms = 61;
  CHECK_EQUAL(judge_it(), LEFT);
}

static void the_monitor_looks_more_often_where_it_finds_something(void) {
  static const uint64_t seldom[] = {2 * MS, 4 * MS, 8 * MS, 10 * MS, 10 * MS};
  stage_monitor(1, 1, 1);
  adapt(true);
  CHECK_EQUAL(mt_rt.handover.silent_ns, MS);
  for (int i = 0; i < 5; i++) {
    adapt(false);
    CHECK_EQUAL(mt_rt.handover.silent_ns, seldom[i]);
  }
  mt_rt.handover.silent_ns = 5 * MS - 1;
  adapt(false);
  CHECK_EQUAL(mt_rt.handover.silent_ns, 10 * MS - 2);
  mt_rt.handover.silent_ns = 5 * MS;
  adapt(false);
  CHECK_EQUAL(mt_rt.handover.silent_ns, 10 * MS);
}

static const struct mt_poller no_poller;

static void a_look_at_all_vps(void) {
  stage_monitor(3, 3, 3);
  mt_rt.handover.silent_ns = 4 * MS;
  look_at_all();
  TRACE("watch");
  CHECK_EQUAL(mt_rt.handover.look_at, now + 2 * MS);
  CHECK_EQUAL(mt_rt.handover.silent_ns, 8 * MS);
  mt_rt.poll.poller = &no_poller;
  be_silent_for(0, 60 * MS);
  be_silent_for(2, 60 * MS);
  kernel.spawn_error = EAGAIN;
  look_at_all();
  TRACE("watch poll spawn spawn");
  CHECK(vps[0].sleep.status == MT_VP_CAUGHT && vps[1].sleep.status == MT_VP_AWAKE &&
        vps[2].sleep.status == MT_VP_CAUGHT);
  CHECK_EQUAL(mt_rt.handover.silent_ns, MS);
  mt_rt.poll.polled_at = now;
  look_at_all();
  TRACE("watch");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(it_is_said_once_that_no_vp_is_left),
      TEST_BARE(a_substitute_is_new),
      TEST_BARE(a_live_vp_is_awake_and_moves),
      TEST_BARE(a_helper_sleeps_or_is_new),
      TEST_BARE(a_list_is_cut_behind_a_number_of_threads),
      TEST_BARE(threads_are_shared_out),
      TEST_BARE(hand_overs_are_counted_by_their_delay),
      TEST_BARE(ready_threads_go_to_another_vp),
      TEST_BARE(a_kernel_thread_sleeps_as_the_kernel_says),
      TEST_BARE(without_proc_a_clock_that_stands_still_tells),
      TEST_BARE(a_thread_overruns_its_slice),
      TEST_BARE(silent_vps_are_judged),
      TEST_BARE(the_monitor_looks_more_often_where_it_finds_something),
      TEST_BARE(a_look_at_all_vps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
