/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file grid.h
 * A square grid of doubles. Rows start on cache lines, so that threads which own
 * different rows never share one, and their distance is no power of two, so that
 * neighbouring rows do not fight for the same cache sets.
 */
#ifndef BENCH_OCEAN_GRID_H
#define BENCH_OCEAN_GRID_H

#include <stdlib.h>
#include <string.h>

struct grid {
  double *data;
  long pitch; /* doubles from one row to the next */
};

static inline double *grid_row(struct grid g, long i) { return g.data + i * g.pitch; }

/** @return a grid of n x n zeros; data is NULL when memory is short. */
static inline struct grid grid_create(long n) {
  const long lines = (n + 7) / 8;
  struct grid g = {.pitch = 8 * (lines | 1)};
  const size_t bytes = (size_t)(n * g.pitch) * sizeof(double);
  g.data = aligned_alloc(64, bytes);
  if (g.data != NULL) memset(g.data, 0, bytes);
  return g;
}

static inline void grid_destroy(struct grid g) { free(g.data); }

#endif
