/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file refused.h
 * What the loader refuses, as a text: "" or the last message.
 */
#ifndef TESTS_MPI_REFUSED_H
#define TESTS_MPI_REFUSED_H

#include <stdarg.h>
#include <stdio.h>

#include "tmpi/loader/program.h"

static char said[TM_REFUSAL];

bool tm_refuse(const char *path, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = snprintf(said, sizeof said, "%s: ", path);
  vsnprintf(said + length, sizeof said - (size_t)length, format, arguments);
  va_end(arguments);
  return false;
}

#endif
