/* SPDX-License-Identifier: Apache-2.0 */
/** @file json.c Rows and files of results, in JSON. */
#include <errno.h>
#include <stdio.h>

#include "report.h"

void bench_row_add(json_t *rows, const struct bench_row *row) {
  json_t *object = json_pack("{s:s, s:o, s:s, s:s, s:s, s:i, s:b}", "impl", row->impl, "params",
                             row->params, "metric", row->metric, "unit", row->unit, "clock",
                             row->clock, "runs", row->runs, "verified", row->verified);
  if (row->runs > 0) {
    json_object_set_new(object, "min", json_real(row->stats.min));
    json_object_set_new(object, "median", json_real(row->stats.median));
    json_object_set_new(object, "max", json_real(row->stats.max));
  }
  if (row->verdict != NULL) json_object_set_new(object, "verdict", json_string(row->verdict));
  json_array_append_new(rows, object);
}

int bench_report_write(const char *path, const char *experiment, json_t *env, json_t *rows) {
  json_t *report = json_pack("{s:s, s:O, s:O}", "experiment", experiment, "env", env, "rows", rows);
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    json_decref(report);
    return -1;
  }
  int failed = json_dumpf(report, file, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  failed |= fputc('\n', file) == EOF;
  failed |= fclose(file);
  json_decref(report);
  return failed ? -1 : 0;
}
