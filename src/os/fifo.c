/* SPDX-License-Identifier: Apache-2.0 */
/* Pipes and FIFOs that hold the tokens of a jobserver. */
#include "os/fifo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"

static int with_errno(int saved, int error) {
  errno = saved;
  return error;
}

int os_fifo_open(const char *path, struct os_socket *fifo) {
  struct stat status;
  int saved = errno;
  int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return with_errno(saved, errno);
  if (fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode)) {
    close(fd);
    return with_errno(saved, EINVAL);
  }
  *fifo = (struct os_socket){os_descriptor_raise(fd), status.st_dev, status.st_ino};
  return with_errno(saved, 0);
}

/* A pipe that is the program's input or output is never a jobserver: tokens would be taken from its
 * input, which would not end while we hold the pipe. */
int os_fifo_reopen(int take, int give, struct os_socket *fifo) {
  struct stat in, out;
  char name[32];
  int saved = errno;
  bool ends = take > STDERR_FILENO && give > STDERR_FILENO && take != give;
  bool one = ends && fstat(take, &in) == 0 && fstat(give, &out) == 0 && S_ISFIFO(in.st_mode) &&
             in.st_dev == out.st_dev && in.st_ino == out.st_ino;
  if (!one) return with_errno(saved, EBADF);
  snprintf(name, sizeof name, "/proc/self/fd/%d", take);
  return os_fifo_open(name, fifo);
}

int os_fifo_take(const struct os_socket *fifo, char *byte) {
  int saved = errno;
  if (!os_socket_is_ours(fifo)) return EBADF;
  ssize_t got = read(fifo->fd, byte, 1);
  return with_errno(saved, got == 1 ? 0 : got == 0 ? EAGAIN : errno);
}

int os_fifo_give(const struct os_socket *fifo, char byte) {
  int saved = errno;
  if (!os_socket_is_ours(fifo)) return EBADF;
  return with_errno(saved, write(fifo->fd, &byte, 1) == 1 ? 0 : errno);
}
