/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file stand_in_library.h
 * A library that the tested file opens by dlopen(), where the test is the library: its functions,
 * by name, and what dlerror() says.
 */
#ifndef TESTS_MPI_STAND_IN_LIBRARY_H
#define TESTS_MPI_STAND_IN_LIBRARY_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct stand_in {
  const char *name;
  void (*function)(void);
};

static char dl_error[64];

char *__wrap_dlerror(void);
char *__wrap_dlerror(void) { return dl_error; }

/** What dlsym() returns: the function of that name. missing: the name of one that the library has
 * not; NULL: it has all. @return NULL: the library has none of that name. */
static inline void *find_stand_in(const struct stand_in *all, size_t count, const char *name,
                                  const char *missing) {
  snprintf(dl_error, sizeof dl_error, "no %s", name);
  if (missing != NULL && strcmp(name, missing) == 0) return NULL;
  for (size_t i = 0; i < count; i++)
    if (strcmp(all[i].name, name) == 0) return *(void *const *)&all[i].function;
  return NULL;
}

#endif
