/* SPDX-License-Identifier: Apache-2.0 */
/* A failing schedule made shorter (delta debugging: Zeller and Hildebrandt 2002): leave out
 * half of the departures, then quarters, and so on down to single ones, at last any two of
 * them, and keep what still fails in the same way. A departure that no longer fits (the run took
 * another turn before) does nothing, so what counts is what the program says it took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"

enum {
  RUNS_MAX = 2000,
  PAIRS_OF = 16,
  TEXT_MAX = 120000 /* of one variable in an environment: 128 KiB */
};

struct search {
  const struct program *program;
  struct trial *best;
  struct schedule now; /* what it took */
  unsigned runs;
};

/* Runs the schedule; keeps it when it fails as before. */
static bool still_fails(struct search *search, const struct schedule *schedule) {
  struct trial trial = {.seed = checked(strdup("0")), .schedule = schedule_text(schedule)};
  bool same = strlen(trial.schedule) < TEXT_MAX;
  if (same) {
    trials_run(search->program, &trial, 1);
    search->runs++;
    same = trial_same_end(&trial, search->best);
  }
  if (!same) {
    trial_free(&trial);
    return false;
  }
  trial_free(search->best);
  *search->best = trial;
  free(search->now.departures);
  search->now = trial_schedule(&trial);
  free(search->best->schedule);
  search->best->schedule = schedule_text(&search->now);
  return true;
}

/* Leaves out those from first to last: all of them, or only the two. */
static bool fails_without(struct search *search, size_t first, size_t last, bool ends_only) {
  const struct schedule *now = &search->now;
  size_t before = now->count;
  struct schedule rest = {checked(calloc(before + 1, sizeof *rest.departures)), 0};
  for (size_t i = 0; i < before; i++) {
    bool out = ends_only ? i == first || i == last : first <= i && i <= last;
    if (!out) rest.departures[rest.count++] = now->departures[i];
  }
  bool fails = still_fails(search, &rest);
  free(rest.departures);
  return fails && search->now.count < before;
}

/* Leaves out pieces of a size, each once. @return whether any could be spared. */
static bool spare(struct search *search, size_t size) {
  bool any = false;
  for (size_t first = 0; first < search->now.count && search->runs < RUNS_MAX;) {
    if (fails_without(search, first, first + size - 1, false))
      any = true;
    else
      first += size;
  }
  return any;
}

/* Two departures may undo each other, so that neither can be spared alone. @return whether a
 * pair could be spared. */
static bool spare_pair(struct search *search) {
  for (size_t i = 0; i < search->now.count; i++)
    for (size_t j = i + 1; j < search->now.count && search->runs < RUNS_MAX; j++)
      if (fails_without(search, i, j, true)) return true;
  return false;
}

static void spare_singles(struct search *search) {
  while (search->runs < RUNS_MAX && spare(search, 1)) continue;
}

unsigned shorten(const struct program *program, struct trial *failed) {
  struct search search = {program, failed, trial_schedule(failed), 0};
  struct schedule whole = trial_schedule(failed);
  if (still_fails(&search, &whole)) {
    for (size_t size = (search.now.count + 1) / 2; size > 1; size = (size + 1) / 2)
      spare(&search, size);
    spare_singles(&search);
    while (search.now.count <= PAIRS_OF && spare_pair(&search)) spare_singles(&search);
  } else {
    search.runs = 0;
  }
  free(whole.departures);
  free(search.now.departures);
  return search.runs;
}

/* ---- printing */

static void print_thread(unsigned long id, const char *name) {
  char text[40];
  snprintf(text, sizeof text, "%lu %s", id, name);
  printf("%-16s", text);
}

void print_schedule(const struct trial *trial) {
  enum { LINES_MAX = 60 };
  size_t switches = 0, skipped = 0;
  for (size_t i = 0; i < trial->decision_count; i++)
    switches += trial->decisions[i].from != trial->decisions[i].to;
  printf("    %8s  %-16s%-24s%-16s\n", "step", "thread", "in", "then runs");
  for (size_t i = 0; i < trial->decision_count; i++) {
    const struct decision *decision = &trial->decisions[i];
    bool departs = decision->taken.choice != 0;
    if (decision->from == decision->to) continue; /* it continues */
    if (!departs && switches > LINES_MAX && ++skipped > 0) continue;
    printf("  %c %8lu  ", departs ? '*' : ' ', (unsigned long)decision->taken.step);
    print_thread(decision->from, decision->from_name);
    printf("%-24s", decision->call);
    print_thread(decision->to, decision->to_name);
    if (departs) printf("choice %u of %u", decision->taken.choice, decision->count);
    putchar('\n');
  }
  if (skipped > 0) printf("  (and %zu switches in the default order)\n", skipped);
}
