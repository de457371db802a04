/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watcher of a job, step by step (src/tmpi/run/watch.c): when it looks for VPs and for a
 * standstill, what a signal, a failure and the end of --timeout make of it, and how a kernel thread
 * is interrupted. The watcher runs in the test's thread: at each of its waits the test says what
 * happens, and the clock moves only there. Every step is in the trace, times in ms.
 */
#include "traced_calls.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "arch/program.h"
#include "captured.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/report.h"
#include "tmpi/run/joined.h"
#include "tmpi/run/process.h"

enum { MS = 1000000, BEGIN = 100, RANK = 3, TASK = 77, TEXT = 1000 };

static uint64_t now;
static jmp_buf out;
static struct tm_process failed;

/* ---- what happens at the waits of the watcher, and of an interrupted thread */

typedef int event(uint64_t until);

static event *const *events; /* NULL behind the last one: then the test leaves */

static int ms(uint64_t ns) { return ns == UINT64_MAX ? -1 : (int)(ns / MS) - BEGIN; }

int os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  if (*word != expected) return EAGAIN;
  note("until:%d", ms(deadline));
  if (*events == NULL) longjmp(out, 1);
  return (*events++)(deadline);
}

void os_futex_wake(uint32_t *word, int count) {
  assert_non_null(word);
  note("wake:%d", count);
}

uint64_t os_now(void) { return now; }

static int time_passes(uint64_t until) {
  now = until;
  return ETIMEDOUT;
}

static int nothing(uint64_t until) {
  (void)until;
  return 0;
}

/* ---- the machine */

static os_handler *handler;
static void *(*watcher)(void *);
static int start_error, return_error;

int os_priority_raise(void) {
  note("raise");
  return 5;
}

void os_priority_restore(int before) { note("restore:%d", before); }

int os_thread_start_quiet(size_t stack_size, void *(*func)(void *), void *arg) {
  assert_true(stack_size == 1 << 20 && arg == NULL);
  note("start");
  watcher = func;
  return start_error;
}

int os_signal_install(int signo, os_handler *function, struct sigaction *old) {
  assert_non_null(old);
  note("install:%d", signo == SIGUSR1);
  handler = function;
  return 0;
}

void os_real_time_take(struct os_real_time *taken) { note("take:%d", taken != NULL); }

int os_real_time_return(const struct os_real_time *taken) {
  note("return:%d", taken != NULL);
  return return_error;
}

/* Another thread ends the job already. */
void os_nap(uint64_t ns) {
  note("nap:%d", (int)(ns / MS));
  longjmp(out, 1);
}

void __wrap__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) {
  note("exit:%d", status);
  longjmp(out, 1);
}

/* ---- the rest of the library */

static int looks_left;
static bool needs_help; /* at each look a kernel thread has waited for the end */

bool tm_vps_look(void) {
  note("look");
  if (needs_help) tm_watch_help();
  return looks_left-- > 0;
}

void mti_add_bystanders(uint32_t more) { note("bystanders+%d", (int)more); }
void tm_standstill_look(uint64_t interval) { note("standstill:%d", (int)(interval / MS)); }
void tm_report(const char *title, bool still) { note("%s:%d", title, still); }
void tm_flush_all(void) { note("flush"); }
void tm_joined_late(void) { note("late"); }

int tm_job_failure(int *status) {
  *status = 9;
  return RANK;
}

int tm_report_failure(int rank) {
  note("failed:%d", rank);
  return 8;
}

struct tm_process *tm_process_of(int rank) {
  assert_int_equal(rank, RANK);
  return &failed;
}

void tm_job_tell(int status, const char *format, ...) {
  char text[200];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  note("tell:%d:%s", status, text);
}

/* ---- the watcher runs */

static int start(long seconds) {
  now = (uint64_t)BEGIN * MS;
  return tm_watch_start(seconds);
}

static int begin(void **state) {
  (void)state;
  needs_help = false;
  looks_left = start_error = return_error = 0;
  assert_int_equal(start(0), 0);
  trace[0] = '\0';
  return 0;
}

static void watch(event *const *list) {
  events = list;
  if (setjmp(out) == 0) watcher(NULL);
}
#define WATCH(...) watch((event *const[]){__VA_ARGS__, NULL})

static ucontext_t interrupted;

static void signal_is(int code) {
  siginfo_t info = {.si_code = code};
  handler(SIGUSR1, &info, &interrupted);
}

/* ---- at the start */

static void what_a_start_does(void **state) {
  (void)state;
  assert_int_equal(start(0), 0);
  check_trace("raise start restore:5 bystanders+1 install:1 ");
  start_error = EAGAIN;
  assert_int_equal(start(0), EAGAIN);
  check_trace("raise start restore:5 ");
}

/* Less and less often, until VPs are made. */
static void looks_for_vps(void **state) {
  (void)state;
  looks_left = 2;
  WATCH(time_passes, time_passes, time_passes, time_passes);
  check_trace("until:4 look until:12 look until:28 look until:5000 standstill:5000 until:10000 ");
  looks_left = 0;
  begin(NULL);
  WATCH(nothing, time_passes);
  check_trace("until:4 until:4 look until:5000 ");
}

static void looks_for_a_standstill(void **state) {
  (void)state;
  WATCH(time_passes, time_passes, time_passes);
  check_trace("until:4 look until:5000 standstill:5000 until:10000 standstill:5000 until:15000 ");
}

/* ---- reports: each watcher of this test begins with one, once a signal has come */

#define REPORT "take:1 report on SIGUSR1:0 return:1 "

static int signal_comes(uint64_t until) {
  (void)until;
  now += MS;
  signal_is(SI_USER);
  return 0;
}

static void a_signal_gives_a_report(void **state) {
  (void)state;
  WATCH(signal_comes, signal_comes);
  check_trace("until:4 wake:1 " REPORT "until:4 wake:1 " REPORT "until:4 ");
  WATCH(time_passes, nothing);
  check_trace(REPORT "until:6 look until:5002 until:5002 ");
}

static int privilege_is_lost(uint64_t until) {
  return_error = EPERM;
  return signal_comes(until);
}

static void a_priority_that_does_not_come_back(void **state) {
  char text[TEXT];
  (void)state;
  struct captured captured = captured_begin();
  WATCH(privilege_is_lost);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(
      text,
      "tmpirun: ranks computed without real-time priority during the report, and the kernel "
      "refuses to give it back: Operation not permitted (allow it by ulimit -r)\n");
}

/* ---- samples */

static bool thread_is_gone, is_taken; /* the signal is the program's */

int __real_sigaction(int signo, const struct sigaction *action, struct sigaction *before);
int __wrap_sigaction(int signo, const struct sigaction *action, struct sigaction *before);
int __wrap_sigaction(int signo, const struct sigaction *action, struct sigaction *before) {
  if (signo != SIGUSR1) return __real_sigaction(signo, action, before);
  assert_null(action);
  *before = (struct sigaction){.sa_sigaction = is_taken ? NULL : handler};
  return 0;
}

static void (*at_signal)(void);

static siginfo_t sent; /* the last one */

int os_signal_send(int task, int signo, siginfo_t *info) {
  assert_true(task == TASK && signo == SIGUSR1 && info->si_signo == SIGUSR1);
  if (thread_is_gone) return ESRCH;
  sent = *info;
  at_signal();
  return 0;
}

static void interrupt(void) {
  siginfo_t info = sent;
  assert_true(tm_signal_is_sample(&info));
  handler(SIGUSR1, &info, &interrupted);
}

static void interrupt_later(void) {}

static int sample_ends(uint64_t until) {
  (void)until;
  tm_sample_end();
  return 0;
}

static int interrupted_now(uint64_t until) {
  static event *const at_end[] = {time_passes};
  event *const *rest = events;
  events = at_end;
  interrupt();
  events = rest;
  return time_passes(until);
}

/* @return whether a thread is interrupted where it is. */
static bool take_sample(void (*how)(void), event *const *list) {
  struct tm_sample sample = {NULL, NULL, NULL};
  at_signal = how;
  events = list;
  if (!tm_sample_begin(&sample, TASK)) return false;
  assert_ptr_equal(sample.ip, mt_arch_instruction(&interrupted));
  assert_ptr_equal(sample.sp, mt_arch_interrupted_stack(&interrupted));
  assert_ptr_equal(sample.bp, mt_arch_interrupted_frame(&interrupted));
  assert_non_null(sample.ip);
  note("sample");
  tm_sample_end();
  return true;
}
#define SAMPLE(how, ...) take_sample(how, (event *const[]){__VA_ARGS__, NULL})

/* It waits for the end of the sample, and at most a second. */
static void a_thread_is_interrupted(void **state) {
  (void)state;
  assert_true(SAMPLE(interrupt, nothing, time_passes));
  check_trace("wake:1 until:1000 until:1000 sample wake:1 ");
  begin(NULL);
  assert_true(SAMPLE(interrupt, sample_ends));
  check_trace("wake:1 until:1000 wake:1 sample wake:1 ");
}

static void a_thread_that_does_not_come(void **state) {
  (void)state;
  assert_false(SAMPLE(interrupt_later, nothing, time_passes));
  check_trace("until:1000 until:1000 ");
  begin(NULL);
  interrupt(); /* too late: nobody waits for it */
  WATCH(nothing);
  check_trace("until:4 until:4 ");
  begin(NULL);
  assert_true(SAMPLE(interrupt_later, interrupted_now)); /* at the last moment */
  check_trace("until:1000 wake:1 until:1000 sample wake:1 ");
}

static siginfo_t late;

/* One of the sample before, from another thread perhaps. */
static void interrupt_for_both(void) {
  static ucontext_t elsewhere;
  siginfo_t info = late;
  handler(SIGUSR1, &info, &elsewhere);
  note("next");
  interrupt();
}

static void a_late_thread_gives_no_other_sample(void **state) {
  (void)state;
  assert_false(SAMPLE(interrupt_later, time_passes));
  late = sent;
  begin(NULL);
  assert_true(SAMPLE(interrupt_for_both, sample_ends));
  check_trace("next wake:1 until:1000 wake:1 sample wake:1 ");
}

static void signals_that_ask_for_no_sample(void **state) {
  siginfo_t own = {.si_code = SI_TKILL}, others = sent;
  (void)state;
  own.si_pid = getpid();
  others.si_pid = getpid() + 1;
  assert_true(tm_signal_is_sample(&sent));
  assert_false(tm_signal_is_sample(&own));
  assert_false(tm_signal_is_sample(&others));
}

static void threads_that_cannot_be_interrupted(void **state) {
  (void)state;
  thread_is_gone = true;
  assert_false(SAMPLE(interrupt, nothing));
  thread_is_gone = false;
  is_taken = true;
  assert_false(SAMPLE(interrupt, nothing));
  is_taken = false;
  check_trace("");
}

/* ---- the end of a job */

static int rank_fails(uint64_t until) {
  (void)until;
  now += MS;
  tm_watch_failure();
  return 0;
}

static int job_ends(uint64_t until) {
  (void)until;
  now += MS;
  tm_watch_end();
  return 0;
}

static void the_time_is_over(void **state) {
  char text[TEXT];
  (void)state;
  looks_left = 2;
  assert_int_equal(start(2), 0);
  trace[0] = '\0';
  struct captured captured = captured_begin();
  WATCH(time_passes, time_passes, time_passes, time_passes);
  captured_end(&captured, text, sizeof text);
  check_trace(
      "until:4 look until:12 look until:28 look until:2000 take:1 late take:1 time-out:0 "
      "tell:124:the program has not ended after 2 s flush exit:124 ");
  assert_string_equal(
      text,
      "tmpirun: the program has not ended after 2 s (see above what its ranks wait for, "
      "or allow more by --timeout)\n");
  assert_int_equal(start(1000000), 0);
}

/* From here on a rank has failed: that stays. Others have a second to end, too. */
static void the_first_failure_counts(void **state) {
  (void)state;
  needs_help = true; /* no rank has failed yet */
  WATCH(time_passes, rank_fails, rank_fails, time_passes);
  check_trace(REPORT
              "until:4 look until:5000 wake:1 until:1005 until:1005 take:1 flush failed:3 "
              "tell:8:rank 3 ended with status 9 exit:8 ");
}

/* One thread ends it; the others wait for that. */
static void a_job_is_ended_once(void **state) {
  (void)state;
  tm_watch_help(); /* the watcher ends it, as it makes no VPs */
  check_trace("");
  needs_help = true;
  WATCH(time_passes);
  check_trace(REPORT "until:4 look nap:1000 ");
}

static void a_job_may_end_at_once(void **state) {
  (void)state;
  WATCH(job_ends);
  check_trace(REPORT "until:4 wake:1 nap:1000 ");
}

#define WATCHER_TEST(test) cmocka_unit_test_setup(test, begin)

/* The counts of signals and failures are of a process: what changes them comes later. */
int main(void) {
  const struct CMUnitTest tests[] = {
      WATCHER_TEST(what_a_start_does),
      WATCHER_TEST(looks_for_vps),
      WATCHER_TEST(looks_for_a_standstill),
      WATCHER_TEST(a_thread_is_interrupted),
      WATCHER_TEST(threads_that_cannot_be_interrupted),
      WATCHER_TEST(the_time_is_over),
      WATCHER_TEST(a_thread_that_does_not_come),
      WATCHER_TEST(a_late_thread_gives_no_other_sample),
      WATCHER_TEST(signals_that_ask_for_no_sample),
      WATCHER_TEST(a_signal_gives_a_report),
      WATCHER_TEST(a_priority_that_does_not_come_back),
      WATCHER_TEST(the_first_failure_counts),
      WATCHER_TEST(a_job_is_ended_once),
      WATCHER_TEST(a_job_may_end_at_once),
  };
  if (getcontext(&interrupted) != 0) return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
