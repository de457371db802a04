/* SPDX-License-Identifier: Apache-2.0 */
/* See signals.h. */
#include "tmpi/run/signals.h"

#include <errno.h>
#include <limits.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "core/internal/placement.h"
#include "core/internal/thread.h"
#include "os/os.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "tmpi/run/working_directory.h"

enum { WORDS = sizeof(struct tm_action) / sizeof(uint64_t) };

struct tm_signals {
  uint32_t version;              /* [atomic] of the actions; odd: they are being written */
  uint32_t writer;               /* the writers' lock; held with signals off */
  uint64_t actions[NSIG][WORDS]; /* [atomic] struct tm_action each */
  uint64_t blocked;              /* [atomic] mask of the rank's own thread */
  uint64_t awaited;              /* [atomic] sigwait() waits for these */
  uint64_t pending;              /* [atomic] */
  uint32_t runner;               /* [atomic] the kernel thread that calls handlers; 0: none */
  int depth;                     /* [runner] handlers that have begun and not ended */
  bool elsewhere;                /* [runner] the thread they have interrupted is not the rank's */
  uint64_t before;               /* [runner] blocked, before the first of them was called */
  int signo;                     /* [runner] of the last of them */
  uint32_t calls;                /* [atomic] handlers that were called */
  uint32_t failures;             /* [atomic] of these, without SA_RESTART */
  uint32_t events;               /* [atomic] futex: calls, and signals that became pending */
  uint64_t interrupting;         /* [rank] siginterrupt() has named them */
};

static uint64_t inherited; /* [const] signals that tmpirun was started with ignored */

void tm_signals_start(void) {
  struct sigaction now;
  for (int signo = 1; signo < NSIG; signo++)
    if (sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
      inherited |= tm_signal_bit(signo);
}

/* @return NULL: the rank has changed nothing. */
static struct tm_signals *state_of(const struct tm_process *process) {
  return mt_load_acquire(&process->signals); /* SG-1 acquire: its fields; pairs SG-2 */
}

struct tm_signals *tm_signals_of(struct tm_process *process) {
  struct tm_signals *signals = state_of(process);
  if (signals != NULL) return signals;
  struct tm_signals *fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) return NULL;
  for (int signo = 1; signo < NSIG; signo++)
    if ((inherited & tm_signal_bit(signo)) != 0) fresh->actions[signo][0] = (uintptr_t)SIG_IGN;
  /* SG-2 acq_rel: publishes its fields, or another thread of the rank was first; pairs SG-1 */
  if (mt_cas_acq_rel(&process->signals, &signals, fresh)) return fresh;
  free(fresh);
  return state_of(process); /* a CAS that fails is relaxed */
}

/* ---- actions */

static struct tm_action action_of(const struct tm_signals *signals, int signo) {
  struct tm_action action;
  uint32_t version;
  do {
    version = mt_load_acquire(&signals->version) & ~1U; /* SG-3 acquire: the words; pairs SG-6 */
    uint64_t *to = (uint64_t *)&action;
    /* SG-4 acquire: if a word is new, the version read below has changed; pairs SG-5 */
    for (int i = 0; i < WORDS; i++) to[i] = mt_load_acquire(&signals->actions[signo][i]);
  } while (mt_load_relaxed(&signals->version) != version); /* relaxed: SG-4 orders it */
  return action;
}

/* Signals are off: a handler of this kernel thread would wait for the version to be even. */
static void write_action(struct tm_signals *signals, int signo, const struct tm_action *new) {
  const uint64_t *from = (const uint64_t *)new;
  mt_store_relaxed(&signals->version, signals->version + 1); /* relaxed: SG-5 orders it */
  /* SG-5 release: the version is odd before any word is new; pairs SG-4 */
  for (int i = 0; i < WORDS; i++) mt_store_release(&signals->actions[signo][i], from[i]);
  mt_store_release(&signals->version, signals->version + 1); /* SG-6 release: words; pairs SG-3 */
}

void tm_signals_change(struct tm_signals *signals, int signo, const struct tm_action *new,
                       struct tm_action *old) {
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  mti_lock(&signals->writer);
  if (old != NULL) *old = action_of(signals, signo);
  if (new != NULL) write_action(signals, signo, new);
  mti_unlock(&signals->writer);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* ---- calling handlers */

static bool is_handler(const struct tm_action *action) {
  return action->handler != (uintptr_t)SIG_DFL && action->handler != (uintptr_t)SIG_IGN;
}

/* A waiter reads `events`, then looks for what it waits for. A thread that changes that changes
 * `events` afterwards. */
static void announce(struct tm_signals *signals) {
  mt_add_seq_cst(&signals->events, 1); /* SG-7 seq_cst: pending and calls; pairs SG-8 */
  os_futex_wake(&signals->events, INT_MAX);
}

static uint32_t events_of(const struct tm_signals *signals) {
  return mt_load_acquire(&signals->events); /* SG-8 acquire: pending and calls; pairs SG-7 */
}

static void set_blocked(struct tm_signals *signals, uint64_t mask) {
  mt_store_seq_cst(&signals->blocked,
                   mask); /* SG-9 seq_cst: before runner is read; pairs SG-10, SG-13 */
}

/* Whatever the handler asks, it is the rank's that it belongs to, even if it has interrupted
 * another's thread. */
static void call(struct tm_process *process, int signo, siginfo_t *info, void *context,
                 const struct tm_action *action) {
  static const struct tm_action none;
  struct tm_signals *signals = process->signals;
  uint64_t before = tm_signals_mask(signals);
  uint64_t own = (action->flags & SA_NODEFER) != 0 ? 0 : tm_signal_bit(signo);
  if ((action->flags & SA_RESETHAND) != 0) tm_signals_change(signals, signo, &none, NULL);
  set_blocked(signals, before | own | action->mask);
  uint32_t number = tm_rank_act_as((uint32_t)process->number + 1);
  bool other = number != (uint32_t)process->number + 1;
  struct tm_locals locals = {0, NULL, false};
  uint32_t carried = 0;
  if (other) {
    carried = tm_carry_lend((uint32_t)process->number + 1);
    locals = tm_locals_exchange(locals);
  }
  if (signals->depth++ == 0) {
    signals->before = before;
    signals->elsewhere = other;
  }
  signals->signo = signo;
  mt_add_relaxed(&signals->calls, 1); /* relaxed: announce() orders it */
  if ((action->flags & SA_SIGINFO) != 0)
    ((os_handler *)(uintptr_t)action->handler)(signo, info, context);
  else
    ((void (*)(int))(uintptr_t)action->handler)(signo);
  signals->depth--;
  tm_rank_act_as(number);
  if (other) {
    tm_locals_exchange(locals);
    tm_carry_return(carried, number);
  }
  set_blocked(signals, before);
  announce(signals);
}

bool tm_signal_is_harmless(int signo) {
  return signo == SIGCHLD || signo == SIGCONT || signo == SIGURG || signo == SIGWINCH;
}

static void default_effect(int signo, const siginfo_t *info) {
  if (tm_signal_is_harmless(signo)) return;
  if (info->si_code == SI_TKILL && info->si_pid == getpid()) tm_signal_announce(signo);
  os_signal_default(signo);
  raise(signo);
}

static uint64_t held_back(const struct tm_signals *signals) {
  uint64_t blocked =
      mt_load_seq_cst(&signals->blocked);              /* SG-10 seq_cst: after SG-13; pairs SG-9 */
  return blocked | mt_load_relaxed(&signals->awaited); /* relaxed: they are to be blocked, too */
}

static uint64_t deliverable(const struct tm_signals *signals) {
  uint64_t pending =
      mt_load_seq_cst(&signals->pending); /* SG-11 seq_cst: after SG-14; pairs SG-12 */
  return pending & ~held_back(signals);
}

static void add_pending(struct tm_signals *signals, int signo) {
  mt_or_seq_cst(&signals->pending,
                tm_signal_bit(signo)); /* SG-12 seq_cst: then runner; pairs SG-11 */
}

/* Takes a signal that is pending. @return false: a handler that has interrupted this one was first.
 */
static bool take_pending(struct tm_signals *signals, int signo) {
  /* relaxed: the runner alone takes */
  return (mt_and_relaxed(&signals->pending, ~tm_signal_bit(signo)) & tm_signal_bit(signo)) != 0;
}

/* Delivers one pending signal. info: of `signo`, the one that has just come, or 0. */
static void deliver_one(struct tm_process *process, int signo, siginfo_t *info, void *context) {
  struct tm_signals *signals = process->signals;
  uint64_t ready = deliverable(signals);
  if (ready == 0) return;
  int next = __builtin_ctzll(ready) + 1;
  if (signo != 0 && (ready & tm_signal_bit(signo)) != 0) next = signo;
  siginfo_t plain = {.si_signo = next, .si_code = SI_USER};
  if (!take_pending(signals, next)) return;
  struct tm_action action = action_of(signals, next);
  if (action.handler == (uintptr_t)SIG_DFL) default_effect(next, next == signo ? info : &plain);
  if (!is_handler(&action)) return;
  call(process, next, next == signo ? info : &plain, next == signo ? context : NULL, &action);
  if ((action.flags & SA_RESTART) == 0)
    mt_add_relaxed(&signals->failures, 1); /* relaxed: a count */
  tm_wait_end(process, action.flags, context);
}

/* @return whether the calling kernel thread calls handlers from now on; false: another one does. */
static bool claim(struct tm_signals *signals) {
  uint32_t nobody = 0;
  /* SG-13 seq_cst: before masks and pending are read; pairs SG-9, SG-14 and SG-15 */
  return mt_cas_seq_cst(&signals->runner, &nobody, (uint32_t)gettid());
}

static void give_back(struct tm_signals *signals) {
  mt_store_seq_cst(&signals->runner, 0); /* SG-14 seq_cst: before pending is read; pairs SG-13 */
}

static uint32_t runner_of(const struct tm_signals *signals) {
  return mt_load_seq_cst(&signals->runner); /* SG-15 seq_cst: after SG-9; pairs SG-13 */
}

/* @return whether the calling kernel thread runs a handler of the rank. */
static bool is_runner(const struct tm_signals *signals) {
  return runner_of(signals) == (uint32_t)gettid();
}

/* A handler is interrupted by the signals that it does not block: it may wait for one of them. */
static void deliver(struct tm_process *process, int signo, siginfo_t *info, void *context) {
  struct tm_signals *signals = process->signals;
  if (is_runner(signals)) {
    while (deliverable(signals) != 0) deliver_one(process, signo, info, context);
    return;
  }
  while (deliverable(signals) != 0 && claim(signals)) {
    while (deliverable(signals) != 0) deliver_one(process, signo, info, context);
    give_back(signals);
  }
}

bool tm_signal_to_rank(struct tm_process *process, int signo, siginfo_t *info, void *context) {
  struct tm_signals *signals = state_of(process);
  if (signals == NULL) return false;
  struct tm_action action = action_of(signals, signo);
  bool is_held = (held_back(signals) & tm_signal_bit(signo)) != 0;
  if (!is_held && action.handler == (uintptr_t)SIG_DFL) return false;
  if (!is_held && action.handler == (uintptr_t)SIG_IGN) return true;
  add_pending(signals, signo);
  deliver(process, signo, info, context);
  if (is_held || (tm_signals_pending(signals) & tm_signal_bit(signo)) != 0) announce(signals);
  return true;
}

/* ---- a rank's pthreads: the kernel has their masks, and keeps their handlers apart */

static __thread uint64_t own_awaited; /* of sigwait() of the calling pthread */
static __thread uint32_t own_calls;   /* of handlers for it: they end no wait of another thread */

static void mask_of_word(uint64_t word, sigset_t *set) {
  sigemptyset(set);
  memcpy(set, &word, sizeof word);
}

/* In the kernel's handler, which blocks `signo` alone. */
static void call_on_pthread(struct tm_signals *signals, int signo, siginfo_t *info, void *context,
                            const struct tm_action *action) {
  static const struct tm_action none;
  sigset_t set;
  if ((action->flags & SA_RESETHAND) != 0) tm_signals_change(signals, signo, &none, NULL);
  mask_of_word(action->mask, &set);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  mask_of_word(tm_signal_bit(signo) & ~action->mask, &set);
  if ((action->flags & SA_NODEFER) != 0) pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  own_calls++;
  if ((action->flags & SA_SIGINFO) != 0)
    ((os_handler *)(uintptr_t)action->handler)(signo, info, context);
  else
    ((void (*)(int))(uintptr_t)action->handler)(signo);
  announce(signals); /* otherwise the kernel would restart the wait that it has interrupted */
  if ((action->flags & SA_RESTART) == 0) tm_call_fails(context);
}

/* What was sent to the calling pthread is handled by it: a collector of garbage stops each thread
 * so, and several at once. @return false: it has its default effect. */
static bool to_own_pthread(const struct tm_process *process, int signo, siginfo_t *info,
                           void *context) {
  struct tm_signals *signals = state_of(process);
  if (signals == NULL) return false;
  if ((own_awaited & tm_signal_bit(signo)) != 0) {
    add_pending(signals, signo);
    announce(signals);
    return true;
  }
  struct tm_action action = action_of(signals, signo);
  if (is_handler(&action)) call_on_pthread(signals, signo, info, context, &action);
  return action.handler != (uintptr_t)SIG_DFL;
}

bool tm_fault_has_stack(const struct tm_process *process, int signo) {
  const struct tm_signals *signals = state_of(process);
  if (signals == NULL || (tm_signals_mask(signals) & tm_signal_bit(signo)) != 0) return false;
  struct tm_action action = action_of(signals, signo);
  return is_handler(&action) && (action.flags & SA_ONSTACK) != 0;
}

bool tm_fault_to_rank(struct tm_process *process, int signo, siginfo_t *info, void *context) {
  struct tm_signals *signals = state_of(process);
  if (signals == NULL) return false;
  struct tm_action action = action_of(signals, signo);
  if (is_handler(&action) && tm_on_pthread()) {
    call_on_pthread(signals, signo, info, context, &action);
    return true;
  }
  if (!is_handler(&action) || (tm_signals_mask(signals) & tm_signal_bit(signo)) != 0) return false;
  bool nested = is_runner(signals); /* a handler has caused it */
  while (!nested && !claim(signals)) os_yield();
  call(process, signo, info, context, &action);
  if (!nested) {
    give_back(signals);
    deliver(process, 0, NULL, NULL);
  }
  return true;
}

/* ---- what the kernel calls */

bool tm_signal_is_own(int signo, const siginfo_t *info) {
  bool own_doing = signo == SIGPIPE || signo == SIGXFSZ || signo == SIGSYS || signo == SIGTRAP;
  return own_doing || (info->si_code == SI_TKILL && info->si_pid == getpid());
}

/* A rank that ignores a signal keeps no other from dying of it. */
static bool ignores(const struct tm_process *process, int signo) {
  const struct tm_signals *signals = state_of(process);
  if (signals == NULL) return (inherited & tm_signal_bit(signo)) != 0;
  bool is_held = (held_back(signals) & tm_signal_bit(signo)) != 0;
  return !is_held && action_of(signals, signo).handler == (uintptr_t)SIG_IGN;
}

/* Not one of the kernel's codes: the signal is for the own thread of the rank with the number in
 * si_value. */
enum { CODE_TO_RANK = -77 };

enum { NAP_FIRST_NS = 20000, NAP_LAST_NS = 2000000 };

/* @return whether the rank's own thread may take it soon: it was interrupted, or it is ready. */
static bool interrupt(const struct tm_process *process, int signo) {
  struct mti_whereabouts where;
  siginfo_t info = {.si_signo = signo, .si_code = CODE_TO_RANK};
  mti_whereabouts(&where, process->thread);
  if (where.task == 0) return where.ready;
  info.si_pid = getpid();
  info.si_value.sival_int = process->number;
  return os_signal_send(where.task, signo, &info) == 0;
}

static __thread bool stands_in; /* a handler of the rank's own thread runs on this pthread */

bool tm_signals_stand_in(void) { return stands_in; }

bool tm_signal_to_own_thread(struct tm_process *process, int signo, siginfo_t *info) {
  struct tm_signals *signals = state_of(process);
  if (signals == NULL) return false;
  struct tm_action action = action_of(signals, signo);
  bool is_held = (held_back(signals) & tm_signal_bit(signo)) != 0;
  if (!is_held && !is_handler(&action)) return action.handler == (uintptr_t)SIG_IGN;
  add_pending(signals, signo);
  uint64_t nap = NAP_FIRST_NS;
  /* one that is held back the rank's own thread handles when it no longer is */
  while ((deliverable(signals) & tm_signal_bit(signo)) != 0) {
    if (!interrupt(process, signo)) {
      stands_in = true;
      deliver(process, signo, info, NULL);
      stands_in = false;
      break;
    }
    os_nap(nap);
    if (nap < NAP_LAST_NS) nap *= 2;
  }
  announce(signals);
  return true;
}

/* Otherwise the sender looks again. */
static bool interrupted(struct tm_process *process, int signo, siginfo_t *info, void *context) {
  info->si_code = SI_TKILL;
  if (tm_has_interrupted(process, context)) deliver(process, signo, info, context);
  return true;
}

bool tm_signal_to_ranks(int signo, siginfo_t *info, void *context) {
  struct tm_process *self = tm_process_self();
  if (tm_wait_is_ended(info, context) || tm_signal_is_sample(info)) return true;
  if (info->si_code == CODE_TO_RANK && info->si_pid == getpid())
    return interrupted(tm_process_of(info->si_value.sival_int), signo, info, context);
  if (self != NULL && tm_signal_is_own(signo, info))
    return tm_on_pthread() ? to_own_pthread(self, signo, info, context)
                           : tm_signal_to_rank(self, signo, info, context);
  int owner = info->si_code == SI_TIMER ? tm_timer_rank(info->si_timerid) : TM_TIMER_UNKNOWN;
  if (owner == -1) return true; /* of a timer that is gone */
  if (owner >= 0) return tm_signal_to_rank(tm_process_of(owner), signo, info, context);
  int size = mt_load_relaxed(&tm_job.size);  /* relaxed: a rank that begins has no handler yet */
  bool taken = false, all_ignore = size > 0; /* before there are ranks none ignores it */
  for (int i = tm_job.first; i < size; i = tm_rank_next_here(i, size)) {
    if (ignores(tm_process_of(i), signo)) continue;
    all_ignore = false;
    taken |= tm_signal_to_rank(tm_process_of(i), signo, info, context);
  }
  return taken || all_ignore;
}

static void on_signal(int signo, siginfo_t *info, void *context) {
  int error = errno;
  if (!tm_signal_to_ranks(signo, info, context)) default_effect(signo, info);
  errno = error;
}

int tm_signals_catch(int signo, bool on_stack) {
  static uint64_t on_stacks; /* [atomic] signals whose handlers do not run where they interrupt */
  uint64_t bit = on_stack ? tm_signal_bit(signo) : 0;
  if (tm_crash_signal(signo)) return 0; /* it has its handler already */
  on_stack =
      ((mt_or_relaxed(&on_stacks, bit) | bit) & tm_signal_bit(signo)) != 0; /* relaxed: all */
  return os_signal_handle(signo, on_signal, on_stack);
}

bool tm_signals_acts_elsewhere(const struct tm_process *process) {
  const struct tm_signals *signals = state_of(process);
  return signals != NULL && is_runner(signals) && signals->elsewhere;
}

bool tm_signals_handles(const struct tm_process *process) {
  const struct tm_signals *signals = state_of(process);
  return signals != NULL && is_runner(signals);
}

/* ---- masks and waits */

uint64_t tm_signals_mask(const struct tm_signals *signals) {
  return mt_load_relaxed(&signals->blocked); /* relaxed: the rank's own thread has written it */
}

uint64_t tm_signals_pending(const struct tm_signals *signals) {
  return mt_load_relaxed(&signals->pending); /* relaxed: a snapshot */
}

uint32_t tm_signals_calls(const struct tm_signals *signals) {
  /* relaxed: a count to compare */
  return signals != NULL ? mt_load_relaxed(&signals->calls) + own_calls : 0;
}

uint32_t tm_signals_failures(const struct tm_signals *signals) {
  return signals != NULL ? mt_load_relaxed(&signals->failures) : 0; /* relaxed: likewise */
}

uint64_t *tm_signals_interrupting(struct tm_signals *signals) { return &signals->interrupting; }

void tm_signals_set_mask(struct tm_process *process, uint64_t mask) {
  struct tm_signals *signals = process->signals;
  bool nested = is_runner(signals);
  while (!nested && !claim(signals)) os_yield();
  set_blocked(signals, mask);
  if (!nested) give_back(signals);
  deliver(process, 0, NULL, NULL);
}

void tm_signals_pause(struct tm_process *process, uint32_t calls) {
  struct tm_signals *signals = process->signals;
  bool in_handler = is_runner(signals); /* which may have interrupted the library */
  if (!in_handler) mltp_blocking_begin();
  for (;;) {
    uint32_t events = events_of(signals);
    deliver(process, 0, NULL, NULL); /* the sender may not: this kernel thread runs a handler */
    if (tm_signals_calls(signals) != calls) break;
    os_futex_wait(&signals->events, events, UINT64_MAX);
  }
  if (!in_handler) mltp_blocking_end();
}

/* A signal that is sent to the calling pthread alone would stay with the kernel if it is blocked.
 */
static void unblock_awaited(uint64_t set, sigset_t *before) {
  sigset_t wanted;
  mask_of_word(set, &wanted);
  own_awaited = set;
  pthread_sigmask(SIG_UNBLOCK, &wanted, before);
}

int tm_signals_take(struct tm_signals *signals, uint64_t set, uint64_t deadline) {
  int error = 0;
  uint64_t found = 0;
  sigset_t before;
  mt_or_relaxed(&signals->awaited, set); /* relaxed: a program has blocked them before */
  if (tm_on_pthread()) unblock_awaited(set, &before);
  mltp_blocking_begin();
  while (found == 0 && error != ETIMEDOUT) {
    uint32_t events = events_of(signals);
    found = tm_signals_pending(signals) & set;
    if (found == 0) error = os_futex_wait(&signals->events, events, deadline);
  }
  mltp_blocking_end();
  if (tm_on_pthread()) pthread_sigmask(SIG_SETMASK, &before, NULL);
  own_awaited = 0;
  int signo = found != 0 ? __builtin_ctzll(found) + 1 : 0;
  if (signo != 0)
    mt_and_relaxed(&signals->pending, ~tm_signal_bit(signo)); /* relaxed: it is ours */
  mt_and_relaxed(&signals->awaited, ~set); /* relaxed: they are blocked, or may come from now on */
  return signo;
}

void tm_signals_leave_handler(struct tm_process *process) {
  struct tm_signals *signals = state_of(process);
  sigset_t handled;
  if (signals == NULL || !is_runner(signals)) return;
  if (tm_signals_acts_elsewhere(process)) {
    fprintf(stderr,
            "tmpirun: rank %d: longjmp() out of a handler of SIG%s, which has interrupted another "
            "rank's thread (set a flag in the handler, or run with --one-to-one)\n",
            process->number, sigabbrev_np(signals->signo));
    tm_job_abort(1);
  }
  signals->depth = 0;
  stands_in = false;
  set_blocked(signals, signals->before);
  give_back(signals);
  sigemptyset(&handled);
  sigaddset(&handled, signals->signo);
  pthread_sigmask(SIG_UNBLOCK, &handled, NULL); /* the kernel thread serves other ranks, too */
}
