/* SPDX-License-Identifier: Apache-2.0 */
/* Signal stacks and handlers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

/* Enough for a report with backtraces; MINSIGSTKSZ grows with AVX-512 state. */
#define SIGSTACK_SIZE 65536

int os_sigstack_make(void) {
  stack_t now;
  if (sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_DISABLE)) return 0; /* has one */
  stack_t stack = {.ss_sp = malloc(SIGSTACK_SIZE), .ss_size = SIGSTACK_SIZE};
  if (stack.ss_sp == NULL) return ENOMEM;
  if (sigaltstack(&stack, NULL) == 0) return 0;
  free(stack.ss_sp);
  return ENOMEM;
}

void os_sigstack_free(void) {
  stack_t now;
  if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) || now.ss_size != SIGSTACK_SIZE)
    return; /* none, or one that is not ours */
  stack_t off = {.ss_flags = SS_DISABLE};
  if (sigaltstack(&off, NULL) == 0) free(now.ss_sp);
}

int os_signal_install(int signo, void (*handler)(int, siginfo_t *, void *), struct sigaction *old) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  return sigaction(signo, &action, old) == 0 ? 0 : errno;
}

void os_signal_restore(int signo, const struct sigaction *old) { sigaction(signo, old, NULL); }

void os_signal_default(int signo) { signal(signo, SIG_DFL); }
