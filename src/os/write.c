/* SPDX-License-Identifier: Apache-2.0 */
/* Output that works in a signal handler. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/os.h"

void os_write(int fd, const char *text, size_t length) {
  int saved = errno;
  while (length > 0) {
    ssize_t written = write(fd, text, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text += written;
    length -= (size_t)written;
  }
  errno = saved;
}

int os_open_log(const char *path) {
  int saved = errno;
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  errno = saved;
  return fd;
}

void os_close(int fd) {
  int saved = errno;
  close(fd);
  errno = saved;
}
