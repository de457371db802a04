/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file must.h
 * Checks in the process of a case, a child of the test: nothing but its end says that it failed.
 */
#ifndef TESTS_MPI_MUST_H
#define TESTS_MPI_MUST_H

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static void must(bool good, const char *what) {
  if (good) return;
  fprintf(stderr, "failed: %s\n", what);
  fflush(stderr);
  _exit(98);
}

#define MUST(condition) must(condition, #condition)

#endif
