/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int gt_futex_wait(uint32_t *word, uint32_t expected, clockid_t clock,
                  const struct timespec *until) {
  int saved = errno, result = 0;
  int call = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
  if (until != NULL && clock == CLOCK_REALTIME) call |= FUTEX_CLOCK_REALTIME;
  if (until != NULL && until->tv_sec < 0)
    result = ETIMEDOUT; /* the kernel would refuse it */
  else if (syscall(SYS_futex, word, call, expected, until, NULL, FUTEX_BITSET_MATCH_ANY) != 0)
    result = errno == ETIMEDOUT || errno == EINTR ? errno : 0;
  errno = saved;
  return result;
}
