/* SPDX-License-Identifier: Apache-2.0 */
/** @file stats.c Minimum, median and maximum of a few runs, and the comparison of two such. */
#include "stats.h"

#include <math.h>
#include <stddef.h>
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

const char *bench_compare(struct bench_stats ours, int our_runs, struct bench_stats peer,
                          int peer_runs) {
  if (our_runs < BENCH_RUNS_TO_COMPARE || peer_runs < BENCH_RUNS_TO_COMPARE) return NULL;
  const double spread = fmax(ours.median - ours.min, peer.median - peer.min);
  const double of_minima = peer.min - ours.min, of_medians = peer.median - ours.median;
  if (of_minima > spread && of_medians > spread) return "ahead";
  if (of_minima < -spread && of_medians < -spread) return "behind";
  return "even";
}
