/* SPDX-License-Identifier: Apache-2.0 */
/* When no thread can ever run again, the report says what each thread waits for. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

static mltp_t *start(const char *name, mltp_userf_t *func, int bound) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = name;
  attr.bound = bound;
  mltp_t *thread = NULL;
  if (mltp_create(&thread, &attr, func, NULL) != 0) _exit(1);
  return thread;
}

/* ------------------------------------------------------------- the deadlocks */

static mltp_lock_t left, right;
static mltp_barrier_t both_hold = MLTP_BARRIER_INIT(2);

static void *left_then_right(void *p0) {
  mltp_lock(&left);
  mltp_barrier_wait(&both_hold);
  mltp_lock(&right);
  return p0;
}

static void *right_then_left(void *p0) {
  mltp_lock(&right);
  mltp_barrier_wait(&both_hold);
  mltp_lock(&left);
  return p0;
}

static void deadlock_by_order(int first_is_bound, int second_is_bound) {
  mltp_init(0);
  mltp_lock_init(&left, MLTP_LOCK_STANDARD, "left-fork");
  mltp_lock_init(&right, MLTP_LOCK_STANDARD, "right-fork");
  mltp_t *alice = start("alice", left_then_right, first_is_bound);
  start("bob", right_then_left, second_is_bound);
  mltp_join(alice, NULL);
}

static void lock_order(void) { deadlock_by_order(0, 0); }

static void lock_order_with_a_bound_thread(void) { deadlock_by_order(0, 1); }

static void lock_order_of_bound_threads(void) { deadlock_by_order(1, 1); }

static mltp_sem_t never_posted = MLTP_SEM_INIT(0);

static void *wait_for_post(void *p0) {
  mltp_sem_wait(&never_posted);
  return p0;
}

static void *sleep_and_end(void *p0) {
  mltp_sleep(50000000);
  return p0;
}

/* With the kernel backend nobody begins to wait after that. */
static void last_event_is_an_end(void) {
  mltp_init(0);
  mltp_t *waiter = start("sitter", wait_for_post, 0);
  start("sleeper", sleep_and_end, 0);
  mltp_join(waiter, NULL);
}

static mltp_t *cycle[2];
static mltp_sem_t cycle_known = MLTP_SEM_INIT(0);

static void *join_second(void *p0) {
  mltp_sem_wait(&cycle_known);
  mltp_join(cycle[1], NULL);
  return p0;
}

static void *join_first(void *p0) {
  mltp_sem_wait(&cycle_known);
  mltp_join(cycle[0], NULL);
  return p0;
}

static void join_cycle(void) {
  mltp_init(0);
  cycle[0] = start("chicken", join_second, 0);
  cycle[1] = start("egg", join_first, 0);
  mltp_sem_post(&cycle_known);
  mltp_sem_post(&cycle_known);
  mltp_finalize();
}

static mltp_barrier_t gate;

static void *come_to_gate(void *p0) {
  mltp_barrier_wait(&gate);
  return p0;
}

static void barrier_misses_one(void) {
  mltp_init(0);
  mltp_barrier_init(&gate, 3, "city-gate");
  start("early", come_to_gate, 0);
  start("late", come_to_gate, 0);
  mltp_finalize();
}

static mltp_sem_t empty_sem;
static mltp_cond_t silent_cond;

static void *wait_for_sem(void *p0) {
  mltp_sem_wait(&empty_sem);
  return p0;
}

static void *wait_for_cond(void *p0) {
  mltp_cond_wait_unlocked(&silent_cond);
  return p0;
}

static void waits_for_ever(void) {
  mltp_init(0);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
  printf("held back"); /* by the C library, until the report */
  mltp_sem_init(&empty_sem, 0, "empty-cup");
  mltp_cond_init(&silent_cond, "silent-bell");
  start("thirsty", wait_for_sem, 0);
  mltp_join(start("listener", wait_for_cond, 0), NULL);
}

/* ------------------------------------------------------------- their reports */

static const char *const no_settings[] = {NULL};
static struct outcome outcome;

static void check_said(const char *const *words) {
  print_message("%s", outcome.said);
  for (; *words != NULL; words++) {
    if (strstr(outcome.said, *words) == NULL) fail_msg("the report does not say \"%s\"", *words);
  }
}

/* In a forked child ThreadSanitizer has more threads of its own than the library can tell
 * from foreign ones, each of which might wake a thread. */
static void skip_unless_noticed(void) {
  if (THREAD_SANITIZED) skip();
}

static void check_report(void (*body)(void), const char *const *words) {
  skip_unless_noticed();
  run_child(&outcome, body, no_settings);
  check_said(words);
  assert_true(WIFEXITED(outcome.status));
  assert_int_equal(WEXITSTATUS(outcome.status), MLTP_EXIT_DEADLOCK);
}

static void deadlock_by_lock_order_is_reported(void) {
  static const char *const words[] = {"deadlock",   "alice", "left-fork", "bob",
                                      "right-fork", "lock",  NULL};
  check_report(lock_order, words);
}

static void deadlock_with_a_bound_thread_is_reported(void) {
  static const char *const words[] = {"deadlock", "alice", "left-fork", "bob", "right-fork", NULL};
  check_report(lock_order_with_a_bound_thread, words);
}

/* VPs wait in the kernel, and so do bound threads. */
static void deadlock_on_semaphore_locks_is_reported(void) {
  static const char *const settings[] = {"MLTP_LOCK=semaphore", NULL};
  static const char *const words[] = {"deadlock", "alice", "left-fork", "bob", "right-fork", NULL};
  void (*const bodies[])(void) = {lock_order, lock_order_with_a_bound_thread,
                                  lock_order_of_bound_threads};
  skip_unless_noticed();
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    check_case("body %zu", i);
    run_child(&outcome, bodies[i], settings);
    check_said(words);
    assert_true(WIFEXITED(outcome.status));
    assert_int_equal(WEXITSTATUS(outcome.status), MLTP_EXIT_DEADLOCK);
  }
}

static void deadlock_by_join_cycle_is_reported(void) {
  static const char *const words[] = {"deadlock", "chicken", "egg", "join of thread", NULL};
  check_report(join_cycle, words);
}

static void deadlock_after_an_end_is_reported(void) {
  static const char *const words[] = {"deadlock", "sitter", "semaphore", NULL};
  check_report(last_event_is_an_end, words);
}

static void deadlock_at_a_barrier_is_reported(void) {
  static const char *const words[] = {"deadlock", "early", "late", "barrier", "city-gate", NULL};
  check_report(barrier_misses_one, words);
}

static void deadlock_on_semaphore_and_condition_is_reported(void) {
  static const char *const words[] = {"deadlock",    "held back", "thirsty",
                                      "empty-cup",   "semaphore", "listener",
                                      "silent-bell", "condition", NULL};
  check_report(waits_for_ever, words);
}

/* In deterministic mode the report says how to have the same run again. */
static void deadlock_report_tells_how_to_repeat_it(void) {
  static const char *const settings[] = {"MLTP_SEED=7", "MLTP_SCHEDULE=2:1", NULL};
  static const char *const words[] = {"deadlock", "MLTP_SEED=7 MLTP_SCHEDULE=2:1", NULL};
  skip_unless_noticed();
  run_child(&outcome, waits_for_ever, settings);
  check_said(words);
  assert_int_equal(WEXITSTATUS(outcome.status), MLTP_EXIT_DEADLOCK);
}

static void *yield_for_ever(void *p0) {
  for (;;) mltp_yield();
  return p0;
}

static void never_end(void) {
  mltp_init(0);
  mltp_join(start("runner", yield_for_ever, 0), NULL);
}

static void livelock_is_reported(void) {
  static const char *const settings[] = {"MLTP_SEED=7", "MLTP_STEPS_MAX=500", NULL};
  static const char *const words[] = {"livelock", "500", "runner", "join", "MLTP_SEED=7", NULL};
  run_child(&outcome, never_end, settings);
  check_said(words);
  assert_true(WIFEXITED(outcome.status));
  assert_int_equal(WEXITSTATUS(outcome.status), MLTP_EXIT_LIVELOCK);
}

/* --------------------------------------------------- what is not a deadlock */

static bool ends_after_dump;

void __real_mt_dump(int fd, int most, bool names);
void __wrap_mt_dump(int fd, int most, bool names);
void __wrap_mt_dump(int fd, int most, bool names) {
  __real_mt_dump(fd, most, names);
  if (ends_after_dump) alarm(1); /* by then it has looked again */
}

/* A child that hangs, as it should, ends by SIGALRM. */
static void hang_after_report(void) {
  signal(SIGALRM, SIG_DFL);
  ends_after_dump = true;
  barrier_misses_one();
}

static void hang_silently(void) {
  signal(SIGALRM, SIG_DFL);
  alarm(1);
  barrier_misses_one();
}

static void mltp_deadlock_report_goes_on(void) {
  static const char *const settings[] = {"MLTP_DEADLOCK=report", NULL};
  static const char *const words[] = {"deadlock", "city-gate", NULL};
  skip_unless_noticed();
  run_child(&outcome, hang_after_report, settings);
  check_said(words);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGALRM);
}

static void mltp_deadlock_off_says_nothing(void) {
  static const char *const settings[] = {"MLTP_DEADLOCK=off", NULL};
  run_child(&outcome, hang_silently, settings);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGALRM);
  assert_string_equal(outcome.said, "");
}

static void *sleep_then_post(void *p0) {
  mltp_sleep(400000000);
  mltp_sem_post(&empty_sem);
  return p0;
}

/* A timer is pending, a call blocks in the kernel, a foreign thread may come: in each
 * case a waker remains. */
static void wait_for_a_sleeper(void) {
  mltp_init(0);
  mltp_sem_init(&empty_sem, 0, NULL);
  start("sleeper", sleep_then_post, 0);
  mltp_sem_wait(&empty_sem);
  mltp_finalize();
}

static void *block_then_post(void *p0) {
  mltp_blocking_begin();
  usleep(400000);
  mltp_blocking_end();
  mltp_sem_post(&empty_sem);
  return p0;
}

static void wait_for_the_kernel(void) {
  mltp_init(0);
  mltp_sem_init(&empty_sem, 0, NULL);
  start("blocker", block_then_post, 0);
  mltp_sem_wait(&empty_sem);
  mltp_finalize();
}

static void *compute_then_post(void *p0) {
  usleep(400000); /* as far as the library knows, this bound thread runs */
  mltp_sem_post(&empty_sem);
  return p0;
}

static void wait_for_a_bound_thread(void) {
  mltp_init(0);
  mltp_sem_init(&empty_sem, 0, NULL);
  start("bound", compute_then_post, 1);
  mltp_sem_wait(&empty_sem);
  mltp_finalize();
}

static void wait_for_a_bound_sleeper(void) {
  mltp_init(0);
  mltp_sem_init(&empty_sem, 0, NULL);
  start("bound-sleeper", sleep_then_post, 1);
  mltp_sem_wait(&empty_sem);
  mltp_finalize();
}

static void wait_for_a_foreign_sleeper(void) {
  pthread_t foreign;
  mltp_init(0);
  mltp_sem_init(&empty_sem, 0, NULL);
  pthread_create(&foreign, NULL, sleep_then_post, NULL);
  mltp_sem_wait(&empty_sem);
  pthread_join(foreign, NULL);
  mltp_finalize();
}

/* A timer that is gone by the time it was to be looked at is no reason either. */
static void wait_for_sleeper_after_sleeper(void) {
  mltp_init(0);
  for (uint64_t ns = 0; ns < 3000000; ns += 30000) {
    mltp_sleep(ns);
    mltp_sleep(3000000 - ns);
  }
  mltp_finalize();
}

static void wait_for_a_foreign_thread(void) {
  pthread_t foreign;
  mltp_init(0);
  mltp_sem_init(&empty_sem, 0, NULL);
  pthread_create(&foreign, NULL, compute_then_post, NULL);
  mltp_sem_wait(&empty_sem);
  pthread_join(foreign, NULL);
  mltp_finalize();
}

static void *hold_until_posted(void *p0) {
  mltp_lock(&left);
  mltp_barrier_wait(&both_hold);
  mltp_sem_wait(&empty_sem);
  mltp_unlock(&left);
  return p0;
}

/* All known threads wait, one of them in the kernel for a lock, until a thread comes that was not
 * known. */
static void wait_for_a_lock(void) {
  pthread_t foreign;
  mltp_init(0);
  mltp_sem_init(&empty_sem, 0, NULL);
  mltp_lock_init(&left, MLTP_LOCK_SEMAPHORE, NULL);
  mltp_t *holder = start("holder", hold_until_posted, 0);
  mltp_barrier_wait(&both_hold);
  mltp_sleep(50000000); /* it waits by now, most likely even on a busy machine */
  pthread_create(&foreign, NULL, compute_then_post, NULL);
  mltp_lock(&left);
  mltp_unlock(&left);
  mltp_join(holder, NULL);
  pthread_join(foreign, NULL);
  mltp_finalize();
}

/* A thread that flushes all streams keeps libc's list of them for as long as another one reads a
 * stream. Then no thread can open one, so the library must not need to. */
static FILE *unread;

static void *read_in_vain(void *p0) {
  char line[8];
  if (fgets(line, sizeof line, unread) == NULL) _exit(1);
  return p0;
}

static void *flush_all(void *p0) {
  fflush(NULL);
  return p0;
}

static void wait_while_streams_are_held(void) {
  pthread_t reader, flusher, poster;
  int ends[2];
  if (pipe(ends) != 0) _exit(1);
  mltp_init(0); /* libc opens a stream to tell main's stack */
  mltp_sem_init(&empty_sem, 0, NULL);
  unread = fdopen(ends[0], "r");
  pthread_create(&reader, NULL, read_in_vain, NULL);
  while (ftrylockfile(unread) == 0) {
    funlockfile(unread);
    usleep(1000);
  }
  pthread_create(&flusher, NULL, flush_all, NULL);
  usleep(50000); /* it has the list */
  pthread_create(&poster, NULL, compute_then_post, NULL);
  mltp_sem_wait(&empty_sem);
  if (write(ends[1], "\n", 1) != 1) _exit(1);
  pthread_join(reader, NULL);
  pthread_join(flusher, NULL);
  pthread_join(poster, NULL);
  mltp_finalize();
}

/* The VP that goes to sleep last may have to resume main, and may lose its CPU before it does. */
static __thread int loses_cpu;

void __real_mt_finalizer_check(void);
void __wrap_mt_finalizer_check(void);
void __wrap_mt_finalizer_check(void) {
  if (loses_cpu) usleep(400000);
  loses_cpu = 0;
  __real_mt_finalizer_check();
}

static void *end_as_the_last(void *p0) {
  usleep(50000); /* the other VP falls asleep */
  loses_cpu = 1;
  return p0;
}

static void wait_for_a_vp_without_cpu(void) {
  mltp_init(0);
  start("last", end_as_the_last, 0);
  mltp_finalize();
}

/* The check counts kernel threads when this VP sees all others asleep. Meanwhile a thread runs, and
 * sleeps by a timer that was not there before. */
static bool wakes_during_check; /* [atomic] */
static bool is_about_to_sleep;  /* [atomic] */

int __real_os_task_count(void);
int __wrap_os_task_count(void);
int __wrap_os_task_count(void) {
  if (__atomic_exchange_n(&wakes_during_check, false, __ATOMIC_ACQ_REL)) {
    mltp_sem_post(&empty_sem);
    while (!__atomic_load_n(&is_about_to_sleep, __ATOMIC_ACQUIRE)) usleep(1000);
    usleep(50000); /* its VP falls asleep */
  }
  return __real_os_task_count();
}

static void *wake_and_sleep(void *p0) {
  mltp_sem_wait(&empty_sem);
  __atomic_store_n(&is_about_to_sleep, true, __ATOMIC_RELEASE);
  mltp_sleep(300000000);
  return p0;
}

static void wait_for_a_thread_that_woke_meanwhile(void) {
  mltp_init(0);
  mltp_sem_init(&empty_sem, 0, NULL);
  start("waker", wake_and_sleep, 0);
  bool others = !on_kernel_backend() && mltp_vps() > 1; /* that can run meanwhile */
  __atomic_store_n(&wakes_during_check, others, __ATOMIC_RELEASE);
  if (!others) mltp_sem_post(&empty_sem);
  mltp_finalize();
}

static void no_false_alarm(void) {
  void (*const bodies[])(void) = {wait_for_a_sleeper,
                                  wait_for_the_kernel,
                                  wait_for_a_bound_thread,
                                  wait_for_a_foreign_thread,
                                  wait_for_a_bound_sleeper,
                                  wait_for_a_foreign_sleeper,
                                  wait_for_a_lock,
                                  wait_for_sleeper_after_sleeper,
                                  wait_while_streams_are_held,
                                  wait_for_a_vp_without_cpu,
                                  wait_for_a_thread_that_woke_meanwhile};
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    run_child(&outcome, bodies[i], no_settings);
    check_case("body %zu", i);
    CHECK_TEXT(outcome.said, "");
    CHECK_EQUAL(outcome.status, 0);
  }
}

int main(void) {
  if (EMULATED) {
    fprintf(stderr, "skipped: a kernel thread of qemu's own might wake others, for all we know\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      TEST_BARE(deadlock_by_lock_order_is_reported),
      TEST_BARE(deadlock_with_a_bound_thread_is_reported),
      TEST_BARE(deadlock_on_semaphore_locks_is_reported),
      TEST_BARE(deadlock_by_join_cycle_is_reported),
      TEST_BARE(deadlock_after_an_end_is_reported),
      TEST_BARE(deadlock_at_a_barrier_is_reported),
      TEST_BARE(deadlock_on_semaphore_and_condition_is_reported),
      TEST_BARE(deadlock_report_tells_how_to_repeat_it),
      TEST_BARE(livelock_is_reported),
      TEST_BARE(mltp_deadlock_report_goes_on),
      TEST_BARE(mltp_deadlock_off_says_nothing),
      TEST_BARE(no_false_alarm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
