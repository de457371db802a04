/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a process and of the runtime: exit() from anywhere, exit handlers that use the
 * library, a runtime started again and again, foreign threads that outlive it. */
#include <fcntl.h>
#include <mltp/io.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
static int leaks(void) { return __lsan_do_recoverable_leak_check(); }
#else
static int leaks(void) { return 0; }
#endif

static struct outcome outcome;

static void run(void (*body)(void)) {
  static const char *const settings[] = {"MLTP_MISUSE=error", NULL};
  run_child(&outcome, body, settings);
  print_message("%s", outcome.said);
}

static void check_exits(void (*body)(void), int status) {
  run(body);
  assert_true(WIFEXITED(outcome.status));
  assert_int_equal(WEXITSTATUS(outcome.status), status);
}

/* --------------------------------------------------------- others that continue */

static mltp_sem_t started;

static void *compute(void *p0) {
  mltp_sem_post(&started);
  for (;;) mltp_yield();
  return p0;
}

static void *wait_for_ever(void *p0) {
  mltp_sem_t never = MLTP_SEM_INIT(0);
  mltp_sem_post(&started);
  mltp_sem_wait(&never);
  return p0;
}

static void start_others(void) {
  if (mltp_init(0) != 0) _exit(1);
  spawn(compute, NULL);
  spawn(wait_for_ever, NULL);
  spawn_bound(compute, NULL);
  spawn_bound(wait_for_ever, NULL);
  for (int i = 0; i < 4; i++) mltp_sem_wait(&started);
}

/* ------------------------------------------------------------------------ exit() */

static enum kind exiting; /* KINDS: main */
static void (*ending)(void);

static void *end_here(void *p0) {
  ending();
  return p0;
}

static void end_among_others(void) {
  static struct worker worker;
  start_others();
  if (exiting == KINDS) end_here(NULL);
  worker_start(&worker, exiting, end_here, NULL);
  worker_join(&worker);
}

static void by_exit(void) { exit(40); }
static void by_quick_exit(void) { quick_exit(40); }
static void by__exit(void) { _exit(40); }

static void exit_in_handler(int signo) { exit(20 + signo); }

static void by_handler(void) {
  signal(SIGUSR2, exit_in_handler);
  raise(SIGUSR2);
}

static void *same(void *p0) { return p0; }

/* Its thread is whichever called exit(). */
static void use_library(void) {
  void *result = NULL;
  mltp_t *thread = spawn(same, &result);
  mltp_sleep(1000);
  if (thread == NULL || mltp_join(thread, &result) != 0 || result != &result) _exit(41);
  dprintf(2, "the exit handler is done\n");
}

static void by_exit_with_a_handler(void) {
  atexit(use_library);
  exit(42);
}

static void check_everywhere(void (*how)(void), int status) {
  ending = how;
  for (int kind = UNBOUND; kind <= KINDS; kind++) {
    if (kind == MIXED) continue;
    exiting = (enum kind)kind;
    check_exits(end_among_others, status);
  }
}

static void any_thread_may_exit(void) {
  if (SANITIZED) skip(); /* others own what looks like a leak */
  check_everywhere(by_exit, 40);
  check_everywhere(by_quick_exit, 40);
  check_everywhere(by_handler, 20 + SIGUSR2);
}

static void any_thread_may_end_the_process_at_once(void) { check_everywhere(by__exit, 40); }

static void exit_handlers_may_use_the_library(void) {
  if (SANITIZED) skip();
  check_everywhere(by_exit_with_a_handler, 42);
  assert_non_null(strstr(outcome.said, "the exit handler is done"));
}

static void abort_in_a_thread(void) {
  exiting = UNBOUND;
  ending = abort;
  run(end_among_others);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
}

static void *end_late(void *count) {
  mltp_sleep(2000000);
  __atomic_fetch_add((int *)count, 1, __ATOMIC_RELAXED);
  return NULL;
}

static int ended;

static void print_count(void) { dprintf(2, "%d have ended\n", ended); }

static void exit_of_main(void) {
  if (mltp_init(0) != 0) _exit(1);
  for (int i = 0; i < 4; i++) i % 2 == 0 ? spawn(end_late, &ended) : spawn_bound(end_late, &ended);
  atexit(print_count);
  mltp_exit(NULL);
}

static void mltp_exit_in_main_waits_for_the_others(void) {
  if (SANITIZED) skip(); /* mltp_exit() leaves main's frames behind */
  check_exits(exit_of_main, 0);
  assert_non_null(strstr(outcome.said, "4 have ended"));
}

/* --------------------------------------------------------------- mltp_finalize() */

static void finalize_for_ever(void) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  mltp_t *thread;
  if (mltp_init(0) != 0) _exit(1);
  for (attr.bound = 0; attr.bound < 2; attr.bound++) {
    attr.name = attr.bound ? "bound-waiter" : "waiter";
    mltp_create(&thread, &attr, wait_for_ever, NULL);
  }
  mltp_finalize();
}

static void mltp_finalize_says_who_never_ends(void) {
  if (EMULATED) skip(); /* a kernel thread of qemu's own might wake others, for all we know */
  check_exits(finalize_for_ever, MLTP_EXIT_DEADLOCK);
  assert_non_null(strstr(outcome.said, "deadlock"));
  assert_non_null(strstr(outcome.said, "'waiter'"));
  assert_non_null(strstr(outcome.said, "'bound-waiter'"));
  assert_non_null(strstr(outcome.said, "waits for semaphore"));
}

static int mappings(void) {
  int lines = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  for (int c; maps != NULL && (c = getc(maps)) != EOF;) lines += c == '\n';
  if (maps != NULL) fclose(maps);
  return lines;
}

static void *block(void *p0) {
  mltp_blocking_begin();
  mltp_blocking_end();
  return p0;
}

/* With a different number of VPs each time; where main is in the end differs, too. */
static void again_and_again(void) {
  int before = 0;
  for (int round = 0; round < scaled(1000); round++) {
    if (round == scaled(20)) before = mappings();
    if (mltp_init(round % 5 + 1) != 0) _exit(1);
    for (int i = 0; i < 4; i++) spawn(i % 2 == 0 ? same : block, NULL);
    if (round % 4 == 0) spawn_bound(same, NULL);
    mltp_yield();
    if (mltp_finalize() != 0) _exit(2);
  }
  int after = mappings();
  if (!SANITIZED && after > before + 20) {
    dprintf(2, "%d mappings have become %d\n", before, after);
    _exit(3);
  }
  if (leaks()) _exit(4);
}

static void a_runtime_can_be_started_a_thousand_times(void) { check_exits(again_and_again, 0); }

/* @return how many kernel threads the process has that are not a sanitizer's. */
static int tasks(void) {
  struct stat folder;
  if (stat("/proc/self/task", &folder) != 0) _exit(5);
  return (int)folder.st_nlink - 2 - THREAD_SANITIZED;
}

static void *read_one(void *p0) {
  char byte;
  size_t count;
  mltp_io_read(*(int *)p0, &byte, 1, &count);
  return p0;
}

/* Nothing of its text is in memory before, so the call is another kernel thread's. */
static void *read_version(void *p0) {
  char byte;
  size_t count;
  mltp_io_pread(*(int *)p0, &byte, 1, 0, &count);
  return p0;
}

/* VPs, the monitor, bound threads, the poller, and helpers that make calls on files. The kernel
 * lists a kernel thread for a moment after it was joined. One that stays makes this hang. */
static void use_all_kernel_threads(void) {
  int ends[2], version = open("/proc/version", O_RDONLY | O_CLOEXEC);
  if (version < 0 || pipe(ends) != 0) _exit(1);
  for (int round = 0; round < 3; round++) {
    if (mltp_init(0) != 0) _exit(1);
    spawn(read_one, &ends[0]);
    spawn_bound(read_one, &ends[0]);
    for (int i = 0; i < 2; i++) spawn(read_version, &version);
    for (int i = 0; i < 2; i++) mltp_io_write(ends[1], "x", 1, NULL);
    if (mltp_finalize() != 0) _exit(2);
    while (tasks() > 1) usleep(1000);
  }
}

static void mltp_finalize_ends_all_kernel_threads(void) {
  if (EMULATED) skip(); /* qemu has kernel threads of its own */
  check_exits(use_all_kernel_threads, 0);
}

/* ----------------------------------------------------- a foreign thread continues */

static pthread_barrier_t step;

static void *outlive(void *p0) {
  mltp_lock_t lock = MLTP_LOCK_INIT;
  CHECK(mltp_self() != NULL);
  pthread_barrier_wait(&step); /* the runtime ends */
  pthread_barrier_wait(&step);
  CHECK(spawn(same, NULL) == NULL);
  CHECK_EQUAL(mltp_set_vps(2), EPERM);
  CHECK_EQUAL(mltp_lock(&lock), 0); /* needs no runtime */
  CHECK_EQUAL(mltp_unlock(&lock), 0);
  pthread_barrier_wait(&step); /* another begins */
  pthread_barrier_wait(&step);
  mltp_t *thread = spawn(same, p0);
  CHECK(thread != NULL);
  CHECK_EQUAL(mltp_join(thread, NULL), 0);
  return p0;
}

static void outlived(void) {
  pthread_t thread;
  pthread_barrier_init(&step, NULL, 2);
  CHECK_EQUAL(mltp_init(0), 0);
  pthread_create(&thread, NULL, outlive, NULL);
  pthread_barrier_wait(&step);
  CHECK_EQUAL(mltp_finalize(), 0);
  pthread_barrier_wait(&step);
  pthread_barrier_wait(&step);
  CHECK_EQUAL(mltp_init(0), 0);
  pthread_barrier_wait(&step);
  mltp_blocking_begin(); /* its thread needs a VP */
  pthread_join(thread, NULL);
  mltp_blocking_end();
  CHECK_EQUAL(mltp_finalize(), 0);
  assert_checks();
}

static void a_foreign_thread_outlives_the_runtime(void) {
  check_exits(outlived, 0);
  assert_non_null(strstr(outcome.said, "the runtime is not running"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(any_thread_may_exit),
      TEST_BARE(any_thread_may_end_the_process_at_once),
      TEST_BARE(exit_handlers_may_use_the_library),
      TEST_BARE(abort_in_a_thread),
      TEST_BARE(mltp_exit_in_main_waits_for_the_others),
      TEST_BARE(mltp_finalize_says_who_never_ends),
      TEST_BARE(a_runtime_can_be_started_a_thousand_times),
      TEST_BARE(mltp_finalize_ends_all_kernel_threads),
      TEST_BARE(a_foreign_thread_outlives_the_runtime),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
