/* SPDX-License-Identifier: Apache-2.0 */
/* See supervise.h. */
#include "supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "coord/client.h"
#include "message.h"

void supervise_join(const char *where, uint32_t role, unsigned most) {
  const struct mt_client_program self = {.role = role, .most = most};
  if (where == NULL) where = getenv("MLTP_COORDINATOR");
  if (where == NULL || *where == '\0') where = "auto";
  int error = mt_client_join(where, &self);
  if (error != 0 && strcmp(where, "auto") != 0)
    message("cannot join %s: %s (running as without a daemon)", where, strerror(error));
}

static pid_t program;

static void forward(int number) { kill(program, number); }

static _Noreturn void become(char **words, int (*enter)(void), const sigset_t *signals) {
  sigprocmask(SIG_SETMASK, signals, NULL);
  if (enter == NULL || enter() == 0) {
    execvp(words[0], words);
    message("cannot run %s: %s", words[0], strerror(errno));
  }
  _exit(EXIT_NOT_STARTED);
}

/* @return 0, or an errno value. */
static int start(char **words, int (*enter)(void)) {
  const struct sigaction ignore = {.sa_handler = SIG_IGN}, pass_on = {.sa_handler = forward};
  sigset_t ends, before;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGHUP);
  sigprocmask(SIG_BLOCK, &ends, &before); /* until forward() knows the program */
  program = fork();
  if (program == 0) become(words, enter, &before);
  int error = program < 0 ? errno : 0;
  if (error == 0) {
    sigaction(SIGINT, &ignore, NULL); /* the terminal sends these two to the program as well */
    sigaction(SIGQUIT, &ignore, NULL);
    sigaction(SIGTERM, &pass_on, NULL);
    sigaction(SIGHUP, &pass_on, NULL);
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
  return error;
}

int supervise(char **words, int (*enter)(void), void (*look)(void), unsigned look_ms) {
  const struct timespec pause = {0, (long)look_ms * 1000000};
  int status = 0, error = start(words, enter);
  if (error != 0) {
    message("cannot run %s: %s", words[0], strerror(error));
    return EXIT_FAILED;
  }
  while (waitpid(program, &status, WNOHANG) == 0) {
    look();
    nanosleep(&pause, NULL);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
