/* SPDX-License-Identifier: Apache-2.0 */
/** @file strategies.c Runs with each strategy in turn. */
#include "strategies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/child.h"
#include "harness/report.h"

const char *const bench_strategies[BENCH_STRATEGIES] = {"single", "multi", "freelist",
                                                        "idleq",  "local", "default"};

static const char *find(const char *name) {
  for (int i = 0; i < BENCH_STRATEGIES; i++)
    if (strcmp(bench_strategies[i], name) == 0) return bench_strategies[i];
  return NULL;
}

/** Adds the strategies of a list to the set, if there is one. @return false: an unknown name. */
static bool parse(const char *names, struct bench_strategy_set *set) {
  char *list = strdup(names), *rest = list;
  bool known = list != NULL;
  for (const char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ",")) {
    const char *strategy = find(name);
    known = known && strategy != NULL;
    if (known && set != NULL && set->count < BENCH_STRATEGIES)
      set->cases[set->count++].strategy = strategy;
  }
  free(list);
  return known;
}

bool bench_strategies_known(const char *names) { return parse(names, NULL); }

int bench_strategies_choose(struct bench_strategy_set *set, const struct experiment *experiment,
                            const struct bench_options *options) {
  *set = (struct bench_strategy_set){0};
  set->runs = options->runs > 0 ? options->runs : options->quick ? 3 : experiment->runs;
  parse(options->strategies != NULL ? options->strategies : experiment->strategies, set);
  for (int i = 0; i < set->count; i++) {
    struct bench_strategy_case *c = &set->cases[i];
    c->wall = calloc((size_t)set->runs, sizeof *c->wall);
    c->cpu = calloc((size_t)set->runs, sizeof *c->cpu);
    if (c->wall == NULL || c->cpu == NULL) {
      fprintf(stderr, "mltp-bench: %s: no memory for the results (ask for fewer --runs)\n",
              experiment->name);
      bench_strategies_free(set);
      return -1;
    }
  }
  return 0;
}

void bench_strategies_free(struct bench_strategy_set *set) {
  for (int i = 0; i < set->count; i++) {
    free(set->cases[i].wall);
    free(set->cases[i].cpu);
  }
}

static void run_once(struct bench_strategy_case *c, const struct experiment *experiment,
                     const struct bench_options *options, const struct bench_params *params) {
  setenv("MLTP_SCHED", c->strategy, 1); /* the child's */
  const struct bench_outcome outcome = bench_child(experiment, &par_mltp, params, options->timeout);
  if (outcome.verified) {
    c->wall[c->good] = outcome.seconds;
    c->cpu[c->good++] = outcome.cpu_seconds;
  } else {
    c->failed++;
    memcpy(c->why, outcome.why, sizeof c->why);
  }
}

int bench_strategies_run(struct bench_strategy_set *set, const struct experiment *experiment,
                         const struct bench_options *options, const struct bench_params *params) {
  for (int i = 0; i < set->count; i++) set->cases[i].good = set->cases[i].failed = 0;
  for (int run = 0; run < set->runs; run++) {
    for (int i = 0; i < set->count; i++) {
      struct bench_strategy_case *c = &set->cases[(i + run) % set->count];
      if (options->progress)
        fprintf(stderr, "\r\033[K%s: %s, %d threads on %d VPs, run %d of %d", experiment->name,
                c->strategy, params->threads, params->vps, run + 1, set->runs);
      run_once(c, experiment, options, params);
    }
  }
  if (options->progress) fputs("\r\033[K", stderr);
  int failed = 0;
  for (int i = 0; i < set->count; i++) {
    struct bench_strategy_case *c = &set->cases[i];
    failed += c->failed;
    c->wall_stats = c->cpu_stats = (struct bench_stats){0};
    if (c->good == 0) continue;
    c->wall_stats = bench_stats(c->wall, c->good);
    c->cpu_stats = bench_stats(c->cpu, c->good);
  }
  return failed;
}

void bench_strategies_end_line(const struct bench_strategy_case *c) {
  if (c->failed > 0) printf("  FAILED %d of %d: %s", c->failed, c->good + c->failed, c->why);
  printf("\n");
  fflush(stdout);
}

void bench_strategies_row(json_t *rows, const struct bench_strategy_case *c, json_t *params,
                          const char *metric, const char *unit, const char *clock,
                          struct bench_stats stats) {
  const struct bench_row row = {.impl = "mltp",
                                .params = params,
                                .metric = metric,
                                .unit = unit,
                                .clock = clock,
                                .stats = stats,
                                .runs = c->good,
                                .verified = c->failed == 0};
  json_object_set_new(row.params, "strategy", json_string(c->strategy));
  bench_row_add(rows, &row);
}
