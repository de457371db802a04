/* SPDX-License-Identifier: Apache-2.0 */
/** @file micro_run.c One run of one peer: a program, a pipe, a line of JSON, a time limit. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/child.h"
#include "micro.h"

extern char **environ;

/* The programs are where CMake puts them: ../libexec/mltp, seen from this program's folder. */
bool micro_find_program(const char *name, char path[PATH_MAX]) {
  char beside[80];
  snprintf(beside, sizeof beside, "../libexec/mltp/%s", name);
  return bench_find(beside, path);
}

void micro_peer_row(const struct micro_row *row, char *name, size_t size) {
  if (row->by_threads) {
    snprintf(name, size, "%s-%d", row->peer_row, row->threads);
  } else {
    snprintf(name, size, "%s", row->peer_row);
  }
}

/* @return the row as the peer has it: no other package packs the stacks of blocked threads. */
static struct micro_row row_of(const struct micro_peer *peer, const struct micro_row *row) {
  struct micro_row its = *row;
  bool ours = peer == &micro_peers[0];
  if (!ours && strcmp(row->peer_row, MICRO_PACKED) == 0) its.peer_row = "memory";
  return its;
}

/* Starts the program with its output in a pipe. @return its id, or -1 with errno set. */
static pid_t start(char *path, const struct micro_row *row, int ms, int *output) {
  char name[32], vps_text[16], ms_text[16], ops_text[32];
  char *argv[6] = {path}; /* the option first: Go's flags end where arguments begin */
  int argc = 1;
  posix_spawn_file_actions_t actions;
  pid_t pid = -1;
  int ends[2];

  micro_peer_row(row, name, sizeof name);
  snprintf(ops_text, sizeof ops_text, "--ops=%ld", row->ops);
  if (row->ops > 0) argv[argc++] = ops_text;
  argv[argc++] = name;
  argv[argc++] = vps_text;
  argv[argc] = ms_text;
  snprintf(vps_text, sizeof vps_text, "%d", row->vps);
  snprintf(ms_text, sizeof ms_text, "%d", ms);
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  int error = posix_spawn_file_actions_init(&actions);
  if (error == 0) {
    error = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (error == 0) error = posix_spawn(&pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
  }
  close(ends[1]);
  *output = ends[0];
  if (error == 0) return pid;
  close(ends[0]);
  errno = error;
  return -1;
}

static struct micro_sample read_sample(const json_t *line, const struct micro_row *row) {
  static const char *const key[] = {
      [MICRO_CPU_NS] = "cpu_ns",        [MICRO_WALL_NS] = "wall_ns",
      [MICRO_RSS_BYTES] = "rss_bytes",  [MICRO_PTE_BYTES] = "pte_bytes",
      [MICRO_PEAK_BYTES] = "rss_bytes", [MICRO_DEPTH] = "depth",
      [MICRO_ALIVE] = "alive",          [MICRO_WALK_NS] = "walk_ns",
  };
  double ops = json_number_value(json_object_get(line, "ops"));
  double total = json_number_value(json_object_get(line, key[row->value]));
  bool memory = row->value == MICRO_RSS_BYTES || row->value == MICRO_PTE_BYTES;
  bool in_all =
      row->value == MICRO_PEAK_BYTES || row->value == MICRO_DEPTH || row->value == MICRO_ALIVE;
  if (in_all) return (struct micro_sample){total, row->threads};
  return (struct micro_sample){total / ops, memory ? (int)ops : row->threads};
}

/* @return NULL, or why the run is none. */
static const char *judge(int status, bool in_time, const json_t *line, char *why, size_t size) {
  if (!in_time) return "it took too long (give it more with --timeout)";
  if (WIFSIGNALED(status)) {
    snprintf(why, size, "it was killed by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
    return why;
  }
  if (line == NULL) return "it printed no line of JSON";
  if (json_is_false(json_object_get(line, "offered"))) return NULL;
  if (!json_is_true(json_object_get(line, "verified"))) return "its answer is wrong";
  if (json_number_value(json_object_get(line, "ops")) <= 0) return "it did no operations";
  return NULL;
}

enum micro_outcome micro_run(const struct micro_peer *peer, const struct micro_row *row,
                             const struct micro_limits *limits, struct micro_sample *sample) {
  char path[PATH_MAX], why[80];
  int output = -1, status = 0;

  if (!micro_find_program(peer->name, path)) return MICRO_ABSENT;
  const struct micro_row its = row_of(peer, row);
  pid_t pid = start(path, &its, limits->ms, &output);
  if (pid < 0) {
    fprintf(stderr, "mltp-bench: starting %s failed: %s\n", path, strerror(errno));
    return MICRO_FAILED;
  }

  /* The line comes when the program ends; until then there is nothing to read. */
  struct pollfd ready = {output, POLLIN, 0};
  bool in_time = poll(&ready, 1, limits->timeout * 1000) > 0;
  if (!in_time) kill(pid, SIGKILL);
  json_t *line = json_loadfd(output, 0, NULL);
  close(output);
  waitpid(pid, &status, 0);

  enum micro_outcome outcome = MICRO_MEASURED;
  const char *failure = judge(status, in_time, line, why, sizeof why);
  if (failure != NULL) {
    fprintf(stderr, "mltp-bench: %s %s on %d VPs failed: %s\n", peer->name, row->peer_row, row->vps,
            failure);
    outcome = MICRO_FAILED;
  } else if (json_is_false(json_object_get(line, "offered"))) {
    outcome = MICRO_NOT_OFFERED;
  } else {
    *sample = read_sample(line, row);
  }
  json_decref(line);
  return outcome;
}
