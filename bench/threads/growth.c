/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file growth.c
 * What one thing costs when there are n of them: time and memory of each row of growth_rows.h at
 * three sizes a decade apart. The slope is that of time for each thing over n on log-log axes,
 * fitted in each run: 0 is flat, 1 means that each thing pays for all others.
 */
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#include "harness/child.h"
#include "harness/report.h"
#include "harness/timer.h"
#include "threads/growth_rows.h"

enum { SIZES = 3, RUNS_MAX = 100 };

static void run(const struct par *par, const struct bench_params *params,
                struct bench_outcome *outcome) {
  (void)par;
  struct rusage usage;
  bench_timer_start(outcome);
  int error = bench_growth_run((int)params->problem.count, (int)params->problem.size);
  bench_timer_stop(outcome);
  if (error != 0) bench_fail(outcome, "the row ended with error %d", error);
  getrusage(RUSAGE_SELF, &usage);
  outcome->checksum = (double)usage.ru_maxrss * 1024; /* no answer to check: the peak of memory */
}

/** What is known of a row. */
struct growth {
  int runs, failed;
  long size[SIZES];
  double seconds[SIZES][RUNS_MAX]; /* for each thing */
  double bytes[SIZES];             /* the most of all runs */
  double slope[RUNS_MAX];
};

/** Least squares through the logarithms. */
static double fit(const struct growth *g, int at) {
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (int i = 0; i < SIZES; i++) {
    const double x = log((double)g->size[i]), y = log(g->seconds[i][at]);
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  return (SIZES * sum_xy - sum_x * sum_y) / (SIZES * sum_xx - sum_x * sum_x);
}

static void measure_row(const struct experiment *experiment, const struct bench_options *options,
                        int row, int runs, struct growth *g) {
  for (int at = 0; at < runs; at++) {
    bool all = true;
    for (int i = 0; i < SIZES; i++) {
      const struct bench_params params = {
          .threads = 1, .vps = 1, .problem = {.count = row, .size = g->size[i]}};
      const struct bench_outcome outcome =
          bench_child(experiment, &par_mltp, &params, options->timeout);
      if (!outcome.verified) {
        fprintf(stderr, "mltp-bench: growth: %s with %ld: %s\n", bench_growth_name(row), g->size[i],
                outcome.why);
        all = false;
        break;
      }
      g->seconds[i][g->runs] = outcome.cpu_seconds / (double)g->size[i];
      if (outcome.checksum > g->bytes[i]) g->bytes[i] = outcome.checksum;
    }
    g->failed += !all;
    if (!all) continue;
    g->slope[g->runs] = fit(g, g->runs);
    g->runs++;
  }
}

static void add_row(json_t *rows, const char *name, long size, const char *metric, const char *unit,
                    struct bench_stats stats, const struct growth *g) {
  bench_row_add(rows, &(struct bench_row){
                          .impl = "mltp",
                          .params = json_pack("{s:s, s:I}", "row", name, "n", (json_int_t)size),
                          .metric = metric,
                          .unit = unit,
                          .clock = "cpu",
                          .stats = stats,
                          .runs = g->runs,
                          .verified = g->failed == 0});
}

static void report(const char *name, struct growth *g, json_t *rows) {
  printf("%-16s", name);
  if (g->runs == 0) {
    puts(" failed");
    return;
  }
  for (int i = 0; i < SIZES; i++) {
    const struct bench_stats seconds = bench_stats(g->seconds[i], g->runs);
    printf(" %9.0f", seconds.min * 1e9);
    add_row(rows, name, g->size[i], "seconds_per_thing", "s", seconds, g);
  }
  for (int i = 0; i < SIZES; i++) {
    const struct bench_stats bytes = {g->bytes[i], g->bytes[i], g->bytes[i]};
    printf(" %8.1f", g->bytes[i] / 1e6);
    add_row(rows, name, g->size[i], "peak_memory", "B", bytes, g);
  }
  const struct bench_stats slope = bench_stats(g->slope, g->runs);
  printf(" %7.2f %7.2f %7.2f\n", slope.min, slope.median, slope.max);
  add_row(rows, name, g->size[SIZES - 1], "slope", "", slope, g);
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  const struct bench_problem *standard = options->quick ? &experiment->quick : &experiment->problem;
  const long largest = options->problem.size > 0 ? options->problem.size : standard->size;
  int runs = options->runs > 0 ? options->runs : experiment->runs, failed = 0;
  if (runs > RUNS_MAX) runs = RUNS_MAX;
  const long sizes[SIZES] = {largest / 100, largest / 10, largest};
  if (sizes[0] < 1) {
    fputs("mltp-bench: growth: --size is too small: three sizes a decade apart (use 100 or more)\n",
          stderr);
    return 1;
  }
  printf(
      "CPU time for each of n things, the shortest of %d runs; peak memory; slopes of the runs\n"
      "%-16s %9ld %9ld %9ld %8ld %8ld %8ld\n%-16s %9s %9s %9s %8s %8s %8s %7s %7s %7s\n",
      runs, "n", sizes[0], sizes[1], sizes[2], sizes[0], sizes[1], sizes[2], "row", "ns", "ns",
      "ns", "MB", "MB", "MB", "min", "median", "max");
  for (int row = 0; bench_growth_name(row) != NULL; row++) {
    struct growth g = {.size = {sizes[0], sizes[1], sizes[2]}};
    measure_row(experiment, options, row, runs, &g);
    report(bench_growth_name(row), &g, rows);
    fflush(stdout);
    failed += g.failed;
  }
  return failed;
}

const struct experiment bench_growth = {
    .name = "growth",
    .shows = "what one thing costs when there are n of them, with the slope over n",
    .section = "HACKING.md, Adding things",
    .impls = "mltp",
    .runs = 5,
    .problem = {.size = 30000},
    .quick = {.size = 1000},
    .run = run,
    .measure = measure,
};
