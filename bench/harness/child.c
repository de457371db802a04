/* SPDX-License-Identifier: Apache-2.0 */
/** @file child.c One run of an experiment in a process of its own. */
#include "child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void bench_fail(struct bench_outcome *outcome, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(outcome->why, sizeof outcome->why, format, args);
  va_end(args);
  outcome->verified = false;
}

/** What the child does: the run, and its outcome into the pipe. */
static void report_run(const struct experiment *experiment, const struct par *par,
                       const struct bench_params *params, int fd) {
  struct bench_outcome outcome = {.verified = true};
  int err = par->start(params->vps);
  if (err != 0) {
    bench_fail(&outcome, "%s does not start: %s", par->name, strerror(err));
  } else {
    experiment->run(par, params, &outcome);
    /* After a failed run threads may be left that would never end. */
    if (outcome.verified) err = par->stop();
    if (err != 0) bench_fail(&outcome, "%s does not stop: %s", par->name, strerror(err));
  }
  if (write(fd, &outcome, sizeof outcome) != sizeof outcome) _exit(1);
  if (!outcome.verified) _exit(0);
  exit(0);
}

/** Waits for the outcome, which is less than a pipe's atomic write. */
static void read_outcome(int fd, pid_t pid, int timeout, struct bench_outcome *outcome) {
  struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
  int ready;
  do {
    ready = poll(&poll_fd, 1, timeout * 1000);
  } while (ready < 0 && errno == EINTR);
  const bool answered = ready > 0 && read(fd, outcome, sizeof *outcome) == sizeof *outcome;
  if (ready == 0) kill(pid, SIGKILL);

  int status;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (answered) return;
  if (ready == 0) {
    bench_fail(outcome, "no answer within %d s (--timeout allows more)", timeout);
  } else if (WIFSIGNALED(status)) {
    bench_fail(outcome, "died of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else {
    bench_fail(outcome, "exited with status %d before it had an answer", WEXITSTATUS(status));
  }
}

struct bench_outcome bench_child(const struct experiment *experiment, const struct par *par,
                                 const struct bench_params *params, int timeout) {
  struct bench_outcome outcome = {0};
  int fd[2];
  if (pipe(fd) != 0) {
    bench_fail(&outcome, "no pipe: %s", strerror(errno));
    return outcome;
  }
  fflush(NULL); /* or the child would print again what is buffered */
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* an interrupted program leaves nothing running */
    close(fd[0]);
    report_run(experiment, par, params, fd[1]);
  }
  close(fd[1]);
  if (pid < 0) {
    bench_fail(&outcome, "no process: %s", strerror(errno));
  } else {
    read_outcome(fd[0], pid, timeout, &outcome);
  }
  close(fd[0]);
  return outcome;
}

bool bench_find(const char *name, char path[PATH_MAX]) {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) return false;
  self[length] = '\0';
  *strrchr(self, '/') = '\0';
  int needed = snprintf(path, PATH_MAX, "%s/%s", self, name);
  return needed < PATH_MAX && access(path, X_OK) == 0;
}
