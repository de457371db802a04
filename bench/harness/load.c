/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t processes[BENCH_LOAD_MAX];
static int running;

static void __attribute__((noreturn)) compute(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0); /* the parent died before prctl() */
  for (volatile unsigned long i = 0;; i++) continue;
}

int bench_load_start(int count) {
  const pid_t parent = getpid();
  while (running < count) {
    const pid_t pid = fork();
    if (pid == 0) compute(parent);
    if (pid < 0) {
      const int error = errno;
      bench_load_stop();
      errno = error;
      return -1;
    }
    processes[running++] = pid;
  }
  return 0;
}

void bench_load_stop(void) {
  while (running > 0) {
    const pid_t pid = processes[--running];
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
  }
}
