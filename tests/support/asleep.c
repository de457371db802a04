/* SPDX-License-Identifier: Apache-2.0 */
#include "support/asleep.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By its line in /proc: the state is behind the name, which is in brackets. */
static bool sleeps(const char *tid) {
  char path[64], line[512] = "";
  snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", tid);
  FILE *file = fopen(path, "r");
  if (file == NULL) return true; /* it has ended */
  const char *end = fgets(line, sizeof line, file) == NULL ? NULL : strrchr(line, ')');
  fclose(file);
  return end != NULL && end[2] == 'S';
}

static int count_awake(void) {
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL) abort();
  int awake = 0;
  for (const struct dirent *task; (task = readdir(tasks)) != NULL;)
    if (task->d_name[0] != '.' && !sleeps(task->d_name)) awake++;
  closedir(tasks);
  return awake;
}

void wait_until_asleep(int busy) {
  while (count_awake() > busy + 1) usleep(1000);
}
