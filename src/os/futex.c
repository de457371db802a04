/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting in the kernel. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

int os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  struct timespec ts = {.tv_sec = (time_t)(deadline / 1000000000u),
                        .tv_nsec = (long)(deadline % 1000000000u)};
  struct timespec *timeout = deadline == UINT64_MAX ? NULL : &ts;
  int saved = errno;
  int result = 0;
  /* WAIT_BITSET, unlike WAIT, takes an absolute time. */
  if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, timeout, NULL,
              FUTEX_BITSET_MATCH_ANY) != 0 &&
      errno == ETIMEDOUT)
    result = ETIMEDOUT;
  errno = saved;
  return result;
}

void os_futex_wake(uint32_t *word, int count) {
  int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
  errno = saved;
}

void os_yield(void) { sched_yield(); }
