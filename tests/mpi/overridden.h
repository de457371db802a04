/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file overridden.h
 * A function that takes the place of libc's, by its name: step tests call it as a rank's program
 * does.
 */
#ifndef TESTS_MPI_OVERRIDDEN_H
#define TESTS_MPI_OVERRIDDEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tmpi/run/override.h"

/** @return the function of a table (override.h), which has it. */
static inline tm_any *overridden(const struct tm_override *table, const char *name) {
  while (table->name != NULL && strcmp(table->name, name) != 0) table++;
  assert_non_null(table->name);
  return table->function;
}

#endif
