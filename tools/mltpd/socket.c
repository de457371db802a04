/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon.h"

enum { FIRST_PASSED = 3, BACKLOG = 4096 };

/* sd_listen_fds(3), without libsystemd: two variables and descriptor 3.
 * @return the descriptor; -1: none passed; -2: not what we serve. */
static int passed_by_systemd(void) {
  const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
  if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != getpid()) return -1;
  int type = 0, listens = 0;
  socklen_t size = sizeof type;
  if (strcmp(count, "1") != 0 || getsockopt(FIRST_PASSED, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
      type != SOCK_SEQPACKET ||
      getsockopt(FIRST_PASSED, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
    note(
        "cannot use what systemd passed: not one listening SOCK_SEQPACKET socket "
        "(ListenSequentialPacket= in mltpd.socket)");
    return -2;
  }
  fcntl(FIRST_PASSED, F_SETFD, FD_CLOEXEC);
  fcntl(FIRST_PASSED, F_SETFL, O_NONBLOCK);
  return FIRST_PASSED;
}

static const char *remedy(int error) {
  if (error == ENOSPC || error == EDQUOT) return "free some space there, or give another --socket";
  return "is the directory there, and writable?";
}

/* Of two daemons at one path the second one must not take the first one's socket away. The kernel
 * frees the lock when its holder dies, so a socket that was left behind can be replaced. */
static bool lock_path(const char *path) {
  char name[sizeof(struct sockaddr_un)];
  strcpy(name, path);
  strcat(name, ".lock");
  int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    note("cannot make %s: %s (%s)", name, strerror(errno), remedy(errno));
    return false;
  }
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true; /* held until we end */
  note("cannot listen at %s: another mltpd does (stop it, or give another --socket)", path);
  close(fd);
  return false;
}

bool listens_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  strcpy(address.sun_path, path);
  /* EAGAIN: its queue is full */
  bool listens =
      connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN;
  close(fd);
  return listens;
}

/* The socket of an mltpd that was killed; nothing else is removed. */
static void remove_stale(const char *path) {
  struct stat status;
  if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode)) unlink(path);
}

static int make_own(const char *path, bool any_user) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) + strlen(".lock") >= sizeof address.sun_path) {
    note("cannot listen at %s: the name is too long (at most %zu bytes)", path,
         sizeof address.sun_path - sizeof ".lock");
    return -1;
  }
  strcpy(address.sun_path, path);
  if (!lock_path(path)) return -1;
  remove_stale(path);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  mode_t mask = umask(any_user ? 0 : 0177);
  bool bound = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
  int error = errno;
  umask(mask);
  if (bound && listen(fd, BACKLOG) == 0) return fd;
  if (bound) error = errno;
  note("cannot listen at %s: %s (%s)", path, strerror(error), remedy(error));
  if (fd >= 0) close(fd);
  return -1;
}

int listen_at(const char *path, bool any_user, bool *activated) {
  int fd = passed_by_systemd();
  *activated = fd >= 0;
  if (fd == -1 && path != NULL) fd = make_own(path, any_user);
  return fd >= 0 ? fd : -1;
}
