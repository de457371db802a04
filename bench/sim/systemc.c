/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file systemc.c
 * SystemC with our coroutine package and with its own: one unmodified program (peers/systemc.cpp),
 * run in turn as it is and with the package preloaded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/report.h"
#include "sim/systemc.h"
#include "threads/micro.h"

enum { STOCK, OURS, WAYS };

static const char *const way_names[WAYS] = {"systemc", "mltp-systemc"};
static const struct micro_peer program = {"systemc", "libsystemc-dev"};

struct row {
  struct micro_row micro;
  const char *unit, *clock;
};

#define ROW(name, label, value) {"systemc", name, label, name, 1, 1, value, false, 0}
static const struct row table[] = {
    {ROW("wait", "a wait of a process for another", MICRO_CPU_NS), "ns", "cpu"},
    {ROW("process", "a process created, run and joined, in groups of 10", MICRO_CPU_NS), "ns",
     "cpu"},
    {ROW("alive", "resident memory per process, 20,000 alive", MICRO_RSS_BYTES), "B", "none"},
};

void bench_systemc_package(char path[PATH_MAX]) {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = '\0';
  char *end = strrchr(self, '/');
  if (end != NULL) *end = '\0';
  int needed = snprintf(path, PATH_MAX, "%s/../lib/libmltp-systemc.so", self);
  if (needed >= PATH_MAX || access(path, R_OK) != 0) strcpy(path, "libmltp-systemc.so");
}

static enum micro_outcome run_once(const struct row *row, int way, const char *package,
                                   const struct bench_options *options, double *value) {
  const struct micro_limits limits = {options->quick ? 50 : 300, options->timeout};
  struct micro_sample sample;
  if (way == OURS) setenv("LD_PRELOAD", package, 1);
  enum micro_outcome outcome = micro_run(&program, &row->micro, &limits, &sample);
  unsetenv("LD_PRELOAD");
  if (outcome == MICRO_MEASURED) *value = sample.value;
  return outcome;
}

static void show(const struct row *row, const struct bench_stats stats[WAYS],
                 const int good[WAYS]) {
  printf("\n%s [%s%s]\n", row->micro.label, row->micro.value == MICRO_CPU_NS ? "CPU " : "",
         row->unit);
  for (int way = 0; way < WAYS; way++) {
    printf("  %-14s", way_names[way]);
    if (good[way] == 0) {
      printf(" FAILED\n");
      continue;
    }
    printf(" %10.1f %10.1f %10.1f", stats[way].min, stats[way].median, stats[way].max);
    if (way == OURS && good[STOCK] > 0) {
      const char *verdict = bench_compare(stats[OURS], good[OURS], stats[STOCK], good[STOCK]);
      printf("   %8.2f x systemc, %s", stats[OURS].min / stats[STOCK].min,
             verdict != NULL ? verdict : "too few runs");
    }
    printf("\n");
  }
  fflush(stdout);
}

static int measure_row(const struct row *row, const char *package, int runs, double *values,
                       const struct bench_options *options, json_t *rows) {
  int good[WAYS] = {0}, failed = 0;
  struct bench_stats stats[WAYS] = {{0, 0, 0}, {0, 0, 0}};
  for (int run = 0; run < WAYS * runs; run++) {
    int way = run % WAYS;
    double *value = &values[way * runs + good[way]];
    enum micro_outcome outcome = run_once(row, way, package, options, value);
    if (outcome == MICRO_ABSENT) return -1;
    good[way] += outcome == MICRO_MEASURED;
    failed += outcome != MICRO_MEASURED;
  }
  for (int way = 0; way < WAYS; way++) {
    if (good[way] > 0) stats[way] = bench_stats(&values[way * runs], good[way]);
  }
  const char *verdict = bench_compare(stats[OURS], good[OURS], stats[STOCK], good[STOCK]);
  for (int way = 0; way < WAYS; way++) {
    json_t *params = json_pack("{s:s}", "label", row->micro.label);
    const struct bench_row line = {.impl = way_names[way],
                                   .params = params,
                                   .metric = row->micro.metric,
                                   .unit = row->unit,
                                   .clock = row->clock,
                                   .stats = stats[way],
                                   .runs = good[way],
                                   .verified = good[way] == runs,
                                   .verdict = way == STOCK ? verdict : NULL};
    bench_row_add(rows, &line);
  }
  show(row, stats, good);
  return failed;
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  char package[PATH_MAX];
  int runs = options->runs > 0 ? options->runs : options->quick ? 3 : experiment->runs;
  int failed = 0;
  double *values = calloc((size_t)runs * WAYS, sizeof *values);
  if (values == NULL) {
    fprintf(stderr, "mltp-bench: systemc: no memory for the results (ask for fewer --runs)\n");
    return 1;
  }
  bench_systemc_package(package);
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1); /* it would go before each line of JSON */
  printf("Minimum, median and maximum of %d interleaved runs; \"x\" compares minima.\n", runs);
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    int result = measure_row(&table[i], package, runs, values, options, rows);
    if (result < 0) {
      printf("systemc: absent, its program was not built (install libsystemc-dev)\n");
      break;
    }
    failed += result;
  }
  free(values);
  return failed;
}

const struct experiment bench_systemc = {
    .name = "systemc",
    .shows = "SystemC's waits and processes with our coroutine package preloaded, and without",
    .section = "ContextThreads, Tables 1 and 2",
    .impls = "systemc,mltp-systemc",
    .runs = 7,
    .measure = measure,
};
