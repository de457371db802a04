/* SPDX-License-Identifier: Apache-2.0 */
/* What the package has to say, and overflows of processes' stacks. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/os.h"
#include "systemc/coroutine.h"

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

static struct sigaction before;

static void on_fault(int signo, siginfo_t *info, void *context) {
  const struct mt_coroutine *co = mt_co_current();
  if (co->stack != NULL && mt_co_stack_guards(co->stack, info->si_addr))
    mt_co_fatal(
        "process '%s': stack overflow: it used more than its %zu KiB (give it more by "
        "set_stack_size() in its module or its spawn options)",
        mt_co_name(co), mt_co_stack_room(co->stack) / 1024);
  os_signal_forward(signo, info, context, &before);
}

void mt_co_catch_overflow(void) {
  os_sigstack_make();
  os_signal_install(SIGSEGV, on_fault, &before); /* refused: overflows are bare crashes again */
}
