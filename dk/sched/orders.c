/* SPDX-License-Identifier: Apache-2.0 */
/* An order is a line; the answer is a line of JSON:
 *   roles ROLES EPOCHS|-   prefer PID dk|smt   status   stop */
#include "sched.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/digits.h"

enum { LINE = 32768 }; /* roles of 1,024 CPUs take less */

int orders_open(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof(address.sun_path)) {
    return -ENAMETOOLONG;
  }
  strcpy(address.sun_path, path);
  int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (door < 0) {
    return -errno;
  }
  unlink(path); /* of a dk-sched that was killed: dkctl holds the lock, so there is no other */
  mode_t old = umask(0177);
  int failed = bind(door, (struct sockaddr *)&address, sizeof(address)) || listen(door, 8);
  int error = failed ? errno : 0;
  umask(old);
  if (error) {
    close(door);
    return -error;
  }
  return door;
}

/* Reads a line, for a second at most. */
static bool read_line(int client, char *line) {
  size_t length = 0;
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 1},
             sizeof(struct timeval));
  while (length < LINE - 1) {
    ssize_t n = recv(client, line + length, LINE - 1 - length, 0);
    if (n <= 0) {
      return false;
    }
    length += (size_t)n;
    line[length] = 0;
    char *end = strchr(line, '\n');
    if (end) {
      *end = 0;
      return true;
    }
  }
  return false;
}

static void answer(int client, json_t *object) {
  char *text = json_dumps(object, JSON_COMPACT);
  if (text) {
    send(client, text, strlen(text), MSG_NOSIGNAL); /* a client that has left needs no answer */
    send(client, "\n", 1, MSG_NOSIGNAL);
    free(text);
  }
  json_decref(object);
}

static json_t *error_answer(const char *text) { return json_pack("{s:s}", "error", text); }

static json_t *status_answer(const struct scheduler *scheduler) {
  const struct dk_shared *shared = scheduler->shared;
  return json_pack("{s:i, s:s, s:i, s:s, s:I, s:I, s:I}", "pid", (int)getpid(), "class",
                   shared->class_is_mm ? "mm" : "kthread", "domains", (int)shared->domains, "epoch",
                   shared->smt_epoch ? "smt" : "dk", "explicit", (json_int_t)shared->explicit_tasks,
                   "user", (json_int_t)shared->user_dispatched, "kernel",
                   (json_int_t)shared->kernel_dispatched);
}

static json_t *prefer_answer(struct scheduler *scheduler, const char *pid, const char *mode) {
  enum dk_prefer wanted = !strcmp(mode, "dk") ? DK_PREFER_DK : DK_PREFER_SMT;
  uint64_t number;
  if (!mt_is_number(pid, 1, INT_MAX, &number)) {
    return error_answer("a process has no such number");
  }
  int error = scheduler_prefer(scheduler, (unsigned)number, wanted);
  return error ? error_answer(strerror(error)) : json_object();
}

static json_t *obey(struct scheduler *scheduler, char *line, bool *stop) {
  char *rest = NULL, *word = strtok_r(line, " ", &rest);
  char *first = strtok_r(NULL, " ", &rest), *second = strtok_r(NULL, " ", &rest);
  if (word && !strcmp(word, "status")) {
    return status_answer(scheduler);
  }
  if (word && !strcmp(word, "stop")) {
    *stop = true;
    return json_object();
  }
  if (word && !strcmp(word, "roles") && second) {
    int error = scheduler_flip(scheduler, first, strcmp(second, "-") ? second : "");
    return error ? error_answer("a role or CPU is wrong") : json_object();
  }
  if (word && !strcmp(word, "prefer") && second) {
    return prefer_answer(scheduler, first, second);
  }
  return error_answer("no such order");
}

bool orders_take(int door, struct scheduler *scheduler) {
  static char line[LINE];
  bool stop = false;
  int client = accept4(door, NULL, NULL, SOCK_CLOEXEC);
  if (client >= 0) {
    if (read_line(client, line)) {
      answer(client, obey(scheduler, line, &stop));
    }
    close(client);
  }
  return stop;
}
