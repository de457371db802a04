/* SPDX-License-Identifier: Apache-2.0 */
/* What the package reports. */
#include "systemc/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/os.h"

/* Like base/log.c, whose misuse and replay belong to a runtime that is not here. */
static void print(const char *format, va_list arguments) {
  char text[1000];
  const int most = sizeof text - 1; /* a newline follows */
  int used = snprintf(text, (size_t)most, "mltp-systemc: ");
  used += vsnprintf(text + used, (size_t)(most - used), format, arguments);
  if (used >= most) used = most - 1;
  text[used++] = '\n';
  os_write(2, text, (size_t)used);
}

void mt_co_message(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
}

void mt_co_fatal(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
  abort();
}
