/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file latency.c
 * Figure 4 of Anderson et al. (1989): what a thread costs, against how many are runnable.
 *
 * Fewer than processors or as many: the time to create a thread until it has begun to run,
 * on a processor that was idle. More: the time to create one, and the time to finish one and
 * start the next. The threads that are runnable besides compute on other processors, so that
 * no lock is contended for; of the rest, which wait for this processor, all are created, then
 * all run, and each costs its part.
 *
 * Verified: each thread that was created has run once.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/experiment.h"
#include "harness/timer.h"
#include "strategies.h"

static struct {
  atomic_int busy; /* threads that keep the other processors busy */
  atomic_int stop;
  _Atomic double started; /* when the last one began to run; 0: not yet */
  atomic_long ran;
  mltp_sem_t all_ran;
  long expected;
} world;

static const mltp_attr_t detached = {.size = sizeof(mltp_attr_t), .detached = 1};

static double now(void) { return bench_clock(CLOCK_MONOTONIC); }

static void *keep_busy(void *arg) {
  atomic_fetch_add(&world.busy, 1);
  while (!atomic_load(&world.stop)) continue;
  return arg;
}

static void *note_start(void *arg) {
  atomic_store(&world.started, now());
  atomic_fetch_add(&world.ran, 1);
  return arg;
}

/* Those of a backlog run one after the other, on one processor. */
static void *count_one(void *arg) {
  const long ran = atomic_load_explicit(&world.ran, memory_order_relaxed) + 1;
  atomic_store_explicit(&world.ran, ran, memory_order_relaxed);
  if (ran == world.expected) {
    atomic_store(&world.started, now());
    mltp_sem_post(&world.all_ran);
  }
  return arg;
}

/** @return seconds from the creation of a thread to its start elsewhere. */
static double start_one(void) {
  atomic_store(&world.started, 0);
  const double begin = now();
  if (mltp_create(NULL, &detached, note_start, NULL) != 0) return -1;
  while (atomic_load(&world.started) == 0) continue; /* this processor is busy */
  const double seconds = atomic_load(&world.started) - begin;
  for (const double until = now() + 3e-6; now() < until;) continue; /* it is idle again */
  return seconds;
}

/** @return seconds for each of `backlog` threads, created and then run here. */
static double run_backlog(long backlog) {
  world.expected = atomic_load(&world.ran) + backlog;
  const double begin = now();
  for (long i = 0; i < backlog; i++)
    if (mltp_create(NULL, &detached, count_one, NULL) != 0) return -1;
  mltp_sem_wait(&world.all_ran);
  return (atomic_load(&world.started) - begin) / (double)backlog;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/** Runnable: the creator, the threads that compute, and the threads it creates. */
static void run(const struct par *par, const struct bench_params *params,
                struct bench_outcome *outcome) {
  enum { TIMES_MAX = 4096 };
  static double cost[TIMES_MAX];
  const int runnable = params->threads, vps = params->vps;
  const int backlog = runnable > vps ? runnable - vps : 0;
  const int busy = (backlog > 0 ? vps : runnable - 1) - 1;
  const int times = params->problem.count < TIMES_MAX ? (int)params->problem.count : TIMES_MAX;
  (void)par;
  mltp_sem_init(&world.all_ran, 0, "latency");
  for (int i = 0; i < busy; i++) mltp_create(NULL, &detached, keep_busy, NULL);
  while (atomic_load(&world.busy) < busy) sched_yield();
  bench_timer_start(outcome);
  for (int i = 0; i < times; i++) {
    cost[i] = backlog > 0 ? run_backlog(backlog) : start_one();
    if (cost[i] < 0) break; /* then fewer have run */
  }
  bench_timer_stop(outcome);
  atomic_store(&world.stop, 1);
  const long created = (long)times * (backlog > 0 ? backlog : 1);
  if (atomic_load(&world.ran) != created)
    bench_fail(outcome, "%ld threads created, %ld ran", created, atomic_load(&world.ran));
  qsort(cost, (size_t)times, sizeof *cost, compare);
  outcome->seconds = cost[times / 2]; /* the median: an interrupt is not the strategy's */
}

/* ---- the experiment */

static void report(const struct bench_strategy_case *c, const struct bench_params *p,
                   json_t *rows) {
  printf("%8d %5d  %-9s", p->threads, p->vps, c->strategy);
  if (c->good > 0)
    printf(" %9.1f %9.1f %9.1f", 1e9 * c->wall_stats.min, 1e9 * c->wall_stats.median,
           1e9 * c->wall_stats.max);
  bench_strategies_row(rows, c, json_pack("{s:i, s:i}", "runnable", p->threads, "vps", p->vps),
                       "seconds_per_thread", "s", "wall", c->wall_stats);
  bench_strategies_end_line(c);
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  const int vps = options->vps.count > 0 ? options->vps.value[0] : mltp_cpus();
  if (vps > mltp_cpus()) {
    fprintf(stderr,
            "mltp-bench: latency: --vps %d: each VP needs a CPU of its own, and %d may be used\n",
            vps, mltp_cpus());
    return 1;
  }
  struct bench_strategy_set set;
  if (bench_strategies_choose(&set, experiment, options) != 0) return 1;
  const struct bench_list *runnable =
      options->threads.count > 0 ? &options->threads : &experiment->threads;
  const long times = options->problem.count > 0 ? options->problem.count
                     : options->quick           ? experiment->quick.count
                                                : experiment->problem.count;
  printf(
      "Median cost of a thread within a run; minimum, median and maximum of %d interleaved "
      "runs.\n%8s %5s  %-9s %9s %9s %9s\n",
      set.runs, "runnable", "VPs", "strategy", "min ns", "median ns", "max ns");
  int failed = 0;
  for (int i = 0; i < runnable->count; i++) {
    const struct bench_params params = {
        .threads = runnable->value[i], .vps = vps, .problem = {.count = times}};
    if (params.threads < 2) continue; /* the one that creates is one */
    failed += bench_strategies_run(&set, experiment, options, &params);
    for (int c = 0; c < set.count; c++) report(&set.cases[c], &params, rows);
  }
  bench_strategies_free(&set);
  return failed;
}

const struct experiment bench_latency = {
    .name = "latency",
    .shows = "the cost of a thread against the number of runnable threads, by each strategy",
    .section = "Anderson et al. III.F, figure 4",
    .impls = "mltp",
    .strategies = "single,multi,freelist,idleq,local,default",
    .threads = {10, {2, 3, 4, 5, 6, 8, 12, 16, 24, 32}},
    .runs = 5,
    .problem = {.count = 2000},
    .quick = {.count = 200},
    .run = run,
    .measure = measure,
};
