/* SPDX-License-Identifier: Apache-2.0 */
/** @file micro_select.c Experiments that are a selection of rows, and which rows those are. */
#include <stdlib.h>
#include <string.h>

#include "micro.h"

#define PACKAGES "mltp,pthreads,boost-context,boost-fiber,st,pth,go"

static bool in_list(const struct bench_list *list, int value) {
  for (int i = 0; i < list->count; i++)
    if (list->value[i] == value) return true;
  return false;
}

static size_t count_rows(const struct micro_row *table) {
  size_t count = 0;
  while (table[count].metric != NULL) count++;
  return count;
}

static struct micro_row with_threads(const struct micro_row *row, int threads) {
  struct micro_row made = *row;
  made.threads = threads;
  return made;
}

/* Whether an earlier row of the table differs from this one in nothing but the threads. */
static bool repeats(const struct micro_row *table, const struct micro_row *row) {
  for (const struct micro_row *earlier = table; earlier < row; earlier++)
    if (strcmp(earlier->metric, row->metric) == 0 && earlier->vps == row->vps) return true;
  return false;
}

struct micro_row *micro_select(const struct experiment *experiment,
                               const struct bench_options *options, int *count) {
  const struct bench_list *threads =
      options->threads.count > 0 ? &options->threads : &experiment->threads;
  const bool all = experiment == &bench_micro, recursion = experiment == &bench_recursion;
  const size_t most = count_rows(micro_rows) + count_rows(micro_switch_rows) +
                      count_rows(micro_probe_rows) + count_rows(micro_recursion_rows);
  struct micro_row *made = malloc(most * BENCH_LIST_MAX * sizeof *made);
  *count = 0;
  for (const struct micro_row *row = micro_probe_rows; made != NULL && row->metric != NULL; row++)
    if (options->probe) made[(*count)++] = *row;
  if (options->probe) return made;
  for (const struct micro_row *row = micro_rows; made != NULL && row->metric != NULL; row++) {
    if (!all && strcmp(row->experiment, experiment->name) != 0) continue;
    if (options->vps.count > 0 && !in_list(&options->vps, row->vps)) continue;
    if (!row->by_threads || threads->count == 0) {
      made[(*count)++] = *row;
    } else if (!repeats(micro_rows, row)) {
      for (int i = 0; i < threads->count; i++)
        made[(*count)++] = with_threads(row, threads->value[i]);
    }
  }
  for (const struct micro_row *row = micro_recursion_rows; made != NULL && recursion; row++) {
    if (row->metric == NULL) break;
    if (options->vps.count > 0 && !in_list(&options->vps, row->vps)) continue;
    if (options->threads.count > 0 && !in_list(&options->threads, row->threads)) continue;
    if (options->quick && row->ops != 0) continue;
    made[(*count)++] = *row;
  }
  const struct micro_row *more = micro_switch_rows;
  for (; made != NULL && experiment == &bench_switch && more->metric != NULL; more++)
    if (options->vps.count == 0 || in_list(&options->vps, more->vps)) made[(*count)++] = *more;
  return made;
}

const struct experiment bench_micro = {
    .name = "micro",
    .shows = "switch, yield, create, locks, barriers, memory: ours and today's peers",
    .section = "single operations",
    .impls = PACKAGES,
    .runs = 7,
    .measure = micro_measure,
};

const struct experiment bench_switch = {
    .name = "switch",
    .shows = "context switches: time, also of a few from a cold start, and instructions",
    .section = "thesis 4.1",
    .impls = PACKAGES,
    .threads = {4, {2, 10, 100, 1000}},
    .runs = 7,
    .measure = micro_measure,
};

const struct experiment bench_forkjoin = {
    .name = "forkjoin",
    .shows = "create, start and finish threads; fork one and join it",
    .section = "Anderson et al., Table III",
    .impls = PACKAGES,
    .runs = 7,
    .measure = micro_measure,
};

const struct experiment bench_fib = {
    .name = "fib",
    .shows = "a tree of threads: fib(25), a thread for each call",
    .section = "single operations",
    .impls = PACKAGES,
    .runs = 7,
    .measure = micro_measure,
};

const struct experiment bench_recursion = {
    .name = "recursion",
    .shows = "recursive fib, n queens and unbalanced tree search, each at three sizes",
    .section = "beyond the papers",
    .impls = "mltp,go,massivethreads,argobots",
    .runs = 7,
    .measure = micro_measure,
};

const struct experiment bench_mutex = {
    .name = "mutex",
    .shows = "a mutex, free and fought for",
    .section = "single operations",
    .impls = PACKAGES,
    .threads = {5, {1, 2, 8, 64, 512}},
    .runs = 7,
    .measure = micro_measure,
};

const struct experiment bench_handshake = {
    .name = "handshake",
    .shows = "two threads hand a ball to and fro, by semaphores and by a condition",
    .section = "single operations",
    .impls = PACKAGES,
    .runs = 7,
    .measure = micro_measure,
};

const struct experiment bench_roundtrip = {
    .name = "roundtrip",
    .shows = "the same across VPs, by the clock on the wall",
    .section = "single operations",
    .impls = PACKAGES,
    .runs = 7,
    .measure = micro_measure,
};

const struct experiment bench_barrier = {
    .name = "barrier",
    .shows = "a barrier, for each thread that passes it",
    .section = "single operations",
    .impls = PACKAGES,
    .threads = {5, {2, 8, 64, 256, 1000}},
    .runs = 7,
    .measure = micro_measure,
};

const struct experiment bench_sleep = {
    .name = "sleep",
    .shows = "CPU time of each wake-up of a thread that sleeps 1 ms again and again",
    .section = "single operations",
    .impls = PACKAGES,
    .runs = 7,
    .measure = micro_measure,
};

const struct experiment bench_memory = {
    .name = "memory",
    .shows = "memory of a hundred thousand blocked threads",
    .section = "single operations",
    .impls = PACKAGES,
    .runs = 7,
    .measure = micro_measure,
};
