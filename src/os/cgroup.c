/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the process's cgroups. */
#include "os/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool os_cgroup_number(const char *directory, const char *name, long long *number) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "re");
  if (file == NULL) return false;
  bool ok = fscanf(file, "%lld", number) == 1;
  fclose(file);
  return ok;
}

/* The least limit on the way from mount + group up to mount. A group that is not there (seen from
 * inside a container) leaves the mount itself. */
static int least(const char *mount, const char *group, int (*limit)(const char *)) {
  char directory[PATH_MAX];
  int length = snprintf(directory, sizeof directory, "%s%s", mount, group);
  if (length < 0 || (size_t)length >= sizeof directory) return INT_MAX;
  int smallest = INT_MAX;
  size_t root = strlen(mount);
  while (true) {
    int here = limit(directory);
    if (here < smallest) smallest = here;
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
int os_cgroup_least(const char *controller, int (*v2)(const char *), int (*v1)(const char *)) {
  FILE *file = fopen("/proc/self/cgroup", "re");
  if (file == NULL) return INT_MAX;
  int smallest = INT_MAX;
  char *line = NULL, mount[64];
  size_t capacity = 0;
  snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
  while (getline(&line, &capacity, file) > 0) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    if (controllers == NULL) continue;
    char *group = strchr(++controllers, ':');
    if (group == NULL) continue;
    *group++ = '\0';
    if (strcmp(group, "/") == 0) group = "";
    int limit = INT_MAX;
    if (*controllers == '\0')
      limit = least("/sys/fs/cgroup", group, v2);
    else if (has_controller(controllers, controller))
      limit = least(mount, group, v1);
    if (limit < smallest) smallest = limit;
  }
  free(line);
  fclose(file);
  return smallest;
}
