/* SPDX-License-Identifier: Apache-2.0 */
/* How many CPUs this process may use: the affinity mask, and the CPU quota of
 * its cgroup and every ancestor, version 1 and 2. */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  FILE *file = fopen(path, "re");
  if (file == NULL) return INT_MAX;
  long long quota = 0, period = 0;
  int fields = fscanf(file, "%lld %lld", &quota, &period); /* "max 100000": 0 fields */
  fclose(file);
  return fields == 2 ? cpus_of_quota(quota, period) : INT_MAX;
}

static bool read_number(const char *directory, const char *name, long long *number) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "re");
  if (file == NULL) return false;
  bool ok = fscanf(file, "%lld", number) == 1;
  fclose(file);
  return ok;
}

static int quota_v1(const char *directory) {
  long long quota, period;
  if (!read_number(directory, "cpu.cfs_quota_us", &quota) ||
      !read_number(directory, "cpu.cfs_period_us", &period))
    return INT_MAX;
  return cpus_of_quota(quota, period);
}

/* The smallest quota on the way from mount + group up to mount. A group that is
 * not there (seen from inside a container) leaves the mount itself. */
static int smallest_quota(const char *mount, const char *group, int (*quota)(const char *)) {
  char directory[PATH_MAX];
  int length = snprintf(directory, sizeof directory, "%s%s", mount, group);
  if (length < 0 || (size_t)length >= sizeof directory) return INT_MAX;
  int smallest = INT_MAX;
  size_t root = strlen(mount);
  while (true) {
    int cpus = quota(directory);
    if (cpus < smallest) smallest = cpus;
    char *slash = strrchr(directory, '/');
    if (slash == NULL || (size_t)(slash - directory) < root) return smallest;
    *slash = '\0';
  }
}

static bool has_controller(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; (at = strstr(at, name)) != NULL; at += length) {
    bool begins = at == list || at[-1] == ',';
    bool ends = at[length] == ',' || at[length] == '\0';
    if (begins && ends) return true;
  }
  return false;
}

/* Lines of /proc/self/cgroup: "0::/group" (v2), "5:cpu,cpuacct:/group" (v1). */
static int cpus_by_cgroup(void) {
  FILE *file = fopen("/proc/self/cgroup", "re");
  if (file == NULL) return INT_MAX;
  int smallest = INT_MAX;
  char *line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, file) > 0) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    if (controllers == NULL) continue;
    char *group = strchr(++controllers, ':');
    if (group == NULL) continue;
    *group++ = '\0';
    if (strcmp(group, "/") == 0) group = "";
    int cpus = INT_MAX;
    if (*controllers == '\0')
      cpus = smallest_quota("/sys/fs/cgroup", group, quota_v2);
    else if (has_controller(controllers, "cpu"))
      cpus = smallest_quota("/sys/fs/cgroup/cpu", group, quota_v1);
    if (cpus < smallest) smallest = cpus;
  }
  free(line);
  fclose(file);
  return smallest;
}

int os_cpus(void) {
  int saved = errno;
  int cpus = cpus_by_affinity();
  int quota = cpus_by_cgroup();
  errno = saved;
  if (quota < cpus) cpus = quota;
  return cpus < 1 ? 1 : cpus;
}
