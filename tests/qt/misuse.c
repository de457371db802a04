/* SPDX-License-Identifier: Apache-2.0 */
/* What the program does wrong is said before it is aborted. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <qt.h>

enum { STACK = 64 << 10 };

static qt_t *main_sp, *thread_sp;

static void *note(qt_t *old, void *a0, void *a1) {
  (void)a0;
  *(qt_t **)a1 = old;
  return NULL;
}

static qt_t *empty(void) { return QT_SP(aligned_alloc(QT_STKALIGN, STACK), STACK); }

static void *user(void *pu) { return pu; }
static void *vuser(int arg0, ...) { return (void *)(intptr_t)arg0; }
static void startup(void *pt) { (void)pt; }
static void cleanup(void *pt, void *result) { (void)pt, (void)result; }
static void returning(void *pu, void *pt, qt_userf_t *userf) { (void)pu, (void)pt, (void)userf; }
static void aborting(void *pu, void *pt, qt_userf_t *userf) {
  (void)pu, (void)pt, (void)userf;
  QT_ABORT(note, NULL, &thread_sp, main_sp);
}

static qt_t *with_arguments(int nbytes, ...) {
  va_list list;
  va_start(list, nbytes);
  qt_t *sp = QT_VARGS(empty(), nbytes, list, NULL, startup, vuser, cleanup);
  va_end(list);
  return sp;
}

static void only_returns(void) {
  QT_BLOCK(note, NULL, &main_sp, QT_ARGS(empty(), NULL, NULL, user, returning));
}

static void cleanup_returns(void) { QT_BLOCK(note, NULL, &main_sp, with_arguments(8, 1)); }

static void too_many_arguments(void) { with_arguments(QT_VARGS_MAX + 8, 1); }

static void resumed_after_its_end(void) {
  QT_BLOCK(note, NULL, &main_sp, QT_ARGS(empty(), NULL, NULL, user, aborting));
  QT_BLOCK(note, NULL, &main_sp, thread_sp);
}

/* A child does it: it must be aborted, and say these words. */
static void check_dies(void (*misuse)(void), const char *words) {
  int pipe_[2], status;
  char said[500] = "";
  assert_int_equal(pipe(pipe_), 0);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL); /* cmocka's handler would continue here */
    dup2(pipe_[1], 2);
    misuse();
    _exit(0);
  }
  close(pipe_[1]);
  for (ssize_t n = 0, all = 0; (n = read(pipe_[0], said + all, sizeof said - 1 - all)) > 0;)
    all += n;
  close(pipe_[0]);
  waitpid(child, &status, 0);
  if (strstr(said, words) == NULL) print_error("it said: %s\n", said);
  assert_non_null(strstr(said, words));
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void each_misuse_is_reported(void **state) {
  (void)state;
  check_dies(only_returns, "`only' has returned");
  check_dies(cleanup_returns, "cleanup function given to QT_VARGS() has returned");
  check_dies(too_many_arguments, "more than 256 bytes of arguments");
  check_dies(resumed_after_its_end, "runs again that has called QT_ABORT()");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_misuse_is_reported)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
