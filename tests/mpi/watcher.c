/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a failed job (src/tmpi/run/watch.c, rank_end.c). Most often the watcher ends it.
 * While it makes VPs it may wait for a lock of pthread_create(), which the code that a handler has
 * interrupted holds: then the thread that waits for the end ends the job. Each job is a child of
 * the test, since it ends its process. The clock moves only when a sleeper sleeps. watch_steps.c
 * has what the watcher does by itself, and that one thread ends the job.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <mltp/mltp.h>

#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/loader/program.h"
#include "tmpi/match/deferred.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/report.h"
#include "tmpi/run/joined.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"
#include "tmpi/run/working_directory.h"

enum {
  SECOND = 1000000000,
  STATUS = 3,      /* of the rank, and so of the job */
  WRONG = 90,      /* a check in the child has failed */
  HANGS = 91,      /* nobody ends the job */
  NAPS_MOST = 100, /* more of them are a hang */
};

struct tm_job tm_job;
struct tm_program *tm_the_program;
static struct tm_process process = {.thread = (mltp_t *)&process};
static uint64_t now = 12345;
static int naps, reports, flushes, waits;
static bool is_on_pthread, is_in_handler;
static void *(*watcher)(void *);

static void in_child(bool condition, int line) {
  if (condition) return;
  fprintf(stderr, "%s:%d: a check failed\n", __FILE__, line);
  _Exit(WRONG);
}
#define CHILD_CHECK(condition) in_child(condition, __LINE__)

/* Both threads are this one: the watcher calls the other one where it would wait, and gets the CPU
 * back when the other one has napped so often. */
static void (*at_vps)(void), (*at_wait)(void);
static int naps_before_return = NAPS_MOST;
static sigjmp_buf back;

/* @return when the other thread has ended the job, or has napped. */
static void run_other(void (*other)(void)) {
  if (sigsetjmp(back, 1) == 0) other();
}

/* ---- the rest of the library, and the kernel */

uint64_t os_now(void) { return now; }

/* No sample is taken here. */
int os_signal_send(int task, int signo, siginfo_t *info) {
  (void)task, (void)signo, (void)info;
  return ESRCH;
}

void os_nap(uint64_t ns) {
  CHILD_CHECK(ns == SECOND);
  now += ns;
  if (++naps >= NAPS_MOST) _Exit(HANGS);
  if (naps == naps_before_return) siglongjmp(back, 1);
}

int os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  if (++waits > NAPS_MOST) _Exit(HANGS);
  if (at_wait != NULL) {
    void (*other)(void) = at_wait;
    at_wait = NULL;
    run_other(other);
  }
  if (*word != expected) return 0;
  CHILD_CHECK(deadline != UINT64_MAX);
  if (deadline > now) now = deadline; /* naps of the other thread may have passed it */
  return ETIMEDOUT;
}

void os_futex_wake(uint32_t *word, int count) { CHILD_CHECK(word != NULL && count == 1); }

bool tm_vps_look(void) {
  if (at_vps == NULL) return true;
  run_other(at_vps);
  _Exit(HANGS); /* the lock is still held */
}

void tm_flush_all(void) { flushes++; }

int os_write(int fd, const char *text, size_t length) {
  static const char expected[] = "tmpirun: rank 0 ended with status 3";
  CHILD_CHECK(fd == 2 && length > sizeof expected && memcmp(text, expected, 35) == 0);
  reports++;
  return 0;
}

int os_thread_start_quiet(size_t stack_size, void *(*func)(void *), void *arg) {
  CHILD_CHECK(stack_size > 0 && arg == NULL);
  watcher = func;
  return 0;
}

int os_signal_install(int signo, os_handler *handler, struct sigaction *old) {
  CHILD_CHECK(signo == SIGUSR1 && handler != NULL && old != NULL);
  return 0;
}

bool tm_on_pthread(void) { return is_on_pthread; }
bool tm_signals_acts_elsewhere(const struct tm_process *of) { return of != NULL && is_in_handler; }
struct tm_process *tm_process_of(int rank) { return rank == 0 ? &process : NULL; }
struct tm_process *tm_process_self(void) { return &process; }
mltp_t *mltp_self(void) { return is_on_pthread ? NULL : process.thread; }
bool tm_rank_leave(int number) { return number == 0; }

static int failed_status = -1;

void tm_job_failed(int number, int status) {
  CHILD_CHECK(number == 0);
  failed_status = status;
}

int tm_job_failure(int *status) {
  *status = failed_status;
  return 0;
}

void tm_job_tell(int status, const char *format, ...) {
  CHILD_CHECK(status == STATUS && format != NULL);
}

int os_priority_raise(void) { return 0; }
void os_priority_restore(int before) { CHILD_CHECK(before == 0); }
void os_real_time_take(struct os_real_time *taken) { taken->count = 0; }
int os_real_time_return(const struct os_real_time *taken) { return taken->count; }
void mti_add_bystanders(uint32_t more) { CHILD_CHECK(more == 1); }
void tm_standstill_look(uint64_t interval) { CHILD_CHECK(interval > 0); }
void tm_report(const char *title, bool still) { CHILD_CHECK(title == NULL && still); }
void tm_joined_late(void) { CHILD_CHECK(false); }
void tm_program_destruct(const struct tm_program *program, int rank) {
  CHILD_CHECK(program == NULL && rank == 0);
}
int tm_flush_free(void) { return 0; }
void tm_output_end(int rank) { CHILD_CHECK(rank == 0); }
void tm_streams_end(int rank) { CHILD_CHECK(rank == 0); }
void tm_timers_end(int rank) { CHILD_CHECK(rank == 0); }
void tm_carry_end(int rank) { CHILD_CHECK(rank == 0); }
void tm_deferred_release(struct tm_rank *rank) { CHILD_CHECK(rank == tm_job.ranks); }
void tm_job_on_rank_ends(const struct tm_rank_ends *on) { CHILD_CHECK(on == NULL); }
int mltp_waitgroup_init(mltp_waitgroup_t *group, const char *name) {
  return group != NULL && name != NULL ? 0 : EINVAL;
}
int mltp_waitgroup_add(mltp_waitgroup_t *group, int more) {
  return group != NULL && more > 0 ? 0 : EINVAL;
}
int mltp_waitgroup_done(mltp_waitgroup_t *group) { return group != NULL ? 0 : EINVAL; }
int mltp_waitgroup_wait(mltp_waitgroup_t *group) {
  CHILD_CHECK(group == NULL);
  return 0;
}
void mltp_exit(void *result) {
  CHILD_CHECK(result == NULL);
  _Exit(WRONG);
}

/* ---- */

static void rank_ends(void) { tm_process_exit(&process, STATUS, TM_AT_ONCE); }

static void ends_in_handler(void) {
  is_in_handler = true;
  rank_ends();
}

static void ends_on_pthread(void) {
  is_on_pthread = true;
  rank_ends();
}

/* Runs a job that `prepare` has made ready, until it ends. */
static void run_job(void (*prepare)(void)) {
  int status;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    prepare();
    CHILD_CHECK(tm_watch_start(0) == 0);
    watcher(NULL);
  }
  assert_true(child > 0 && waitpid(child, &status, 0) == child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), STATUS);
}

static int naps_expected;

/* In the child: the job has ended by this. */
void __wrap__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) {
  CHILD_CHECK(naps == naps_expected && reports == 1 && flushes == 1);
  _Exit(status);
}

static void a_handler_while_vps_are_made(void) {
  at_vps = ends_in_handler;
  naps_expected = 1;
}

static void a_pthread_while_vps_are_made(void) {
  at_vps = ends_on_pthread;
  naps_expected = 1;
}

/* They hold the lock that the watcher waits for. */
static void a_thread_ends_the_job_of_a_watcher_that_makes_vps(void **state) {
  (void)state;
  run_job(a_handler_while_vps_are_made);
  run_job(a_pthread_while_vps_are_made);
}

static void a_handler_elsewhere(void) {
  at_wait = ends_in_handler;
  naps_expected = naps_before_return = 5;
}

/* The watcher then ends the job at once, before any thread could help. */
static void a_watcher_that_waits_ends_the_job_itself(void **state) {
  (void)state;
  run_job(a_handler_elsewhere);
}

static void a_pthread_elsewhere(void) {
  at_wait = ends_on_pthread;
  naps_expected = naps_before_return = 5;
}

/* The other ranks get time to end by themselves. */
static void a_rank_that_fails_leaves_the_end_to_the_watcher(void **state) {
  (void)state;
  run_job(a_pthread_elsewhere);
}

int main(void) {
  static struct tm_rank rank;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_thread_ends_the_job_of_a_watcher_that_makes_vps),
      cmocka_unit_test(a_watcher_that_waits_ends_the_job_itself),
      cmocka_unit_test(a_rank_that_fails_leaves_the_end_to_the_watcher),
  };
  tm_job.ranks = &rank;
  tm_job.size = tm_job.here = 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
