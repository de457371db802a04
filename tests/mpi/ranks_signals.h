/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ranks_signals.h
 * Signals of ranks without ranks (src/tmpi/run/signals.c): one kernel thread plays all, and `tid`
 * says which one it is at the moment. Handlers note the signal, the rank's mask and the rank that
 * they act for; each other step is in the trace, too.
 */
#ifndef TESTS_MPI_RANKS_SIGNALS_H
#define TESTS_MPI_RANKS_SIGNALS_H

#include "traced_calls.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "captured.h"
#include "core/internal/placement.h"
#include "counted_blocks.h"
#include "internal_locks.h"
#include "os/os.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"
#include "tmpi/run/working_directory.h"

enum { RANKS = 3, RANK = 1, OTHER = 2, HERE = 10, ELSEWHERE = 20, LAST = NSIG - 1, TIMER = 5 };
enum { ERRNO = 99, TEXT = 400, A_SAMPLE = -5 };

/* ---- kernel threads */

static int tid; /* the calling one */
static bool on_pthread;
static jmp_buf left;

pid_t __wrap_gettid(void);
pid_t __wrap_gettid(void) { return tid; }

/* Which signals tmpirun was started with ignored. */
int __real_sigaction(int signo, const struct sigaction *action, struct sigaction *before);
int __wrap_sigaction(int signo, const struct sigaction *action, struct sigaction *before);
int __wrap_sigaction(int signo, const struct sigaction *action, struct sigaction *before) {
  if (action != NULL || signo > NSIG) return __real_sigaction(signo, action, before);
  before->sa_handler = signo == SIGHUP || signo == LAST ? SIG_IGN : SIG_DFL;
  if (signo == SIGQUIT) before->sa_handler = SIG_IGN; /* which cannot be read */
  return signo == SIGQUIT ? -1 : 0;
}

static inline uint64_t word_of(const sigset_t *set) {
  uint64_t word = 0;
  for (int signo = 1; signo < NSIG; signo++)
    if (sigismember(set, signo) == 1) word |= tm_signal_bit(signo);
  return word;
}

static uint64_t kernels_mask;
static bool notes_masks;

int __wrap_pthread_sigmask(int change, const sigset_t *set, sigset_t *before);
int __wrap_pthread_sigmask(int change, const sigset_t *set, sigset_t *before) {
  uint64_t old = kernels_mask, word = word_of(set);
  kernels_mask = change == SIG_BLOCK ? old | word : change == SIG_UNBLOCK ? old & ~word : word;
  if (before != NULL) {
    sigemptyset(before);
    for (int signo = 1; signo < NSIG; signo++)
      if ((old & tm_signal_bit(signo)) != 0) sigaddset(before, signo);
  }
  if (notes_masks) note("mask:%llx", (unsigned long long)kernels_mask);
  return 0;
}

int __wrap_raise(int signo);
int __wrap_raise(int signo) {
  note("raise:%d", signo);
  return 0;
}

/* ---- the rest of the library */

static struct tm_process processes[RANKS], *const process = &processes[RANK], *self;
static struct tm_rank ranks[RANKS];
struct tm_job tm_job = {.size = RANKS, .first_size = RANKS, .local = RANKS, .ranks = ranks};
static uint32_t acting; /* number of the rank that the thread acts as, and 1 */
static struct mti_whereabouts whereabouts;
static bool send_fails, has_interrupted, is_crash_signal;
static int timer_rank;
static void (*at_nap)(void), (*at_wait)(void), (*at_yield)(void);

uint32_t tm_rank_act_as(uint32_t number) {
  uint32_t before = acting;
  acting = number;
  return before;
}

uint32_t tm_carry_lend(uint32_t number) {
  note("lend:%u", number);
  return 7;
}

void tm_carry_return(uint32_t before, uint32_t number) { note("return:%u,%u", before, number); }

struct tm_locals tm_locals_exchange(struct tm_locals locals) {
  note("locals:%td", locals.distance);
  return (struct tm_locals){.distance = locals.distance == 0 ? 70 : 0};
}

struct tm_process *tm_process_self(void) { return self; }
struct tm_process *tm_process_of(int rank) { return &processes[rank]; }
bool tm_on_pthread(void) { return on_pthread; }
bool tm_crash_signal(int signo) { return is_crash_signal && signo == SIGSEGV; }
void tm_signal_announce(int signo) { note("announce:%d", signo); }
void tm_call_fails(void *context) { note("fails:%d", context != NULL); }

void tm_wait_end(const struct tm_process *of, uint64_t flags, void *context) {
  note("end:%d,%d,%d", of->number, (flags & SA_RESTART) != 0, context != NULL);
}

bool tm_wait_is_ended(const siginfo_t *info, void *context) {
  (void)context;
  return info->si_signo == SIGURG;
}

bool tm_signal_is_sample(const siginfo_t *info) { return info->si_code == A_SAMPLE; }

bool tm_has_interrupted(const struct tm_process *of, const void *context) {
  (void)context;
  return has_interrupted && of == process;
}

int tm_timer_rank(int id) {
  assert_int_equal(id, TIMER);
  return timer_rank;
}

bool mti_whereabouts(struct mti_whereabouts *where, const struct mltp_thread *thread) {
  assert_ptr_equal(thread, process->thread);
  *where = whereabouts;
  return true;
}

static siginfo_t sent;
int os_signal_send(int task, int signo, siginfo_t *info) {
  note("send:%d,%d", task, signo);
  sent = *info;
  return send_fails ? ESRCH : 0;
}

void os_signal_default(int signo) { note("default:%d", signo); }

static os_handler *installed;
int os_signal_handle(int signo, os_handler *handler, bool on_stack) {
  note("handle:%d,%d", signo, on_stack);
  installed = handler;
  return signo == SIGUSR2 ? EINVAL : 0;
}

void os_yield(void) {
  note("yield");
  at_yield();
}

void os_nap(uint64_t ns) {
  note("nap:%d", (int)(ns / 1000));
  if (at_nap != NULL) at_nap();
}

int os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  note("wait:%d", deadline == UINT64_MAX ? -1 : (int)deadline);
  assert_int_equal(*word, expected);
  if (at_wait == NULL) return ETIMEDOUT;
  at_wait();
  return 0;
}

static int wakes;
void os_futex_wake(uint32_t *word, int count) {
  (void)word;
  assert_true(count > RANKS);
  wakes++;
}

void mltp_blocking_begin(void) { note("begin"); }
void mltp_blocking_end(void) { note("done"); }

void tm_job_abort(int status) {
  note("abort:%d", status);
  longjmp(left, 1);
}

/* ---- handlers note the signal and the rank's mask */

static void (*in_handler)(int signo); /* what a handler does; NULL: nothing more */

static inline void handle(int signo) {
  note("h%d:%llx,%u", signo, (unsigned long long)tm_signals_mask(process->signals), acting - 1);
  if (in_handler != NULL) in_handler(signo);
}

static inline void handle_info(int signo, siginfo_t *info, void *context) {
  note("i%d:%d,%d", signo, info->si_code, context != NULL);
  assert_int_equal(info->si_signo, signo);
  handle(signo);
}

static inline struct tm_signals *signals(void) { return tm_signals_of(process); }

static inline void set_action(int signo, uint64_t flags, uint64_t mask) {
  struct tm_action action = {.flags = flags, .mask = mask};
  action.handler = (flags & SA_SIGINFO) != 0 ? (uintptr_t)handle_info : (uintptr_t)handle;
  tm_signals_change(signals(), signo, &action, NULL);
}

static inline void set_plain(int signo, void (*how)(int)) {
  struct tm_action action = {.handler = (uintptr_t)how};
  tm_signals_change(signals(), signo, &action, NULL);
}

static inline uintptr_t handler_of(int signo) {
  struct tm_action action;
  tm_signals_change(signals(), signo, NULL, &action);
  return action.handler;
}

static inline bool give(int signo) {
  siginfo_t info = {.si_signo = signo, .si_code = SI_QUEUE};
  char context;
  return tm_signal_to_rank(process, signo, &info, &context);
}

static inline uint64_t pending(void) { return tm_signals_pending(process->signals); }

static int begin(void **state) {
  (void)state;
  for (int i = 0; i < RANKS; i++) {
    processes[i] = (struct tm_process){.number = i, .thread = (mltp_t *)&processes[i]};
  }
  self = process;
  acting = RANK + 1;
  tid = HERE;
  on_pthread = notes_masks = send_fails = has_interrupted = is_crash_signal = memory_is_out = false;
  kernels_mask = 0;
  whereabouts = (struct mti_whereabouts){.task = 0};
  timer_rank = TM_TIMER_UNKNOWN;
  at_nap = at_wait = at_yield = NULL;
  in_handler = NULL;
  wakes = blocks = 0;
  trace[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  for (int i = 0; i < RANKS; i++) free(processes[i].signals);
  assert_int_equal(blocks, 0);
  assert_int_equal(locked, 0);
  return 0;
}

/* ---- a handler runs on a kernel thread, and has not ended: the test has left it */

static inline void stay(int signo) {
  (void)signo;
  longjmp(left, 1);
}

static inline void handler_stays(int thread) {
  set_action(SIGUSR1, 0, 0);
  in_handler = stay;
  tid = thread;
  if (setjmp(left) == 0) give(SIGUSR1);
  tid = HERE;
  in_handler = NULL;
  trace[0] = '\0';
}

/* ---- what comes */

static inline bool fault(int signo) {
  siginfo_t info = {.si_signo = signo, .si_code = SEGV_MAPERR};
  char context;
  return tm_fault_to_rank(process, signo, &info, &context);
}

static inline bool give_own(int signo) {
  siginfo_t info = {.si_signo = signo, .si_code = SI_TKILL, .si_pid = getpid()};
  char context;
  return tm_signal_to_ranks(signo, &info, &context);
}

#define SIGNALS_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

#endif
