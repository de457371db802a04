/* SPDX-License-Identifier: Apache-2.0 */
/** @file noted_message.h The library's messages of a test that is linked with --wrap=mt_message:
 * the last one is kept, and each is noted. */
#ifndef TESTS_SUPPORT_NOTED_MESSAGE_H
#define TESTS_SUPPORT_NOTED_MESSAGE_H

#include <stdarg.h>
#include <stdio.h>

#include "noted.h"

static char message[300];

void __wrap_mt_message(const char *format, ...);
void __wrap_mt_message(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  note("message");
}

#endif
