/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file copies.c Copies of one program at the same time: the ocean, each copy on as many VPs as
 * there are CPUs, with an mltpd that shares the CPUs between them, and without (thesis 5.3).
 *
 * The ideal is the time of one copy alone times their number. The ways take turns, run by run. One
 * copy tells what a daemon costs a program that is alone.
 */
#include <errno.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/daemon.h"
#include "harness/experiment.h"
#include "harness/report.h"
#include "harness/timer.h"

enum { COPIES = 4, RUNS_MAX = 99, WAYS = 2, KINDS = 2 };

/* The library's own barrier, and the thesis's on plain ticket locks, whose waiters spin. */
static const struct kind {
  const char *par, *lock;
} kinds[KINDS] = {{"mltp", "reactive"}, {"mltp-thesis", "spin"}};

static const char *const ways[WAYS] = {"uncoordinated", "coordinated"};

/* What all copies are, and what the first of them found. */
struct work {
  const struct par *par;
  struct bench_params params;
  int timeout;
  double checksum;
  bool known; /* the checksum */
};

/* One copy, in the calling process. */
static void be_copy(const struct work *work, int fd) {
  struct bench_outcome outcome = bench_child(&bench_ocean, work->par, &work->params, work->timeout);
  _exit(write(fd, &outcome, sizeof outcome) == sizeof outcome ? 0 : 1);
}

/* @return whether a copy's answer is right, and that of all the others. */
static bool is_right(struct work *work, const struct bench_outcome *outcome) {
  if (!outcome->verified) fprintf(stderr, "mltp-bench: copies: %s\n", outcome->why);
  if (!work->known) work->checksum = outcome->checksum;
  work->known = true;
  return outcome->verified && outcome->checksum == work->checksum;
}

/* Starts copies and waits for all. @return seconds from the first start to the last end; negative:
 * one was wrong. */
static double run_copies(struct work *work, int copies) {
  int ends[2];
  bool right = true;
  if (pipe(ends) != 0) return -1;
  double start = bench_clock(CLOCK_MONOTONIC);
  int started = 0;
  fflush(stdout);
  for (; started < copies; started++) {
    pid_t pid = fork();
    if (pid == 0) be_copy(work, ends[1]);
    if (pid < 0) break;
  }
  close(ends[1]);
  for (int i = 0; i < started; i++) {
    struct bench_outcome outcome;
    right = read(ends[0], &outcome, sizeof outcome) == sizeof outcome && is_right(work, &outcome) &&
            right;
  }
  double seconds = bench_clock(CLOCK_MONOTONIC) - start;
  close(ends[0]);
  for (int i = 0; i < started; i++)
    while (wait(NULL) < 0 && errno == EINTR) continue;
  return right && started == copies ? seconds : -1;
}

static double measure_once(struct work *work, int copies, bool coordinated) {
  struct bench_daemon daemon;
  if (coordinated && !bench_daemon_start(&daemon)) return -1;
  setenv("MLTP_COORDINATOR", coordinated ? daemon.socket : "off", 1);
  double seconds = run_copies(work, copies);
  unsetenv("MLTP_COORDINATOR");
  if (coordinated) bench_daemon_stop(&daemon);
  return seconds;
}

static void report(const char *lock, int copies, struct bench_stats stats[WAYS], const int *good,
                   double alone, json_t *rows) {
  for (int w = 0; w < WAYS; w++) {
    if (good[w] == 0) continue;
    printf("%-10s %6d  %-14s %8.3f %8.3f %8.3f %9.3f\n", lock, copies, ways[w], stats[w].min,
           stats[w].median, stats[w].max, stats[w].median / (alone * copies));
    json_t *params =
        json_pack("{s:s, s:i, s:i}", "lock", lock, "copies", copies, "cpus", mltp_cpus());
    bench_row_add(rows, &(struct bench_row){.impl = ways[w],
                                            .params = params,
                                            .metric = "copies of the ocean",
                                            .unit = "s",
                                            .clock = "wall",
                                            .stats = stats[w],
                                            .runs = good[w],
                                            .verified = true});
  }
  fflush(stdout);
}

static int measure_kind(struct work *work, const struct kind *kind, int runs, json_t *rows) {
  double values[WAYS][RUNS_MAX], alone = 0;
  int failed = 0;
  work->par = par_find(kind->par);
  setenv("MLTP_LOCK", kind->lock, 1);
  for (int copies = 1; copies <= COPIES; copies++) {
    int good[WAYS] = {0};
    struct bench_stats stats[WAYS];
    for (int run = 0; run < runs; run++)
      for (int w = 0; w < WAYS; w++) {
        double seconds = measure_once(work, copies, w == 1);
        if (seconds < 0)
          failed++;
        else
          values[w][good[w]++] = seconds;
      }
    for (int w = 0; w < WAYS; w++)
      if (good[w] > 0) stats[w] = bench_stats(values[w], good[w]);
    if (copies == 1 && good[0] > 0) alone = stats[0].median;
    report(kind->lock, copies, stats, good, alone, rows);
  }
  unsetenv("MLTP_LOCK");
  return failed;
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  int runs = options->runs > 0 ? options->runs : options->quick ? 1 : experiment->runs, failed = 0;
  int vps = mltp_cpus();
  struct work work = {.timeout = options->timeout};
  work.params =
      (struct bench_params){4 * vps, vps, options->quick ? bench_ocean.quick : bench_ocean.problem};
  if (runs > RUNS_MAX) runs = RUNS_MAX;
  printf("%-10s %6s  %-14s %8s %8s %8s %9s\n", "lock", "copies", "by", "min s", "median", "max",
         "x ideal");
  for (int i = 0; i < KINDS; i++) failed += measure_kind(&work, &kinds[i], runs, rows);
  return failed;
}

const struct experiment bench_copies = {
    .name = "copies",
    .shows = "copies of the ocean at the same time, with mltpd and without",
    .section = "thesis 5.3",
    .runs = 5,
    .measure = measure,
};
