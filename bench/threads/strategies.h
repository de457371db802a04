/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file strategies.h
 * What the experiments of Anderson et al. share: runs of the library with each of its
 * strategies (MLTP_SCHED), in turn.
 */
#ifndef BENCH_STRATEGIES_H
#define BENCH_STRATEGIES_H

#include "harness/experiment.h"
#include "harness/stats.h"

enum { BENCH_STRATEGIES = 6 };

/** Their names, as MLTP_SCHED has them. */
extern const char *const bench_strategies[BENCH_STRATEGIES];

/** One strategy at one point of an experiment, and what its runs gave. */
struct bench_strategy_case {
  const char *strategy;
  int good, failed;
  double *wall, *cpu; /* [runs] of the good runs */
  struct bench_stats wall_stats, cpu_stats;
  char why[sizeof((struct bench_outcome *)0)->why]; /* of the last failed run */
};

/** The strategies the command line asks for, with room for the results of their runs. */
struct bench_strategy_set {
  int count, runs;
  struct bench_strategy_case cases[BENCH_STRATEGIES];
};

/** @return whether a comma-separated list names strategies only. */
bool bench_strategies_known(const char *names);

/** @return 0, or -1: no memory. */
int bench_strategies_choose(struct bench_strategy_set *set, const struct experiment *experiment,
                            const struct bench_options *options);
void bench_strategies_free(struct bench_strategy_set *set);

/** Runs the experiment at one point with every strategy of the set, in turn. @return how many
 * runs failed. */
int bench_strategies_run(struct bench_strategy_set *set, const struct experiment *experiment,
                         const struct bench_options *options, const struct bench_params *params);

/** Prints the failures of the case, if any, and ends the line. */
void bench_strategies_end_line(const struct bench_strategy_case *c);

/** Appends a row: the metric of one case. params is consumed. */
void bench_strategies_row(json_t *rows, const struct bench_strategy_case *c, json_t *params,
                          const char *metric, const char *unit, const char *clock,
                          struct bench_stats stats);

#endif
