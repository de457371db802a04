/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file workload.c TMPI-2's multiprogrammed workload (its section 5.1, Table 3): six MPI jobs that
 * are launched one after the other at a fixed interval, each while the ones before it run.
 *
 * The turnaround of a job is the time from its launch to its end. The paper's intervals are 20, 14,
 * 12 and 10 s, where a job alone takes about 20 s; here they are the same parts of the mean time
 * that a job takes alone on this machine. The ways to run the jobs take turns, and each run begins
 * with another of them.
 *
 * The runs of a way differ by some 10 %, so ways that are near each other need many. A way whose
 * best run is far slower than the first way's worst needs no more than a few.
 */
#include <mltp/mltp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/daemon.h"
#include "harness/experiment.h"
#include "harness/report.h"
#include "harness/timer.h"
#include "mpi/mpi.h"

enum { JOBS = 6, INTERVALS = 4, RUNS_MAX = 99, ALONE = INTERVALS, SETS = INTERVALS + 1 };

/* The paper's jobs and sizes, in its order. */
static const struct mpi_row jobs[JOBS] = {
    {"workload", "GOODWIN", "lu", {"7320"}, NULL, "ms", 1e-6, {4}, false},
    {"workload", "MM2", "cannon", {"1152"}, NULL, "ms", 1e-6, {4}, false},
    {"workload", "GE1", "ge", {"1728"}, NULL, "ms", 1e-6, {4}, false},
    {"workload", "GE2", "ge", {"1152"}, NULL, "ms", 1e-6, {2}, false},
    {"workload", "MM1", "cannon", {"1440"}, NULL, "ms", 1e-6, {4}, false},
    {"workload", "SWEEP3D", "wavefront", {"64"}, NULL, "ms", 1e-6, {4}, false},
};

static const double paper_intervals[INTERVALS] = {20, 14, 12, 10};
static const double paper_alone = 20;

/* A way to run the jobs. */
struct way {
  const char *name, *impl;
  bool coordinated; /* by an mltpd of our own */
};

static const struct way ways[] = {
    {"coordinated", "tmpi", true},
    {"uncoordinated", "tmpi", false},
    {"one-to-one", "one-to-one", false},
    {"openmpi-yield", "openmpi-yield", false},
    {"openmpi-default", "openmpi-default", false},
    {"mpich-yield", "mpich-yield", false},
    {"mpich-default", "mpich-default", false},
};

enum { WAYS = sizeof ways / sizeof ways[0] };

struct results {
  double values[SETS][JOBS][RUNS_MAX]; /* ms */
  double means[SETS][RUNS_MAX];
  int good[SETS], failed;
  bool absent;
};

struct setting {
  const struct bench_options *options;
  const struct way *way;
  const struct mpi_impl *impl;
  struct bench_daemon daemon; /* where the way is coordinated */
};

/* ---- one run of the workload */

struct job {
  struct mpi_process process;
  double launched;
  bool runs;
};

static void launch(const struct setting *s, struct job *job, int index) {
  setenv("MLTP_COORDINATOR", s->way->coordinated ? s->daemon.socket : "off", 1);
  job->launched = bench_clock(CLOCK_MONOTONIC);
  job->runs = mpi_start(s->impl, &jobs[index], jobs[index].ranks[0], mltp_cpus(), &job->process) ==
              MPI_MEASURED;
  unsetenv("MLTP_COORDINATOR");
}

/* Waits for ends of jobs until a moment. @return false: a job failed. */
static bool collect(const struct setting *s, struct job *all, double until, double *times) {
  struct pollfd ready[JOBS];
  for (;;) {
    int running = 0;
    for (int i = 0; i < JOBS; i++) {
      ready[i] = (struct pollfd){all[i].runs ? all[i].process.output : -1, POLLIN, 0};
      running += all[i].runs;
    }
    double left = until - bench_clock(CLOCK_MONOTONIC);
    if (running == 0 && left > 3600) return true; /* no launch is to come */
    if (left <= 0) return true;
    if (poll(ready, JOBS, left < 3600 ? (int)(left * 1e3) + 1 : s->options->timeout * 1000) == 0 &&
        left > 3600)
      return false;
    for (int i = 0; i < JOBS; i++) {
      struct mpi_sample sample;
      if (!all[i].runs || ready[i].revents == 0) continue;
      all[i].runs = false;
      if (mpi_end(s->impl, &jobs[i], jobs[i].ranks[0], 0, &all[i].process, &sample) != MPI_MEASURED)
        return false;
      times[i] = (bench_clock(CLOCK_MONOTONIC) - all[i].launched) * 1e3;
    }
  }
}

static void end_all(const struct setting *s, struct job *all) {
  struct mpi_sample sample;
  for (int i = 0; i < JOBS; i++)
    if (all[i].runs) mpi_end(s->impl, &jobs[i], jobs[i].ranks[0], 0, &all[i].process, &sample);
}

/* @param interval seconds; 0: each job alone. @return false: a job failed. */
static bool run_jobs(const struct setting *s, double interval, double *times) {
  struct job all[JOBS] = {0};
  double never = bench_clock(CLOCK_MONOTONIC) + 1e6, next = bench_clock(CLOCK_MONOTONIC);
  bool good = true;
  for (int i = 0; i < JOBS && good; i++) {
    launch(s, &all[i], i);
    next += interval;
    good = all[i].runs && collect(s, all, interval > 0 && i + 1 < JOBS ? next : never, times);
  }
  end_all(s, all);
  return good;
}

/* ---- all runs */

static void measure_once(struct setting *s, struct results *r, int set, double interval) {
  double times[JOBS];
  bool good = !s->way->coordinated || bench_daemon_start(&s->daemon);
  if (good) {
    good = run_jobs(s, interval, times);
    if (s->way->coordinated) bench_daemon_stop(&s->daemon);
  }
  if (!good) {
    r->failed++;
    return;
  }
  double sum = 0;
  for (int i = 0; i < JOBS; i++) {
    r->values[set][i][r->good[set]] = times[i];
    sum += times[i];
  }
  r->means[set][r->good[set]++] = sum / JOBS;
}

static void add_row(const struct way *way, double interval, const char *metric, double *values,
                    int count, json_t *rows) {
  json_t *params = json_pack("{s:f, s:i}", "interval_s", interval, "cpus", mltp_cpus());
  bench_row_add(rows, &(struct bench_row){.impl = way->name,
                                          .params = params,
                                          .metric = metric,
                                          .unit = "ms",
                                          .clock = "wall",
                                          .stats = bench_stats(values, count),
                                          .runs = count,
                                          .verified = true});
}

/* A line for each way: each job's median, their mean, and that over the first way's. */
static void report(struct results *results, int set, double interval, json_t *rows) {
  double first = 0;
  if (set == ALONE)
    printf("\neach job alone\n");
  else
    printf("\ninterval %.2f s (the paper's %g s)\n", interval, paper_intervals[set]);
  printf("%-16s", "ms");
  for (int i = 0; i < JOBS; i++) printf(" %8s", jobs[i].metric);
  printf(" %8s %7s\n", "mean", "x first");
  for (int w = 0; w < WAYS; w++) {
    struct results *r = &results[w];
    if (r->good[set] == 0) continue;
    printf("%-16s", ways[w].name);
    for (int i = 0; i < JOBS; i++) {
      printf(" %8.0f", bench_stats(r->values[set][i], r->good[set]).median);
      add_row(&ways[w], interval, jobs[i].metric, r->values[set][i], r->good[set], rows);
    }
    double mean = bench_stats(r->means[set], r->good[set]).median;
    if (first <= 0) first = mean;
    printf(" %8.0f %7.2f\n", mean, mean / first);
    add_row(&ways[w], interval, "mean", r->means[set], r->good[set], rows);
  }
  fflush(stdout);
}

/* A way that has run often enough to be called far slower than the first way. */
static bool is_far_slower(struct results *r, struct results *first, int set) {
  if (r->good[set] < BENCH_RUNS_TO_COMPARE || first->good[set] < BENCH_RUNS_TO_COMPARE)
    return false;
  return bench_stats(r->means[set], r->good[set]).min >
         1.5 * bench_stats(first->means[set], first->good[set]).max;
}

static void measure_set(const struct bench_options *options, struct results *results, int set,
                        double interval, int runs) {
  for (int run = 0; run < runs; run++)
    for (int turn = 0; turn < WAYS; turn++) {
      int w = (run + turn) % WAYS;
      struct setting s = {.options = options, .way = &ways[w], .impl = mpi_impl_of(ways[w].impl)};
      if (results[w].absent || is_far_slower(&results[w], &results[0], set)) continue;
      if (options->progress)
        fprintf(stderr, "\r\033[K%s, interval %.2f s, run %d of %d", ways[w].name, interval,
                run + 1, runs);
      measure_once(&s, &results[w], set, interval);
    }
  if (options->progress) fputs("\r\033[K", stderr);
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  static struct results results[WAYS];
  int runs = options->runs > 0 ? options->runs : options->quick ? 1 : experiment->runs, failed = 0;
  if (runs > RUNS_MAX) runs = RUNS_MAX;
  for (int w = 0; w < WAYS; w++)
    results[w].absent =
        !bench_wants(options, ways[w].name) || !mpi_is_there(mpi_impl_of(ways[w].impl), &jobs[0]);
  measure_set(options, results, ALONE, 0, runs);
  report(results, ALONE, 0, rows);
  double alone = 0;
  for (int w = WAYS - 1; w >= 0; w--) /* the first way that is there */
    if (results[w].good[ALONE] > 0)
      alone = bench_stats(results[w].means[ALONE], results[w].good[ALONE]).min / 1e3;
  for (int set = options->quick ? INTERVALS - 1 : 0; set < INTERVALS && alone > 0; set++) {
    double interval = alone * paper_intervals[set] / paper_alone;
    measure_set(options, results, set, interval, runs);
    report(results, set, interval, rows);
  }
  for (int w = 0; w < WAYS; w++) failed += results[w].failed;
  return failed;
}

const struct experiment bench_workload = {
    .name = "workload",
    .shows = "MPI: turnaround of six jobs launched at four intervals, with mltpd and without",
    .section = "TMPI-2, section 5.1, Table 3",
    .runs = 15,
    .measure = measure,
};
