/* SPDX-License-Identifier: Apache-2.0 */
/* fork() from any kind of thread: the parent continues unharmed, and the child may exec, exit,
 * or start a runtime of its own. */
#include <mltp/io.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

static struct outcome outcome;

/* ------------------------------------------------------------------ the children */

static mltp_lock_t lock = MLTP_LOCK_INIT;

static void *count(void *total) {
  mltp_lock(&lock);
  ++*(long *)total;
  mltp_yield();
  mltp_unlock(&lock);
  return NULL;
}

/* A runtime of its own, twice, with every kind of thread. */
static void work_in_child(void) {
  for (int round = 0; round < 2; round++) {
    long total = 0;
    mltp_lock_init(&lock, MLTP_LOCK_STANDARD, NULL); /* another thread may have held it */
    if (mltp_init(0) != 0) _exit(11);
    for (int kind = UNBOUND; kind < KINDS; kind++) workers_run(8, (enum kind)kind, count, &total);
    mltp_sleep(1000);
    if (mltp_finalize() != 0) _exit(12);
    if (total != 8 * KINDS) _exit(13);
  }
  _exit(0);
}

static void exec_in_child(void) {
  execl("/bin/true", "true", (char *)NULL);
  _exit(14);
}

static void misuse_in_child(void) {
  mltp_yield(); /* as without a runtime */
  if (mltp_vp() != -1 || mltp_finalize() != EINVAL) _exit(15);
  if (mltp_lock(&lock) != EPERM || spawn(count, NULL) != NULL) _exit(16);
  _exit(0);
}

/* ------------------------------------------------------------------- the forkers */

static void (*in_child)(void); /* NULL: its thread returns */

static void *fork_and_wait(void *p0) {
  int status = -1;
  mltp_blocking_begin();
  pid_t pid = fork();
  if (pid == 0) {
    if (in_child != NULL) in_child();
    return p0;
  }
  waitpid(pid, &status, 0);
  mltp_blocking_end();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) _exit(WIFEXITED(status) ? status >> 8 : 20);
  return p0;
}

static void fork_everywhere(void) {
  if (mltp_init(0) != 0) _exit(1);
  if (in_child != NULL) fork_and_wait(NULL); /* main */
  for (int kind = UNBOUND; kind < KINDS; kind++) {
    long total = 0;
    workers_run(2, (enum kind)kind, fork_and_wait, NULL);
    workers_run(4, (enum kind)kind, count, &total); /* the parent continues */
    if (total != 4) _exit(2);
  }
  if (mltp_finalize() != 0) _exit(3);
}

static void check(void (*body)(void), void (*child)(void), const char *says) {
  static const char *const settings[] = {"MLTP_MISUSE=error", NULL};
  in_child = child;
  run_child(&outcome, body, settings);
  if (outcome.status != 0) print_message("%s", outcome.said);
  assert_int_equal(outcome.status, 0);
  if (says != NULL) assert_non_null(strstr(outcome.said, says));
}

static void a_child_may_exec(void) { check(fork_everywhere, exec_in_child, NULL); }

static void a_child_may_start_a_runtime(void) {
  /* ThreadSanitizer allows no threads in the child, and the locks of AddressSanitizer's
   * allocator stay held there forever by kernel threads that are gone (seen with GCC 12). */
  if (SANITIZED) skip();
  check(fork_everywhere, work_in_child, NULL);
}

static void a_child_without_a_runtime_says_what_to_do(void) {
  check(fork_everywhere, misuse_in_child, "child of fork() (call mltp_init() first)");
}

static void a_child_ends_when_its_thread_returns(void) {
  if (SANITIZED) skip(); /* it misses what libc had for the threads that are gone */
  check(fork_everywhere, NULL, NULL);
}

/* --------------------------------------------------------------------- under load */

static int stop_now;

static void *load(void *arg) {
  mltp_lock_t *contended = arg;
  while (!__atomic_load_n(&stop_now, __ATOMIC_RELAXED)) {
    mltp_lock(contended);
    mltp_join(spawn(count, &(long){0}), NULL);
    mltp_unlock(contended);
    mltp_sleep(1000);
  }
  return NULL;
}

static void fork_under_load(void) {
  enum { LOADS = 16 };
  static mltp_lock_t contended = MLTP_LOCK_INIT;
  mltp_t *threads[LOADS];
  if (mltp_init(8) != 0) _exit(1);
  for (int i = 0; i < LOADS; i++)
    threads[i] = i % 4 == 0 ? spawn_bound(load, &contended) : spawn(load, &contended);
  for (int i = scaled(100); i > 0; i--) mltp_join(spawn(fork_and_wait, NULL), NULL);
  __atomic_store_n(&stop_now, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < LOADS; i++) mltp_join(threads[i], NULL);
  if (mltp_finalize() != 0) _exit(3);
}

static void a_hundred_forks_under_load(void) {
  check(fork_under_load, SANITIZED ? exec_in_child /* as above */ : work_in_child, NULL);
}

/* The dump signal reaches the child before it has a runtime, and after. */
static void signalled_child(void) {
  raise(SIGUSR1);
  work_in_child();
}

static void fork_with_signals(void) {
  setenv("MLTP_DUMP_SIGNAL", "10", 1);
  fork_everywhere();
}

static void the_dump_signal_does_not_kill_a_child(void) {
  if (SANITIZED) skip(); /* as above */
  check(fork_with_signals, signalled_child, "mltp: all threads, on signal");
}

/* A fault in the child is the crash it was, and an overflow still says whose it was. */
static int dig(int depth) {
  volatile char frame[512];
  memset((char *)frame, depth, sizeof frame);
  return (depth < 0 ? 0 : dig(depth + 1)) + frame[depth & 511];
}

static void *deep(void *p0) { return (void *)(intptr_t)dig((int)(intptr_t)p0); }

/* p0: NULL: in a thread of the child's, not NULL: in its main thread, on the stack of the thread
 * that forked. */
static void *overflow(void *p0) {
  pid_t pid = fork();
  if (pid == 0) {
    mltp_init(1);
    if (p0 != NULL) _exit(deep(NULL) == NULL);
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.name = "grandchild";
    mltp_t *thread;
    mltp_create(&thread, &attr, deep, NULL);
    mltp_join(thread, NULL);
    _exit(0);
  }
  int status;
  waitpid(pid, &status, 0);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) _exit(5);
  return p0;
}

static void overflow_in_child(void) {
  mltp_init(0);
  mltp_join(spawn(overflow, NULL), NULL);
  mltp_finalize();
}

static void an_overflow_in_a_child_is_reported(void) {
  if (!has_guards()) skip();
  if (SANITIZED) skip();
  check(overflow_in_child, NULL, "stack overflow: thread");
}

static void overflow_in_main_of_child(void) {
  mltp_init(0);
  mltp_join(spawn(overflow, (void *)1), NULL);
  mltp_finalize();
}

static void an_overflow_of_a_childs_main_thread_is_reported(void) {
  if (!has_guards() || on_kernel_backend()) skip(); /* a bound thread's stack is libc's */
  if (SANITIZED) skip();
  check(overflow_in_main_of_child, NULL, "'main' used all");
}

/* -------------------------------------------------- what threads of the parent did */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static mltp_sem_t begun = MLTP_SEM_INIT(0), go_on = MLTP_SEM_INIT(0);
static int runs; /* [owner] of the initialiser */

static void initialise(void) {
  if (runs++ > 0) return;
  mltp_sem_post(&begun);
  mltp_sem_wait(&go_on);
}

static void *initialise_once(void *p0) {
  pthread_once(&once, initialise);
  return p0;
}

/* The thread that ran the initialiser is not here, so it runs again. */
static void initialise_in_child(void) {
  if (mltp_init(0) != 0) _exit(11);
  mltp_join(spawn(initialise_once, NULL), NULL);
  if (mltp_finalize() != 0) _exit(12);
  _exit(runs == 2 ? 0 : 13);
}

static void fork_beside_an_initialiser(void) {
  if (mltp_init(0) != 0) _exit(1);
  mltp_t *thread = spawn(initialise_once, NULL);
  mltp_sem_wait(&begun);
  mltp_join(spawn(fork_and_wait, NULL), NULL);
  mltp_sem_post(&go_on);
  mltp_join(thread, NULL);
  if (mltp_finalize() != 0 || runs != 1) _exit(3);
}

static void a_child_repeats_an_initialiser(void) {
  if (SANITIZED) skip(); /* as above */
  check(fork_beside_an_initialiser, initialise_in_child, NULL);
}

static int ends[2]; /* of a pipe */

static void *read_a_byte(void *p0) {
  char byte = 0;
  size_t count = 0;
  int error = mltp_io_read(ends[0], &byte, 1, &count);
  return error == 0 && count == 1 && byte == 'x' ? p0 : NULL;
}

/* @return whether a thread that waits for the pipe gets what is written. */
static bool passes_a_byte(mltp_t *reader) {
  void *result = NULL;
  size_t count = 0;
  for (int i = 0; i < 100; i++) mltp_yield(); /* it waits */
  return mltp_io_write(ends[1], "x", 1, &count) == 0 && mltp_join(reader, &result) == 0 &&
         result == ends;
}

/* Another pipe of the same numbers, for which no thread waits. */
static void read_in_child(void) {
  int new[2];
  if (pipe(new) != 0 || dup2(new[0], ends[0]) < 0 || dup2(new[1], ends[1]) < 0) _exit(10);
  if (mltp_init(0) != 0) _exit(11);
  if (!passes_a_byte(spawn(read_a_byte, ends))) _exit(13);
  if (mltp_finalize() != 0) _exit(12);
  _exit(0);
}

static void fork_beside_a_reader(void) {
  if (mltp_init(0) != 0 || pipe(ends) != 0) _exit(1);
  mltp_t *reader = spawn(read_a_byte, ends);
  for (int i = 0; i < 100; i++) mltp_yield(); /* it waits */
  mltp_join(spawn(fork_and_wait, NULL), NULL);
  if (!passes_a_byte(reader)) _exit(2);
  if (mltp_finalize() != 0) _exit(3);
}

static void a_child_has_no_readers_of_its_parent(void) {
  if (SANITIZED) skip(); /* as above */
  check(fork_beside_a_reader, read_in_child, NULL);
}

int main(void) {
  if (EMULATED) {
    fprintf(stderr, "skipped: in a child of several kernel threads qemu cannot start others\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_child_may_exec),
      TEST_BARE(a_child_may_start_a_runtime),
      TEST_BARE(a_child_without_a_runtime_says_what_to_do),
      TEST_BARE(a_child_ends_when_its_thread_returns),
      TEST_BARE(a_hundred_forks_under_load),
      TEST_BARE(the_dump_signal_does_not_kill_a_child),
      TEST_BARE(an_overflow_in_a_child_is_reported),
      TEST_BARE(an_overflow_of_a_childs_main_thread_is_reported),
      TEST_BARE(a_child_repeats_an_initialiser),
      TEST_BARE(a_child_has_no_readers_of_its_parent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
