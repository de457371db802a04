/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of ours among those of the program. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/os.h"

enum { LEAST = 200 }; /* programs expect small descriptors where they open files */

int os_descriptor_raise(int fd) {
  int saved = errno, high = fcntl(fd, F_DUPFD_CLOEXEC, LEAST);
  if (high >= 0) close(fd);
  errno = saved;
  return high >= 0 ? high : fd;
}
