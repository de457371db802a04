/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file foreign.c Programs that were not written for us, several at once: OpenMP and BLAS by
 * `mltp run`, and suites of tests by `ctest -j4`, whose tests say nothing of the CPUs they use.
 *
 * The ways take turns, run by run. Each program checks its own answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <mltp/mltp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/daemon.h"
#include "harness/experiment.h"
#include "harness/report.h"
#include "harness/timer.h"
#include "mpi/mpi.h"

extern char **environ;

enum { WORDS = 40, COPIES_MAX = 4, TESTS = 16, TESTS_AT_ONCE = 4, RANKS = 8, RUNS_MAX = 99 };
enum { WAYS_MAX = 6 };

/* A way to run programs: impl is of mpi_impls[], NULL where they are no MPI programs. */
struct way {
  const char *name, *impl;
  bool coordinated; /* by an mltpd of our own, and `mltp run` */
};

static const struct way plain_ways[] = {{"mltp run", NULL, true}, {"plain", NULL, false}};

static const struct way mpi_ways[] = {
    {"coordinated", "tmpi", true},
    {"uncoordinated", "tmpi", false},
    {"openmpi-default", "openmpi-default", false},
    {"openmpi-yield", "openmpi-yield", false},
    {"mpich-default", "mpich-default", false},
    {"mpich-yield", "mpich-yield", false},
};

/* What is run. */
struct load {
  const char *metric, *program;
  const char *arguments[3], *quick[3];
  int copies; /* at once; 0: tests of a suite */
  const struct way *ways;
  int way_count;
};

static const struct load loads[] = {
    {"OpenMP program", "teams", {"1000"}, {"50"}, 1, plain_ways, 2},
    {"4 OpenMP programs", "teams", {"1000"}, {"50"}, 4, plain_ways, 2},
    {"dgemm program", "dgemm", {"400", "100"}, {"200", "20"}, 1, plain_ways, 2},
    {"4 dgemm programs", "dgemm", {"400", "100"}, {"200", "20"}, 4, plain_ways, 2},
    {"ctest -j4, 16 OpenMP tests", "teams", {"1000"}, {"50"}, 0, plain_ways, 2},
    {"ctest -j4, 16 MPI tests of 8 ranks", "ge", {"576"}, {"144"}, 0, mpi_ways, 6},
};

enum { LOADS = sizeof loads / sizeof loads[0] };

struct setting {
  const struct load *load;
  const struct way *way;
  bool quick;
  int timeout; /* seconds */
};

/* The words of one program's command; the texts are in it. */
struct command {
  char mltp[PATH_MAX], program[PATH_MAX];
  struct mpi_command mpi;
  char *argv[WORDS];
  int argc;
};

/* ---- commands */

static void add(struct command *c, const char *word) {
  c->argv[c->argc++] = (char *)(uintptr_t)word; /* posix_spawn() does not write to it */
  c->argv[c->argc] = NULL;
}

/* @return false: the program was not built, for want of its library. */
static bool make(const struct setting *s, struct command *c) {
  const char *const *arguments = s->quick ? s->load->quick : s->load->arguments;
  c->argc = 0;
  if (s->way->impl != NULL) {
    struct mpi_row row = {.program = s->load->program, .arguments = {arguments[0]}};
    if (!mpi_is_there(mpi_impl_of(s->way->impl), &row) ||
        !mpi_command(&c->mpi, mpi_impl_of(s->way->impl), &row, RANKS, mltp_cpus()))
      return false;
    for (int i = 0; i < c->mpi.argc; i++)
      if (c->mpi.argv[i] != NULL) add(c, c->mpi.argv[i]);
    return true;
  }
  char name[80];
  snprintf(name, sizeof name, "../libexec/mltp/foreign/%s", s->load->program);
  if (!bench_find(name, c->program) || !bench_find("mltp", c->mltp)) return false;
  if (s->way->coordinated) {
    add(c, c->mltp);
    add(c, "run");
    add(c, "--");
  }
  add(c, c->program);
  for (int i = 0; i < 3 && arguments[i] != NULL; i++) add(c, arguments[i]);
  return true;
}

/* Starts a command in a process group of its own; its output goes nowhere. @return its process, or
 * -1 after a message. */
static pid_t start(char *const *argv) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  pid_t pid = -1;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  int error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (error == 0) error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  fprintf(stderr, "mltp-bench: foreign: cannot start %s: %s\n", argv[0], strerror(error));
  return -1;
}

/* Waits for a process until a moment, then kills its group. @return whether it ended with 0. */
static bool ends_well(pid_t pid, double until) {
  int fd = (int)syscall(SYS_pidfd_open, pid, 0), status = -1;
  double left = until - bench_clock(CLOCK_MONOTONIC);
  struct pollfd ready = {fd, POLLIN, 0};
  if (fd >= 0 && poll(&ready, 1, left > 0 ? (int)(left * 1e3) : 0) == 0) kill(-pid, SIGKILL);
  if (fd >= 0) close(fd);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status == 0;
}

/* ---- one run */

/* @return whether all copies gave the right answer. */
static bool run_copies(const struct setting *s, struct command *c) {
  pid_t pids[COPIES_MAX];
  bool right = true;
  double until = bench_clock(CLOCK_MONOTONIC) + s->timeout;
  for (int i = 0; i < s->load->copies; i++) pids[i] = start(c->argv);
  for (int i = 0; i < s->load->copies; i++) right &= pids[i] > 0 && ends_well(pids[i], until);
  return right;
}

/* Writes a suite of equal tests, as CMake does. */
static bool write_suite(const char *directory, const struct command *c) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/CTestTestfile.cmake", directory);
  FILE *file = fopen(path, "w");
  if (file == NULL) return false;
  for (int test = 0; test < TESTS; test++) {
    fprintf(file, "add_test(test%d", test);
    for (int i = 0; i < c->argc; i++) fprintf(file, " [==[%s]==]", c->argv[i]);
    fputs(")\n", file);
  }
  return fclose(file) == 0;
}

static void remove_suite(const char *directory) {
  char *const argv[] = {"rm", "-rf", "--", (char *)(uintptr_t)directory, NULL};
  pid_t pid = start(argv);
  if (pid > 0) waitpid(pid, NULL, 0);
}

/* @return whether all tests passed; *seconds: what ctest took. */
static bool run_suite(const struct setting *s, struct command *c, double *seconds) {
  char directory[] = "/tmp/mltp-bench-suite-XXXXXX", at_once[16];
  if (mkdtemp(directory) == NULL) return false;
  snprintf(at_once, sizeof at_once, "-j%d", TESTS_AT_ONCE);
  char *const argv[] = {"ctest", "-Q", at_once, "--test-dir", directory, NULL};
  bool right = write_suite(directory, c);
  *seconds = -bench_clock(CLOCK_MONOTONIC);
  pid_t pid = right ? start(argv) : -1;
  right = pid > 0 && ends_well(pid, bench_clock(CLOCK_MONOTONIC) + TESTS * s->timeout);
  *seconds += bench_clock(CLOCK_MONOTONIC);
  remove_suite(directory);
  return right;
}

/* @return seconds; negative: a program failed. */
static double measure_once(const struct setting *s, struct command *c) {
  struct bench_daemon daemon;
  if (s->way->coordinated && !bench_daemon_start(&daemon)) return -1;
  setenv("MLTP_COORDINATOR", s->way->coordinated ? daemon.socket : "off", 1);
  if (s->way->impl != NULL) mpi_set_environment(mpi_impl_of(s->way->impl), true);
  double seconds = -bench_clock(CLOCK_MONOTONIC);
  bool right;
  if (s->load->copies > 0) {
    right = run_copies(s, c);
    seconds += bench_clock(CLOCK_MONOTONIC);
  } else {
    right = run_suite(s, c, &seconds);
  }
  if (s->way->impl != NULL) mpi_set_environment(mpi_impl_of(s->way->impl), false);
  unsetenv("MLTP_COORDINATOR");
  if (s->way->coordinated) bench_daemon_stop(&daemon);
  if (!right)
    fprintf(stderr, "mltp-bench: foreign: %s, %s: failed, or took too long\n", s->load->metric,
            s->way->name);
  return right ? seconds : -1;
}

/* ---- all runs */

/* The first way is ours; verdicts compare it with each other one. */
static void report(const struct load *load, double values[WAYS_MAX][RUNS_MAX], const int *good,
                   json_t *rows) {
  struct bench_stats stats[WAYS_MAX];
  for (int w = 0; w < load->way_count; w++)
    if (good[w] > 0) stats[w] = bench_stats(values[w], good[w]);
  printf("\n%s\n%-16s %8s %8s %8s %7s\n", load->metric, "by", "min s", "median", "max", "x first");
  for (int w = 0; w < load->way_count; w++) {
    if (good[w] == 0) continue;
    const char *verdict =
        w > 0 && good[0] > 0 ? bench_compare(stats[0], good[0], stats[w], good[w]) : NULL;
    printf("%-16s %8.3f %8.3f %8.3f %7.2f %s\n", load->ways[w].name, stats[w].min, stats[w].median,
           stats[w].max, good[0] > 0 ? stats[w].median / stats[0].median : 0,
           verdict != NULL ? verdict : "");
    bench_row_add(rows, &(struct bench_row){.impl = load->ways[w].name,
                                            .params = json_pack("{s:i}", "cpus", mltp_cpus()),
                                            .metric = load->metric,
                                            .unit = "s",
                                            .clock = "wall",
                                            .stats = stats[w],
                                            .runs = good[w],
                                            .verified = true,
                                            .verdict = verdict});
  }
  fflush(stdout);
}

/* @return is any way to run it among those of --impl? */
static bool is_wanted(const struct load *load, const struct bench_options *options) {
  for (int w = 0; w < load->way_count; w++)
    if (bench_wants(options, load->ways[w].name)) return true;
  return false;
}

static int measure_load(const struct load *load, const struct bench_options *options, int runs,
                        json_t *rows) {
  double values[WAYS_MAX][RUNS_MAX];
  int good[WAYS_MAX] = {0}, failed = 0;
  struct command command;
  for (int run = 0; run < runs; run++)
    for (int w = 0; w < load->way_count; w++) {
      struct setting s = {load, &load->ways[w], options->quick, options->timeout};
      if (!bench_wants(options, s.way->name) || !make(&s, &command)) continue;
      if (options->progress)
        fprintf(stderr, "\r\033[K%s, %s, run %d of %d", load->metric, s.way->name, run + 1, runs);
      double seconds = measure_once(&s, &command);
      if (seconds < 0)
        failed++;
      else
        values[w][good[w]++] = seconds;
    }
  if (options->progress) fputs("\r\033[K", stderr);
  report(load, values, good, rows);
  return failed;
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  int runs = options->runs > 0 ? options->runs : options->quick ? 1 : experiment->runs, failed = 0;
  if (runs > RUNS_MAX) runs = RUNS_MAX;
  for (int i = 0; i < LOADS; i++)
    if (is_wanted(&loads[i], options)) failed += measure_load(&loads[i], options, runs, rows);
  return failed;
}

const struct experiment bench_foreign = {
    .name = "foreign",
    .shows = "programs that were not written for us, several at once, with mltpd and without",
    .section = "TMPI-2 3",
    .runs = 5,
    .measure = measure,
};
