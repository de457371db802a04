/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file specc.c
 * Tables 1 and 2 of the ContextThreads report: its two models, compiled by specc, on each backend.
 * Native has the part of QuickThreads there, ucontext that of ContextThreads, kernel that of
 * PosixThreads. Beside them are the same models in SystemC (examples/systemc), as they are and with
 * our coroutine package preloaded.
 *
 * prodcons exits with 1 when it receives a wrong value. The models come in several sizes, since the
 * backends differ by a factor of a thousand: what is compared is the time per wait, or per thread.
 */
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/experiment.h"
#include "harness/report.h"
#include "harness/timer.h"
#include "sim/systemc.h"

enum { RUNS_MOST = 100 };

extern char **environ;

/** A model on a backend: the size for a full run and for a quick one. */
struct part {
  const char *model, *backend;
  const char *size, *quick;
  double per_size; /* operations for each unit of size */
  const char *operation;
  enum { SPECC, SYSTEMC, PRELOADED } kind;
};

static const struct part parts[] = {
    {"prodcons", "native", "5000000", "500000", 16, "wait", SPECC},
    {"prodcons", "ucontext", "500000", "50000", 16, "wait", SPECC},
    {"prodcons", "kernel", "50000", "5000", 16, "wait", SPECC},
    {"prodcons", "systemc", "500000", "100000", 16, "wait", SYSTEMC},
    {"prodcons", "mltp-systemc", "500000", "100000", 16, "wait", PRELOADED},
    {"TFMUL", "native", "100000", "10000", 100, "thread", SPECC},
    {"TFMUL", "ucontext", "100000", "10000", 100, "thread", SPECC},
    {"TFMUL", "kernel", "1000", "100", 100, "thread", SPECC},
    {"TFMUL", "systemc", "1000", "100", 100, "thread", SYSTEMC},
    {"TFMUL", "mltp-systemc", "20000", "2000", 100, "thread", PRELOADED},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

struct times {
  double user[RUNS_MOST], system[RUNS_MOST], elapsed[RUNS_MOST], each[RUNS_MOST];
  int good, failed;
  bool absent;
  char why[128];
};

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

/* Finds a part's program: SpecC models have their size from the compiler, the others' is an
 * argument. */
static bool find_program(const struct part *p, const char *size, char path[PATH_MAX],
                         struct times *times) {
  char name[64];
  snprintf(name, sizeof name, "../libexec/mltp/sim-%s-%s", p->model,
           p->kind == SPECC ? size : "systemc");
  if (bench_find(name, path)) return true;
  times->absent = p->kind != SPECC;
  times->failed += !times->absent;
  snprintf(times->why, sizeof times->why, "there is no %s (build all; %s)", name,
           p->kind == SPECC ? "specc needs python3-lark" : "install libsystemc-dev");
  return false;
}

/* Sets what the program reads: its backend or its coroutine package. */
static void set_environment(const struct part *p) {
  char package[PATH_MAX];
  setenv("MLTP_BACKEND", p->kind == SPECC ? p->backend : "native", 1);
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  unsetenv("LD_PRELOAD");
  if (p->kind != PRELOADED) return;
  bench_systemc_package(package);
  setenv("LD_PRELOAD", package, 1);
}

static void run_once(const struct part *p, const char *size, struct times *times) {
  char path[PATH_MAX] = "", argument[32], *arguments[] = {path, argument, NULL};
  posix_spawn_file_actions_t files;
  pid_t pid;
  int status;
  struct rusage used;
  snprintf(argument, sizeof argument, "%s", size);
  if (!find_program(p, size, path, times)) return;
  set_environment(p);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", 1, 0);
  const double start = bench_clock(CLOCK_MONOTONIC);
  int error = posix_spawn(&pid, path, &files, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  unsetenv("LD_PRELOAD");
  while (error == 0 && wait4(pid, &status, 0, &used) < 0) error = errno != EINTR ? errno : 0;
  if (error != 0 || status != 0) {
    times->failed++;
    snprintf(times->why, sizeof times->why, "%s", error != 0 ? strerror(error) : "it failed");
    return;
  }
  const int i = times->good++;
  times->elapsed[i] = bench_clock(CLOCK_MONOTONIC) - start;
  times->user[i] = seconds(used.ru_utime);
  times->system[i] = seconds(used.ru_stime);
  times->each[i] = 1e9 * (times->user[i] + times->system[i]) / (p->per_size * atof(size));
}

static void add_row(const struct part *p, const char *size, const struct times *times, json_t *rows,
                    const char *metric, const char *unit, double *values) {
  struct bench_row row = {.impl = p->backend,
                          .params = json_pack("{s:s, s:s, s:f}", "model", p->model, "operation",
                                              p->operation, "operations", p->per_size * atof(size)),
                          .metric = metric,
                          .unit = unit,
                          .clock = strcmp(metric, "elapsed") == 0 ? "wall" : "cpu",
                          .runs = times->good,
                          .verified = times->failed == 0};
  if (times->good > 0) row.stats = bench_stats(values, times->good);
  bench_row_add(rows, &row);
  if (times->good > 0) printf(" %10.4g", row.stats.median);
}

static void report(const struct part *p, const char *size, struct times *times, json_t *rows) {
  printf("%-9s %-12s %10.3g", p->model, p->backend, p->per_size * atof(size));
  if (times->absent) {
    printf("  absent: %s\n", times->why);
    return;
  }
  add_row(p, size, times, rows, "user", "s", times->user);
  add_row(p, size, times, rows, "system", "s", times->system);
  add_row(p, size, times, rows, "elapsed", "s", times->elapsed);
  add_row(p, size, times, rows, "each", "ns", times->each);
  if (times->failed > 0)
    printf("  FAILED: %s\n", times->why);
  else
    printf("  ns per %s\n", p->operation);
  fflush(stdout);
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  static struct times times[PARTS];
  int runs = options->runs > 0 ? options->runs : options->quick ? 2 : experiment->runs;
  if (runs > RUNS_MOST) runs = RUNS_MOST;
  int failed = 0;
  printf("%-9s %-12s %10s %10s %10s %10s %10s   (medians)\n", "model", "backend", "operations",
         "user s", "system s", "elapsed s", "each");
  memset(times, 0, sizeof times);
  setenv("MLTP_VPS", "1", 1);
  for (int r = 0; r < runs; r++)
    for (int i = 0; i < PARTS; i++)
      run_once(&parts[i], options->quick ? parts[i].quick : parts[i].size, &times[i]);
  for (int i = 0; i < PARTS; i++) {
    report(&parts[i], options->quick ? parts[i].quick : parts[i].size, &times[i], rows);
    failed += times[i].failed;
  }
  return failed;
}

const struct experiment bench_sim = {
    .name = "sim",
    .shows =
        "SpecC models on the three backends, and in SystemC: a producer and a consumer; threads "
        "that "
        "do little",
    .section = "ContextThreads report, tables 1 and 2",
    .impls = "",
    .runs = 5,
    .measure = measure,
};
