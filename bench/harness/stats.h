/* SPDX-License-Identifier: Apache-2.0 */
/** @file stats.h Minimum, median and maximum of a few runs. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

struct bench_stats {
  double min, median, max;
};

/** @param values count of them, at least 1; sorted on return */
struct bench_stats bench_stats(double *values, int count);

#endif
