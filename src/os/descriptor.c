/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of ours among those of the program. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/os.h"

enum { LEAST = 200 }; /* programs expect small descriptors where they open files */

int os_descriptor_raise(int fd) {
  int saved = errno, high = fcntl(fd, F_DUPFD_CLOEXEC, LEAST);
  if (high < 0 && fd <= STDERR_FILENO) high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (high >= 0) close(fd);
  errno = saved;
  return high >= 0 ? high : fd;
}

/* Each open() gets the lowest number that is free. */
void os_descriptors_fill(void) {
  int saved = errno;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    int way = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", way | O_CLOEXEC) < 0) break;
  }
  errno = saved;
}
