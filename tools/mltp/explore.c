/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mltp explore: runs a program in deterministic mode, again and again, each time with other
 * choices, until it fails.
 *
 * mix      the next three in turn, since no one of them is good at all bugs: pct with each depth up
 *          to the given one, random, and delays
 * random   each candidate is as likely as the others, at each scheduling point
 * delays   the default order but for 1 to depth random departures, at steps of the first run: few
 *          switches, in long programs, too (after Thomson, Donaldson, Betts, PPoPP 2014)
 * pct      Burckhardt et al. (ASPLOS 2010): random priorities and depth - 1 changes of them; finds
 *          a bug of that depth with a probability of 1 / (threads * steps^(depth - 1)) at least
 * preempt  systematic: all schedules with at most bound departures from the default order, those
 *          with fewer first (after CHESS's bounded preemption, Musuvathi and Qadeer 2007; that
 *          forced switches count, too, is delay bounding: Emmi, Qadeer, Rakamaric 2011)
 */
#include "explore.h"

#include <argp.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "preload.h"

enum { JOBS_MAX = 64, DEPTH_MAX = 32, ONCE_MAX = 10 /* failures that are not repeated */ };

enum strategy { MIX, RANDOM, DELAYS, PCT, PREEMPT, STRATEGIES };

static const char *const strategy_names[STRATEGIES] = {"mix", "random", "delays", "pct", "preempt"};

struct settings {
  struct program program;
  enum strategy strategy;
  uint64_t runs, seed;
  unsigned depth, bound, jobs;
};

/* The state of an exploration. */
struct exploration {
  const struct settings *settings;
  uint64_t done, steps;     /* runs; steps of the first, */
  struct schedule options;  /* and where it had a choice: each step with its last candidate */
  struct schedule *waiting; /* preempt: what is to be run, fewest departures first */
  size_t next, last, room;
  unsigned once; /* failures that a second run did not show */
};

/* ---- the systematic strategy's queue */

static void enqueue(struct exploration *e, struct schedule schedule) {
  if (e->last == e->room) {
    e->room = 2 * e->room + 64;
    e->waiting = checked(reallocarray(e->waiting, e->room, sizeof *e->waiting));
  }
  e->waiting[e->last++] = schedule;
}

/* One departure more, at each later step of this run. */
static void enqueue_children(struct exploration *e, const struct trial *trial) {
  struct schedule taken = trial_schedule(trial);
  uint64_t after = taken.count > 0 ? taken.departures[taken.count - 1].step : 0;
  for (size_t i = 0; i < trial->decision_count && taken.count < e->settings->bound; i++) {
    const struct decision *decision = &trial->decisions[i];
    for (unsigned choice = 1; choice < decision->count; choice++) {
      if (decision->taken.step <= after || e->last > e->settings->runs) break;
      size_t size = (taken.count + 1) * sizeof(struct departure);
      struct schedule child = {checked(malloc(size)), taken.count + 1};
      memcpy(child.departures, taken.departures, taken.count * sizeof(struct departure));
      child.departures[taken.count] = (struct departure){decision->taken.step, choice};
      enqueue(e, child);
    }
  }
  free(taken.departures);
}

/* ---- exploring */

/* Some departures from the default order, the same for each seed. */
static char *random_delays(const struct exploration *e, uint64_t seed, unsigned count) {
  unsigned short state[3] = {(unsigned short)seed, (unsigned short)(seed >> 16), 0x330e};
  struct departure chosen[DEPTH_MAX];
  struct schedule schedule = {chosen, 0};
  size_t left = e->options.count;
  for (size_t i = 0; i < e->options.count && schedule.count < count; i++, left--) {
    /* each step is as likely as the others to be among them */
    if (erand48(state) * (double)left >= (double)(count - schedule.count)) continue;
    struct departure option = e->options.departures[i];
    option.choice = 1 + (unsigned)nrand48(state) % option.choice;
    chosen[schedule.count++] = option;
  }
  return schedule_text(&schedule);
}

/* @return the schedule of a run by chance. */
static char *random_schedule(const struct exploration *e, uint64_t run) {
  const struct settings *s = e->settings;
  enum strategy strategy = s->strategy;
  uint64_t turn = run;
  if (strategy == MIX) {
    strategy = run % 3 == 1 ? PCT : run % 3 == 2 ? RANDOM : DELAYS;
    turn = run / 3;
  }
  unsigned depth = s->strategy == PCT ? s->depth : 1 + (unsigned)(turn % s->depth);
  char text[64] = "random";
  if (strategy == DELAYS) return random_delays(e, s->seed + run - 1, depth);
  if (strategy == PCT) snprintf(text, sizeof text, "pct:%u:%" PRIu64, depth, e->steps);
  return checked(strdup(text));
}

/* Settles the next trial. @return false: there is none. */
static bool next_trial(struct exploration *e, uint64_t run, struct trial *trial) {
  const struct settings *s = e->settings;
  uint64_t seed = s->strategy == PREEMPT ? 0 : s->seed + run - 1;
  char text[32];
  *trial = (struct trial){0};
  if (run > s->runs) return false;
  if (s->strategy == PREEMPT) {
    if (e->next == e->last) return false;
    trial->schedule = schedule_text(&e->waiting[e->next]);
    free(e->waiting[e->next++].departures);
  } else {
    trial->schedule = random_schedule(e, run);
  }
  snprintf(text, sizeof text, "%" PRIu64, seed);
  trial->seed = checked(strdup(text));
  return true;
}

/* The command line that does the same again. */
static void print_replay(const struct settings *s, const struct trial *trial) {
  printf("explore: replay:");
  if (strcmp(trial->seed, "0") != 0) printf(" MLTP_SEED=%s", trial->seed);
  if (strcmp(trial->schedule, "random") != 0) printf(" MLTP_SCHEDULE=%s", trial->schedule);
  printf(" MLTP_STEPS_MAX=%" PRIu64, s->program.steps_max);
  if (s->program.accesses) printf(" MLTP_ACCESSES=1");
  if (s->program.gated) printf(" mltp run --threads --");
  for (char **arg = s->program.argv; *arg != NULL; arg++) {
    bool plain = **arg != '\0' && strpbrk(*arg, " \t\n'\"\\$`*?[]{}()<>|&;!#~") == NULL;
    putchar(' ');
    if (!plain) putchar('\'');
    for (const char *c = *arg; *c != '\0'; c++)
      if (*c == '\'')
        fputs("'\\''", stdout);
      else
        putchar(*c);
    if (!plain) putchar('\'');
  }
  putchar('\n');
}

/* How a run is called: the first one has the default order. */
static void name_run(const struct exploration *e, char name[32]) {
  snprintf(name, 32, e->done == 0 ? "the default order" : "run %" PRIu64, e->done);
}

/* A loaded machine may refuse a thread, or let a run take too long. So a failure counts if its run
 * fails once more, and the second run stands for one that did not. @return whether it counts. */
static bool fails_again(struct exploration *e, struct trial *trial) {
  char end[80], name[32];
  struct trial again = {.seed = checked(strdup(trial->seed)),
                        .schedule = checked(strdup(trial->schedule))};
  trials_run(&e->settings->program, &again, 1);
  if (trial_failed(&again) || ++e->once > ONCE_MAX) {
    trial_free(&again);
    return true;
  }
  trial_describe(trial, end, sizeof end);
  name_run(e, name);
  printf("explore: %s failed once, and not again: %s\n", name, end);
  print_replay(e->settings, trial);
  trial_free(trial);
  *trial = again;
  return false;
}

/* Runs as many as there are jobs. @return true: *failed is the first that failed. */
static bool run_some(struct exploration *e, struct trial *failed) {
  struct trial trials[JOBS_MAX];
  size_t count = 0;
  while (count < e->settings->jobs && next_trial(e, e->done + count + 1, &trials[count])) count++;
  trials_run(&e->settings->program, trials, count);
  bool found = false;
  for (size_t i = 0; i < count; i++) {
    if (!found) e->done++;
    if (!found && trial_failed(&trials[i]) && fails_again(e, &trials[i])) {
      *failed = trials[i];
      found = true;
      continue;
    }
    if (!found && e->settings->strategy == PREEMPT) enqueue_children(e, &trials[i]);
    trial_free(&trials[i]);
  }
  if (count == 0) e->done = UINT64_MAX;
  return found;
}

/* The steps of a run that had more than one candidate. */
static struct schedule options_of(const struct trial *trial) {
  size_t count = trial->decision_count;
  struct schedule options = {checked(calloc(count + 1, sizeof *options.departures)), 0};
  for (size_t i = 0; i < count; i++) {
    const struct decision *decision = &trial->decisions[i];
    if (decision->count < 2) continue;
    options.departures[options.count++] =
        (struct departure){decision->taken.step, decision->count - 1};
  }
  return options;
}

/* The default order: shows what there is to choose. @return true: it fails already. */
static bool run_first(struct exploration *e, struct trial *trial) {
  *trial = (struct trial){.seed = checked(strdup("0")), .schedule = checked(strdup("fifo"))};
  trials_run(&e->settings->program, trial, 1);
  bool failed = trial_failed(trial) && fails_again(e, trial);
  if (trial->decision_count == 0 && failed) return true;
  if (trial->decision_count == 0)
    errx(1, "explore: '%s' left nothing to choose (does it use %s, and more than one thread?)",
         e->settings->program.argv[0], e->settings->program.gated ? "pthreads" : "libmltp");
  e->steps = trial->decisions[trial->decision_count - 1].taken.step;
  e->options = options_of(trial);
  if (failed) return true;
  if (e->settings->strategy == PREEMPT) enqueue_children(e, trial);
  trial_free(trial);
  return false;
}

/* ---- reporting */

static void report(const struct exploration *e, struct trial *failed) {
  const struct settings *s = e->settings;
  char end[80], name[32];
  trial_describe(failed, end, sizeof end);
  name_run(e, name);
  printf("explore: %s failed: %s\n", name, end);
  print_replay(s, failed);
  fflush(stdout); /* to make it shorter may take long */
  struct schedule taken = trial_schedule(failed);
  size_t before = taken.count;
  free(taken.departures);
  unsigned runs = shorten(&s->program, failed);
  if (runs == 0) {
    printf(
        "explore: its schedule alone does not fail in the same way: the program depends on more "
        "than the order of its threads, or the schedule is too long\n");
    return;
  }
  taken = trial_schedule(failed);
  printf("explore: %zu departures from the default order made %zu, in %u runs\n", before,
         taken.count, runs);
  free(taken.departures);
  print_schedule(failed);
  printf("explore: what the program says then:\n");
  struct trial last = {.seed = checked(strdup(failed->seed)),
                       .schedule = checked(strdup(failed->schedule)),
                       .shown = true};
  trials_run(&s->program, &last, 1);
  if (!trial_same_end(&last, failed))
    printf("explore: this time it did not fail in the same way\n");
  trial_free(&last);
  print_replay(s, failed);
}

static int explore(const struct settings *s) {
  struct exploration e = {.settings = s};
  struct trial failed;
  bool found = run_first(&e, &failed);
  while (!found && e.done < s->runs) found = run_some(&e, &failed);
  if (found) {
    report(&e, &failed);
    trial_free(&failed);
  } else if (s->strategy == PREEMPT && e.next == e.last && e.last < s->runs) {
    printf("explore: no failure: all %zu schedules with 1 to %u departures, and the default one\n",
           e.last, s->bound);
  } else {
    printf("explore: no failure in %" PRIu64 " runs (%s) of some %" PRIu64 " scheduling points\n",
           s->runs, strategy_names[s->strategy], e.steps);
  }
  if (!found && e.once > 0)
    printf(
        "explore: but %u runs failed once: the program depends on more than the order of its "
        "threads\n",
        e.once);
  while (e.next < e.last) free(e.waiting[e.next++].departures);
  free(e.waiting);
  free(e.options.departures);
  return found || e.once > 0;
}

/* ---- the command line */

static uint64_t number(struct argp_state *state, const char *what, const char *text, uint64_t least,
                       uint64_t most) {
  uint64_t value;
  if (!mt_is_number(text, least, most, &value))
    argp_error(state, "cannot use %s '%s': a number from %" PRIu64 " to %" PRIu64 " is needed",
               what, text, least, most);
  return value;
}

static enum strategy strategy_of(struct argp_state *state, const char *text) {
  for (int i = 0; i < STRATEGIES; i++)
    if (strcmp(text, strategy_names[i]) == 0) return (enum strategy)i;
  argp_error(state, "cannot use strategy '%s' (there are: mix, random, delays, pct, preempt)",
             text);
  return MIX;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct settings *s = state->input;
  switch (key) {
    case 'n': s->runs = number(state, "runs", arg, 1, INT32_MAX); return 0;
    case 's': s->strategy = strategy_of(state, arg); return 0;
    case 'd': s->depth = (unsigned)number(state, "depth", arg, 1, DEPTH_MAX); return 0;
    case 'b': s->bound = (unsigned)number(state, "bound", arg, 1, 32); return 0;
    case 't': s->program.timeout = (double)number(state, "timeout", arg, 1, 86400); return 0;
    case 'j': s->jobs = (unsigned)number(state, "jobs", arg, 1, JOBS_MAX); return 0;
    case 'f': s->seed = number(state, "seed", arg, 1, INT64_MAX / 2); return 0;
    case 'm': s->program.steps_max = number(state, "steps", arg, 1, INT64_MAX); return 0;
    case 'T': s->program.gated = true; return 0;
    case 'A': s->program.gated = s->program.accesses = true; return 0;
    case ARGP_KEY_ARGS: s->program.argv = state->argv + state->next; return 0;
    case ARGP_KEY_NO_ARGS:
      argp_error(state, "nothing to explore: no program given (try: %s -- ./program)", state->name);
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

int explore_main(int argc, char **argv) {
  static const struct argp_option options[] = {
      {"runs", 'n', "N", 0, "Runs at most (1000)", 0},
      {"strategy", 's', "NAME", 0, "mix, random, delays, pct or preempt (mix)", 0},
      {"depth", 'd', "D", 0, "Depth of bugs that pct, delays and mix look for (3)", 0},
      {"bound", 'b', "B", 0, "Departures at most that preempt tries (2)", 0},
      {"timeout", 't', "S", 0, "Seconds a run may take (10)", 0},
      {"jobs", 'j', "J", 0, "Runs at a time (1)", 0},
      {"seed", 'f', "SEED", 0, "The first seed; each run takes the next (1)", 0},
      {"threads", 'T', NULL, 0, "The program uses POSIX threads: run it as mltp run --threads", 0},
      {"accesses", 'A', NULL, 0, "The same; its loads and stores may be interrupted, too", 0},
      {"steps", 'm', "N", 0, "Scheduling points a run may take (1000000)", 0},
      {0},
  };
  static const struct argp argp = {
      .options = options,
      .parser = parse,
      .args_doc = "[--] PROGRAM [ARGUMENT...]",
      .doc =
          "Runs PROGRAM in deterministic mode with other choices of the next thread each time, "
          "until it "
          "fails: ends with another status than 0, dies by a signal, deadlocks, or does not end. "
          "Then prints the command that fails again, and the shortest schedule it found that "
          "does.\vExit status: 0 no failure, 1 a failure was found, 2 wrong usage. "
          "See mltp-explore(1).",
  };
  struct settings settings = {
      .program = {.timeout = 10, .steps_max = 1000000},
      .strategy = MIX,
      .runs = 1000,
      .seed = 1,
      .depth = 3,
      .bound = 2,
      .jobs = 1,
  };
  argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &settings);
  return explore(&settings);
}
