/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mpi_growth.c What one thing costs beside many others of its kind, over decades of size.
 *
 * Each row is run at several sizes, in turn. The slope of a row is that of a straight line through
 * the logarithms of time and size, by least squares: 0 is flat, 1 is a cost that grows as the
 * number of others does. It is fitted to the minima; the spread is that of the slopes of single
 * rounds. Memory is that of the process at the row's peak, for each of what the row counts. Another
 * library that takes too long is measured at sizes that are a tenth: it has a slope to compare
 * with.
 */
#include <float.h>
#include <math.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <string.h>

#include "harness/experiment.h"
#include "harness/report.h"
#include "mpi.h"

enum { SIZES = 3, RUNS_MAX = 99, PART_MOST = 100 };

/* What is counted, and how many of them. Without a number of ranks, the ranks are what is counted.
 */
struct growth_row {
  const char *name;
  int ranks;
  long sizes[SIZES];
};

static const struct growth_row growth_rows[] = {
    {"outstanding", 16, {10, 100, 1000}},
    {"outstanding", 1024, {1, 10, 100}},
    {"unexpected", 2, {1000, 10000, 100000}},
    {"wildcard", 2, {1000, 10000, 100000}},
    {"posted", 2, {1000, 10000, 100000}},
    {"waitany", 2, {300, 3000, 30000}},
    {"cancelled", 2, {1000, 10000, 100000}},
    {"communicators", 2, {1000, 10000, 100000}},
    {"attributes", 2, {1000, 10000, 100000}},
    {"info", 2, {1000, 10000, 100000}},
    {"structures", 2, {10000, 100000, 1000000}},
    {"flood", 2, {10000, 100000, 1000000}},
    {"scan", 8, {1000, 30000, 1000000}},
    {"rotated", 0, {64, 512, 4096}},
    {"graph", 0, {64, 512, 4096}},
    {"grid", 0, {64, 512, 4096}},
    {"master", 0, {64, 512, 4096}},
};

struct cell {
  const struct bench_options *options;
  const struct mpi_impl *impl;
  const struct growth_row *row;
  int vps, runs;
  long part; /* of the row's sizes: they are divided by it */
};

struct measured {
  double ns[SIZES][RUNS_MAX], bytes[SIZES];
};

static long size_of(const struct cell *cell, int size) {
  return cell->row->sizes[size] / cell->part;
}

static int ranks_of(const struct growth_row *row, int size) {
  return row->ranks != 0 ? row->ranks : (int)row->sizes[size];
}

static enum mpi_outcome run(const struct cell *cell, int size, const char *key, double *value) {
  char count[32];
  const struct growth_row *row = cell->row;
  int ranks = ranks_of(row, size);
  snprintf(count, sizeof count, "%ld", size_of(cell, size));
  const struct mpi_row program = {"",  row->name, "growth", {row->name, count}, key, "ns",
                                  1.0, {0},       false};
  struct mpi_sample sample;
  enum mpi_outcome outcome =
      mpi_run(cell->impl, &program, ranks, cell->vps, cell->options->timeout, &sample);
  if (outcome == MPI_MEASURED) *value = sample.value;
  return outcome;
}

/* The slope through points in logarithms. A value that is not positive counts as the smallest
 * positive number. */
static double slope(const double *values, const long *sizes) {
  double mean_x = 0, mean_y = 0, xy = 0, xx = 0;
  for (int i = 0; i < SIZES; i++) {
    mean_x += log((double)sizes[i]) / SIZES;
    mean_y += log(fmax(values[i], DBL_MIN)) / SIZES;
  }
  for (int i = 0; i < SIZES; i++) {
    double x = log((double)sizes[i]) - mean_x;
    xy += x * (log(fmax(values[i], DBL_MIN)) - mean_y);
    xx += x * x;
  }
  return xy / xx;
}

static void add(json_t *rows, const struct cell *cell, const char *metric, const char *unit,
                long size, struct bench_stats stats) {
  json_t *params = json_pack("{s:s, s:i, s:I, s:i}", "row", cell->row->name, "ranks",
                             cell->row->ranks, "size", (json_int_t)size, "vps", cell->vps);
  bench_row_add(rows, &(struct bench_row){.impl = cell->impl->name,
                                          .params = params,
                                          .metric = metric,
                                          .unit = unit,
                                          .clock = "cpu",
                                          .stats = stats,
                                          .runs = cell->runs,
                                          .verified = true});
}

static void report(const struct cell *cell, struct measured *m, json_t *rows) {
  long sizes[SIZES];
  for (int i = 0; i < SIZES; i++) sizes[i] = size_of(cell, i);
  double minima[SIZES], slopes[RUNS_MAX];
  for (int r = 0; r < cell->runs; r++) {
    double round[SIZES];
    for (int i = 0; i < SIZES; i++) round[i] = m->ns[i][r];
    slopes[r] = slope(round, sizes);
  }
  printf("%-14s %-10s %6d ", cell->row->name, cell->impl->name, cell->row->ranks);
  for (int i = 0; i < SIZES; i++) {
    struct bench_stats stats = bench_stats(m->ns[i], cell->runs);
    minima[i] = stats.min;
    printf(" %8ld %9.1f %8.0f", sizes[i], stats.min, m->bytes[i]);
    add(rows, cell, "each", "ns", sizes[i], stats);
    add(rows, cell, "memory of each", "bytes", sizes[i],
        (struct bench_stats){m->bytes[i], m->bytes[i], m->bytes[i]});
  }
  struct bench_stats spread = bench_stats(slopes, cell->runs);
  double fitted = slope(minima, sizes);
  printf(" %7.2f  %5.2f to %.2f\n", fitted, spread.min, spread.max);
  add(rows, cell, "slope", "1", sizes[SIZES - 1],
      (struct bench_stats){spread.min, fitted, spread.max});
}

/* @return MPI_MEASURED, or what became of the first run that was not. */
static enum mpi_outcome measure_cell(const struct cell *cell, json_t *rows) {
  static struct measured m;
  enum mpi_outcome outcome = MPI_MEASURED;
  memset(&m, 0, sizeof m);
  for (int r = 0; r < cell->runs; r++)
    for (int i = 0; i < SIZES && outcome == MPI_MEASURED; i++) {
      if (cell->options->progress)
        fprintf(stderr, "\r\033[K%s, %s, %ld, run %d of %d", cell->row->name, cell->impl->name,
                size_of(cell, i), r + 1, cell->runs);
      outcome = run(cell, i, "cpu_ns", &m.ns[i][r]);
      if (r == 0 && outcome == MPI_MEASURED) outcome = run(cell, i, "bytes", &m.bytes[i]);
    }
  if (cell->options->progress) fputs("\r\033[K", stderr);
  if (outcome == MPI_MEASURED)
    report(cell, &m, rows);
  else
    printf("%-14s %-10s %6d  %s\n", cell->row->name, cell->impl->name, cell->row->ranks,
           outcome == MPI_OVER ? "takes too long" : "FAILED");
  fflush(stdout);
  return outcome;
}

/* The sizes of a row whose ranks are counted stay. @return how many runs failed. */
static int measure_impl(struct cell *cell, json_t *rows) {
  cell->part = 1;
  enum mpi_outcome outcome = measure_cell(cell, rows);
  while (outcome == MPI_OVER && cell->row->ranks != 0 && cell->part < PART_MOST) {
    cell->part *= 10;
    outcome = measure_cell(cell, rows);
  }
  return outcome != MPI_MEASURED;
}

/* names: separated by commas. */
static bool is_listed(const char *names, const char *name) {
  size_t length = strlen(name);
  for (const char *at = names; (at = strstr(at, name)) != NULL; at++)
    if ((at == names || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return true;
  return false;
}

/* Beside the others, as far as they are installed and take as many ranks. */
static int measure_row(struct cell *cell, const char *names, json_t *rows) {
  int failed = 0;
  for (const struct mpi_impl *impl = mpi_impls; impl->name != NULL; impl++) {
    const struct mpi_row program = {"", "", "growth", {NULL}, NULL, "", 1.0, {0}, false};
    if (!is_listed(names, impl->name) || ranks_of(cell->row, SIZES - 1) > impl->ranks_max ||
        !mpi_is_there(impl, &program))
      continue;
    cell->impl = impl;
    failed += measure_impl(cell, rows);
  }
  return failed;
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  const char *names = options->impls != NULL ? options->impls : experiment->impls;
  struct cell cell = {.options = options,
                      .vps = options->vps.count > 0 ? options->vps.value[0] : mltp_cpus(),
                      .runs = options->runs > 0 ? options->runs
                              : options->quick  ? 1
                                                : experiment->runs};
  int failed = 0;
  if (cell.runs > RUNS_MAX) cell.runs = RUNS_MAX;
  printf("%-14s %-10s %6s ", "row", "impl", "ranks");
  for (int i = 0; i < SIZES; i++) printf(" %8s %9s %8s", "of", "ns each", "bytes");
  printf(" %7s  %s\n", "slope", "spread");
  for (size_t i = 0; i < sizeof growth_rows / sizeof *growth_rows; i++) {
    cell.row = &growth_rows[i];
    failed += measure_row(&cell, names, rows);
  }
  return failed;
}

const struct experiment bench_mpi_growth = {
    .name = "mpi-growth",
    .shows = "MPI: what one thing costs beside many others, and how that grows",
    .section = "beyond the papers",
    .impls = "tmpi,checked,openmpi-yield,mpich-yield",
    .runs = 5,
    .measure = measure,
};
