/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What depends on time: how long a rank sleeps and what is left when a handler ends that; when VPs
 * are made; when a job stands still. The clock moves only when a sleeper sleeps, and what the
 * kernel and the library say of threads is in variables.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <mltp/mltp.h>

#include "captured.h"
#include "core/internal/process.h"
#include "internal_locks.h"
#include "os/os.h"
#include "override_rows.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/report.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"

enum { SECOND = 1000000000, MS = 1000000, US = 1000, NEVER = 1 << 30, TEXT = 4096, AT_END = 40 };

struct tm_job tm_job;
static uint64_t now = 12345;

/* ---- sleeping */

static struct tm_process self, *is_self = &self;
static bool has_signals;
static uint64_t sleeps[64];
static int sleep_count, handler_after = NEVER, yields;
static uint32_t handlers = 7;

struct tm_process *tm_process_self(void) {
  if (is_self != NULL) self.signals = has_signals ? (struct tm_signals *)&self : NULL;
  return is_self;
}

uint32_t tm_signals_calls(const struct tm_signals *signals) {
  return signals != NULL ? handlers : 0;
}

void tm_set_errno(int error) { errno = error; }

uint64_t mltp_now(void) { return now; }
uint64_t os_now(void) { return now; }

int mltp_sleep(uint64_t ns) {
  assert_true(sleep_count < 64);
  sleeps[sleep_count++] = ns;
  now += ns;
  if (sleep_count == handler_after) handlers++;
  return 0;
}

void mltp_yield(void) { yields++; }

static tm_any *function(const char *name) { return override_row(tm_override_waiting, name); }

static int sleep_time(const char *name, long seconds, long ns, struct timespec *left) {
  struct timespec time = {seconds, ns};
  sleep_count = 0;
  errno = 0;
  return ((int (*)(const struct timespec *, struct timespec *))function(name))(&time, left);
}

static int sleep_by_clock(clockid_t clock, int flags, long seconds, long ns,
                          struct timespec *left) {
  struct timespec time = {seconds, ns};
  sleep_count = 0;
  return ((int (*)(clockid_t, int, const struct timespec *, struct timespec *))function(
      "clock_nanosleep"))(clock, flags, &time, left);
}

static unsigned sleep_number(const char *name, unsigned number) {
  sleep_count = 0;
  errno = 0;
  return ((unsigned (*)(unsigned))function(name))(number);
}

static void check_left(const struct timespec *left, long seconds, long ns) {
  assert_int_equal(left->tv_sec, seconds);
  assert_int_equal(left->tv_nsec, ns);
}

static uint64_t slept(void) {
  uint64_t sum = 0;
  for (int i = 0; i < sleep_count; i++) sum += sleeps[i];
  return sum;
}

static void a_rank_without_handlers_sleeps_at_once(void **state) {
  (void)state;
  struct timespec left = {7, 7};
  has_signals = false;
  assert_int_equal(sleep_time("nanosleep", 1, SECOND / 2, &left), 0);
  assert_int_equal(sleep_count, 1);
  assert_true(slept() == SECOND + SECOND / 2);
  check_left(&left, 0, 0);
  assert_int_equal(sleep_time("nanosleep", 0, SECOND - 1, NULL), 0);
  assert_true(slept() == SECOND - 1);
  assert_int_equal(sleep_time("nanosleep", 0, 0, NULL), 0);
  assert_true(slept() == 0);
  assert_int_equal(sleep_number("sleep", 3), 0);
  assert_true(sleep_count == 1 && slept() == 3 * (uint64_t)SECOND);
  assert_int_equal(sleep_number("usleep", 1500), 0);
  assert_true(slept() == 1500 * US);
  assert_int_equal(sleep_time("thrd_sleep", 0, 20, &left), 0);
  assert_true(slept() == 20);
  for (int i = 0; i < 3; i++) { /* times that are none */
    long seconds = i == 0 ? -1 : 0, ns = i == 1 ? -1 : i == 2 ? SECOND : 0;
    assert_int_equal(sleep_time("nanosleep", seconds, ns, NULL), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(sleep_by_clock(CLOCK_MONOTONIC, 0, seconds, ns, NULL), EINVAL);
    assert_int_equal(sleep_time("thrd_sleep", seconds, ns, NULL), -2);
    assert_int_equal(sleep_count, 0);
  }
}

static void clocks_that_are_none(void **state) {
  enum { NONE = 99 };
  (void)state;
  has_signals = false;
  for (int flags = 0; flags <= TIMER_ABSTIME; flags += TIMER_ABSTIME) {
    assert_int_equal(sleep_by_clock(NONE, flags, 1, 0, NULL), EINVAL);
    assert_int_equal(sleep_by_clock(CLOCK_THREAD_CPUTIME_ID, flags, 1, 0, NULL), EINVAL);
    assert_int_equal(sleep_count, 0);
  }
}

/* More than two centuries: nanoseconds would not fit. */
static void a_rank_sleeps_as_long_as_it_can(void **state) {
  const uint64_t most = UINT64_MAX / 2;
  const long seconds[] = {(long)(most / SECOND), LONG_MAX / SECOND, LONG_MAX - 1, LONG_MAX};
  (void)state;
  has_signals = false;
  for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
    now = 12345;
    assert_int_equal(sleep_time("nanosleep", seconds[i], SECOND - 1, NULL), 0);
    assert_true(sleep_count == 1 && slept() == most);
    now = 12345;
    assert_int_equal(sleep_by_clock(CLOCK_MONOTONIC, 0, seconds[i], 0, NULL), 0);
    assert_true(sleep_count == 1 && slept() == most);
  }
  now = 12345;
  assert_int_equal(sleep_time("nanosleep", (long)(most / SECOND) - 1, SECOND - 1, NULL), 0);
  assert_true(slept() == most / SECOND * SECOND - 1);
  has_signals = true;
  now = 12345;
  handler_after = 3;
  assert_int_equal(sleep_time("nanosleep", LONG_MAX, 0, NULL), -1);
  assert_int_equal(errno, EINTR);
  assert_int_equal(sleep_count, 3);
  handler_after = NEVER;
  now = 12345;
}

static void a_rank_with_handlers_looks_for_calls(void **state) {
  (void)state;
  static const uint64_t steps[] = {MS / 2, 1 * MS, 2 * MS, 4 * MS, 8 * MS, 16 * MS, 16 * MS};
  struct timespec left;
  has_signals = true;
  assert_int_equal(sleep_time("nanosleep", 0, 50 * MS, &left), 0);
  assert_int_equal(sleep_count, 8);
  for (int i = 0; i < 7; i++) assert_true(sleeps[i] == steps[i]);
  assert_true(slept() == 50 * MS);
  check_left(&left, 0, 0);
  handler_after = 3; /* 3.5 ms later */
  assert_int_equal(sleep_time("nanosleep", 2, 10 * MS, &left), -1);
  assert_int_equal(errno, EINTR);
  check_left(&left, 2, 6 * MS + MS / 2);
  assert_int_equal(sleep_time("nanosleep", 2, 10 * MS, NULL), -1);
  assert_int_equal(sleep_by_clock(CLOCK_MONOTONIC, 0, 0, 10 * MS, &left), EINTR);
  check_left(&left, 0, 6 * MS + MS / 2);
  assert_int_equal(sleep_time("thrd_sleep", 0, 10 * MS, &left), -1);
  assert_int_equal((int)sleep_number("usleep", 10000), -1);
  assert_int_equal(errno, EINTR);
  assert_int_equal(sleep_number("sleep", 3), 3); /* what is left, in full seconds */
  handler_after = 1;
  assert_int_equal(sleep_time("nanosleep", 0, MS / 2, NULL), 0); /* it was over, too */
  assert_int_equal(sleep_number("sleep", 2), 2);
  handler_after = NEVER;
}

static void sleeping_until_a_time(void **state) {
  (void)state;
  struct timespec left = {7, 7}, real;
  has_signals = false;
  assert_int_equal(clock_gettime(CLOCK_REALTIME, &real), 0);
  assert_int_equal(sleep_by_clock(CLOCK_REALTIME, TIMER_ABSTIME, real.tv_sec - 1, 0, &left), 0);
  assert_int_equal(sleep_count, 0);
  assert_int_equal(sleep_by_clock(CLOCK_REALTIME, TIMER_ABSTIME, real.tv_sec + 86400, 0, &left), 0);
  assert_true(slept() > 0 && slept() <= 86400 * (uint64_t)SECOND);
  check_left(&left, 7, 7);
  assert_int_equal(sleep_by_clock(CLOCK_REALTIME, 0, 5, 0, &left), 0);
  assert_true(slept() == 5 * (uint64_t)SECOND);
  check_left(&left, 0, 0);
  assert_int_equal(sleep_by_clock((clockid_t)99, TIMER_ABSTIME, 5, 0, NULL), EINVAL);
  has_signals = true;
  handler_after = 1;
  assert_int_equal(sleep_by_clock(CLOCK_REALTIME, TIMER_ABSTIME, real.tv_sec + 86400, 0, NULL),
                   EINTR);
  handler_after = NEVER;
}

static void threads_of_no_rank_use_libc(void **state) {
  (void)state;
  struct timespec left;
  sleep_count = 0;
  is_self = NULL;
  assert_int_equal(sleep_time("nanosleep", 0, 1, &left), 0);
  assert_int_equal(sleep_by_clock(CLOCK_MONOTONIC, 0, 0, 1, NULL), 0);
  assert_int_equal(sleep_by_clock(CLOCK_THREAD_CPUTIME_ID, 0, 0, 1, NULL), EINVAL);
  assert_int_equal(sleep_number("sleep", 0), 0);
  assert_int_equal(sleep_number("usleep", 1), 0);
  assert_int_equal(sleep_time("thrd_sleep", 0, 1, NULL), 0);
  assert_int_equal(((int (*)(void))function("sched_yield"))(), 0);
  assert_int_equal(sleep_count + yields, 0);
  is_self = &self;
  assert_int_equal(((int (*)(void))function("thrd_yield"))(), 0);
  assert_int_equal(((int (*)(void))function("sched_yield"))(), 0);
  assert_int_equal(yields, 2);
}

/* ---- VPs */

static int vps_started, vps_deferred, vps_error;
static uint64_t cpu_time;
static void (*on_init)(void);
static sigset_t mask_of_vps;

uint64_t os_cpu_time(void) { return cpu_time; }
void mti_defer_vps(void) { vps_deferred++; }
void tm_job_on_init(void (*begun)(void)) { on_init = begun; }

int mti_start_vps(void) {
  assert_int_equal(locked, 0);
  vps_started++;
  pthread_sigmask(SIG_SETMASK, NULL, &mask_of_vps);
  return vps_error;
}

void tm_job_abort(int status) {
  assert_int_equal(status, 1);
  _exit(AT_END + 1);
}

static void block(int signo) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signo);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void begin_vps(void) {
  block(SIGUSR1);
  tm_vps_later();
  assert_int_equal(vps_deferred, 1);
  assert_non_null(on_init);
  block(SIGUSR2); /* as in the watcher */
}

static void check_vps_were_made(void) {
  sigset_t own;
  assert_int_equal(vps_started, 1);
  assert_true(sigismember(&mask_of_vps, SIGUSR1) && !sigismember(&mask_of_vps, SIGUSR2));
  pthread_sigmask(SIG_SETMASK, NULL, &own);
  assert_true(sigismember(&own, SIGUSR1) && sigismember(&own, SIGUSR2));
  assert_false(tm_vps_look());
  on_init();
  assert_int_equal(vps_started, 1);
  assert_int_equal(locked, 0);
}

static void vps_at_the_end_of_init(void) {
  begin_vps();
  assert_true(tm_vps_look());
  now += 3600 * (uint64_t)SECOND; /* ranks are not placed yet */
  cpu_time += 3600 * (uint64_t)SECOND;
  assert_true(tm_vps_look());
  on_init();
  check_vps_were_made();
}

static void vps_after_a_while(void) {
  cpu_time = 8;
  begin_vps();
  tm_vps_placed();
  now += 50 * MS - 1;
  cpu_time = 15;
  assert_true(tm_vps_look());
  assert_int_equal(vps_started, 0);
  now++;
  assert_false(tm_vps_look());
  check_vps_were_made();
}

static void vps_after_computing(void) {
  cpu_time = 8;
  begin_vps();
  tm_vps_placed();
  cpu_time = 16; /* as much as placing took */
  assert_false(tm_vps_look());
  check_vps_were_made();
}

static void vps_that_cannot_be_made(void) {
  begin_vps();
  vps_error = EAGAIN;
  on_init();
}

/* ---- a job that stands still */

static uint64_t rest_mark = 1000;
static bool looks = true, timers, waits_forever = true, listed = true, report_ends;
static int task_count = 3, deadlocks, standstills, flushes;
static uint64_t switches = 5;
static struct tm_process processes[2];

bool mti_looks_for_deadlocks(void) { return looks; }
uint64_t mti_rest_mark(void) { return rest_mark; }
bool mti_task_rests(int tid) { return tid == 1; }
bool tm_timers_were_made(void) { return timers; }
int os_task_count(void) { return task_count; }
struct tm_process *tm_process_of(int rank) { return &processes[rank]; }
void tm_flush_all(void) { flushes++; }

bool os_task_waits_forever(const struct os_task *task, uint64_t *of) {
  assert_int_equal(task->tid, 2);
  *of = switches;
  return waits_forever;
}

bool os_tasks_visit(bool (*visit)(const struct os_task *task, void *context), void *context) {
  const struct os_task tasks[] = {{.tid = gettid()}, {.tid = 1}, {.tid = 2}};
  for (int i = 0; i < 3; i++)
    if (!visit(&tasks[i], context)) return false;
  return listed;
}

bool mti_deadlock_report(void) {
  deadlocks++;
  return report_ends;
}

void tm_report(const char *title, bool still) {
  assert_string_equal(title, "standstill");
  assert_true(still);
  standstills++;
}

static void look(void) { tm_standstill_look(5 * (uint64_t)SECOND); }

/* Two looks find the same. */
static void it_stands_still(void) {
  tm_job.size = 2;
  look();
  assert_int_equal(deadlocks, 0);
  cpu_time += 50 * MS;
  look();
  assert_int_equal(deadlocks, 1);
  look(); /* it is reported once */
  look();
  assert_int_equal(deadlocks, 1);
  assert_int_equal(flushes, 0);
}

static void it_ends(void) {
  report_ends = true;
  it_stands_still();
}

/* Each of these says that something may happen, or that nobody knows. */
static void it_does_not_stand_still(void) {
  tm_job.size = 2;
  for (int why = 0; why < 9; why++) {
    switches += 10;
    look();
    switch (why) {
      case 0: switches++; break;
      case 1: cpu_time += 50 * MS + 1; break;
      case 2: rest_mark = 0; break;
      case 3: timers = true; break;
      case 4: listed = false; break;
      case 5: task_count++; break;
      case 6: waits_forever = false; break;
      case 7: looks = false; break;
      default: tm_job.far = (const struct tm_transport *)&self; break;
    }
    look();
    if (why == 0) continue;
    look(); /* what was the same before that does not count */
    rest_mark = 1000;
    timers = false;
    looks = listed = waits_forever = true;
    task_count = 3;
    tm_job.far = NULL;
  }
  rest_mark++; /* a rank ran */
  look();
  assert_int_equal(deadlocks, 0);
  look();
  assert_int_equal(deadlocks, 1);
}

static void a_signal_may_end_it(void) {
  tm_job.size = 2;
  processes[1].signals = (struct tm_signals *)&self;
  look();
  look();
  look();
  assert_int_equal(standstills, 1);
  assert_int_equal(deadlocks, 0);
}

/* ---- each in a process */

static void ends_with(int status, void (*part)(void), const char *says) {
  char said[TEXT];
  int got;
  struct captured captured = captured_begin();
  pid_t child = fork();
  if (child == 0) {
    part();
    _exit(AT_END);
  }
  pid_t ended = waitpid(child, &got, 0);
  captured_end(&captured, said, sizeof said);
  assert_true(ended == child && WIFEXITED(got));
  assert_string_equal(said, says);
  assert_int_equal(WEXITSTATUS(got), status);
}

static void vps(void **state) {
  (void)state;
  ends_with(AT_END, vps_at_the_end_of_init, "");
  ends_with(AT_END, vps_after_a_while, "");
  ends_with(AT_END, vps_after_computing, "");
  ends_with(AT_END + 1, vps_that_cannot_be_made, "");
}

static void standstill(void **state) {
  (void)state;
  ends_with(AT_END, it_stands_still, "");
  ends_with(MLTP_EXIT_DEADLOCK, it_ends, "");
  ends_with(AT_END, it_does_not_stand_still, "");
  ends_with(AT_END, a_signal_may_end_it,
            "tmpirun: for 5 s each thread of the job has waited for another one, and only a signal "
            "can end that (end the job by Ctrl-C, or see above what its ranks wait for; "
            "MLTP_DEADLOCK=off does not look)\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_rank_without_handlers_sleeps_at_once),
      cmocka_unit_test(a_rank_sleeps_as_long_as_it_can),
      cmocka_unit_test(clocks_that_are_none),
      cmocka_unit_test(a_rank_with_handlers_looks_for_calls),
      cmocka_unit_test(sleeping_until_a_time),
      cmocka_unit_test(threads_of_no_rank_use_libc),
      cmocka_unit_test(vps),
      cmocka_unit_test(standstill),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
