/* SPDX-License-Identifier: Apache-2.0 */
/* Which limit was met when the kernel refused a kernel thread: its error is one for several. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/cgroup.h"
#include "os/os.h"

/* @return the group's limit, where it is reached. */
static int reached(const char *directory) {
  long long most, now;
  if (!os_cgroup_number(directory, "pids.max", &most) ||
      !os_cgroup_number(directory, "pids.current", &now))
    return INT_MAX;
  return now >= most && most < INT_MAX ? (int)most : INT_MAX;
}

void os_thread_refusal(int error, char *text, size_t size) {
  int saved = errno;
  struct rlimit limit;
  int most = error == EAGAIN ? os_cgroup_least("pids", reached, reached) : INT_MAX;
  bool is_limited = getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
                    geteuid() != 0; /* the kernel does not count root's */
  if (error == ENOMEM)
    snprintf(text, size, "no memory");
  else if (error != EAGAIN)
    snprintf(text, size, "a filter of system calls refuses threads: %s", strerror(error));
  else if (most != INT_MAX)
    snprintf(text, size, "pids.max of its cgroup is %d", most);
  else if (is_limited)
    snprintf(text, size, "ulimit -u is %llu", (unsigned long long)limit.rlim_cur);
  else
    snprintf(text, size, "%s: no memory, or kernel.threads-max is reached", strerror(error));
  errno = saved;
}
