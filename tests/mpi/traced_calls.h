/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file traced_calls.h
 * A trace of calls in tests by cmocka: stand-ins note what is asked of them, each word with a space
 * behind it, and the test compares the notes. support/noted.h is for tests without cmocka's checks.
 */
#ifndef TESTS_MPI_TRACED_CALLS_H
#define TESTS_MPI_TRACED_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char trace[1000];

static inline void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void note(const char *format, ...) {
  size_t length = strlen(trace);
  va_list list;
  va_start(list, format);
  vsnprintf(trace + length, sizeof trace - length, format, list);
  va_end(list);
  strncat(trace, " ", sizeof trace - strlen(trace) - 1);
}

/** Checks what was noted since the last check. */
static inline void check_trace(const char *expected) {
  assert_string_equal(trace, expected);
  trace[0] = '\0';
}

#endif
