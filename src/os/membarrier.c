/* SPDX-License-Identifier: Apache-2.0 */
/* The heavy half of an asymmetric fence. */
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"

bool os_membarrier_register(void) {
  int saved = errno;
  bool ok = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  errno = saved;
  return ok;
}

void os_membarrier(void) {
  int saved = errno;
  syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  errno = saved;
}
