/* SPDX-License-Identifier: Apache-2.0 */
/** @file asleep.h Waits until a thread sleeps in the kernel, which no call of the program tells. */
#ifndef MT_TESTS_GATE_ASLEEP_H
#define MT_TESTS_GATE_ASLEEP_H

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

static inline int is_asleep(pid_t thread) {
  char path[64], text[256] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  if (fgets(text, sizeof text, file) == NULL) text[0] = '\0';
  fclose(file);
  const char *name_end = strrchr(text, ')');
  return name_end != NULL && name_end[2] == 'S';
}

/** *thread 0: it has not begun to wait. */
static inline void await_sleep(volatile const pid_t *thread) {
  while (*thread == 0 || !is_asleep(*thread)) sched_yield();
}

#endif
