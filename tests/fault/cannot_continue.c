/* SPDX-License-Identifier: Apache-2.0 */
/* Misuse by which the caller could not continue: it aborts, whatever MLTP_MISUSE says. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

static struct outcome outcome;
static mltp_sem_t never;

static void start(void) {
  if (mltp_init(0) != 0) _exit(1);
  mltp_sem_init(&never, 0, "never");
}

static void *do_nothing(void *p0) { return p0; }

static void create_too_early(void) { spawn(do_nothing, NULL); }

static void use_before_init(void) {
  static const char *const no_settings[] = {NULL};
  run_child(&outcome, create_too_early, no_settings);
  print_message("%s", outcome.said);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
  assert_non_null(strstr(outcome.said, "mltp_create"));
  assert_non_null(strstr(outcome.said, "mltp_init"));
}

static void *exit_foreign(void *p0) {
  (void)p0;
  mltp_exit(NULL);
}

static void exit_in_a_foreign_thread(void) {
  pthread_t foreign;
  start();
  pthread_create(&foreign, NULL, exit_foreign, NULL);
  mltp_sem_wait(&never);
}

static void exit_before_init(void) { mltp_exit(NULL); }

static void check_exit_aborts(void (*body)(void), const char *misuse, const char *word) {
  const char *const settings[] = {misuse, NULL};
  run_child(&outcome, body, settings);
  print_message("%s", outcome.said);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
  assert_non_null(strstr(outcome.said, word));
}

/* It cannot return, whatever MLTP_MISUSE says. */
static void mltp_exit_by_a_foreign_thread(void) {
  check_exit_aborts(exit_in_a_foreign_thread, "MLTP_MISUSE=abort", "mltp_exit");
  check_exit_aborts(exit_in_a_foreign_thread, "MLTP_MISUSE=error", "mltp_exit");
}

static void mltp_exit_before_init(void) {
  check_exit_aborts(exit_before_init, "MLTP_MISUSE=abort", "mltp_init");
}

static void *exit_by_pthreads(void *p0) { pthread_exit(p0); }

static void pthread_exit_unbound(void) {
  start();
  mltp_join(spawn(exit_by_pthreads, NULL), NULL);
}

static void pthread_exit_bound(void) {
  start();
  mltp_join(spawn_bound(exit_by_pthreads, NULL), NULL);
}

/* It would end a VP: the process with status 0, or never. ThreadSanitizer's own pthread_exit() ends
 * the process where the caller is a fiber. */
static void pthread_exit_in_a_thread(void) {
  if (!THREAD_SANITIZED) check_exit_aborts(pthread_exit_unbound, "MLTP_MISUSE=abort", "mltp_exit");
  check_exit_aborts(pthread_exit_bound, "MLTP_MISUSE=abort", "mltp_exit");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(use_before_init),
      TEST_BARE(mltp_exit_by_a_foreign_thread),
      TEST_BARE(mltp_exit_before_init),
      TEST_BARE(pthread_exit_in_a_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
