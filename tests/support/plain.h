/* SPDX-License-Identifier: Apache-2.0 */
/** @file plain.h Tests of single files, without the library and cmocka: the first thing that is not
 * as it should be ends the program. */
#ifndef TESTS_PLAIN_H
#define TESTS_PLAIN_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                      \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/** Prints both numbers. */
#define EQUAL(actual, expected)                                                                    \
  check_equal((long long)(actual), (long long)(expected), #actual, __FILE__, __LINE__)

static inline void check_equal(long long actual, long long expected, const char *what,
                               const char *file, int line) {
  if (actual == expected) return;
  fprintf(stderr, "%s:%d: failed: %s is %lld, not %lld\n", file, line, what, actual, expected);
  exit(1);
}

#endif
