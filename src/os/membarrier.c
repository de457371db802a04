/* SPDX-License-Identifier: Apache-2.0 */
/* The heavy half of an asymmetric fence. */
#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"

enum { TRIES = 1000 };

bool os_membarrier_register(void) {
  int saved = errno;
  bool ok = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  errno = saved;
  return ok;
}

/* Once registered, it fails only if the kernel lacks a few bytes, or because of a filter
 * installed since. The light fences rely on it, so the process cannot continue without it. */
void os_membarrier(void) {
  int saved = errno;
  for (int tries = 0; syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0;) {
    if (errno != ENOMEM || ++tries == TRIES)
      os_fatal("membarrier", errno, "set MLTP_MEMBARRIER=off, or allow membarrier(2)");
    sched_yield();
  }
  errno = saved;
}
