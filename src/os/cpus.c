/* SPDX-License-Identifier: Apache-2.0 */
/* How many CPUs this process may use: the affinity mask, and the CPU quota of
 * its cgroup and every ancestor, version 1 and 2. */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>

#include "os/cgroup.h"
#include "os/os.h"

/* The mask of a machine with more CPUs than cpu_set_t has bits needs a larger
 * one: the kernel says EINVAL until it is large enough. */
static int cpus_by_affinity(void) {
  for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
    cpu_set_t *set = CPU_ALLOC((size_t)bits);
    if (set == NULL) return 1;
    size_t size = CPU_ALLOC_SIZE((size_t)bits);
    int failed = sched_getaffinity(0, size, set);
    int count = failed ? 0 : CPU_COUNT_S(size, set);
    CPU_FREE(set);
    if (!failed) return count;
    if (errno != EINVAL) return 1;
  }
  return 1;
}

/* CPUs that quota of period is worth, rounded up; INT_MAX for no limit. */
static int cpus_of_quota(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return INT_MAX;
  long long cpus = (quota + period - 1) / period;
  return cpus > INT_MAX ? INT_MAX : (int)cpus;
}

static int quota_v2(const char *directory) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/cpu.max", directory);
  char text[64];
  if (os_read_text(path, text, sizeof text) != 0) return INT_MAX;
  long long quota = 0, period = 0;
  int fields = sscanf(text, "%lld %lld", &quota, &period); /* "max 100000": 0 fields */
  return fields == 2 ? cpus_of_quota(quota, period) : INT_MAX;
}

static int quota_v1(const char *directory) {
  long long quota, period;
  if (!os_cgroup_number(directory, "cpu.cfs_quota_us", &quota) ||
      !os_cgroup_number(directory, "cpu.cfs_period_us", &period))
    return INT_MAX;
  return cpus_of_quota(quota, period);
}

int os_cpu_quota(void) {
  int saved = errno;
  int quota = os_cgroup_least("cpu", quota_v2, quota_v1);
  errno = saved;
  return quota;
}

int os_cpus(void) {
  int saved = errno;
  int cpus = cpus_by_affinity(), quota = os_cpu_quota();
  errno = saved;
  if (quota < cpus) cpus = quota;
  return cpus < 1 ? 1 : cpus;
}
