/* SPDX-License-Identifier: Apache-2.0 */
/** @file report.h Rows and files of results, in JSON. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <jansson.h>
#include <stdbool.h>

#include "stats.h"

/** What one row says; `params` is consumed. */
struct bench_row {
  const char *impl;
  json_t *params;
  const char *metric;
  const char *unit;
  const char *clock; /* "wall" or "cpu" */
  struct bench_stats stats;
  int runs;
  bool verified;
  const char *verdict; /* of a peer's row: ours against it, by bench_compare(); NULL: none */
};

/** Appends a row to the JSON array. */
void bench_row_add(json_t *rows, const struct bench_row *row);

/** @return the machine and the moment: cpu, cpus, kernel, load, commit, versions, date. */
json_t *bench_env(void);

/** Writes {"experiment", "env", "rows"} to a file. @return 0, or -1 with errno set. */
int bench_report_write(const char *path, const char *experiment, json_t *env, json_t *rows);

#endif
