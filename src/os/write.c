/* SPDX-License-Identifier: Apache-2.0 */
/* Output that works in a signal handler, and the last words of this room. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

enum {
  REPORT_SECONDS = 60, /* as long as a report takes at most */
  LOOK_NS = 1000000    /* between looks whether a reader has read */
};

/* A reader that has gone must not end the program: a report is not what it was
 * started for. SIGPIPE is held back while we write, and taken away if it is ours. */
static int write_all(int fd, const char *text, size_t length) {
  while (length > 0) {
    ssize_t written = write(fd, text, length);
    if (written < 0 && errno == EAGAIN && poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1) >= 0)
      continue;                                  /* the file is non-blocking: wait for the reader */
    if (written < 0 && errno == EINTR) continue; /* of either call */
    if (written <= 0) return written < 0 ? errno : EIO; /* no reader, or no room, is left */
    text += written;
    length -= (size_t)written;
  }
  return 0;
}

/* A pipe counts its bytes at both ends. */
void os_wait_read(int fd, uint64_t ns) {
  int saved = errno, left;
  struct stat status;
  bool pipe = fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
  for (uint64_t end = os_now() + ns; pipe && ioctl(fd, FIONREAD, &left) == 0 && left > 0;) {
    if (os_now() >= end) break;
    os_nap(LOOK_NS);
  }
  errno = saved;
}

void os_flush_output(void) {
  if (ftrylockfile(stdout) != 0) return;
  fflush_unlocked(stdout);
  funlockfile(stdout);
}

int os_write(int fd, const char *text, size_t length) {
  int saved = errno;
  sigset_t pipe, old, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  bool held = pthread_sigmask(SIG_BLOCK, &pipe, &old) == 0;
  bool before = sigpending(&pending) != 0 || sigismember(&pending, SIGPIPE) == 1;
  int error = write_all(fd, text, length);
  if (held && !before && error == EPIPE)
    while (sigtimedwait(&pipe, NULL, &(struct timespec){0}) < 0 && errno == EINTR) continue;
  if (held) pthread_sigmask(SIG_SETMASK, &old, NULL);
  errno = saved;
  return error;
}

int os_open_log(const char *path) {
  int saved = errno;
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd >= 0) fd = os_descriptor_raise(fd);
  errno = saved;
  return fd;
}

void os_close(int fd) {
  int saved = errno;
  close(fd);
  errno = saved;
}

static uint32_t reporter; /* [atomic] the kernel thread that reports; 0: none yet */

void os_report_alone(void) {
  uint32_t self = (uint32_t)gettid(), none = 0;
  /* relaxed: it orders nothing, it only chooses */
  if (__atomic_compare_exchange_n(&reporter, &none, self, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED) ||
      none == self)
    return;
  for (int i = 0; i < REPORT_SECONDS; i++) os_nap(1000000000);
}

void os_fatal(const char *call, int error, const char *remedy) {
  const char *name = strerrorname_np(error); /* unlike strerror() works in a handler */
  const char *parts[] = {
      "mltp: panic: ", call, ": the kernel refused it: ", name != NULL ? name : "", " (",
      remedy,          ")\n"};
  char line[300];
  size_t used = 0;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    size_t length = strlen(parts[i]);
    if (length > sizeof line - used) break;
    memcpy(line + used, parts[i], length);
    used += length;
  }
  os_report_alone();
  os_write(2, line, used);
  abort();
}
