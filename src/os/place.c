/* SPDX-License-Identifier: Apache-2.0 */
/* Where a kernel thread runs, and which CPUs share a cache. */
#include <errno.h>
#include <stdio.h>

#include "os/os.h"

void os_here(unsigned *cpu, unsigned *node) {
  *cpu = *node = 0;
  int saved = errno;
  getcpu(cpu, node);
  errno = saved;
}

unsigned os_cache_group(unsigned cpu) {
  unsigned first = 0;
  int fields = 0, saved = errno;
  for (int level = 3; level >= 2 && fields != 1; level--) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list", cpu,
             level);
    FILE *file = fopen(path, "re");
    if (file == NULL) continue;
    fields = fscanf(file, "%u", &first);
    fclose(file);
  }
  errno = saved;
  return fields == 1 ? first : 0;
}
