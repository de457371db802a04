/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file noted.h
 * A trace: stand-ins for functions of the library and of the kernel note what is asked of them, and
 * the test compares the notes. For tests of single steps, which one kernel thread makes.
 */
#ifndef TESTS_NOTED_H
#define TESTS_NOTED_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"

static char trace[1000];

/** What happens when something is noted, if anything. */
static void (*at_note)(const char *word) __attribute__((unused));

/** Adds a word to the trace. */
static inline void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void note(const char *format, ...) {
  size_t length = strlen(trace);
  va_list list;
  if (length > 0 && length < sizeof trace - 1) trace[length++] = ' ';
  va_start(list, format);
  vsnprintf(trace + length, sizeof trace - length, format, list);
  va_end(list);
  if (at_note != NULL) at_note(trace + length);
}

/** Checks what was noted since the last check. */
#define TRACE(expected)                                                                            \
  do {                                                                                             \
    CHECK_TEXT(trace, expected);                                                                   \
    trace[0] = '\0';                                                                               \
  } while (0)

#endif
