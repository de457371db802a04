/* SPDX-License-Identifier: Apache-2.0 */
/* Signal stacks and handlers. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "os/os.h"

/* As much as a thread's default stack: handlers of the program may use it, too
 * (SA_ONSTACK). Memory appears as it is touched. */
enum { SIGSTACK_SIZE = 256 << 10 };

/* This kernel thread's, with a guard page below; NULL: it has none of ours. */
static __thread char *own_stack;

static char *stack_new(size_t guard) {
  char *low = mmap(NULL, guard + SIGSTACK_SIZE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (low == MAP_FAILED) return NULL;
  mprotect(low, guard, PROT_NONE); /* refused: no guard */
  return low;
}

void os_sigstack_make(void) {
  int saved = errno;
  stack_t now;
  size_t guard = os_page_size();
  if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE)) {
    if (own_stack == NULL) own_stack = stack_new(guard);
    if (own_stack != NULL) {
      stack_t stack = {.ss_sp = own_stack + guard, .ss_size = SIGSTACK_SIZE};
      if (sigaltstack(&stack, NULL) != 0) os_sigstack_free();
    }
  }
  errno = saved;
}

void os_sigstack_free(void) {
  if (own_stack == NULL) return;
  int saved = errno;
  stack_t now, off = {.ss_flags = SS_DISABLE};
  size_t guard = os_page_size();
  /* the program may have put one of its own in its place */
  bool in_use = sigaltstack(NULL, &now) == 0 && now.ss_sp == own_stack + guard;
  if (!in_use || sigaltstack(&off, NULL) == 0) munmap(own_stack, guard + SIGSTACK_SIZE);
  own_stack = NULL;
  errno = saved;
}

void os_signals_off(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static int install(int signo, os_handler *handler, int flags, struct sigaction *old) {
  int saved = errno;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | flags;
  sigemptyset(&action.sa_mask);
  int error = sigaction(signo, &action, old) == 0 ? 0 : errno;
  errno = saved;
  return error;
}

int os_signal_install(int signo, os_handler *handler, struct sigaction *old) {
  return install(signo, handler, SA_ONSTACK, old);
}

int os_signal_handle(int signo, os_handler *handler, bool on_stack) {
  return install(signo, handler, on_stack ? SA_ONSTACK : 0, NULL);
}

int os_signal_send(int task, int signo, siginfo_t *info) {
  int saved = errno;
  int error = syscall(SYS_rt_tgsigqueueinfo, getpid(), task, signo, info) == 0 ? 0 : errno;
  errno = saved;
  return error;
}

void os_signal_restore(int signo, os_handler *handler, const struct sigaction *old) {
  int saved = errno;
  struct sigaction now;
  if (sigaction(signo, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
      now.sa_sigaction == handler)
    sigaction(signo, old, NULL);
  errno = saved;
}

void os_signal_forward(int signo, siginfo_t *info, void *context, const struct sigaction *to) {
  if (to->sa_flags & SA_SIGINFO) {
    to->sa_sigaction(signo, info, context);
  } else if (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN) {
    to->sa_handler(signo);
  } else if (to->sa_handler == SIG_DFL || info->si_code > 0) {
    os_signal_default(signo);             /* when the instruction faults again */
    if (info->si_code <= 0) raise(signo); /* nothing faulted: another process or thread sent it */
  }
}

void os_signal_default(int signo) { signal(signo, SIG_DFL); }

bool os_alarm_is_set(void) {
  struct itimerval left = {0};
  int saved = errno;
  getitimer(ITIMER_REAL, &left);
  errno = saved;
  return left.it_value.tv_sec != 0 || left.it_value.tv_usec != 0;
}
