/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of ranks, call by call (src/tmpi/run/timers.c): the kernel's timers are an array, and one
 * thread plays all ranks. Which rank a timer belongs to, what reaches the kernel and what comes
 * back, and what happens where the kernel or the memory has no room.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "captured.h"
#include "counted_blocks.h"
#include "internal_locks.h"
#include "overridden.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "traced_calls.h"

enum { IDS = 600, BUCKETS = 256 /* of the table: timers whose numbers differ by it share one */ };

static struct tm_program program = {.ranks = 2};
struct tm_program *tm_the_program = &program;
static int rank; /* the calling one */
static char text[1000];

int tm_rank_number(void) { return rank; }

/* ---- the kernel */

static struct kernel_timer {
  bool exists;
  struct itimerspec value;
} timers[IDS];
static int next_id;  /* of the timer that is made next */
static int refusal;  /* errno of the next call for a timer; 0: it succeeds */
static bool blocked; /* signals */

static bool refuses(void) {
  if (refusal == 0) return false;
  errno = refusal;
  refusal = 0;
  return true;
}

/* A handler may make a timer: it must not interrupt a thread that has the internal lock. */
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
  assert_int_equal(how, SIG_SETMASK);
  assert_int_equal(locked, 0);
  if (before != NULL) {
    assert_true(sigismember(set, SIGALRM) && sigismember(set, SIGRTMAX));
    assert_false(blocked);
    sigemptyset(before);
    sigaddset(before, SIGUSR2);
  } else
    assert_true(!sigismember(set, SIGALRM) && sigismember(set, SIGUSR2));
  blocked = before != NULL;
  return 0;
}

static struct kernel_timer *timer_of(timer_t id) {
  int number = (int)(intptr_t)id;
  return number >= 0 && number < IDS && timers[number].exists ? &timers[number] : NULL;
}

int __wrap_timer_create(clockid_t clock, struct sigevent *event, timer_t *id);
int __wrap_timer_create(clockid_t clock, struct sigevent *event, timer_t *id) {
  if (event == NULL)
    note("create:%d,%d", next_id, (int)clock);
  else
    note("create:%d,%d,%d,%d", next_id, (int)clock, event->sigev_notify, event->sigev_signo);
  if (refuses()) return -1;
  assert_false(timers[next_id].exists);
  timers[next_id] = (struct kernel_timer){.exists = true};
  *id = (timer_t)(intptr_t)next_id;
  return 0;
}

int __wrap_timer_delete(timer_t id);
int __wrap_timer_delete(timer_t id) {
  struct kernel_timer *timer = timer_of(id);
  note("delete:%d", (int)(intptr_t)id);
  errno = EINVAL; /* also where it succeeds: then it says nothing */
  if (timer == NULL) return -1;
  timer->exists = false;
  return 0;
}

int __wrap_timer_settime(timer_t id, int flags, const struct itimerspec *new,
                         struct itimerspec *old);
int __wrap_timer_settime(timer_t id, int flags, const struct itimerspec *new,
                         struct itimerspec *old) {
  assert_non_null(timer_of(id));
  assert_int_equal(flags, 0);
  note("set:%d,%d.%d,%d.%d", (int)(intptr_t)id, (int)new->it_value.tv_sec,
       (int)new->it_value.tv_nsec, (int)new->it_interval.tv_sec, (int)new->it_interval.tv_nsec);
  if (refuses()) return -1;
  *old = timer_of(id)->value;
  timer_of(id)->value = *new;
  return 0;
}

int __wrap_timer_gettime(timer_t id, struct itimerspec *now);
int __wrap_timer_gettime(timer_t id, struct itimerspec *now) {
  assert_non_null(timer_of(id));
  if (refuses()) return -1;
  *now = timer_of(id)->value;
  return 0;
}

/* Those of the process. */
int __wrap_setitimer(__itimer_which_t kind, const struct itimerval *new, struct itimerval *old);
int __wrap_setitimer(__itimer_which_t kind, const struct itimerval *new, struct itimerval *old) {
  (void)old;
  note("setitimer:%d,%d", (int)kind, (int)new->it_value.tv_sec);
  return 21;
}

int __wrap_getitimer(__itimer_which_t kind, struct itimerval *value);
int __wrap_getitimer(__itimer_which_t kind, struct itimerval *value) {
  (void)value;
  note("getitimer:%d", (int)kind);
  return 22;
}

unsigned __wrap_alarm(unsigned seconds);
unsigned __wrap_alarm(unsigned seconds) {
  note("alarm:%u", seconds);
  return 23;
}

unsigned __wrap_ualarm(unsigned microseconds, unsigned interval);
unsigned __wrap_ualarm(unsigned microseconds, unsigned interval) {
  note("ualarm:%u,%u", microseconds, interval);
  return 24;
}

/* ---- the calls of a rank's program */

static int set_timer(int kind, const struct itimerval *new, struct itimerval *old) {
  typedef int function(int, const struct itimerval *, struct itimerval *);
  return ((function *)overridden(tm_override_timers, "setitimer"))(kind, new, old);
}

static int get_timer(int kind, struct itimerval *value) {
  typedef int function(int, struct itimerval *);
  return ((function *)overridden(tm_override_timers, "getitimer"))(kind, value);
}

static unsigned alarm_in(unsigned seconds) {
  typedef unsigned function(unsigned);
  return ((function *)overridden(tm_override_timers, "alarm"))(seconds);
}

static unsigned alarm_in_us(unsigned microseconds, unsigned interval) {
  typedef unsigned function(unsigned, unsigned);
  return ((function *)overridden(tm_override_timers, "ualarm"))(microseconds, interval);
}

static int create_as(int caller, int id, clockid_t clock, int notify) {
  typedef int function(clockid_t, struct sigevent *, timer_t *);
  struct sigevent event = {.sigev_notify = notify, .sigev_signo = SIGUSR1};
  timer_t made = NULL;
  rank = caller;
  next_id = id;
  int result = ((function *)overridden(tm_override_timers, "timer_create"))(
      clock, notify == -1 ? NULL : &event, &made);
  if (result == 0) assert_int_equal((int)(intptr_t)made, id);
  return result;
}

static int delete_as(int caller, int id) {
  typedef int function(timer_t);
  rank = caller;
  return ((function *)overridden(tm_override_timers, "timer_delete"))((timer_t)(intptr_t)id);
}

static int start(void **state) {
  (void)state;
  rank = 0;
  next_id = 0;
  refusal = 0;
  memory_is_out = false;
  program.ranks = 2;
  trace[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  for (int i = 0; i < 8; i++) tm_timers_end(i);
  for (int i = 0; i < IDS; i++) timers[i].exists = false;
  return 0;
}

/* ---- tests */

/* Nothing is looked for where no rank has made a timer. */
static void test_no_timers(void **state) {
  (void)state;
  assert_false(tm_timers_were_made());
  tm_timers_end(0);
  assert_int_equal(tm_timer_rank(0), TM_TIMER_UNKNOWN);
  assert_int_equal(alarm_in(0), 0);
  assert_int_equal(alarm_in_us(0, 7), 0);
  check_trace("");
  assert_false(tm_timers_were_made());
}

static void test_a_timer_belongs_to_the_rank_that_made_it(void **state) {
  (void)state;
  assert_int_equal(create_as(1, 5, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
  assert_int_equal(create_as(0, 5 + BUCKETS, CLOCK_REALTIME, SIGEV_THREAD_ID), 0);
  assert_int_equal(create_as(7, 0, CLOCK_REALTIME, -1), 0);
  assert_true(tm_timers_were_made());
  check_trace("create:5,1,0,10 create:261,0,4,10 create:0,0 ");
  assert_int_equal(tm_timer_rank(5), 1);
  assert_int_equal(tm_timer_rank(5 + BUCKETS), 0);
  assert_int_equal(tm_timer_rank(0), 7);
  assert_int_equal(tm_timer_rank(5 + 2 * BUCKETS), TM_TIMER_UNKNOWN);
  assert_int_equal(tm_timer_rank(6), TM_TIMER_UNKNOWN);
}

/* Ranks below the greatest number that tmpirun allows. */
static void test_great_numbers(void **state) {
  (void)state;
  assert_int_equal(create_as(999999, IDS - 1, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
  assert_int_equal(tm_timer_rank(IDS - 1), 999999);
  tm_timers_end(999999);
  check_trace("create:599,1,0,10 delete:599 ");
}

/* A signal of it may still be on its way, and comes to no rank. */
static void test_a_timer_that_is_gone_is_known_to_be_gone(void **state) {
  (void)state;
  assert_int_equal(create_as(1, 5, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
  assert_int_equal(create_as(1, 5 + BUCKETS, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
  assert_int_equal(delete_as(1, 5), 0);
  assert_int_equal(tm_timer_rank(5), -1);
  assert_int_equal(tm_timer_rank(5 + BUCKETS), 1);
  assert_int_equal(delete_as(1, 5), -1);
  assert_int_equal(errno, EINVAL);
  check_trace("create:5,1,0,10 create:261,1,0,10 delete:5 delete:5 ");
}

/* Its entry is the next one's in the bucket, whose number takes the place of its own. */
static void test_entries_are_used_again(void **state) {
  (void)state;
  int before = blocks;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(create_as(i, 40, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
    assert_int_equal(create_as(i, 40 + BUCKETS, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
    assert_int_equal(tm_timer_rank(40), i);
    assert_int_equal(delete_as(i, 40 + BUCKETS), 0);
    assert_int_equal(delete_as(i, 40), 0);
  }
  assert_int_equal(blocks, before + 2);
}

static void test_a_rank_that_ends_deletes_its_timers(void **state) {
  (void)state;
  const struct itimerval once = {{0, 0}, {1, 0}};
  assert_int_equal(create_as(1, 255, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
  assert_int_equal(create_as(0, 511, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
  assert_int_equal(create_as(1, 256, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
  next_id = 3;
  assert_int_equal(set_timer(ITIMER_REAL, &once, NULL), 0);
  trace[0] = '\0';
  tm_timers_end(1);
  assert_non_null(strstr(trace, "delete:255 "));
  assert_non_null(strstr(trace, "delete:256 "));
  assert_non_null(strstr(trace, "delete:3 "));
  assert_int_equal(strlen(trace), strlen("delete:255 delete:256 delete:3 "));
  trace[0] = '\0';
  tm_timers_end(1);
  check_trace("");
  assert_int_equal(tm_timer_rank(256), -1);
  assert_int_equal(tm_timer_rank(511), 0);
}

/* A timer that sends no signal is no rank's. */
static void test_timers_without_signals_are_not_noted(void **state) {
  (void)state;
  assert_int_equal(create_as(0, 7, CLOCK_MONOTONIC, SIGEV_NONE), 0);
  assert_int_equal(create_as(0, 8, CLOCK_MONOTONIC, SIGEV_THREAD), 0);
  assert_int_equal(tm_timer_rank(7), TM_TIMER_UNKNOWN);
  assert_int_equal(tm_timer_rank(8), TM_TIMER_UNKNOWN);
  assert_int_equal(delete_as(0, 7), 0);
}

static void test_timers_that_cannot_be_made(void **state) {
  (void)state;
  refusal = ENOTSUP;
  assert_int_equal(create_as(0, 9, CLOCK_MONOTONIC, SIGEV_SIGNAL), -1);
  assert_int_equal(errno, ENOTSUP);
  check_trace("create:9,1,0,10 ");
  memory_is_out = true;
  assert_int_equal(create_as(0, 9, CLOCK_MONOTONIC, SIGEV_SIGNAL), -1);
  assert_int_equal(errno, EAGAIN);
  check_trace("create:9,1,0,10 delete:9 ");
  assert_int_equal(tm_timer_rank(9), TM_TIMER_UNKNOWN);
  const struct itimerval once = {{0, 0}, {1, 0}};
  next_id = 10;
  assert_int_equal(set_timer(ITIMER_REAL, &once, NULL), -1);
  assert_int_equal(errno, EAGAIN);
}

/* Nanoseconds are rounded up: 0 microseconds would mean that the timer does not run. */
static void test_times_are_converted(void **state) {
  (void)state;
  struct itimerval wanted = {{1, 2}, {3, 999999}}, found;
  next_id = 11;
  assert_int_equal(get_timer(ITIMER_REAL, &found), 0);
  check_trace(""); /* asking makes no timer */
  assert_true(found.it_value.tv_sec == 0 && found.it_value.tv_usec == 0);
  assert_true(found.it_interval.tv_sec == 0 && found.it_interval.tv_usec == 0);
  assert_int_equal(set_timer(ITIMER_REAL, &wanted, NULL), 0);
  check_trace("create:11,1,0,14 set:11,3.999999000,1.2000 ");
  timers[11].value = (struct itimerspec){{1, 999999001}, {0, 1}};
  assert_int_equal(get_timer(ITIMER_REAL, &found), 0);
  assert_true(found.it_interval.tv_sec == 2 && found.it_interval.tv_usec == 0);
  assert_true(found.it_value.tv_sec == 0 && found.it_value.tv_usec == 1);
  timers[11].value = (struct itimerspec){{1, 999999000}, {5, 1001}};
  assert_int_equal(set_timer(ITIMER_REAL, NULL, &found), 0);
  assert_true(found.it_interval.tv_sec == 1 && found.it_interval.tv_usec == 999999);
  assert_true(found.it_value.tv_sec == 5 && found.it_value.tv_usec == 2);
  check_trace("set:11,0.0,0.0 "); /* the same timer */
  refusal = EINVAL;
  assert_int_equal(set_timer(ITIMER_REAL, &wanted, &found), -1);
  assert_int_equal(found.it_value.tv_sec, 5); /* it is left alone */
  refusal = EINVAL;
  assert_int_equal(get_timer(ITIMER_REAL, &found), -1);
  refusal = EAGAIN;
  rank = 1;
  assert_int_equal(set_timer(ITIMER_REAL, &wanted, NULL), -1);
}

static void create_of_cpu_time(const void *unused) {
  (void)unused;
  assert_int_equal(create_as(1, 3, CLOCK_PROCESS_CPUTIME_ID, SIGEV_SIGNAL), 0);
}

/* Before the others: a job says it once. */
static void test_a_created_timer_counts_the_cpu_time_of_all(void **state) {
  (void)state;
  assert_true(captured_in_child(create_of_cpu_time, NULL, text, sizeof text));
  assert_string_equal(text,
                      "tmpirun: rank 1 called timer_create() for CPU time: its timer counts that "
                      "of all ranks (use ITIMER_REAL)\n");
}

/* Each rank has one of each kind. */
static void test_kinds_of_timers(void **state) {
  (void)state;
  static const int kinds[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
  const struct itimerval once = {{0, 0}, {1, 0}};
  struct itimerval found;
  struct captured captured = captured_begin();
  for (int i = 0; i < 6; i++) {
    rank = 2 + i / 3;
    next_id = 20 + i;
    assert_int_equal(set_timer(kinds[i % 3], &once, NULL), 0);
  }
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text,
                      "tmpirun: rank 2 called setitimer() for CPU time: its timer counts that of "
                      "all ranks (use ITIMER_REAL)\n"); /* once */
  check_trace(
      "create:20,1,0,14 set:20,1.0,0.0 create:21,2,0,26 set:21,1.0,0.0 "
      "create:22,2,0,27 set:22,1.0,0.0 create:23,1,0,14 set:23,1.0,0.0 "
      "create:24,2,0,26 set:24,1.0,0.0 create:25,2,0,27 set:25,1.0,0.0 ");
  for (int i = 0; i < 6; i++) {
    timers[20 + i].value.it_value.tv_sec = 30 + i;
    rank = 2 + i / 3;
    assert_int_equal(get_timer(kinds[i % 3], &found), 0);
    assert_int_equal(found.it_value.tv_sec, 30 + i);
    assert_int_equal(tm_timer_rank(20 + i), rank);
  }
  /* a timer of timer_create() is none of them */
  assert_int_equal(create_as(4, 30, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
  for (int i = 0; i < 3; i++) assert_int_equal(get_timer(kinds[i], &found), 0);
  assert_int_equal(found.it_value.tv_sec, 0);
}

static void test_alarms(void **state) {
  (void)state;
  static const struct {
    struct timespec left;
    unsigned seconds;
  } cases[] = {{{0, 0}, 0},         {{0, 1}, 1},         {{0, 499999000}, 1}, {{1, 499999000}, 1},
               {{1, 500000000}, 2}, {{2, 999999000}, 3}, {{7, 0}, 7}};
  struct captured captured = captured_begin();
  next_id = 0;
  assert_int_equal(alarm_in(9), 0);
  check_trace("create:0,1,0,14 set:0,9.0,0.0 ");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    timers[0].value.it_value = cases[i].left;
    assert_int_equal(alarm_in(0), cases[i].seconds);
  }
  trace[0] = '\0';
  timers[0].value.it_value = (struct timespec){1, 5000};
  assert_int_equal(alarm_in_us(2000003, 1000001), 1000005);
  check_trace("set:0,2.3000,1.1000 ");
  assert_int_equal(alarm_in_us(0, 0), 2000003);
  assert_int_equal(alarm_in_us(4, 0), 0);
  assert_int_equal(alarm_in_us(0, 5), 4);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text, "");
}

static void test_an_alarm_without_a_timer_is_said(void **state) {
  (void)state;
  struct captured captured = captured_begin();
  rank = 1;
  refusal = EAGAIN;
  unsigned left = alarm_in(2);
  captured_end(&captured, text, sizeof text);
  assert_int_equal(left, 0);
  assert_string_equal(text,
                      "tmpirun: rank 1: alarm() has no timer, so its signal does not come: "
                      "Resource temporarily unavailable (allow pending signals by ulimit -i)\n");
}

/* Where one rank runs, or the caller belongs to none, timers are those of the process. */
static void test_calls_of_no_rank_and_of_the_only_one(void **state) {
  (void)state;
  const struct itimerval once = {{0, 0}, {9, 0}};
  struct itimerval found;
  assert_int_equal(create_as(0, 50, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
  for (int i = 0; i < 2; i++) {
    int caller = i == 0 ? -1 : 0;
    program.ranks = i == 0 ? 2 : 1;
    trace[0] = '\0';
    assert_int_equal(create_as(caller, 51, CLOCK_MONOTONIC, SIGEV_SIGNAL), 0);
    assert_int_equal(tm_timer_rank(51), TM_TIMER_UNKNOWN);
    assert_int_equal(delete_as(caller, 51), 0);
    assert_int_equal(set_timer(ITIMER_REAL, &once, &found), 21);
    assert_int_equal(get_timer(ITIMER_PROF, &found), 22);
    assert_int_equal(alarm_in(3), 23);
    assert_int_equal(alarm_in_us(4, 5), 24);
    check_trace("create:51,1,0,10 delete:51 setitimer:0,9 getitimer:2 alarm:3 ualarm:4,5 ");
    assert_int_equal(delete_as(caller, 50), i == 0 ? 0 : -1);
    assert_int_equal(tm_timer_rank(50), 0); /* it is the rank's until that deletes it */
  }
  program.ranks = 2;
  rank = 0;
  trace[0] = '\0';
  assert_int_equal(set_timer(ITIMER_PROF + 1, &once, &found), 21); /* libc refuses it */
  assert_int_equal(get_timer(-1, &found), 22);
  assert_int_equal(get_timer(ITIMER_REAL, NULL), 22);
  check_trace("setitimer:3,9 getitimer:-1 getitimer:0 ");
}

int main(void) {
#define ROW(name) cmocka_unit_test_setup_teardown(name, start, end)
  const struct CMUnitTest tests[] = {
      ROW(test_no_timers), /* the first one */
      ROW(test_a_created_timer_counts_the_cpu_time_of_all),
      ROW(test_a_timer_belongs_to_the_rank_that_made_it),
      ROW(test_great_numbers),
      ROW(test_a_timer_that_is_gone_is_known_to_be_gone),
      ROW(test_entries_are_used_again),
      ROW(test_a_rank_that_ends_deletes_its_timers),
      ROW(test_timers_without_signals_are_not_noted),
      ROW(test_timers_that_cannot_be_made),
      ROW(test_times_are_converted),
      ROW(test_kinds_of_timers),
      ROW(test_alarms),
      ROW(test_an_alarm_without_a_timer_is_said),
      ROW(test_calls_of_no_rank_and_of_the_only_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
