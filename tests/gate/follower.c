/* SPDX-License-Identifier: Apache-2.0 */
/* A library that stands before libc with one function, calls libc's, and looks for others by
 * RTLD_NEXT. For found.c. */
#include <dlfcn.h>
#include <sched.h>

int yields;

int sched_yield(void) {
  int (*next)(void);
  *(void **)&next = dlsym(RTLD_NEXT, "sched_yield");
  yields++;
  return next();
}

void *next_of(const char *name);

/* dlsym() goes by its return address, so it is not the last call. */
void *next_of(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  __asm__ volatile("");
  return found;
}
