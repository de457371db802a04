/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting in the kernel. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

/* Nothing can replace a futex, and a caller that continued would spin or sleep forever. */
static void refused(int error) {
  os_fatal("futex", error, "allow futex(2) in the process's seccomp filter");
}

int os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  struct timespec ts, *timeout = deadline == UINT64_MAX ? NULL : &ts;
  int saved = errno;
  int result = 0;
  if (timeout != NULL) {
    uint64_t now = os_now(), left = deadline > now ? deadline - now : 0;
    ts = (struct timespec){(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
  }
  /* A relative time: os_now() may be another clock than the kernel's, which faketime(1) does. */
  if (syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout, NULL, 0) != 0) {
    if (errno == ETIMEDOUT)
      result = ETIMEDOUT;
    else if (errno != EAGAIN && errno != EINTR) /* these two: the caller looks at the word */
      refused(errno);
  }
  errno = saved;
  return result;
}

/* errno stays: the call sets it only where it fails. */
void os_futex_wake(uint32_t *word, int count) {
  if (syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0) < 0) refused(errno);
}

void os_yield(void) { sched_yield(); }
