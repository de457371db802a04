/* SPDX-License-Identifier: Apache-2.0 */
/* Overflows of processes' stacks. */
#include <signal.h>

#include "os/os.h"
#include "systemc/coroutine.h"
#include "systemc/message.h"

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
