/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, panic, misuse. snprintf with these formats neither allocates nor
 * locks in glibc, so all of this works on a signal stack. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "os/os.h"

enum { MESSAGE_MAX = 1000 };

void (*mt_panic_hook)(void);

void mt_printer_flush(struct mt_printer *printer) {
  if (printer->used > 0) os_write(printer->fd, printer->room, printer->used);
  printer->used = 0;
}

static void put(struct mt_printer *printer, const char *text, size_t length) {
  if (length > printer->size - printer->used) mt_printer_flush(printer);
  if (printer->room == NULL || length > printer->size) {
    os_write(printer->fd, text, length);
    return;
  }
  memcpy(printer->room + printer->used, text, length);
  printer->used += length;
}

static void print_v(struct mt_printer *printer, const char *prefix, const char *format,
                    va_list arguments, const char *end) {
  char text[MESSAGE_MAX];
  size_t used = (size_t)snprintf(text, sizeof text, "%s", prefix);
  int more = vsnprintf(text + used, sizeof text - used, format, arguments);
  if (more > 0) used += (size_t)more;
  size_t end_length = strlen(end);
  if (used > sizeof text - 1 - end_length) used = sizeof text - 1 - end_length;
  memcpy(text + used, end, end_length);
  put(printer, text, used + end_length);
}

void mt_printer_add(struct mt_printer *printer, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_v(printer, "", format, arguments, "");
  va_end(arguments);
}

void mt_print(int fd, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_v(&(struct mt_printer){.fd = fd}, "", format, arguments, "");
  va_end(arguments);
}

void mt_message(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_v(&(struct mt_printer){.fd = 2}, "mltp: ", format, arguments, "\n");
  va_end(arguments);
}

void mt_print_replay(void) {
  bool random = mt_options.schedule == NULL || strcmp(mt_options.schedule, "random") == 0;
  char seed[40] = "";
  if (mt_options.seed == 0 && random) return;
  if (mt_options.seed != 0) snprintf(seed, sizeof seed, " MLTP_SEED=%ld", (long)mt_options.seed);
  mt_print(2, "mltp: the same run again:%s%s%s\n", seed,
           random ? "" : " MLTP_SCHEDULE=", random ? "" : mt_options.schedule);
}

void mt_panic(const char *format, ...) {
  static int panicking; /* [atomic] a panic inside the dump must not dump again */
  va_list arguments;
  os_report_alone();
  va_start(arguments, format);
  print_v(&(struct mt_printer){.fd = 2}, "mltp: panic: ", format, arguments, "\n");
  va_end(arguments);
  mt_print_replay();
  /* relaxed: nothing depends on it */
  if (__atomic_fetch_add(&panicking, 1, __ATOMIC_RELAXED) == 0 && mt_panic_hook != NULL)
    mt_panic_hook();
  abort();
}

int mt_misuse(int error, const char *call, uint64_t id, const char *name, const char *format, ...) {
  char prefix[200];
  if (mt_options.misuse == MT_MISUSE_ABORT) os_report_alone();
  if (id != 0)
    snprintf(prefix, sizeof prefix, "mltp: %s: thread %lu '%s': ", call, (unsigned long)id, name);
  else
    snprintf(prefix, sizeof prefix, "mltp: %s: ", call);
  va_list arguments;
  va_start(arguments, format);
  print_v(&(struct mt_printer){.fd = 2}, prefix, format, arguments, "\n");
  va_end(arguments);
  if (mt_options.misuse == MT_MISUSE_ABORT) {
    mt_print_replay();
    abort();
  }
  return error;
}
