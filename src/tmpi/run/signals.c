/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals. The kernel knows one handler for a process; each rank has its own here. A fault goes to
 * the rank it happened in. What comes from outside, or from a timer, goes to the handlers of all
 * ranks that have one, one after the other: it would have come to all processes, too. What no rank
 * has a handler for does what it would have done.
 */
#include <errno.h>
#include <mltp/mltp.h>
#include <string.h>

#include "core/internal/locks.h"
#include "os/os.h"
#include "tmpi/loader/program.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

static uint32_t guard; /* of all ranks' actions; held with signals off, as handlers take it */

/* @return whether the rank does anything else than the default, and what. */
static bool action_of(struct tm_process *process, int signo, struct sigaction *action) {
  mti_lock(&guard);
  bool has = process->actions != NULL;
  if (has) *action = process->actions[signo];
  mti_unlock(&guard);
  return has && ((action->sa_flags & SA_SIGINFO) != 0 || action->sa_handler != SIG_DFL);
}

bool tm_signal_to_rank(struct tm_process *process, int signo, siginfo_t *info, void *context) {
  struct sigaction action;
  if (!action_of(process, signo, &action)) return false;
  if ((action.sa_flags & SA_RESETHAND) != 0) {
    mti_lock(&guard);
    process->actions[signo] = (struct sigaction){.sa_handler = SIG_DFL};
    mti_unlock(&guard);
  }
  os_signal_forward(signo, info, context, &action);
  return true;
}

static void on_signal(int signo, siginfo_t *info, void *context) {
  bool taken = false;
  int error = errno;
  for (int i = 0; i < tm_the_program->ranks; i++)
    taken |= tm_signal_to_rank(tm_process_of(i), signo, info, context);
  errno = error;
  if (taken) return;
  os_signal_default(signo);
  raise(signo);
}

static int change_action(int signo, const struct sigaction *new, struct sigaction *old) {
  struct tm_process *process = tm_process_self();
  if (signo < 1 || signo >= NSIG || signo == SIGKILL || signo == SIGSTOP) return EINVAL;
  struct sigaction *fresh = calloc(NSIG, sizeof *fresh), before;
  sigset_t all, mask;
  if (fresh == NULL) return ENOMEM;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &mask);
  mti_lock(&guard);
  if (process->actions == NULL) {
    process->actions = fresh;
    fresh = NULL;
  }
  if (old != NULL) *old = process->actions[signo];
  if (new != NULL) process->actions[signo] = *new;
  mti_unlock(&guard);
  sigprocmask(SIG_SETMASK, &mask, NULL);
  free(fresh);
  if (new == NULL || tm_crash_signal(signo)) return 0; /* that one has its handler already */
  return os_signal_install(signo, on_signal, &before);
}

static int sigaction_rank(int signo, const struct sigaction *new, struct sigaction *old) {
  int error = change_action(signo, new, old);
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}

static sighandler_t signal_rank(int signo, sighandler_t handler) {
  struct sigaction new = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
  return sigaction_rank(signo, &new, &old) == 0 ? old.sa_handler : SIG_ERR;
}

static int raise_rank(int signo) {
  siginfo_t info = {.si_signo = signo, .si_code = SI_TKILL};
  if (tm_signal_to_rank(tm_process_self(), signo, &info, NULL)) return 0;
  return raise(signo);
}

const struct tm_override tm_override_signals[] = {
    {"sigaction", (tm_any *)sigaction_rank}, {"signal", (tm_any *)signal_rank},
    {"bsd_signal", (tm_any *)signal_rank},   {"__sysv_signal", (tm_any *)signal_rank},
    {"raise", (tm_any *)raise_rank},         {NULL, NULL},
};
