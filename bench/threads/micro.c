/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file micro.c
 * The micro benchmarks: single operations, ours and the peers' runs in turn.
 *
 * The peers are programs of their own (peers/): each is compiled as its users would compile
 * it, and one that crashes or hangs costs its own figure only.
 */
#include "micro.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report.h"

enum { PEERS = 9, EXIT_USAGE = 2 };

/** What one peer did in one row. */
struct result {
  enum micro_outcome outcome; /* of its last run; it has no other after a failure */
  int count;
  int threads;
  double *values; /* [runs] */
  struct bench_stats stats;
};

/** The measurement of all rows. */
struct micro {
  const struct bench_options *options;
  bool wanted[PEERS];
  bool absent[PEERS];
  int runs;
  struct result result[PEERS]; /* of the row under way; ours first */
};

/* Marks the peers of a comma-separated list. */
static void choose_peers(struct micro *m, const char *names, const struct experiment *experiment) {
  char *list = strdup(names), *rest = list;
  for (const char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ",")) {
    int i = 0;
    while (i < PEERS && strcmp(micro_peers[i].name, name) != 0) i++;
    if (i == PEERS) {
      fprintf(stderr, "mltp-bench: --impl %s: no such peer (there are %s)\n", name,
              experiment->impls);
      exit(EXIT_USAGE);
    }
    m->wanted[i] = true;
  }
  free(list);
}

static void measure_once(struct micro *m, const struct micro_row *row, int peer, int run) {
  const struct micro_limits limits = {m->options->quick ? 20 : 80, m->options->timeout};
  struct result *result = &m->result[peer];

  if (!m->wanted[peer] || (run > 0 && result->outcome != MICRO_MEASURED)) return;
  const bool counted = row->value == MICRO_INSTRUCTIONS;
  if (counted && run > 0) return; /* it would be the same again */
  if (m->options->progress)
    fprintf(stderr, "\r\033[K%s, %d VPs: %s, run %d of %d", row->label, row->vps,
            micro_peers[peer].name, run + 1, m->runs);
  struct micro_sample sample;
  result->outcome = (counted ? micro_count : micro_run)(&micro_peers[peer], row, &limits, &sample);
  if (result->outcome == MICRO_MEASURED) {
    result->values[result->count++] = sample.value;
    result->threads = sample.threads;
  }
  if (result->outcome == MICRO_ABSENT) m->absent[peer] = true;
}

/* @return how many runs failed */
static int measure_row(struct micro *m, const struct micro_row *row) {
  int failed = 0;
  for (int i = 0; i < PEERS; i++) m->result[i].count = 0;
  for (int run = 0; run < m->runs; run++) {
    /* Each round starts one further on: nobody always follows the same neighbour. */
    for (int i = 0; i < PEERS; i++) measure_once(m, row, (i + run) % PEERS, run);
  }
  if (m->options->progress) fputs("\r\033[K", stderr);
  for (int i = 0; i < PEERS; i++) {
    struct result *result = &m->result[i];
    if (result->count > 0) result->stats = bench_stats(result->values, result->count);
    failed += m->wanted[i] && result->outcome == MICRO_FAILED;
  }
  return failed;
}

/** What is said of a value. */
struct words {
  const char *unit, *clock;
};

static struct words words_of(const struct micro_row *row) {
  switch (row->value) {
    case MICRO_CPU_NS:
    case MICRO_WALK_NS: return (struct words){"ns", "cpu"};
    case MICRO_WALL_NS: return (struct words){"ns", "wall"};
    case MICRO_DEPTH: return (struct words){"forks", "none"};
    case MICRO_ALIVE: return (struct words){"threads", "none"};
    case MICRO_INSTRUCTIONS: return (struct words){"instructions", "none"};
    case MICRO_RSS_BYTES:
    case MICRO_PEAK_BYTES:
    case MICRO_PTE_BYTES: break;
  }
  return (struct words){"B", "none"};
}

/* @return ours against a peer's, NULL: no comparison. */
static const char *verdict_of(const struct micro *m, int peer) {
  const struct result *ours = &m->result[0], *other = &m->result[peer];
  if (peer == 0 || !m->wanted[0]) return NULL;
  return bench_compare(ours->stats, ours->count, other->stats, other->count);
}

static void print_row(const struct micro *m, const struct micro_row *row) {
  const struct result *ours = &m->result[0];
  const bool recursive = strcmp(row->experiment, bench_recursion.name) == 0;

  printf("\n%s", row->label);
  if (row->ops > 0 && !recursive) printf(", %ld in all", row->ops);
  if (recursive)
    printf(", n = %d", row->threads);
  else if (row->by_threads)
    printf(", %d thread%s", row->threads, row->threads == 1 ? "" : "s");
  printf(", %d VP%s [%s%s]\n", row->vps, row->vps == 1 ? "" : "s",
         row->value == MICRO_CPU_NS ? "CPU " : "", words_of(row).unit);
  for (int i = 0; i < PEERS; i++) {
    const struct result *result = &m->result[i];
    if (!m->wanted[i] || (result->count == 0 && result->outcome != MICRO_FAILED)) continue;
    printf("  %-14s", micro_peers[i].name);
    if (result->count > 0) {
      const struct bench_stats *s = &result->stats;
      printf(" %10.1f %10.1f %10.1f", s->min, s->median, s->max);
      if (i != 0 && ours->count > 0 && ours->stats.min > 0)
        printf("   %8.2f x mltp", s->min / ours->stats.min);
      if (verdict_of(m, i) != NULL) printf(", mltp %s", verdict_of(m, i));
      if (result->threads != row->threads) printf("   with %d threads", result->threads);
    }
    printf("%s\n", result->outcome == MICRO_FAILED ? "  FAILED" : "");
  }
  fflush(stdout);
}

static json_t *params_json(const struct micro_row *row, const struct result *result) {
  json_t *params = json_pack("{s:i, s:i}", "threads", result->threads, "vps", row->vps);
  if (row->ops > 1) json_object_set_new(params, "switches", json_integer(row->ops));
  json_object_set_new(params, "label", json_string(row->label));
  return params;
}

static void add_rows(const struct micro *m, const struct micro_row *row, json_t *rows) {
  for (int i = 0; i < PEERS; i++) {
    const struct result *result = &m->result[i];
    if (!m->wanted[i] || (result->count == 0 && result->outcome != MICRO_FAILED)) continue;
    const struct bench_row line = {.impl = micro_peers[i].name,
                                   .params = params_json(row, result),
                                   .metric = row->metric,
                                   .unit = words_of(row).unit,
                                   .clock = words_of(row).clock,
                                   .stats = result->stats,
                                   .runs = result->count,
                                   .verified = result->outcome == MICRO_MEASURED,
                                   .verdict = verdict_of(m, i)};
    bench_row_add(rows, &line);
  }
}

/* Says which peers were absent, and leaves a row that is not verified in their place. */
static void add_absent(const struct micro *m, json_t *rows) {
  printf("\n");
  for (int i = 0; i < PEERS; i++) {
    if (!m->absent[i]) continue;
    const struct bench_row line = {.impl = micro_peers[i].name,
                                   .params = json_object(),
                                   .metric = "absent",
                                   .unit = "none",
                                   .clock = "none"};
    bench_row_add(rows, &line);
    printf("%s: absent, its program was not built", micro_peers[i].name);
    if (micro_peers[i].package != NULL) printf(" (install %s)", micro_peers[i].package);
    printf("\n");
  }
}

int micro_measure(const struct experiment *experiment, const struct bench_options *options,
                  json_t *rows) {
  struct micro m = {.options = options};
  int failed = 0, count;

  m.runs = options->runs > 0 ? options->runs : options->quick ? 3 : experiment->runs;
  choose_peers(&m, options->impls != NULL ? options->impls : experiment->impls, experiment);
  struct micro_row *selected = micro_select(experiment, options, &count);
  double *values = calloc((size_t)m.runs * PEERS, sizeof *values);
  if (values == NULL || selected == NULL) {
    fprintf(stderr, "mltp-bench: %s: no memory for the results (ask for fewer --runs)\n",
            experiment->name);
    free(values);
    free(selected);
    return 1;
  }
  for (int i = 0; i < PEERS; i++) m.result[i].values = values + (size_t)i * (size_t)m.runs;

  printf(
      "Minimum, median and maximum of %d interleaved runs; \"x\" compares minima.\n"
      "Even: the difference of minima or of medians is within median less minimum of either.\n",
      m.runs);
  for (int i = 0; i < count; i++) {
    failed += measure_row(&m, &selected[i]);
    print_row(&m, &selected[i]);
    add_rows(&m, &selected[i], rows);
  }
  add_absent(&m, rows);
  free(values);
  free(selected);
  return failed;
}
