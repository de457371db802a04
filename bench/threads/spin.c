/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file spin.c
 * Figures 6 to 8 of Anderson et al. (1989), for each way to wait in src/spin:
 *
 * 6: contenders increment a counter to a million, each in a critical section of
 *    its own;
 * 7: the same with work in the section, by one contender and by as many as there are CPUs;
 * 8: each increments once and waits until all have: a barrier, again and again.
 *
 * The contenders are kernel threads with the library's own lock ("kernel"), or unbound
 * threads, each on a VP, with the lock class of that name ("mltp"). The counter and what
 * each contender says it has added must agree.
 */
#include <mltp/alternatives.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alternatives/spin/spinlock.h"
#include "harness/child.h"
#include "harness/experiment.h"
#include "harness/report.h"
#include "harness/timer.h"
#include "harness/work.h"

enum { RUNS_MOST = 1000, EXIT_USAGE = 2 };

/** What one contender does; nobody else writes to it. */
struct contender {
  alignas(128) struct mt_spin_node node;
  long added;
};

static struct {
  int figure;
  enum mt_spin_kind kind;
  bool on_vps;
  int contenders;
  long count, section_steps;
  struct contender contender[PAR_THREADS_MAX];
  alignas(128) struct mt_spinlock lock;
  mltp_lock_t lock_class;
  int arrived, go;
  struct bench_outcome *outcome;
  alignas(128) long counter; /* under the lock; figure 8 looks at it outside */
  uint64_t worked;           /* under the lock */
} world;

static void enter(struct contender *self) {
  if (world.on_vps)
    mltp_lock(&world.lock_class);
  else
    mt_spinlock_lock(&world.lock, &self->node);
}

static void leave(struct contender *self) {
  if (world.on_vps)
    mltp_unlock(&world.lock_class);
  else
    mt_spinlock_unlock(&world.lock, &self->node);
}

static void add_one(struct contender *self) {
  mt_store_relaxed(&world.counter, world.counter + 1);
  world.worked = bench_work(world.worked, (uint64_t)world.section_steps);
  self->added++;
}

/** Figures 6 and 7: until the counter is full. */
static void count_together(struct contender *self) {
  for (bool more = true; more;) {
    enter(self);
    more = world.counter < world.count;
    if (more) add_one(self);
    leave(self);
  }
}

/** Figure 8: once in each round. */
static void count_in_rounds(struct contender *self) {
  for (long end = world.contenders; end <= world.count; end += world.contenders) {
    enter(self);
    add_one(self);
    leave(self);
    for (unsigned round = 0; mt_load_relaxed(&world.counter) < end;)
      if (mt_relax(&round) && world.on_vps) mltp_yield();
  }
}

/** Nobody begins before all have come; the last starts the clock. */
static void wait_for_all(void) {
  if (mt_add_acq_rel(&world.arrived, 1) + 1 == world.contenders) {
    bench_timer_start(world.outcome);
    mt_store_release(&world.go, 1);
  }
  for (unsigned round = 0; mt_load_acquire(&world.go) == 0;)
    if (mt_relax(&round) && world.on_vps) mltp_yield();
}

static void body(void *arg, int index) {
  struct contender *self = &world.contender[index];
  (void)arg;
  wait_for_all();
  if (world.figure == 8)
    count_in_rounds(self);
  else
    count_together(self);
  mt_spin_node_end(&self->node);
}

static void run(const struct par *par, const struct bench_params *params,
                struct bench_outcome *outcome) {
  world.worked = 1;
  mt_spinlock_init(&world.lock, world.kind);
  const int first = MLTP_LOCK_ALT_EXCHANGE - MT_SPIN_EXCHANGE;
  mltp_lock_init(&world.lock_class, (mltp_lock_class_t)(first + (int)world.kind), "counter");
  world.outcome = outcome;
  const int err = par->run(params->threads, body, NULL);
  bench_timer_stop(outcome);
  long added = 0;
  for (int i = 0; i < params->threads; i++) added += world.contender[i].added;
  if (err != 0)
    bench_fail(outcome, "thread creation failed: errno %d", err);
  else if (world.counter != world.count || added != world.count)
    bench_fail(outcome, "counted to %ld, added %ld, wanted %ld", world.counter, added, world.count);
}

/* ---- the experiment */

/** One point of a figure: every kind in turn, run by run. */
struct point {
  int figure, contenders;
  long count, section_steps;
};

struct result {
  double wall[RUNS_MOST];
  int good, failed;
  char why[sizeof((struct bench_outcome *)0)->why];
};

static void measure_once(const struct experiment *experiment, const struct bench_options *options,
                         const struct point *p, int kind, struct result *result) {
  const struct par *par = world.on_vps ? &par_mltp : &par_pthreads;
  const struct bench_params params = {.threads = p->contenders, .vps = p->contenders};
  world.figure = p->figure;
  world.kind = (enum mt_spin_kind)kind;
  world.contenders = p->contenders;
  world.count = p->count;
  world.section_steps = p->section_steps;
  if (options->progress)
    fprintf(stderr, "\r\033[Kspin: figure %d, %d contenders, %s", p->figure, p->contenders,
            mt_spin_kinds[kind]->name);
  const struct bench_outcome outcome = bench_child(experiment, par, &params, options->timeout);
  if (outcome.verified) {
    result->wall[result->good++] = outcome.seconds;
  } else {
    result->failed++;
    memcpy(result->why, outcome.why, sizeof result->why);
  }
}

static void report(const struct point *p, int kind, struct result *result, json_t *rows) {
  const char *name = mt_spin_kinds[kind]->name;
  struct bench_row row = {
      .impl = world.on_vps ? "mltp" : "kernel",
      .params = json_pack("{s:i, s:s, s:i, s:I, s:I}", "figure", p->figure, "algorithm", name,
                          "processors", p->contenders, "section_size", (json_int_t)p->section_steps,
                          "count", (json_int_t)p->count),
      .metric = p->figure == 8 ? "seconds_per_processor" : "seconds",
      .unit = "s",
      .clock = "wall",
      .runs = result->good,
      .verified = result->failed == 0};
  /* Figure 8: of one barrier, per processor: as many increments as processors each time. */
  for (int i = 0; p->figure == 8 && i < result->good; i++) result->wall[i] /= (double)p->count;
  if (result->good > 0) row.stats = bench_stats(result->wall, result->good);
  printf("%6d %10d %7ld  %-10s", p->figure, p->contenders, p->section_steps, name);
  if (result->good > 0)
    printf(" %12.4g %12.4g %12.4g", row.stats.min, row.stats.median, row.stats.max);
  printf(result->failed > 0 ? "  FAILED: %s\n" : "%s\n", result->failed > 0 ? result->why : "");
  fflush(stdout);
  bench_row_add(rows, &row);
}

/** @return how many runs failed. */
static int measure_point(const struct experiment *experiment, const struct bench_options *options,
                         const struct point *p, json_t *rows) {
  static struct result result[MT_SPIN_KINDS];
  const int runs = options->runs > 0 ? options->runs : options->quick ? 2 : experiment->runs;
  int failed = 0;
  setenv("MLTP_OVERSUBSCRIBE", p->contenders > mltp_cpus() ? "eager" : "0", 1);
  memset(result, 0, sizeof result);
  for (int r = 0; r < runs; r++) /* each round starts one further on */
    for (int k = 0; k < MT_SPIN_KINDS; k++) {
      const int kind = (k + r) % MT_SPIN_KINDS;
      measure_once(experiment, options, p, kind, &result[kind]);
    }
  if (options->progress) fputs("\r\033[K", stderr);
  for (int kind = 0; kind < MT_SPIN_KINDS; kind++) {
    report(p, kind, &result[kind], rows);
    failed += result[kind].failed;
  }
  return failed;
}

static int measure_figures(const struct experiment *experiment, const struct bench_options *options,
                           json_t *rows) {
  static const long sizes[] = {0, 16, 64, 256, 1024, 4096};
  const struct bench_problem *standard = options->quick ? &experiment->quick : &experiment->problem;
  const long count = options->problem.count > 0 ? options->problem.count : standard->count;
  const int cpus = mltp_cpus();
  struct bench_list n = options->threads;
  if (n.count == 0) /* 1 to P, and beyond */
    for (int i = 1; i <= 2 * cpus && n.count < BENCH_LIST_MAX; i = i < cpus ? i + 1 : 2 * i)
      n.value[n.count++] = i;
  int failed = 0;
  for (int i = 0; i < n.count; i++)
    failed += measure_point(experiment, options, &(struct point){6, n.value[i], count, 0}, rows);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const long fewer = count / 20 + 1;
    failed += measure_point(experiment, options, &(struct point){7, 1, fewer, sizes[i]}, rows);
    if (cpus > 1)
      failed += measure_point(experiment, options, &(struct point){7, cpus, fewer, sizes[i]}, rows);
  }
  for (int i = 0; i < n.count; i++) {
    const long whole = (count / 100 / n.value[i] + 1) * n.value[i]; /* rounds */
    failed += measure_point(experiment, options, &(struct point){8, n.value[i], whole, 0}, rows);
  }
  return failed;
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  const char *impl = options->impls != NULL ? options->impls : experiment->impls;
  world.on_vps = strcmp(impl, "mltp") == 0;
  if (!world.on_vps && strcmp(impl, "kernel") != 0) {
    fprintf(stderr, "mltp-bench: --impl %s: spin has kernel or mltp (name one)\n", impl);
    exit(EXIT_USAGE);
  }
  if (options->runs > RUNS_MOST) {
    fprintf(stderr, "mltp-bench: --runs %d: spin makes %d at most\n", options->runs, RUNS_MOST);
    exit(EXIT_USAGE);
  }
  printf(
      "Contenders are %s. Figure 8: of one barrier, per processor.\n%6s %10s %7s  %-10s %12s "
      "%12s %12s\n",
      world.on_vps ? "unbound threads, each on a VP" : "kernel threads", "figure", "contenders",
      "steps", "algorithm", "min s", "median s", "max s");
  return measure_figures(experiment, options, rows);
}

const struct experiment bench_spin = {
    .name = "spin",
    .shows = "ways to wait for a lock on the processor: each of src/spin",
    .section = "Anderson et al. IV, figures 6 to 8",
    .impls = "kernel",
    .runs = 3,
    .problem = {.count = 1000000},
    .quick = {.count = 20000},
    .run = run,
    .measure = measure,
};
