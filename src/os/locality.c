/* SPDX-License-Identifier: Apache-2.0 */
/* Where a kernel thread runs, and which CPUs share a cache. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/os.h"

void os_here(unsigned *cpu, unsigned *node) {
  *cpu = *node = 0;
  int saved = errno;
  getcpu(cpu, node);
  errno = saved;
}

/* Not by stdio: an open stream is one more for each fflush(NULL) of another thread's, which waits
 * for as long as this kernel thread has lost its CPU. */
unsigned os_cache_group(unsigned cpu) {
  char text[96];
  unsigned first = 0;
  int saved = errno;
  bool found = false;
  for (int level = 3; level >= 2 && !found; level--) {
    snprintf(text, sizeof text, "/sys/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list", cpu,
             level);
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    ssize_t length = read(fd, text, sizeof text - 1);
    found = length > 0;
    text[found ? length : 0] = '\0'; /* "0-1": the CPUs that share it */
    first = (unsigned)strtoul(text, NULL, 10);
    close(fd);
  }
  errno = saved;
  return first;
}
