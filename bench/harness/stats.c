/* SPDX-License-Identifier: Apache-2.0 */
/** @file stats.c Minimum, median and maximum of a few runs. */
#include "stats.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

struct bench_stats bench_stats(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  const double low = values[(count - 1) / 2], high = values[count / 2];
  return (struct bench_stats){values[0], (low + high) / 2, values[count - 1]};
}
