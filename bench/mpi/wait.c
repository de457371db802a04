/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mpi_wait.c Ways to wait for other ranks, at degrees of multiplexing 1 to 3.
 *
 * The paper's comparison (TMPI-2, Tables 6 to 9): scheduler-conscious waiting beside spinning for a
 * fixed time before a rank blocks, the paper's short and long time and that of a park; and beside
 * blocking at once. The ways take turns, run by run. One more run of each counts how ranks have
 * waited: by --report, which costs time, so that run's time is none of the row's.
 */
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/experiment.h"
#include "harness/report.h"
#include "mpi.h"

enum { WAYS = 5, RUNS_MAX = 99, HALVES_MIN = 2, HALVES_MAX = 6 };

static const char *const ways[WAYS] = {"conscious", "spin:50", "spin:2000", "spin", "park"};

#define PROGRAM(name, program, size) {"", name, program, {size}, "wall_ns", "ms", 1e-6, {0}, false}

static const struct mpi_row rows_of_ways[] = {
    {"", "latency, 8 bytes", "single", {"latency", "8"}, "wall_ns", "us", 1e-3, {0}, false},
    PROGRAM("GE 1728", "ge", "1728"),
    PROGRAM("wavefront 64", "wavefront", "64"),
    PROGRAM("CG 128", "cg", "128"),
    PROGRAM("LU 7320", "lu", "7320"),
    PROGRAM("LU 14454", "lu", "14454"), /* the last two: not with --quick */
    PROGRAM("LU 17281", "lu", "17281"),
    {0},
};

/* How ranks have waited in one run. */
struct waits {
  json_int_t calls, parks, spins_paid, spins_vain;
  double spin_us;
};

/* What one way did. */
struct result {
  double values[RUNS_MAX], cpu[RUNS_MAX];
  int good, failed;
  bool absent;
  struct waits waits;
};

struct cell {
  const struct bench_options *options;
  const struct mpi_row *row;
  int vps, ranks;
};

static enum mpi_outcome run(const struct cell *cell, const char *way, const char *file,
                            struct mpi_sample *sample) {
  char wait[32], report[80];
  struct mpi_impl impl = {way, "tmpi", {"tmpirun", wait}, {0}, true, 0, MPI_ANY_RANKS};
  snprintf(wait, sizeof wait, "--wait=%s", way);
  snprintf(report, sizeof report, "--report=%s", file != NULL ? file : "");
  if (file != NULL) impl.words[2] = report;
  return mpi_run(&impl, cell->row, cell->ranks, cell->vps, cell->options->timeout, sample);
}

static void measure_once(const struct cell *cell, const char *way, struct result *result) {
  struct mpi_sample sample;
  if (result->absent || result->failed > 0) return;
  enum mpi_outcome outcome = run(cell, way, NULL, &sample);
  if (outcome == MPI_MEASURED) {
    result->cpu[result->good] = sample.cpu_ms;
    result->values[result->good++] = sample.value;
  }
  result->absent = outcome == MPI_ABSENT;
  result->failed += outcome == MPI_FAILED;
}

/* @return false: the report is not there. */
static bool read_waits(const char *file, struct waits *waits) {
  json_t *report = json_load_file(file, 0, NULL);
  bool there = json_unpack(report, "{s:{s:I, s:I, s:I, s:I, s:F}}", "waits", "calls", &waits->calls,
                           "parks", &waits->parks, "spins_paid", &waits->spins_paid, "spins_vain",
                           &waits->spins_vain, "spin_us", &waits->spin_us) == 0;
  json_decref(report);
  return there;
}

static void count_waits(const struct cell *cell, const char *way, struct result *result) {
  struct mpi_sample sample;
  char file[] = P_tmpdir "/mltp-bench-XXXXXX.json";
  if (result->good == 0) return;
  int descriptor = mkstemps(file, (int)strlen(".json"));
  if (descriptor < 0) {
    perror("mltp-bench: a temporary file for the report");
    result->failed++;
    return;
  }
  close(descriptor);
  if (run(cell, way, file, &sample) != MPI_MEASURED || !read_waits(file, &result->waits))
    result->failed++;
  unlink(file);
}

/* conscious: the median time of the paper's way. */
static void report(const struct cell *cell, const char *way, struct result *result,
                   double conscious, json_t *rows) {
  const struct waits *waits = &result->waits;
  double degree = (double)cell->ranks / cell->vps;
  double lost_ms = (double)waits->spins_vain * waits->spin_us * 1e-3;
  printf("%-16s %6.1f %6d  %-10s", cell->row->metric, degree, cell->ranks, way);
  if (result->good == 0) {
    printf(" FAILED\n");
    return;
  }
  struct bench_stats stats = bench_stats(result->values, result->good);
  double cpu = bench_stats(result->cpu, result->good).median;
  printf(" %9.2f %9.2f %9.2f %-2s %9.1f %9ld %8ld %8ld %8ld %9.1f", stats.min, stats.median,
         stats.max, cell->row->unit, cpu, (long)waits->calls, (long)waits->parks,
         (long)waits->spins_paid, (long)waits->spins_vain, lost_ms);
  if (conscious > 0) printf(" %8.2f", stats.median / conscious);
  printf("%s\n", result->failed > 0 ? "  FAILED" : "");
  json_t *params =
      json_pack("{s:i, s:i, s:f, s:f, s:I, s:I, s:I, s:I, s:f, s:f}", "ranks", cell->ranks, "vps",
                cell->vps, "degree", degree, "cpu_ms", cpu, "calls", waits->calls, "parks",
                waits->parks, "spins_paid", waits->spins_paid, "spins_vain", waits->spins_vain,
                "spin_us", waits->spin_us, "vain_ms", lost_ms);
  bench_row_add(rows, &(struct bench_row){.impl = way,
                                          .params = params,
                                          .metric = cell->row->metric,
                                          .unit = cell->row->unit,
                                          .clock = "wall",
                                          .stats = stats,
                                          .runs = result->good,
                                          .verified = result->failed == 0});
}

/* Runs of all ways in turn. @return how many failed. */
static int measure_cell(const struct cell *cell, int runs, json_t *rows) {
  static struct result results[WAYS];
  int failed = 0;
  memset(results, 0, sizeof results);
  for (int i = 0; i < runs * WAYS; i++) {
    int way = (i + i / WAYS) % WAYS;
    if (cell->options->progress)
      fprintf(stderr, "\r\033[K%s, %d ranks, run %d of %d", cell->row->metric, cell->ranks,
              i / WAYS + 1, runs);
    measure_once(cell, ways[way], &results[way]);
  }
  if (cell->options->progress) fputs("\r\033[K", stderr);
  if (results[0].absent) return 0;
  double conscious =
      results[0].good > 0 ? bench_stats(results[0].values, results[0].good).median : 0;
  for (int way = 0; way < WAYS; way++) {
    count_waits(cell, ways[way], &results[way]);
    report(cell, ways[way], &results[way], conscious, rows);
    failed += results[way].failed;
  }
  fflush(stdout);
  return failed;
}

/* @return whether to measure it, at `halves` halves of a rank for each VP. */
static bool is_wanted(const struct cell *cell, int halves) {
  bool large = strcmp(cell->row->program, "lu") == 0 && atoi(cell->row->arguments[0]) > 10000;
  if (cell->options->quick && (large || halves % 2 != 0)) return false;
  const struct bench_list *asked = &cell->options->threads;
  bool found = asked->count == 0;
  for (int i = 0; i < asked->count; i++) found |= asked->value[i] == cell->ranks;
  return found && halves * cell->vps % 2 == 0;
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  int runs = options->runs > 0 ? options->runs : options->quick ? 2 : experiment->runs;
  int vps = options->vps.count > 0 ? options->vps.value[0] : mltp_cpus(), failed = 0;
  if (runs > RUNS_MAX) runs = RUNS_MAX;
  printf("%-16s %6s %6s  %-10s %9s %9s %9s %12s %9s %8s %8s %8s %9s %8s\n", "row", "degree",
         "ranks", "waiting", "min", "median", "max", "CPU ms", "calls", "parks", "paid", "failed",
         "ms lost", "x first");
  for (const struct mpi_row *row = rows_of_ways; row->metric != NULL; row++)
    for (int halves = HALVES_MIN; halves <= HALVES_MAX; halves++) {
      const struct cell cell = {options, row, vps, halves * vps / 2};
      if (is_wanted(&cell, halves)) failed += measure_cell(&cell, runs, rows);
    }
  return failed;
}

const struct experiment bench_mpi_wait = {
    .name = "mpi-wait",
    .shows = "MPI: ways to wait for other ranks, 1 to 3 of them for each VP",
    .section = "TMPI-2, Tables 6 to 9",
    .runs = 5,
    .measure = measure,
};
