/* SPDX-License-Identifier: Apache-2.0 */
/** @file experiment.c MPI programs: rows, interleaved over the ways to run them. */
#include "mpi.h"

#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/experiment.h"
#include "harness/report.h"

enum { IMPLS_MAX = 24, RUNS_MAX = 99, QUICK_RANKS = 16 };

static const char impl_names[] = "tmpi,one-to-one,openmpi,mpich,openmpi5,mpich5";

/* What an implementation did in a row. */
struct result {
  double values[RUNS_MAX], cpu[RUNS_MAX];
  struct bench_stats stats; /* of the values, after the last run */
  int good, failed;
  bool absent, over;
};

struct sweep {
  const struct experiment *experiment;
  const struct bench_options *options;
  json_t *rows;
  int impls[IMPLS_MAX], count;
  bool always[IMPLS_MAX]; /* named itself, so it runs whatever the number of ranks */
  bool missing[IMPLS_MAX];
  int runs, vps, failed;
};

static bool is_way_of(const struct mpi_impl *impl, const char *peer) {
  return impl->use != MPI_ANY_RANKS && strcmp(impl->suffix, peer) == 0;
}

/* Adds the way of this name, or all ways of the peer of this name. */
static void add(struct sweep *sweep, const char *name) {
  int before = sweep->count;
  for (int i = 0; mpi_impls[i].name != NULL; i++) {
    bool exact = strcmp(mpi_impls[i].name, name) == 0;
    if ((!exact && !is_way_of(&mpi_impls[i], name)) || sweep->count == IMPLS_MAX) continue;
    sweep->always[sweep->count] = exact;
    sweep->impls[sweep->count++] = i;
  }
  if (sweep->count > before) return;
  fprintf(stderr,
          "mltp-bench: --impl %s: no such way to run MPI programs (there are %s; of each "
          "peer -default, -pinned and -yield)\n",
          name, impl_names);
  exit(2);
}

static void choose(struct sweep *sweep, const char *names) {
  char *list = strdup(names), *rest = list;
  for (const char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ","))
    add(sweep, name);
  free(list);
}

/* @return whether a way is run with that number of ranks. */
static bool is_used(const struct sweep *sweep, int which, const struct mpi_row *row, int ranks) {
  const struct mpi_impl *impl = &mpi_impls[sweep->impls[which]];
  /* The others start many processes slowly, and a quick look should be one. */
  int most = sweep->options->quick && !impl->ours ? QUICK_RANKS : impl->ranks_max;
  bool within = ranks <= (row->one_cpu ? 1 : mltp_cpus());
  return ranks <= most && (sweep->always[which] || impl->use == MPI_ANY_RANKS ||
                           impl->use == (within ? MPI_WITHIN_CPUS : MPI_BEYOND_CPUS));
}

static void run_once(struct sweep *sweep, const struct mpi_row *row, int ranks, int which,
                     struct result *result) {
  const struct mpi_impl *impl = &mpi_impls[sweep->impls[which]];
  if (!is_used(sweep, which, row, ranks) || result->absent || result->over || result->failed > 0)
    return;
  struct mpi_sample sample;
  enum mpi_outcome outcome =
      mpi_run(impl, row, ranks, sweep->vps, sweep->options->timeout, &sample);
  if (outcome == MPI_MEASURED) {
    result->cpu[result->good] = sample.cpu_ms;
    result->values[result->good++] = sample.value;
  }
  if (outcome == MPI_ABSENT) result->absent = sweep->missing[which] = true;
  if (outcome == MPI_FAILED) result->failed++;
  if (outcome == MPI_OVER) result->over = true;
}

/* One that takes more than its time is no failure, but has no figures either. */
static void report_over(struct sweep *sweep, const struct mpi_row *row, int ranks,
                        const char *name) {
  printf("%-24s %5d  %-16s over %d s\n", row->metric, ranks, name, sweep->options->timeout);
  json_array_append_new(
      sweep->rows, json_pack("{s:s, s:{s:i, s:i, s:i}, s:s, s:b}", "impl", name, "params", "ranks",
                             ranks, "vps", sweep->vps, "over_seconds", sweep->options->timeout,
                             "metric", row->metric, "verified", true));
}

static void report_absent(struct sweep *sweep, const char *name) {
  printf("%s: absent (it was not installed, or named, when this was built)\n", name);
  bench_row_add(sweep->rows, &(struct bench_row){.impl = name,
                                                 .params = json_object(),
                                                 .metric = "absent",
                                                 .unit = "none",
                                                 .clock = "none"});
}

static void report(struct sweep *sweep, const struct mpi_row *row, int ranks, int which,
                   struct result *result, const struct result *ours) {
  const char *name = mpi_impls[sweep->impls[which]].name;
  if (result->over) report_over(sweep, row, ranks, name);
  if (result->over || (result->good == 0 && result->failed == 0)) return;
  sweep->failed += result->failed;
  if (result->good == 0) {
    printf("%-24s %5d  %-16s FAILED\n", row->metric, ranks, name);
    return;
  }
  const struct bench_stats *stats = &result->stats;
  printf("%-24s %5d  %-16s %10.2f %10.2f %10.2f %-3s", row->metric, ranks, name, stats->min,
         stats->median, stats->max, row->unit);
  struct bench_stats cpu = bench_stats(result->cpu, result->good);
  printf(" %10.1f", cpu.median);
  const char *verdict = NULL;
  if (ours != NULL && ours != result) {
    verdict = bench_compare(ours->stats, ours->good, *stats, result->good);
    printf(" %8.2f %s", stats->min / ours->stats.min, verdict != NULL ? verdict : "");
  }
  printf("%s\n", result->failed > 0 ? "  FAILED" : "");
  json_t *params =
      json_pack("{s:i, s:i, s:f}", "ranks", ranks, "vps", sweep->vps, "cpu_ms", cpu.median);
  bench_row_add(sweep->rows, &(struct bench_row){.impl = name,
                                                 .params = params,
                                                 .metric = row->metric,
                                                 .unit = row->unit,
                                                 .clock = "wall",
                                                 .stats = *stats,
                                                 .runs = result->good,
                                                 .verified = result->failed == 0,
                                                 .verdict = verdict});
}

static void measure_row(struct sweep *sweep, const struct mpi_row *row, int ranks) {
  static struct result results[IMPLS_MAX];
  memset(results, 0, sizeof results);
  for (int run = 0; run < sweep->runs; run++)
    for (int i = 0; i < sweep->count; i++) {
      int which = (i + run) % sweep->count;
      if (sweep->options->progress)
        fprintf(stderr, "\r\033[K%s, %d ranks, run %d of %d", row->metric, ranks, run + 1,
                sweep->runs);
      run_once(sweep, row, ranks, which, &results[which]);
    }
  if (sweep->options->progress) fputs("\r\033[K", stderr);
  const struct result *ours = NULL;
  for (int i = 0; i < sweep->count; i++) {
    if (results[i].good == 0) continue;
    results[i].stats = bench_stats(results[i].values, results[i].good);
    if (sweep->impls[i] == 0) ours = &results[i];
  }
  for (int i = 0; i < sweep->count; i++) report(sweep, row, ranks, i, &results[i], ours);
  fflush(stdout);
}

/* Each number of ranks the command line names, or else the row. */
static void measure_ranks(struct sweep *sweep, const struct mpi_row *row) {
  const struct bench_list *asked = &sweep->options->threads;
  int degrees = row->ranks[0] == MPI_DEGREES;
  for (int i = 0; i < asked->count; i++) measure_row(sweep, row, asked->value[i]);
  for (int i = degrees; asked->count == 0 && i < MPI_RANKS_LISTED && row->ranks[i] > 0; i++) {
    int ranks = row->ranks[i] * (degrees ? mltp_cpus() : 1);
    if (!sweep->options->quick || ranks <= 64) measure_row(sweep, row, ranks);
  }
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  struct sweep sweep = {.experiment = experiment, .options = options, .rows = rows};
  sweep.runs = options->runs > 0 ? options->runs : options->quick ? 2 : experiment->runs;
  if (sweep.runs > RUNS_MAX) sweep.runs = RUNS_MAX;
  sweep.vps = options->vps.count > 0 ? options->vps.value[0] : mltp_cpus();
  choose(&sweep, options->impls != NULL ? options->impls : impl_names);
  printf("%-24s %5s  %-16s %10s %10s %10s %-3s %10s %8s\n", "row", "ranks", "by", "min", "median",
         "max", "", "CPU ms", "x tmpi, and how tmpi is");
  for (const struct mpi_row *row = mpi_rows; row->metric != NULL; row++) {
    if (strcmp(row->experiment, experiment->name) == 0) measure_ranks(&sweep, row);
  }
  for (int i = 0; i < sweep.count; i++)
    if (sweep.missing[i]) report_absent(&sweep, mpi_impls[sweep.impls[i]].name);
  return sweep.failed;
}

const struct experiment bench_mpi = {
    .name = "mpi",
    .shows = "MPI: messages, collectives, start, memory; ours, Open MPI's, MPICH's",
    .section = "TMPI-2, section 5",
    .impls = impl_names,
    .runs = 5,
    .measure = measure,
};

const struct experiment bench_mpi_rma = {
    .name = "mpi-rma",
    .shows = "MPI: put, get, accumulate, fence, locks, shared windows; ours, Open MPI's, MPICH's",
    .section = "MPI 5.0, chapter 12",
    .impls = impl_names,
    .runs = 5,
    .measure = measure,
};

const struct experiment bench_mpi_files = {
    .name = "mpi-files",
    .shows = "MPI: collective accesses to an array in a file, in memory and on a disk",
    .section = "MPI 5.0, chapter 14",
    .impls = impl_names,
    .runs = 5,
    .measure = measure,
};

const struct experiment bench_mpi_programs = {
    .name = "mpi-programs",
    .shows = "MPI programs at many ranks for each CPU: Cannon, GE, wavefront, CG, sparse LU",
    .section = "TMPI-2, Figure 6",
    .impls = impl_names,
    .runs = 5,
    .measure = measure,
};
