/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal handlers of the program. One that interrupts the gate while it has gt_lock may leave by
 * siglongjmp(), and the lock would stay taken. So such a handler runs when the lock is free: the
 * signal is queued again for its thread, which blocks all signals until gt_unlock(). The kernel
 * calls on_signal() in place of each handler, and sigaction() shows the program its own.
 *
 * Signals that a fault causes cannot wait, nor can that of abort(). A handler that the program
 * installs by a system call of its own runs at once, and so does one that the kernel removes when
 * it calls it: a signal that is queued again would find none.
 *
 * Relaxed: a handler that another thread installs meanwhile may be called or not, as in libc.
 */
#include "gate/handlers.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "gate/next.h"

typedef void handler(int signo, siginfo_t *info, void *context);

#define HAS_INFO ((uint64_t)1 << 63) /* of a handler: SA_SIGINFO; no address has this bit */

/* Of each signal, the program's. [atomic] */
static uint64_t given[_NSIG];

static handler *handler_of(uint64_t word) { return (handler *)(uintptr_t)(word & ~HAS_INFO); }

static uint64_t word_of(const struct sigaction *action) {
  bool has_info = (action->sa_flags & SA_SIGINFO) != 0;
  uintptr_t at = has_info ? (uintptr_t)action->sa_sigaction : (uintptr_t)action->sa_handler;
  return at | (has_info ? HAS_INFO : 0);
}

/* ---- when the kernel calls */

static const int urgent[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
enum { URGENT = sizeof urgent / sizeof urgent[0] };

static bool is_urgent(int signo) {
  for (int i = 0; i < URGENT; i++)
    if (signo == urgent[i]) return true;
  return false;
}

/* The kernel's set of signals, which is shorter than libc's. */
static uint64_t all_but_urgent(void) {
  uint64_t set = ~(uint64_t)0;
  for (int i = 0; i < URGENT; i++) set &= ~((uint64_t)1 << (urgent[i] - 1));
  return set;
}

/* @return false: the kernel has no room for it. */
static bool put_off(struct gt_thread *me, int signo, const siginfo_t *info, ucontext_t *context) {
  int saved = errno;
  uint64_t blocked = all_but_urgent();
  bool queued = syscall(SYS_rt_tgsigqueueinfo, getpid(), me->tid, signo, info) == 0;
  errno = saved;
  if (!queued) return false;
  if (!me->put_off) memcpy(&me->mask, &context->uc_sigmask, sizeof me->mask);
  me->put_off = true;
  memcpy(&context->uc_sigmask, &blocked, sizeof blocked);
  return true;
}

/* A handler that wants the number alone ignores the rest. */
static void on_signal(int signo, siginfo_t *info, void *context) {
  struct gt_thread *me = &gt_me;
  if (mt_unlikely(me->locked) && !is_urgent(signo) && put_off(me, signo, info, context)) return;
  handler_of(mt_load_relaxed(&given[signo]))(signo, info, context);
}

void gt_handlers_run(struct gt_thread *me) {
  int saved = errno;
  me->put_off = false;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &me->mask, NULL, sizeof me->mask);
  errno = saved;
}

/* ---- when the program installs one */

static bool is_ours(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_signal;
}

static bool is_delayed(const struct sigaction *action) {
  bool none = (action->sa_flags & SA_SIGINFO) == 0 &&
              (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
  return !none && (action->sa_flags & (int)SA_RESETHAND) == 0;
}

/* What the program installed where the kernel has ours. */
static void show_given(struct sigaction *action, uint64_t word) {
  if (!is_ours(action)) return;
  if ((word & HAS_INFO) != 0) {
    action->sa_sigaction = handler_of(word);
  } else {
    action->sa_flags &= ~SA_SIGINFO;
    action->sa_handler = (void (*)(int))(uintptr_t)word;
  }
}

int gt_handlers_set(int signo, const struct sigaction *action, struct sigaction *old) {
  struct sigaction changed, before;
  if (signo < 1 || signo >= _NSIG) return gt_next.set_action(signo, action, old);
  uint64_t word = mt_load_relaxed(&given[signo]);
  bool delayed = action != NULL && is_delayed(action);
  if (delayed) {
    changed = *action;
    changed.sa_flags |= SA_SIGINFO;
    changed.sa_sigaction = on_signal;
    mt_store_relaxed(&given[signo], word_of(action)); /* the kernel may call at once */
  }
  int result = gt_next.set_action(signo, delayed ? &changed : action, &before);
  if (result != 0 && delayed) mt_store_relaxed(&given[signo], word);
  if (result != 0 || old == NULL) return result;
  show_given(&before, word);
  *old = before;
  return result;
}

/* libc's signal() installs by itself. */
GT_EXPORT sighandler_t signal(int signo, sighandler_t function) {
  struct sigaction now, before;
  if (gt_next.create == NULL) gt_next_find();
  bool had = gt_handlers_set(signo, NULL, &before) == 0;
  sighandler_t old = gt_next.signal(signo, function);
  if (old == SIG_ERR || !had) return old;
  if (gt_next.set_action(signo, NULL, &now) == 0 && is_delayed(&now))
    gt_handlers_set(signo, &now, NULL);
  return before.sa_handler;
}

GT_OLD_NAME(bsd_signal, signal);
GT_OLD_NAME(ssignal, signal);
