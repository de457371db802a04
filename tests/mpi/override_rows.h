/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file override_rows.h
 * What the loader binds a program to, found in a table by libc's name (tmpi/run/override.h): step
 * tests call it as a program would. To be included after cmocka.h.
 */
#ifndef TESTS_MPI_OVERRIDE_ROWS_H
#define TESTS_MPI_OVERRIDE_ROWS_H

#include <string.h>

#include "tmpi/run/override.h"

/** @return the function in the place of libc's, which the table has. */
static inline tm_any *override_row(const struct tm_override *table, const char *name) {
  while (table->name != NULL && strcmp(table->name, name) != 0) table++;
  assert_non_null(table->name);
  return table->function;
}

#endif
