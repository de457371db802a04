/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file said.h
 * What --check finds, for step tests of src/tmpi/check: a line for each finding, as "!" and its
 * text. "~" begins one that is no mistake, and "+" a line that continues one.
 */
#ifndef TESTS_MPI_SAID_H
#define TESTS_MPI_SAID_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal_locks.h"
#include "tmpi/check/check.h"

static char said[5000];

static inline void say(char mark, const char *format, va_list list) {
  size_t length = strlen(said);
  assert_int_equal(locked, 0);
  assert_true(length + 2 < sizeof said);
  said[length++] = mark;
  vsnprintf(said + length, sizeof said - length, format, list);
  strncat(said, "\n", sizeof said - strlen(said) - 1);
}

#define SAYS(name, mark)                                                                           \
  void name(const char *format, ...) {                                                             \
    va_list list;                                                                                  \
    va_start(list, format);                                                                        \
    say(mark, format, list);                                                                       \
    va_end(list);                                                                                  \
  }
SAYS(tm_finding_print, '!')
SAYS(tm_finding_note, '~')
SAYS(tm_finding_continue, '+')

/** Checks what was said since the last check. */
static inline void check_said(const char *expected) {
  assert_string_equal(said, expected);
  said[0] = '\0';
}

#endif
