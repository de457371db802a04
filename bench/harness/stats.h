/* SPDX-License-Identifier: Apache-2.0 */
/** @file stats.h Minimum, median and maximum of a few runs, and the comparison of two such. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

struct bench_stats {
  double min, median, max;
};

/** @param values count of them, at least 1; sorted on return */
struct bench_stats bench_stats(double *values, int count);

enum { BENCH_RUNS_TO_COMPARE = 3 }; /* fewer runs have no spread to compare with */

/**
 * Compares our runs with those of a peer, where less is better.
 * The spread of a series is its median less its minimum: what a disturbed machine usually adds.
 * @return "ahead" if both our minimum and our median are below the peer's by more than either
 * spread; "behind" if both are above by more than that; "even" otherwise; NULL if either has fewer
 * than BENCH_RUNS_TO_COMPARE runs.
 */
const char *bench_compare(struct bench_stats ours, int our_runs, struct bench_stats peer,
                          int peer_runs);

#endif
