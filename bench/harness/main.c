/* SPDX-License-Identifier: Apache-2.0 */
/** @file main.c mltp-bench: the command line. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digits.h"
#include "experiment.h"
#include "load.h"
#include "report.h"
#include "threads/strategies.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, THREADS_MAX = 1000000 };

enum {
  OPT_LIST = 256,
  OPT_THREADS,
  OPT_VPS,
  OPT_IMPL,
  OPT_RUNS,
  OPT_JSON,
  OPT_QUICK,
  OPT_PROGRESS,
  OPT_SIZE,
  OPT_STEPS,
  OPT_SLICES,
  OPT_STRATEGY,
  OPT_COUNT,
  OPT_WORK,
  OPT_TOLERANCE,
  OPT_SCHEDULE,
  OPT_TIMEOUT,
  OPT_LOAD,
  OPT_PROBE,
};

static const struct argp_option argp_options[] = {
    {"list", OPT_LIST, NULL, 0, "List the experiments and implementations", 1},
    {"threads", OPT_THREADS, "LIST", 0, "Numbers of threads, such as 1,2,4,8,16", 2},
    {"vps", OPT_VPS, "LIST", 0,
     "Numbers of virtual processors; P means the CPUs this process may use, 4P four times that", 2},
    {"impl", OPT_IMPL, "NAMES", 0, "Implementations to compare, such as mltp,pthreads", 2},
    {"runs", OPT_RUNS, "N", 0, "Runs of each configuration, interleaved", 2},
    {"timeout", OPT_TIMEOUT, "SECONDS", 0, "Time one run may take (60)", 2},
    {"load", OPT_LOAD, "N", 0, "Processes that compute meanwhile, to compete with", 2},
    {"size", OPT_SIZE, "N", 0,
     "matmul, ocean: elements or grid points a side; ocean: 2^k+2; deltas: threads; growth: things",
     3},
    {"steps", OPT_STEPS, "N", 0, "ocean, deltas: time steps", 3},
    {"tolerance", OPT_TOLERANCE, "X", 0, "ocean: relative residual of the solver", 3},
    {"strategy", OPT_STRATEGY, "NAMES", 0,
     "lifecycle, latency: strategies to compare, of single, multi, freelist, idleq, local, default",
     2},
    {"count", OPT_COUNT, "N", 0, "lifecycle: null threads; latency: measurements", 3},
    {"work", OPT_WORK, "US", 0, "lifecycle: microseconds a thread computes on average", 3},
    {"slices", OPT_SLICES, "N", 0, "pi: rectangles", 3},
    {"schedule", OPT_SCHEDULE, "KIND", 0, "matmul: dynamic (the default) or fixed", 3},
    {"probe", OPT_PROBE, NULL, 0,
     "switch: what the probe of a VP's grant costs before a switch, and between two of stacks", 3},
    {"quick", OPT_QUICK, NULL, 0, "Small problem and few runs, to see that it works", 4},
    {"json", OPT_JSON, "FILE", 0, "Write the results to FILE as JSON", 4},
    {"progress", OPT_PROGRESS, NULL, 0, "Show progress although stderr is no terminal", 4},
    {0},
};

static const char doc[] =
    "Measures EXPERIMENT with several thread packages and compares them. Every run verifies its "
    "own answer. Runs of the packages take turns; the table shows minimum, median and maximum."
    "\vExit status: 0 all runs were right, 1 a run failed, 2 wrong usage. Library options "
    "(MLTP_LOCK, MLTP_OVERSUBSCRIBE, ...) reach the measured runs through the environment.\n\n"
    "Example: mltp-bench ocean --threads 1,8,16 --vps P,4P --impl mltp,pthreads --runs 7";

struct command {
  const struct experiment *experiment;
  const char *json;
  int load; /* processes that compute meanwhile */
  struct bench_options options;
};

static long parse_number(struct argp_state *state, const char *option, const char *text, long max) {
  uint64_t value;
  if (!mt_is_number(text, 1, (uint64_t)max, &value)) {
    argp_error(state, "--%s %s: not a whole number within 1..%ld", option, text, max);
  }
  return (long)value;
}

/** A number, or a multiple of P, the CPUs. */
static int parse_vps(struct argp_state *state, const char *text) {
  const size_t length = strlen(text);
  char factor[16] = "1";
  if (length == 0 || text[length - 1] != 'P' || length >= sizeof factor) {
    return (int)parse_number(state, "vps", text, 1024);
  }
  if (length > 1) memcpy(factor, text, length - 1);
  if (length > 1) factor[length - 1] = '\0';
  return (int)parse_number(state, "vps", factor, 1024) * mltp_cpus();
}

static struct bench_list parse_list(struct argp_state *state, const char *option, char *text) {
  struct bench_list list = {0};
  for (char *item = strsep(&text, ","); item != NULL; item = strsep(&text, ",")) {
    if (list.count == BENCH_LIST_MAX) {
      argp_error(state, "--%s: more than %d numbers", option, BENCH_LIST_MAX);
    }
    list.value[list.count++] = strcmp(option, "vps") == 0
                                   ? parse_vps(state, item)
                                   : (int)parse_number(state, option, item, THREADS_MAX);
  }
  return list;
}

/** How many an experiment can have is known once it is named. */
static void check_threads(struct argp_state *state, const struct command *command) {
  const struct bench_list *list = &command->options.threads;
  const int most =
      command->experiment->threads_max != 0 ? command->experiment->threads_max : PAR_THREADS_MAX;
  for (int i = 0; i < list->count; i++) {
    if (list->value[i] > most) {
      argp_error(state, "--threads %d: %s has at most %d", list->value[i],
                 command->experiment->name, most);
    }
  }
}

static void list_experiments(void) {
  printf("experiments:\n");
  for (const struct experiment *const *e = bench_experiments; *e != NULL; e++) {
    printf("  %-13s %s (%s)\n", (*e)->name, (*e)->shows, (*e)->section);
  }
  printf("implementations:\n");
  for (const struct par *const *p = par_all; *p != NULL; p++) {
    printf("  %-13s %s\n", (*p)->name, (*p)->about);
  }
}

static const struct experiment *find_experiment(const char *name) {
  for (const struct experiment *const *e = bench_experiments; *e != NULL; e++) {
    if (strcmp((*e)->name, name) == 0) return *e;
  }
  return NULL;
}

static void parse_experiment(struct argp_state *state, struct command *command, const char *name) {
  if (command->experiment != NULL) argp_error(state, "%s: one experiment at a time", name);
  command->experiment = find_experiment(name);
  if (command->experiment == NULL) {
    argp_error(state, "%s: no such experiment (--list shows them)", name);
  }
}

/** Names of par.h are known here; an experiment with its own peers knows its own. */
static void check_impls(struct argp_state *state, const struct command *command) {
  if (command->options.impls == NULL || command->experiment->measure != NULL) return;
  char *list = strdup(command->options.impls), *rest = list;
  for (const char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ",")) {
    if (par_find(name) == NULL) {
      argp_error(state, "--impl %s: no such implementation (--list shows them)", name);
    }
  }
  free(list);
}

static void check_strategies(struct argp_state *state, const struct command *command) {
  const char *names = command->options.strategies;
  if (names == NULL) return;
  if (command->experiment->strategies == NULL)
    argp_error(state, "--strategy: %s has none", command->experiment->name);
  if (!bench_strategies_known(names))
    argp_error(state, "--strategy %s: not a list of %s", names, command->experiment->strategies);
}

/** Refuses an option that the experiment does not use. */
static void check_problem(struct argp_state *state, const struct command *command) {
  const struct bench_problem *asked = &command->options.problem;
  const struct bench_problem *has = &command->experiment->problem;
  const char *useless = asked->size > 0 && has->size == 0             ? "size"
                        : asked->steps > 0 && has->steps == 0         ? "steps"
                        : asked->slices > 0 && has->slices == 0       ? "slices"
                        : asked->count > 0 && has->count == 0         ? "count"
                        : asked->work_us > 0 && has->work_us == 0     ? "work"
                        : asked->tolerance > 0 && has->tolerance <= 0 ? "tolerance"
                        : asked->schedule != 0 && has->schedule == 0  ? "schedule"
                                                                      : NULL;
  if (command->options.probe && strcmp(command->experiment->name, "switch") != 0) useless = "probe";
  if (useless != NULL) argp_error(state, "--%s: %s has none", useless, command->experiment->name);
}

static error_t parse_option(int key, char *arg, struct argp_state *state) {
  struct command *command = state->input;
  struct bench_options *o = &command->options;
  char *end;
  switch (key) {
    case OPT_LIST: list_experiments(); exit(0);
    case OPT_THREADS: o->threads = parse_list(state, "threads", arg); break;
    case OPT_VPS: o->vps = parse_list(state, "vps", arg); break;
    case OPT_IMPL: o->impls = arg; break;
    case OPT_RUNS: o->runs = (int)parse_number(state, "runs", arg, 1000); break;
    case OPT_TIMEOUT: o->timeout = (int)parse_number(state, "timeout", arg, 86400); break;
    case OPT_SIZE: o->problem.size = parse_number(state, "size", arg, 1 << 15); break;
    case OPT_STEPS: o->problem.steps = parse_number(state, "steps", arg, 1000000); break;
    case OPT_STRATEGY: o->strategies = arg; break;
    case OPT_COUNT: o->problem.count = parse_number(state, "count", arg, 1000000000); break;
    case OPT_WORK: o->problem.work_us = parse_number(state, "work", arg, 1000000); break;
    case OPT_SLICES: o->problem.slices = parse_number(state, "slices", arg, 100000000000); break;
    case OPT_TOLERANCE:
      o->problem.tolerance = strtod(arg, &end);
      if (*arg < '0' || *arg > '9' || *end != '\0' ||
          !(o->problem.tolerance >= 1e-10 && o->problem.tolerance <= 0.1)) {
        argp_error(state, "--tolerance %s: not a number within 1e-10..0.1", arg);
      }
      break;
    case OPT_SCHEDULE:
      if (strcmp(arg, "fixed") != 0 && strcmp(arg, "dynamic") != 0) {
        argp_error(state, "--schedule %s: neither dynamic nor fixed", arg);
      }
      o->problem.schedule = strcmp(arg, "fixed") == 0 ? BENCH_FIXED : BENCH_DYNAMIC;
      break;
    case OPT_LOAD: command->load = (int)parse_number(state, "load", arg, BENCH_LOAD_MAX); break;
    case OPT_PROBE: o->probe = true; break;
    case OPT_QUICK: o->quick = true; break;
    case OPT_JSON: command->json = arg; break;
    case OPT_PROGRESS: o->progress = true; break;
    case ARGP_KEY_ARG: parse_experiment(state, command, arg); break;
    case ARGP_KEY_END:
      if (command->experiment == NULL) argp_error(state, "no experiment (--list shows them)");
      check_threads(state, command);
      check_impls(state, command);
      check_strategies(state, command);
      check_problem(state, command);
      break;
    default: return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

static int run(const struct command *command) {
  const struct experiment *e = command->experiment;
  json_t *env = bench_env(); /* now: afterwards the load would be our own */
  json_t *rows = json_array();
  json_object_set_new(env, "competing", json_integer(command->load));
  printf("%s: %s (%s)\n", e->name, e->shows, e->section);
  if (bench_load_start(command->load) != 0) {
    fprintf(stderr, "mltp-bench: cannot start %d processes to compete with: %s (lower --load)\n",
            command->load, strerror(errno));
    json_decref(env);
    json_decref(rows);
    return EXIT_FAILED;
  }
  const int failed = e->measure != NULL ? e->measure(e, &command->options, rows)
                                        : bench_sweep(e, &command->options, rows);
  bench_load_stop();
  int status = 0;
  if (failed > 0) {
    fprintf(stderr, "mltp-bench: %s: %d %s failed (see the table)\n", e->name, failed,
            failed == 1 ? "run" : "runs");
    status = EXIT_FAILED;
  }
  if (command->json != NULL && bench_report_write(command->json, e->name, env, rows) != 0) {
    fprintf(stderr, "mltp-bench: cannot write %s: %s (choose another --json file)\n", command->json,
            strerror(errno));
    status = EXIT_FAILED;
  }
  json_decref(env);
  json_decref(rows);
  return status;
}

int main(int argc, char **argv) {
  static const struct argp argp = {argp_options, parse_option, "EXPERIMENT", doc, NULL, NULL, NULL};
  char version[64];
  snprintf(version, sizeof version, "mltp-bench %s", mltp_version());
  argp_program_version = version;
  argp_err_exit_status = EXIT_USAGE;
  struct command command = {.options = {.timeout = 60, .progress = isatty(STDERR_FILENO) == 1}};
  argp_parse(&argp, argc, argv, 0, NULL, &command);
  return run(&command);
}
