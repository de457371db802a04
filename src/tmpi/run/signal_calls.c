/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about signals that a program makes: those of the rank's own thread are about the rank's
 * state (signals.h); those of its pthreads about masks of kernel threads are libc's. A null pointer
 * for a set gets the kernel's error. */
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "core/internal/direct_switch.h"
#include "os/os.h"
#include "os/pthreads.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/output.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"

enum { SECOND = 1000000000 };

static int failed(int error) {
  tm_set_errno(error);
  return -1;
}

static uint64_t word_of(const sigset_t *set) {
  uint64_t word;
  memcpy(&word, set, sizeof word);
  return word & ~(tm_signal_bit(SIGKILL) | tm_signal_bit(SIGSTOP));
}

static void set_of(uint64_t word, sigset_t *set) {
  sigemptyset(set);
  memcpy(set, &word, sizeof word);
}

/* @return the calling rank's; it ends the job if there is no memory. */
static struct tm_signals *own_signals(void) {
  struct tm_signals *signals = tm_signals_of(tm_process_self());
  if (signals != NULL) return signals;
  fprintf(stderr, "tmpirun: rank %d: no memory for its signals (fewer ranks)\n", tm_rank_number());
  tm_job_abort(1);
}

/* @return whether the calling thread belongs to no rank: its calls are libc's. */
static bool is_outside(void) { return tm_process_self() == NULL; }

/* @return whether it has a mask of the kernel's. */
static bool has_own_mask(void) { return tm_on_pthread() || is_outside(); }

/* ---- handlers */

static int sigaction_rank(int signo, const struct sigaction *new, struct sigaction *old) {
  struct tm_action wanted, before;
  if (is_outside()) return sigaction(signo, new, old);
  bool is_fixed = signo == SIGKILL || signo == SIGSTOP;
  if (signo < 1 || signo >= NSIG || (is_fixed && new != NULL)) return failed(EINVAL);
  if (new != NULL)
    wanted = (struct tm_action){(uintptr_t)new->sa_handler, (uint64_t)(unsigned)new->sa_flags,
                                word_of(&new->sa_mask)};
  if (new != NULL) tm_wait_prepare();
  if (new != NULL &&new->sa_handler != SIG_DFL &&new->sa_handler != SIG_IGN) tm_flush_prepare();
  tm_signals_change(own_signals(), signo, new != NULL ? &wanted : NULL, &before);
  if (old != NULL) {
    memset(old, 0, sizeof *old);
    old->sa_handler = (sighandler_t)(uintptr_t)before.handler;
    old->sa_flags = (int)before.flags;
    set_of(before.mask, &old->sa_mask);
  }
  int error = new != NULL ? tm_signals_catch(signo, (new->sa_flags &SA_ONSTACK) != 0) : 0;
  return error != 0 ? failed(error) : 0;
}

static sighandler_t set_handler(int signo, sighandler_t handler, int flags) {
  struct sigaction new = {.sa_handler = handler, .sa_flags = flags}, old;
  return sigaction_rank(signo, &new, &old) == 0 ? old.sa_handler : SIG_ERR;
}

static sighandler_t signal_rank(int signo, sighandler_t handler) {
  if (is_outside()) return signal(signo, handler);
  bool known = signo >= 1 && signo < NSIG;
  uint64_t interrupting = known ? *tm_signals_interrupting(own_signals()) : 0;
  bool interrupts = known && (interrupting & tm_signal_bit(signo)) != 0;
  return set_handler(signo, handler, interrupts ? 0 : SA_RESTART);
}

/* libc's would change the kernel's action, which all ranks share. */
static int siginterrupt_rank(int signo, int interrupts) {
  struct sigaction action;
  if (sigaction_rank(signo, NULL, &action) != 0) return -1;
  if (!is_outside()) {
    uint64_t *interrupting = tm_signals_interrupting(own_signals()), bit = tm_signal_bit(signo);
    *interrupting = interrupts ? *interrupting | bit : *interrupting & ~bit;
  }
  action.sa_flags = interrupts ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
  bool handled = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
  return handled ? sigaction_rank(signo, &action, NULL) : 0;
}

static sighandler_t sysv_signal_rank(int signo, sighandler_t handler) {
  return set_handler(signo, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

/* A handler that asks for another stack runs on one of ours, which is large; the program's would
 * become the VP's. */
static int sigaltstack_rank(const stack_t *new, stack_t *old) {
  if (old != NULL) *old = (stack_t){.ss_flags = SS_DISABLE};
  return new != NULL && (new->ss_flags & ~SS_DISABLE) != 0 ? failed(EINVAL) : 0;
}

/* ---- masks */

static bool is_stop(int signo) {
  return signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU;
}

/* Signals that were never handled would end the process even while a rank blocks them. */
static void catch_all(uint64_t set) {
  static uint64_t caught;                              /* [atomic] */
  uint64_t fresh = set & ~mt_or_relaxed(&caught, set); /* relaxed: catching one twice is harmless */
  for (; fresh != 0; fresh &= fresh - 1) {
    int signo = __builtin_ctzll(fresh) + 1;
    struct sigaction now;
    if (!is_stop(signo) && sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
      tm_signals_catch(signo, false); /* refused: signals that libc keeps for itself */
  }
}

/* @return 0 or an errno value. */
static int change_mask(int how, const sigset_t *set, sigset_t *old) {
  uint64_t before = tm_signals_mask(own_signals()), word = set != NULL ? word_of(set) : 0;
  if (set != NULL) {
    if (how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) return EINVAL;
    uint64_t mask = how == SIG_BLOCK ? before | word : how == SIG_UNBLOCK ? before & ~word : word;
    catch_all(mask);
    if (old != NULL) set_of(before, old);
    tm_signals_set_mask(tm_process_self(), mask);
  } else if (old != NULL) {
    set_of(before, old);
  }
  return 0;
}

static int pthread_sigmask_rank(int how, const sigset_t *set, sigset_t *old) {
  return has_own_mask() ? pthread_sigmask(how, set, old) : change_mask(how, set, old);
}

static int sigprocmask_rank(int how, const sigset_t *set, sigset_t *old) {
  if (has_own_mask()) return sigprocmask(how, set, old);
  int error = change_mask(how, set, old);
  return error != 0 ? failed(error) : 0;
}

static int sigpending_rank(sigset_t *set) {
  if (is_outside()) return sigpending(set);
  if (set == NULL) return failed(EFAULT);
  const struct tm_signals *signals = own_signals();
  set_of(tm_signals_pending(signals) & tm_signals_mask(signals), set);
  return 0;
}

/* ---- those of System V: libc's would change action and mask of the kernel thread */

static int change_mask_by(int how, int signo) {
  sigset_t set;
  sigemptyset(&set);
  return sigaddset(&set, signo) == 0 ? sigprocmask_rank(how, &set, NULL) : -1;
}

static int sighold_rank(int signo) { return change_mask_by(SIG_BLOCK, signo); }

static int sigrelse_rank(int signo) { return change_mask_by(SIG_UNBLOCK, signo); }

static int sigignore_rank(int signo) {
  if (is_outside()) return signal(signo, SIG_IGN) == SIG_ERR ? -1 : 0;
  return set_handler(signo, SIG_IGN, 0) == SIG_ERR ? -1 : 0;
}

static sighandler_t sigset_rank(int signo, sighandler_t handler) {
  struct sigaction new = {.sa_handler = handler}, old;
  sigset_t mask;
  if (sigprocmask_rank(SIG_BLOCK, NULL, &mask) != 0) return SIG_ERR;
  if (sigaction_rank(signo, handler == SIG_HOLD ? NULL : &new, &old) != 0) return SIG_ERR;
  if (change_mask_by(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, signo) != 0) return SIG_ERR;
  return sigismember(&mask, signo) ? SIG_HOLD : old.sa_handler;
}

/* ---- waiting */

static int pause_rank(void) {
  if (is_outside()) return pause();
  tm_signals_pause(tm_process_self(), tm_signals_calls(own_signals()));
  return failed(EINTR);
}

/* The kernel thread gets no signals until the call unblocks them: a handler that runs elsewhere
 * meanwhile sends one that ends the call (tm_wait_end()). A fault is reported all the same. */
bool tm_masked_begin(struct tm_masked *masked, const sigset_t **mask) {
  sigset_t all;
  *masked = (struct tm_masked){.process = NULL};
  if (*mask == NULL || has_own_mask()) return true;
  struct tm_signals *signals = own_signals();
  uint64_t word = word_of(*mask);
  uint32_t calls = tm_signals_calls(signals);
  masked->process = tm_process_self();
  masked->before = tm_signals_mask(signals);
  catch_all(word);
  sigfillset(&all);
  for (int signo = 1; signo < NSIG; signo++)
    if (tm_crash_signal(signo)) sigdelset(&all, signo);
  tm_signals_set_mask(masked->process, word); /* a handler may leave by siglongjmp() */
  pthread_sigmask(SIG_SETMASK, &all, &masked->kernels);
  masked->handled = tm_signals_calls(signals) != calls;
  *mask = &masked->kernels;
  return !masked->handled;
}

void tm_masked_end(const struct tm_masked *masked) {
  if (masked->process == NULL) return;
  int error = masked->handled ? EINTR : errno;
  tm_signals_set_mask(masked->process, masked->before);
  pthread_sigmask(SIG_SETMASK, &masked->kernels, NULL);
  errno = error;
}

/* The thread that has stopped another one so, and is to let it continue, would wait for itself. */
static void refuse_stop(void) {
  if (!tm_signals_stand_in()) return;
  fprintf(
      stderr,
      "tmpirun: rank %d: sigsuspend() in a handler that the sender of the signal runs, since the "
      "rank's own thread waits in MPI or sleeps (run with --one-to-one)\n",
      tm_rank_number());
  tm_job_abort(1);
}

/* What becomes pending by the change of the mask has been handled when that returns. */
static int sigsuspend_rank(const sigset_t *set) {
  refuse_stop();
  if (has_own_mask()) return sigsuspend(set);
  if (set == NULL) return failed(EFAULT);
  struct tm_signals *signals = own_signals();
  uint32_t calls = tm_signals_calls(signals);
  uint64_t before = tm_signals_mask(signals);
  catch_all(before);
  tm_signals_set_mask(tm_process_self(), word_of(set));
  tm_signals_pause(tm_process_self(), calls);
  tm_signals_set_mask(tm_process_self(), before);
  return failed(EINTR);
}

static int take(const sigset_t *set, uint64_t deadline, siginfo_t *info) {
  uint64_t word = word_of(set);
  for (uint64_t left = word; left != 0; left &= left - 1)
    tm_signals_catch(__builtin_ctzll(left) + 1, false);
  int signo = tm_signals_take(own_signals(), word, deadline);
  if (info != NULL) *info = (siginfo_t){.si_signo = signo, .si_code = SI_USER};
  return signo;
}

static int sigwait_rank(const sigset_t *set, int *signo) {
  if (is_outside()) return sigwait(set, signo);
  if (set == NULL) return EFAULT;
  *signo = take(set, UINT64_MAX, NULL);
  return 0;
}

static int sigwaitinfo_rank(const sigset_t *set, siginfo_t *info) {
  if (is_outside()) return sigwaitinfo(set, info);
  if (set == NULL) return failed(EFAULT);
  return take(set, UINT64_MAX, info);
}

static int sigtimedwait_rank(const sigset_t *set, siginfo_t *info, const struct timespec *time) {
  uint64_t deadline = UINT64_MAX;
  if (is_outside()) return sigtimedwait(set, info, time);
  if (set == NULL) return failed(EFAULT);
  if (time != NULL && (time->tv_nsec < 0 || time->tv_nsec >= SECOND || time->tv_sec < 0))
    return failed(EINVAL);
  if (time != NULL) deadline = os_now() + (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
  int signo = take(set, deadline, info);
  return signo != 0 ? signo : failed(EAGAIN);
}

/* ---- sending to itself */

void tm_signal_announce(int signo) {
  char text[96];
  int rank = tm_rank_number();
  if (rank < 0 || is_stop(signo)) return;
  os_report_alone();
  int length = snprintf(text, sizeof text, "tmpirun: rank %d sent SIG%s: the job ends\n", rank,
                        sigabbrev_np(signo));
  os_write(STDERR_FILENO, text, (size_t)length);
  tm_output_end_all();
  tm_job_tell(TM_SIGNAL_STATUS + signo, "rank %d: SIG%s", rank, sigabbrev_np(signo));
}

/* Says so if the signal ends the process at once, without a handler of ours. */
static void announce_end(int signo) {
  struct sigaction now;
  sigset_t mask;
  bool stays = signo < 1 || signo >= NSIG || tm_signal_is_harmless(signo) || tm_crash_signal(signo);
  if (stays || sigaction(signo, NULL, &now) != 0 || now.sa_handler != SIG_DFL) return;
  if (pthread_sigmask(SIG_BLOCK, NULL, &mask) != 0 || sigismember(&mask, signo)) return;
  tm_signal_announce(signo);
}

static int raise_rank(int signo) {
  struct tm_process *process = tm_process_self();
  siginfo_t info = {.si_signo = signo, .si_code = SI_TKILL};
  if (signo < 0 || signo >= NSIG) return failed(EINVAL);
  if (signo == 0 || (!has_own_mask() && (tm_fault_to_rank(process, signo, &info, NULL) ||
                                         tm_signal_to_rank(process, signo, &info, NULL))))
    return 0;
  announce_end(signo);
  return raise(signo);
}

/* Handlers of all ranks get what comes to the process. */
static int kill_rank(pid_t pid, int signo) {
  if (pid == getpid() || pid == 0 || pid == -1 || pid == -getpgrp()) announce_end(signo);
  return kill(pid, signo);
}

/* One of the rank's pthreads signals the rank's own thread. Its handler runs there if the thread is
 * on a VP, and otherwise here. */
static int signal_own_thread(int signo) {
  siginfo_t info = {.si_signo = signo, .si_code = SI_TKILL, .si_pid = getpid()};
  sigset_t set;
  if (signo < 0 || signo >= NSIG) return EINVAL;
  if (signo == 0 || tm_signal_to_own_thread(tm_process_self(), signo, &info)) return 0;
  sigemptyset(&set);
  sigaddset(&set, signo);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* nobody handles it */
  announce_end(signo);
  return raise(signo);
}

static int pthread_kill_rank(pthread_t thread, int signo) {
  bool own = os_pthread_is_self(thread) || os_pthread_is_first(thread);
  if (tm_on_pthread() && !is_outside() && mti_is_native() && os_pthread_is_first(thread))
    return signal_own_thread(signo);
  if (has_own_mask() || !own) return os_pthread_kill(thread, signo);
  return raise_rank(signo) == 0 ? 0 : EINVAL;
}

/* ---- leaving a handler */

__attribute__((noreturn)) static void longjmp_rank(jmp_buf context, int value) {
  struct tm_process *process = tm_process_self();
  if (process != NULL) tm_signals_leave_handler(process);
  siglongjmp(context, value);
}

const struct tm_override tm_override_signals[] = {
    {"sigaction", (tm_any *)sigaction_rank},
    {"signal", (tm_any *)signal_rank},
    {"bsd_signal", (tm_any *)signal_rank},
    {"ssignal", (tm_any *)signal_rank},
    {"__sysv_signal", (tm_any *)sysv_signal_rank},
    {"sysv_signal", (tm_any *)sysv_signal_rank},
    {"siginterrupt", (tm_any *)siginterrupt_rank},
    {"sighold", (tm_any *)sighold_rank},
    {"sigrelse", (tm_any *)sigrelse_rank},
    {"sigignore", (tm_any *)sigignore_rank},
    {"sigset", (tm_any *)sigset_rank},
    {"sigaltstack", (tm_any *)sigaltstack_rank},
    {"sigprocmask", (tm_any *)sigprocmask_rank},
    {"pthread_sigmask", (tm_any *)pthread_sigmask_rank},
    {"sigpending", (tm_any *)sigpending_rank},
    {"pause", (tm_any *)pause_rank},
    {"sigsuspend", (tm_any *)sigsuspend_rank},
    {"sigwait", (tm_any *)sigwait_rank},
    {"sigwaitinfo", (tm_any *)sigwaitinfo_rank},
    {"sigtimedwait", (tm_any *)sigtimedwait_rank},
    {"raise", (tm_any *)raise_rank},
    {"kill", (tm_any *)kill_rank},
    {"gsignal", (tm_any *)raise_rank},
    {"pthread_kill", (tm_any *)pthread_kill_rank},
    {"longjmp", (tm_any *)longjmp_rank},
    {"_longjmp", (tm_any *)longjmp_rank},
    {"siglongjmp", (tm_any *)longjmp_rank},
    {"__longjmp_chk", (tm_any *)longjmp_rank},
    {NULL, NULL},
};
