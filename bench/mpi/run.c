/* SPDX-License-Identifier: Apache-2.0 */
/** @file run.c One run of an MPI program: its launcher, a pipe, a line of JSON, a time limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/timer.h"
#include "mpi.h"

extern char **environ;

static void add(struct mpi_command *command, const char *word) {
  command->argv[command->argc++] = (char *)(uintptr_t)word; /* posix_spawn() does not write to it */
}

bool mpi_command(struct mpi_command *command, const struct mpi_impl *impl,
                 const struct mpi_row *row, int ranks, int vps) {
  char name[80];
  command->argc = 0;
  snprintf(name, sizeof name, "../libexec/mltp/mpi/%s.%s", row->program, impl->suffix);
  if (!bench_find(name, command->program)) return false;
  snprintf(name, sizeof name, "%s%s", impl->ours ? "" : "../libexec/mltp/mpi/", impl->words[0]);
  bool found = bench_find(name, command->launcher);
  if (impl->ours && !found) return false;
  add(command, found ? command->launcher : impl->words[0]);
  for (int i = 1; impl->words[i] != NULL; i++) add(command, impl->words[i]);
  snprintf(command->vps, sizeof command->vps, "--vps=%d", row->one_cpu ? 1 : vps);
  if (impl->ours) add(command, command->vps);
  snprintf(command->ranks, sizeof command->ranks, "%d", ranks);
  add(command, "-n");
  add(command, command->ranks);
  add(command, command->program);
  for (int i = 0; i < 4 && row->arguments[i] != NULL; i++) add(command, row->arguments[i]);
  add(command, NULL);
  return true;
}

/* Starts it in a process group of its own, with its output in a pipe. @return its id, or -1 with
 * errno set. */
static pid_t start(struct mpi_command *command, int *output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  pid_t pid = -1;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  int error = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (error == 0)
    error = posix_spawnp(&pid, command->argv[0], &actions, &attributes, command->argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  *output = ends[0];
  if (error == 0) return pid;
  close(ends[0]);
  errno = error;
  return -1;
}

void mpi_set_environment(const struct mpi_impl *impl, bool set) {
  for (int i = 0; i + 1 < MPI_WORDS && impl->settings[i] != NULL; i += 2)
    if (set)
      setenv(impl->settings[i], impl->settings[i + 1], 1);
    else
      unsetenv(impl->settings[i]);
}

/* @return NULL, or why the run is none. */
static const char *judge(int status, bool in_time, const json_t *line, char *why, size_t size) {
  if (!in_time) return "it took too long (give it more with --timeout)";
  if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0) {
    snprintf(why, size, "it ended with %s %d", WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return why;
  }
  if (line == NULL) return "it printed no line of JSON";
  return json_is_true(json_object_get(line, "verified")) ? NULL : "its answer is wrong";
}

static double milliseconds(struct timeval time) {
  return (double)time.tv_sec * 1e3 + (double)time.tv_usec * 1e-3;
}

bool mpi_is_there(const struct mpi_impl *impl, const struct mpi_row *row) {
  struct mpi_command command;
  const char *path = getenv("PATH");
  if (!mpi_command(&command, impl, row, 1, 1)) return false;
  if (strchr(command.argv[0], '/') != NULL) return true;
  char *copy = strdup(path != NULL ? path : ""), *rest = copy, name[PATH_MAX];
  bool found = false;
  for (char *part = strsep(&rest, ":"); part != NULL && !found; part = strsep(&rest, ":")) {
    snprintf(name, sizeof name, "%s/%s", part, command.argv[0]);
    found = access(name, X_OK) == 0;
  }
  free(copy);
  return found;
}

/* Leaves the caller, and what it starts, the first of its CPUs. before: those it had. */
static void use_one_cpu(cpu_set_t *before) {
  cpu_set_t one;
  int cpu = 0;
  sched_getaffinity(0, sizeof *before, before);
  while (!CPU_ISSET(cpu, before)) cpu++;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

enum mpi_outcome mpi_start(const struct mpi_impl *impl, const struct mpi_row *row, int ranks,
                           int vps, struct mpi_process *process) {
  struct mpi_command command;
  if (!mpi_command(&command, impl, row, ranks, vps)) return MPI_ABSENT;
  process->begin = bench_clock(CLOCK_MONOTONIC);
  mpi_set_environment(impl, true);
  cpu_set_t before;
  if (row->one_cpu) use_one_cpu(&before);
  process->pid = start(&command, &process->output);
  if (row->one_cpu) sched_setaffinity(0, sizeof before, &before);
  mpi_set_environment(impl, false);
  if (process->pid >= 0) return MPI_MEASURED;
  fprintf(stderr, "mltp-bench: starting %s failed: %s\n", command.argv[0], strerror(errno));
  return MPI_FAILED;
}

enum mpi_outcome mpi_end(const struct mpi_impl *impl, const struct mpi_row *row, int ranks,
                         int timeout, struct mpi_process *process, struct mpi_sample *sample) {
  char why[80];
  int status = 0;
  /* The line comes when the program ends; until then there is nothing to read. */
  struct pollfd ready = {process->output, POLLIN, 0};
  bool in_time = poll(&ready, 1, timeout * 1000) > 0;
  if (!in_time) kill(-process->pid, SIGKILL);
  json_t *line = json_loadfd(process->output, JSON_DISABLE_EOF_CHECK, NULL);
  struct rusage usage;
  wait4(process->pid, &status, 0, &usage);
  close(process->output);
  double wall_ns = (bench_clock(CLOCK_MONOTONIC) - process->begin) * 1e9;
  sample->cpu_ms = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
  const char *failure = judge(status, in_time, line, why, sizeof why);
  enum mpi_outcome outcome = failure == NULL           ? MPI_MEASURED
                             : !in_time && !impl->ours ? MPI_OVER
                                                       : MPI_FAILED;
  if (outcome == MPI_FAILED)
    fprintf(stderr, "mltp-bench: %s with %s, %d ranks, failed: %s\n", row->metric, impl->name,
            ranks, failure);
  if (outcome == MPI_MEASURED)
    sample->value =
        row->scale *
        (row->key != NULL ? json_number_value(json_object_get(line, row->key)) : wall_ns);
  json_decref(line);
  return outcome;
}

enum mpi_outcome mpi_run(const struct mpi_impl *impl, const struct mpi_row *row, int ranks, int vps,
                         int timeout, struct mpi_sample *sample) {
  struct mpi_process process;
  enum mpi_outcome outcome = mpi_start(impl, row, ranks, vps, &process);
  return outcome == MPI_MEASURED ? mpi_end(impl, row, ranks, timeout, &process, sample) : outcome;
}
