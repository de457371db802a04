/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lifecycle.c
 * Table III of Anderson et al. (1989): create, start and finish a million null threads, or
 * threads that compute for 300 us on average, taken from a uniform distribution. As many
 * threads as processors are alive: each creates the next of its chain and ends. The last of a chain
 * keeps its processor until all chains are done. A chain counts its own share, so the number of
 * threads is exact even where a VP is given a substitute.
 *
 * Every thread has a number of its own, which names its chain. The sum over the numbers of
 * created threads must equal the sum over threads that ran: each ran exactly once.
 */
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/experiment.h"
#include "harness/timer.h"
#include "harness/work.h"
#include "strategies.h"

/** What one chain counts: one of its threads is alive at a time. */
struct tally {
  alignas(128) long ran;
  long created;
  uint64_t ran_sum, created_sum;
  uint64_t computed; /* or the compiler would leave the work out */
};

static struct {
  struct tally tally[PAR_THREADS_MAX];
  long share; /* of a chain */
  int processors;
  double mean_steps;
  atomic_int arrived; /* chains that are done */
  struct bench_outcome *outcome;
  mltp_sem_t done;
} world;

static double steps_per_us; /* measured once, before the runs */

/** Scatters numbers (splitmix64), so that sums of different sets differ. */
static uint64_t scatter(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static void *thread_cycle(void *number);

static void create(int chain) {
  static const mltp_attr_t detached = {.size = sizeof(mltp_attr_t), .detached = 1};
  struct tally *t = &world.tally[chain];
  const uint64_t number = (uint64_t)t->created++ * PAR_THREADS_MAX + (uint64_t)chain;
  t->created_sum += scatter(number);
  /* Without it the run hangs, and is ended as failed. */
  mltp_create(NULL, &detached, thread_cycle, (void *)(uintptr_t)number);
}

/** Waits for all chains to reach here, without letting this one run other threads. */
static void synchronize(void) {
  if (atomic_fetch_add(&world.arrived, 1) + 1 == world.processors) {
    bench_timer_stop(world.outcome);
    mltp_sem_post(&world.done);
  }
  while (atomic_load(&world.arrived) < world.processors) sched_yield();
}

static void *thread_cycle(void *number) {
  const uint64_t hash = scatter((uint64_t)(uintptr_t)number);
  const int chain = (int)((uintptr_t)number % PAR_THREADS_MAX);
  struct tally *t = &world.tally[chain];
  t->ran_sum += hash;
  if (world.mean_steps > 0) {
    const double uniform = (double)(hash >> 11) * 0x1p-52; /* within 0..2 */
    t->computed ^= bench_work(hash | 1, (uint64_t)(uniform * world.mean_steps));
  }
  if (++t->ran == world.share)
    synchronize();
  else
    create(chain);
  return NULL;
}

static void verify(struct bench_outcome *outcome) {
  long ran = 0, created = 0;
  uint64_t difference = 0;
  for (int i = 0; i < PAR_THREADS_MAX; i++) {
    ran += world.tally[i].ran;
    created += world.tally[i].created;
    difference += world.tally[i].ran_sum - world.tally[i].created_sum;
  }
  if (ran != world.share * world.processors || created != ran || difference != 0)
    bench_fail(outcome, "%ld threads created, %ld ran, %s", created, ran,
               difference == 0 ? "the same ones" : "others");
}

static void run(const struct par *par, const struct bench_params *params,
                struct bench_outcome *outcome) {
  (void)par;
  world.processors = params->vps;
  world.share = params->threads / params->vps;
  world.mean_steps = (double)params->problem.work_us * steps_per_us;
  world.outcome = outcome;
  mltp_sem_init(&world.done, 0, "lifecycle");
  bench_timer_start(outcome);
  for (int i = 0; i < world.processors; i++) create(i);
  mltp_sem_wait(&world.done);
  verify(outcome);
}

/* ---- the experiment */

/** The fastest strategy's time on one VP; what speed-up refers to. 0: not measured. */
static double fastest(const struct bench_strategy_set *set) {
  double best = 0;
  for (int i = 0; i < set->count; i++) {
    const struct bench_strategy_case *c = &set->cases[i];
    if (c->good > 0 && (best <= 0 || c->wall_stats.min < best)) best = c->wall_stats.min;
  }
  return best;
}

static json_t *params_json(const struct bench_params *p) {
  return json_pack("{s:i, s:i, s:I}", "threads", p->threads, "vps", p->vps, "work_us",
                   (json_int_t)p->problem.work_us);
}

/** A figure that is larger where time is shorter: a rate, or a speed-up. */
static struct bench_stats over(double what, struct bench_stats time) {
  return (struct bench_stats){what / time.max, what / time.median, what / time.min};
}

static void report(const struct bench_strategy_case *c, const struct bench_params *p, double one_vp,
                   json_t *rows) {
  printf("%7ld %5d %8d  %-9s", p->problem.work_us, p->vps, p->threads, c->strategy);
  if (c->good > 0) {
    const struct bench_stats rate = over(p->threads, c->wall_stats);
    printf(" %9.4f %9.4f %9.4f %9.4f %12.0f", c->wall_stats.min, c->wall_stats.median,
           c->wall_stats.max, c->cpu_stats.median, rate.median);
    if (one_vp > 0) printf(" %8.2f", one_vp / c->wall_stats.min);
    bench_strategies_row(rows, c, params_json(p), "threads_per_second", "1/s", "wall", rate);
    if (one_vp > 0)
      bench_strategies_row(rows, c, params_json(p), "speedup", "", "wall",
                           over(one_vp, c->wall_stats));
  }
  bench_strategies_row(rows, c, params_json(p), "seconds", "s", "wall", c->wall_stats);
  bench_strategies_row(rows, c, params_json(p), "cpu_seconds", "s", "cpu", c->cpu_stats);
  bench_strategies_end_line(c);
}

/** All numbers of VPs, with so much work. @return how many runs failed. */
static int measure_work(struct bench_strategy_set *set, const struct experiment *experiment,
                        const struct bench_options *options, long count, long work_us,
                        json_t *rows) {
  const int cpus = mltp_cpus();
  struct bench_list vps = options->vps;
  if (vps.count == 0)
    for (int n = 1; n <= 2 * cpus && vps.count < BENCH_LIST_MAX; n = n < cpus ? n + 1 : 2 * n)
      vps.value[vps.count++] = n;
  double one_vp = 0;
  int failed = 0;
  for (int i = 0; i < vps.count; i++) {
    const int n = vps.value[i];
    const struct bench_params params = {
        .threads = (int)count / n * n, .vps = n, .problem = {.work_us = work_us}};
    setenv("MLTP_OVERSUBSCRIBE", n > cpus ? "eager" : "0", 1);
    failed += bench_strategies_run(set, experiment, options, &params);
    if (n == 1) one_vp = fastest(set);
    for (int c = 0; c < set->count; c++) report(&set->cases[c], &params, one_vp, rows);
  }
  return failed;
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  struct bench_strategy_set set;
  if (bench_strategies_choose(&set, experiment, options) != 0) return 1;
  const struct bench_problem *standard = options->quick ? &experiment->quick : &experiment->problem;
  const long count = options->problem.count > 0 ? options->problem.count : standard->count;
  const long work_us = options->problem.work_us > 0 ? options->problem.work_us : standard->work_us;
  steps_per_us = bench_work_steps_per_us();
  printf(
      "Wall times of %d interleaved runs. Speed-up: the fastest strategy's shortest time on one "
      "VP over this one's.\n%7s %5s %8s  %-9s %9s %9s %9s %9s %12s %8s\n",
      set.runs, "work us", "VPs", "threads", "strategy", "min s", "median s", "max s", "CPU s",
      "threads/s", "speed-up");
  int failed = measure_work(&set, experiment, options, count, 0, rows);
  failed += measure_work(&set, experiment, options, count / 200, work_us, rows);
  bench_strategies_free(&set);
  return failed;
}

const struct experiment bench_lifecycle = {
    .name = "lifecycle",
    .shows = "a million threads created, started and finished, by each strategy",
    .section = "Anderson et al. III.F, figures 1 to 3",
    .impls = "mltp",
    .strategies = "single,multi,freelist,idleq,local,default",
    .runs = 5,
    .problem = {.count = 1000000, .work_us = 300},
    .quick = {.count = 100000, .work_us = 300},
    .run = run,
    .measure = measure,
};
