/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file signal_calls.h
 * The calls about signals that a program makes, without ranks (src/tmpi/run/signal_calls.c): the
 * state of the rank and libc are stand-ins, and what they are asked for is in the trace.
 */
#ifndef TESTS_MPI_SIGNAL_CALLS_H
#define TESTS_MPI_SIGNAL_CALLS_H

#include "traced_calls.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "captured.h"
#include "core/internal/direct_switch.h"
#include "os/os.h"
#include "os/pthreads.h"
#include "override_rows.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* of System V's functions */

enum { RANK = 3, TEXT = 400, OTHERS_ERRNO = 99, NOW = 1000 };

/* ---- the calling thread */

static struct tm_process process = {.number = RANK}, *self;
static bool on_pthread, stands_in, has_memory, is_native;
static jmp_buf left;

struct tm_process *tm_process_self(void) { return self; }
int tm_rank_number(void) { return self != NULL ? RANK : -1; }
bool tm_on_pthread(void) { return on_pthread; }
bool tm_signals_stand_in(void) { return stands_in; }
bool mti_is_native(void) { return is_native; }
void tm_set_errno(int error) { errno = error; }

void tm_job_abort(int status) {
  note("abort:%d", status);
  longjmp(left, 1);
}

/* ---- the state of the rank */

static char state_of_rank;
static uint64_t rank_mask, rank_pending, interrupting;
static struct tm_action action;
static uint32_t calls;
static bool handler_runs; /* when the mask changes */
static int catch_error, taken;
static bool takes_faults, takes_signals;

struct tm_signals *tm_signals_of(struct tm_process *of) {
  assert_ptr_equal(of, &process);
  return has_memory ? (struct tm_signals *)&state_of_rank : NULL;
}

void tm_signals_change(struct tm_signals *signals, int signo, const struct tm_action *new,
                       struct tm_action *old) {
  assert_non_null(signals);
  note("change:%d,%d", signo, new != NULL);
  if (old != NULL) *old = action;
  if (new != NULL) action = *new;
}

int tm_signals_catch(int signo, bool on_stack) {
  note("catch:%d,%d", signo, on_stack);
  return catch_error;
}

uint64_t tm_signals_mask(const struct tm_signals *signals) {
  (void)signals;
  return rank_mask;
}

void tm_signals_set_mask(struct tm_process *of, uint64_t mask) {
  assert_ptr_equal(of, &process);
  note("set:%llx", (unsigned long long)mask);
  rank_mask = mask;
  calls += handler_runs;
}

uint64_t tm_signals_pending(const struct tm_signals *signals) {
  (void)signals;
  return rank_pending;
}

uint32_t tm_signals_calls(const struct tm_signals *signals) {
  (void)signals;
  return calls;
}

uint64_t *tm_signals_interrupting(struct tm_signals *signals) {
  (void)signals;
  return &interrupting;
}

void tm_signals_pause(struct tm_process *of, uint32_t since) {
  assert_ptr_equal(of, &process);
  note("pause:%u", since);
}

int tm_signals_take(struct tm_signals *signals, uint64_t set, uint64_t deadline) {
  (void)signals;
  note("take:%llx,%lld", (unsigned long long)set, (long long)deadline);
  return taken;
}

void tm_signals_leave_handler(struct tm_process *of) { note("leave:%d", of->number); }

bool tm_fault_to_rank(struct tm_process *of, int signo, siginfo_t *info, void *context) {
  assert_true(of == &process && info->si_signo == signo && info->si_code == SI_TKILL &&
              context == NULL);
  note("fault:%d", signo);
  return takes_faults;
}

bool tm_signal_to_rank(struct tm_process *of, int signo, siginfo_t *info, void *context) {
  assert_true(of == &process && info->si_signo == signo && context == NULL);
  note("give:%d", signo);
  return takes_signals;
}

bool tm_signal_to_own_thread(struct tm_process *of, int signo, siginfo_t *info) {
  assert_true(of == &process && info->si_signo == signo && info->si_code == SI_TKILL &&
              info->si_pid == getpid());
  note("own:%d", signo);
  return takes_signals;
}

/* ---- the rest of the library */

void tm_wait_prepare(void) { note("prepare"); }
void tm_flush_prepare(void) { note("flusher"); }
bool tm_crash_signal(int signo) { return signo == SIGSEGV; }
bool tm_signal_is_harmless(int signo) { return signo == SIGCHLD; }
void os_report_alone(void) { note("alone"); }
void tm_output_end_all(void) { note("lines"); }
uint64_t os_now(void) { return NOW; }

int os_write(int fd, const char *text, size_t length) {
  note("%d:%.*s", fd, (int)length, text);
  return 0;
}

void tm_job_tell(int status, const char *format, ...) {
  char text[100];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  note("tell:%d:%s", status, text);
}

enum { FIRST = 1, OWN = 2, ANOTHER = 3 }; /* pthreads */

bool os_pthread_is_self(pthread_t thread) { return thread == OWN; }
bool os_pthread_is_first(pthread_t thread) { return thread == FIRST; }

int os_pthread_kill(pthread_t thread, int signo) {
  note("libc-kill:%d,%d", (int)thread, signo);
  return 7;
}

/* ---- libc */

static struct sigaction kernels_action;
static sigset_t kernels_mask;
static int libc_result; /* of calls that may fail */

int __wrap_sigaction(int signo, const struct sigaction *new, struct sigaction *old);
int __wrap_sigaction(int signo, const struct sigaction *new, struct sigaction *old) {
  if (self == NULL) note("libc-action:%d,%d", signo, new != NULL);
  if (old != NULL) *old = kernels_action;
  return libc_result;
}

sighandler_t __wrap_signal(int signo, sighandler_t handler);
sighandler_t __wrap_signal(int signo, sighandler_t handler) {
  note("libc-signal:%d,%d", signo, handler == SIG_IGN);
  return libc_result == 0 ? SIG_DFL : SIG_ERR;
}

static inline unsigned long long word_of(const sigset_t *set) {
  unsigned long long word = 0;
  for (int signo = 1; set != NULL && signo < NSIG; signo++)
    if (sigismember(set, signo) == 1) word |= 1ULL << (signo - 1);
  return word;
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
  if (set != NULL) note("mask:%d,%llx", how, word_of(set));
  if (old != NULL) *old = kernels_mask;
  return 0;
}

#define LIBC(result, name, parameters, ...)                                                        \
  result __wrap_##name parameters;                                                                 \
  result __wrap_##name parameters {                                                                \
    note(__VA_ARGS__);                                                                             \
    return libc_result;                                                                            \
  }

LIBC(int, sigprocmask, (int how, const sigset_t *set, sigset_t *old), "libc-mask:%d,%llx,%d", how,
     word_of(set), old != NULL)
LIBC(int, sigpending, (sigset_t * set), "libc-pending:%d", set != NULL)
LIBC(int, pause, (void), "libc-pause")
LIBC(int, sigsuspend, (const sigset_t *set), "libc-suspend:%llx", word_of(set))
LIBC(int, sigwait, (const sigset_t *set, int *signo), "libc-wait:%d", set != NULL && signo != NULL)
LIBC(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), "libc-waitinfo:%d",
     set != NULL && info != NULL)
LIBC(int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *time),
     "libc-timedwait:%d", set != NULL && info != NULL && time != NULL)
LIBC(int, raise, (int signo), "libc-raise:%d", signo)
LIBC(int, kill, (pid_t pid, int signo), "libc-kill:%d,%d", pid == getpid(), signo)

void __wrap_siglongjmp(sigjmp_buf context, int value);
void __wrap_siglongjmp(sigjmp_buf context, int value) {
  note("jump:%d,%d", context != NULL, value);
  longjmp(left, 1);
}

/* ---- calls of the program */

#define CALL(type, name) ((type)override_row(tm_override_signals, name))

typedef int action_call(int, const struct sigaction *, struct sigaction *);
typedef sighandler_t signal_call(int, sighandler_t);
typedef int mask_call(int, const sigset_t *, sigset_t *);
typedef int number_call(int);

static inline int set_action(int signo, const struct sigaction *new, struct sigaction *old) {
  return CALL(action_call *, "sigaction")(signo, new, old);
}

static inline sighandler_t set_signal(const char *name, int signo, sighandler_t handler) {
  return CALL(signal_call *, name)(signo, handler);
}

static inline int by_number(const char *name, int signo) {
  return CALL(number_call *, name)(signo);
}

static inline int change(const char *name, int how, const sigset_t *set, sigset_t *old) {
  return CALL(mask_call *, name)(how, set, old);
}

static inline int set_interrupts(int signo, int interrupts) {
  return CALL(int (*)(int, int), "siginterrupt")(signo, interrupts);
}

typedef int wait_call(const sigset_t *, siginfo_t *);
typedef int timed_call(const sigset_t *, siginfo_t *, const struct timespec *);

static inline void handle(int signo) { (void)signo; }

static inline sigset_t set_of(int signo, int second) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signo);
  if (second != 0) sigaddset(&set, second);
  return set;
}

static inline int begin(void **state) {
  (void)state;
  self = &process;
  on_pthread = stands_in = handler_runs = takes_faults = takes_signals = false;
  has_memory = is_native = true;
  rank_mask = rank_pending = interrupting = 0;
  action = (struct tm_action){0};
  calls = 4;
  catch_error = taken = libc_result = 0;
  kernels_action = (struct sigaction){.sa_handler = SIG_DFL};
  sigemptyset(&kernels_mask);
  trace[0] = '\0';
  errno = 0;
  return 0;
}

#define REQUEST_TEST(test) cmocka_unit_test_setup(test, begin)

#endif
