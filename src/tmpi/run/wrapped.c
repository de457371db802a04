/* SPDX-License-Identifier: Apache-2.0 */
/* See wrapped.h. */
#include "tmpi/run/wrapped.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tmpi/env/launch.h"

static const char prefix[] = "tmpirun-unstarted-";
static const int handed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

enum { HANDED_ON = sizeof handed_on / sizeof handed_on[0] };

static volatile sig_atomic_t child; /* the wrapper's process */

void tm_wrapped_started(void) {
  const char *file = getenv(TM_UNSTARTED), *slash = file != NULL ? strrchr(file, '/') : NULL;
  if (slash != NULL && strncmp(slash + 1, prefix, sizeof prefix - 1) == 0) unlink(file);
  unsetenv(TM_UNSTARTED);
}

/* The terminal sends its signals to both. */
static void hand_on(int number, siginfo_t *info, void *context) {
  (void)context;
  if (info->si_code <= 0) kill((pid_t)child, number);
}

static void hand_signals_on(void) {
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART}, before;
  action.sa_sigaction = hand_on;
  sigfillset(&action.sa_mask);
  for (int i = 0; i < HANDED_ON; i++)
    if (sigaction(handed_on[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(handed_on[i], &action, NULL);
}

__attribute__((noreturn)) static void be_wrapper(const char *path, char *const *command,
                                                 pid_t parent, const sigset_t *mask) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) raise(SIGKILL); /* it has ended already */
  sigprocmask(SIG_SETMASK, mask, NULL);
  execv(path, command);
  fprintf(stderr, "tmpirun: cannot run '%s': %s (check the file)\n", path, strerror(errno));
  _exit(1);
}

/* Ends by the signal that has ended the wrapper, without another core. */
__attribute__((noreturn)) static void end_by(int number) {
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  signal(number, SIG_DFL);
  raise(number);
  exit(128 + number);
}

__attribute__((noreturn)) static void end_as(const char *name, int ranks, int status,
                                             const char *file) {
  bool unstarted = unlink(file) == 0;
  if (WIFSIGNALED(status)) end_by(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0 || !unstarted) exit(WEXITSTATUS(status));
  fprintf(
      stderr,
      "tmpirun: '%s' has ended, and ran once, not %d times: it has started no MPI program (name "
      "in tmpirun's command what is to run as ranks)\n",
      name, ranks);
  exit(1);
}

/* @return false: none can be made there. */
static bool make_file_in(const char *folder, char *file, size_t room) {
  if (folder == NULL || folder[0] != '/') return false;
  if ((size_t)snprintf(file, room, "%s/%sXXXXXX", folder, prefix) >= room) return false;
  int fd = mkstemp(file);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static bool make_file(char *file, size_t room) {
  static const char *const folders[] = {"/tmp", "/var/tmp", "/dev/shm"};
  if (make_file_in(getenv("TMPDIR"), file, room)) return true;
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
    if (make_file_in(folders[i], file, room)) return true;
  return false;
}

/* Nobody would see that it runs once. */
__attribute__((noreturn)) static void refuse(const char *name, const char *why,
                                             const char *remedy) {
  fprintf(stderr,
          "tmpirun: cannot run '%s', which may start the MPI program: %s (%s, or name the MPI "
          "program itself)\n",
          name, why, remedy);
  exit(1);
}

void tm_wrapped_run(const char *path, char *const *command, int ranks) {
  char file[PATH_MAX];
  sigset_t all, mask;
  int status;
  if (!make_file(file, sizeof file))
    refuse(command[0], "no folder has room for a file", "set TMPDIR");
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &mask); /* until there is a process to hand them on to */
  pid_t self = getpid(), made = setenv(TM_UNSTARTED, file, 1) == 0 ? fork() : -1;
  if (made == 0) be_wrapper(path, command, self, &mask);
  child = made;
  if (made > 0) hand_signals_on();
  sigprocmask(SIG_SETMASK, &mask, NULL);
  if (made < 0) {
    const char *why = strerror(errno);
    unlink(file);
    refuse(command[0], why, "end other programs");
  }
  while (waitpid(made, &status, 0) < 0 && errno == EINTR) continue;
  end_as(command[0], ranks, status, file);
}
