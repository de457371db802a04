/* SPDX-License-Identifier: Apache-2.0 */
#include "noted_events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

char events[EVENTS];

void note(const char *format, ...) {
  size_t length = strlen(events);
  va_list values;
  va_start(values, format);
  vsnprintf(events + length, sizeof events - length, format, values);
  va_end(values);
  assert_true(strlen(events) < sizeof events - 1);
}

void check_events(const char *expected) {
  assert_string_equal(events, expected);
  events[0] = '\0';
}
