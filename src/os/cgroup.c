/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the process's cgroups. */
#include "os/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

bool os_cgroup_number(const char *directory, const char *name, long long *number) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  char text[64];
  return os_read_text(path, text, sizeof text) == 0 && sscanf(text, "%lld", number) == 1;
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

/* @return the text of /proc/self/cgroup, to be freed; NULL: it cannot be read. */
static char *read_groups(void) {
  for (size_t size = 4096;; size *= 2) {
    char *text = malloc(size);
    int error = text != NULL ? os_read_text("/proc/self/cgroup", text, size) : ENOMEM;
    if (error == 0) return text;
    free(text);
    if (error != EFBIG) return NULL;
  }
}

/* Lines of /proc/self/cgroup: "0::/group" (v2: no controllers), "5:cpu,cpuacct:/group" (v1).
 * @return the next line's controllers, and its group; NULL: there is none. */
static char *next_group(char **rest, char **group) {
  char *line;
  while ((line = strsep(rest, "\n")) != NULL) {
    char *controllers = strchr(line, ':');
    if (controllers == NULL) continue;
    *group = strchr(++controllers, ':');
    if (*group == NULL) continue;
    *(*group)++ = '\0';
    if (strcmp(*group, "/") == 0) *group = "";
    return controllers;
  }
  return NULL;
}

int os_cgroup_least(const char *controller, int (*v2)(const char *), int (*v1)(const char *)) {
  char *text = read_groups(), *rest = text, *controllers, *group, mount[64];
  int smallest = INT_MAX;
  snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
  while ((controllers = next_group(&rest, &group)) != NULL) {
    int limit = INT_MAX;
    if (*controllers == '\0')
      limit = least("/sys/fs/cgroup", group, v2);
    else if (has_controller(controllers, controller))
      limit = least(mount, group, v1);
    if (limit < smallest) smallest = limit;
  }
  free(text);
  return smallest;
}

bool os_cgroup_unified(char *folder, size_t size) {
  const char *mount = "/sys/fs/cgroup";
  if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) != 0) mount = "/sys/fs/cgroup/unified";
  char *text = read_groups(), *rest = text, *controllers, *group;
  bool found = false;
  while (!found && (controllers = next_group(&rest, &group)) != NULL)
    found = *controllers == '\0' && snprintf(folder, size, "%s%s", mount, group) < (int)size;
  free(text);
  return found && access(folder, F_OK) == 0;
}
