/* SPDX-License-Identifier: Apache-2.0 */
/** @file micro_count.c Instructions of one operation, counted by valgrind's callgrind. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "micro.h"

extern char **environ;

enum { FEW = 1000, MANY = 21000 };

/* Runs valgrind with its words and the program's thrown away. @return its wait status, or -1. */
static int run_quietly(char **argv) {
  posix_spawn_file_actions_t actions;
  pid_t pid;
  int status = -1;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  int error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) ||
              posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ||
              posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) return -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

/* @return the total in callgrind's file, or -1. */
static double read_total(const char *path) {
  char line[4096];
  double total = -1;
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "totals: %lf", &total) == 1) break;
  if (file != NULL) fclose(file);
  return total;
}

/* @return the instructions of a whole run of `ops` operations, or -1. */
static double count(char *program, const struct micro_row *row, long ops) {
  char path[] = "/tmp/mltp-bench-XXXXXX", out[sizeof path + 32], name[32], ops_text[32];
  char *argv[] = {"valgrind", "--tool=callgrind", out, program, name, "1", "1", ops_text, NULL};
  const int fd = mkstemp(path);
  if (fd < 0) return -1;
  close(fd);
  snprintf(out, sizeof out, "--callgrind-out-file=%s", path);
  snprintf(ops_text, sizeof ops_text, "--ops=%ld", ops);
  micro_peer_row(row, name, sizeof name);
  const int status = run_quietly(argv);
  const double total = status == 0 ? read_total(path) : -1;
  unlink(path);
  return total;
}

enum micro_outcome micro_count(const struct micro_peer *peer, const struct micro_row *row,
                               const struct micro_limits *limits, struct micro_sample *sample) {
  char program[PATH_MAX];
  /* A count of instructions does not say whether the peer offers the row, nor whether it works. */
  struct micro_row timed = *row;
  timed.value = MICRO_CPU_NS;
  const enum micro_outcome outcome = micro_run(peer, &timed, limits, sample);
  if (outcome != MICRO_MEASURED || !micro_find_program(peer->name, program)) return outcome;
  if (run_quietly((char *[]){"valgrind", "--version", NULL}) != 0) return MICRO_NOT_OFFERED;

  const double few = count(program, row, FEW), many = count(program, row, MANY);
  if (few <= 0 || many <= few) return MICRO_NOT_OFFERED; /* no program for valgrind, as Go's */
  *sample = (struct micro_sample){(many - few) / (MANY - FEW), row->threads};
  return MICRO_MEASURED;
}
