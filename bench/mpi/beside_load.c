/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mpi_load.c What MPI's operations take beside a process that computes on every CPU.
 *
 * Half of each CPU is left, so twice the time is a program's share. A library that waits for CPUs
 * needlessly takes more: a woken rank, or a rank whose partner does not run, waits until a
 * competitor's time slice is over, some milliseconds. Quiet and loaded runs take turns, run by run.
 */
#include <errno.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/experiment.h"
#include "harness/load.h"
#include "harness/report.h"
#include "mpi.h"

enum { QUIET, LOADED, SIDES, RUNS_MAX = 99, SETTLE_NS = 20000000 };

/* What one side did. */
struct result {
  double values[RUNS_MAX];
  int good, failed;
};

struct cell {
  const struct bench_options *options;
  const struct mpi_impl *impl;
  const struct mpi_row *row;
  int ranks, vps;
};

/* @return false: the implementation is not there, or a run took too long: no more of these. */
static bool measure_once(const struct cell *cell, struct result *result) {
  struct mpi_sample sample;
  enum mpi_outcome outcome =
      mpi_run(cell->impl, cell->row, cell->ranks, cell->vps, cell->options->timeout, &sample);
  if (outcome == MPI_MEASURED) result->values[result->good++] = sample.value;
  if (outcome == MPI_FAILED) result->failed++;
  return outcome == MPI_MEASURED;
}

static bool measure_beside(const struct cell *cell, struct result *result) {
  const struct timespec settle = {0, SETTLE_NS}; /* each competitor finds its CPU */
  if (bench_load_start(mltp_cpus()) != 0) {
    fprintf(stderr, "mltp-bench: cannot start %d processes to compete with: %s\n", mltp_cpus(),
            strerror(errno));
    exit(1);
  }
  nanosleep(&settle, NULL);
  bool good = measure_once(cell, result);
  bench_load_stop();
  return good;
}

static void report(const struct cell *cell, struct result *results, json_t *rows) {
  static const char *const names[SIDES] = {"quiet", "loaded"};
  struct bench_stats stats[SIDES];
  printf("%-20s %5d  %-10s", cell->row->metric, cell->ranks, cell->impl->name);
  for (int side = 0; side < SIDES && results[side].good > 0; side++) {
    stats[side] = bench_stats(results[side].values, results[side].good);
    printf(" %10.2f %10.2f", stats[side].min, stats[side].median);
    json_t *params = json_pack("{s:i, s:i, s:i}", "ranks", cell->ranks, "vps", cell->vps,
                               "competing", side == LOADED ? mltp_cpus() : 0);
    bench_row_add(rows, &(struct bench_row){.impl = names[side],
                                            .params = params,
                                            .metric = cell->row->metric,
                                            .unit = cell->row->unit,
                                            .clock = "wall",
                                            .stats = stats[side],
                                            .runs = results[side].good,
                                            .verified = results[side].failed == 0});
  }
  if (results[QUIET].good > 0 && results[LOADED].good > 0)
    printf(" %-3s %8.2f %8.2f", cell->row->unit, stats[LOADED].min / stats[QUIET].min,
           stats[LOADED].median / stats[QUIET].median);
  printf("%s\n", results[QUIET].failed + results[LOADED].failed > 0 ? "  FAILED" : "");
  fflush(stdout);
}

/* @return how many runs failed. */
static int measure_cell(const struct cell *cell, int runs, json_t *rows) {
  static struct result results[SIDES];
  memset(results, 0, sizeof results);
  bool good = true;
  for (int run = 0; run < runs && good; run++) {
    if (cell->options->progress)
      fprintf(stderr, "\r\033[K%s, %d ranks, run %d of %d", cell->row->metric, cell->ranks, run + 1,
              runs);
    good = measure_once(cell, &results[QUIET]) && measure_beside(cell, &results[LOADED]);
  }
  if (cell->options->progress) fputs("\r\033[K", stderr);
  report(cell, results, rows);
  return results[QUIET].failed + results[LOADED].failed;
}

/* @return the way to run MPI programs that the command line names; ours if it names none. */
static const struct mpi_impl *choose(const char *name) {
  const struct mpi_impl *impl = name != NULL ? mpi_impl_of(name) : mpi_impls;
  if (impl != NULL) return impl;
  fprintf(stderr,
          "mltp-bench: --impl %s: no such way to run MPI programs (name one; mpi has all)\n", name);
  exit(2);
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  int runs = options->runs > 0 ? options->runs : options->quick ? 2 : experiment->runs, failed = 0;
  if (runs > RUNS_MAX) runs = RUNS_MAX;
  struct cell cell = {options, choose(options->impls), mpi_rows, 0, mltp_cpus()};
  if (options->vps.count > 0) cell.vps = options->vps.value[0];
  printf("%-20s %5s  %-10s %10s %10s %10s %10s %3s %8s %8s\n", "row", "ranks", "by", "quiet min",
         "median", "loaded min", "median", "", "x min", "x median");
  for (; cell.row->metric != NULL; cell.row++) {
    if (strcmp(cell.row->experiment, "mpi") != 0 || strcmp(cell.row->unit, "kB") == 0) continue;
    for (int i = 0; i < MPI_RANKS_LISTED && cell.row->ranks[i] > 0; i++) {
      cell.ranks = cell.row->ranks[i];
      if (cell.ranks > cell.impl->ranks_max || (options->quick && cell.ranks > 64)) continue;
      failed += measure_cell(&cell, runs, rows);
    }
  }
  return failed;
}

const struct experiment bench_mpi_load = {
    .name = "mpi-load",
    .shows = "MPI: messages, collectives and start, quiet and beside a process on every CPU",
    .section = "TMPI-2, section 5",
    .runs = 11,
    .measure = measure,
};
