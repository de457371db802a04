/* SPDX-License-Identifier: Apache-2.0 */
/* Small files. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/os.h"

static int read_all(int fd, char *text, size_t size) {
  size_t used = 0;
  while (used < size) {
    ssize_t count = read(fd, text + used, size - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) {
      text[used] = '\0';
      return 0;
    }
    used += (size_t)count;
  }
  text[size - 1] = '\0';
  return EFBIG;
}

int os_read_text(const char *path, char *text, size_t size) {
  int saved = errno;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  int error = fd >= 0 ? read_all(fd, text, size) : errno;
  if (fd >= 0) close(fd);
  errno = saved;
  return error;
}
