/* SPDX-License-Identifier: Apache-2.0 */
/** @file daemon.c An mltpd of the benchmark's own. */
#include "daemon.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

extern char **environ;

/* @return whether a daemon accepts connections there: its socket has a name before it listens. */
static bool listens(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  bool does = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
  if (fd >= 0) close(fd);
  return does;
}

bool bench_daemon_start(struct bench_daemon *daemon) {
  enum { PAUSE_US = 1000, PAUSES = 1000 };
  char path[PATH_MAX];
  snprintf(daemon->socket, sizeof daemon->socket, "/tmp/mltp-bench-%d.sock", (int)getpid());
  char *const argv[] = {path, "--socket", daemon->socket, NULL};
  if (!bench_find("mltpd", path) ||
      posix_spawn(&daemon->pid, path, NULL, NULL, argv, environ) != 0) {
    fprintf(stderr, "mltp-bench: cannot start mltpd: is it beside mltp-bench?\n");
    return false;
  }
  for (int i = 0; i < PAUSES && !listens(daemon->socket); i++) usleep(PAUSE_US);
  return true;
}

void bench_daemon_stop(const struct bench_daemon *daemon) {
  char lock[sizeof daemon->socket + sizeof ".lock"];
  kill(daemon->pid, SIGTERM);
  waitpid(daemon->pid, NULL, 0);
  snprintf(lock, sizeof lock, "%s.lock", daemon->socket);
  unlink(lock);
}
