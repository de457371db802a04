/* SPDX-License-Identifier: Apache-2.0 */
/* Recording failures from any thread, and running test bodies inside a runtime. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

/* A broken invariant inside a loop would print forever. */
#define PRINTED_MAX 20

static atomic_int failures;
static char case_now[128];

static int record(const char *what, const char *file, int line) {
  int count = atomic_fetch_add(&failures, 1);
  if (count >= PRINTED_MAX) return 0;
  fprintf(stderr, "%s:%d: not so: %s%s%s", file, line, what, case_now[0] ? ", case " : "",
          case_now);
  return 1;
}

/* A failure counts wherever it was recorded: also in a test that cmocka calls itself, in a child,
 * or after the last test. */
__attribute__((destructor)) static void fail_at_exit(void) {
  if (atomic_load(&failures) == 0) return;
  fflush(NULL);
  _exit(1);
}

void check_true(int holds, const char *what, const char *file, int line) {
  if (!holds && record(what, file, line)) fputc('\n', stderr);
}

void check_equal(intmax_t actual, intmax_t expected, const char *what, const char *file, int line) {
  if (actual != expected && record(what, file, line)) {
    fprintf(stderr, ": %jd is not %jd\n", actual, expected);
  }
}

void check_text(const char *actual, const char *expected, const char *what, const char *file,
                int line) {
  if (strcmp(actual, expected) != 0 && record(what, file, line)) {
    fprintf(stderr, ": \"%s\" is not \"%s\"\n", actual, expected);
  }
}

void check_case(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(case_now, sizeof case_now, format, args);
  va_end(args);
}

void assert_checks(void) {
  int count = atomic_exchange(&failures, 0);
  case_now[0] = '\0';
  assert_int_equal(count, 0);
}

static int is_set_to(const char *variable, const char *value) {
  const char *now = getenv(variable);
  return now != NULL && strcmp(now, value) == 0;
}

int init_unmonitored(int vps) {
  int is_off = is_set_to("MLTP_MONITOR", "off");
  setenv("MLTP_MONITOR", "off", 1);
  int error = mltp_init(vps);
  if (!is_off) unsetenv("MLTP_MONITOR");
  return error;
}

/* In a runtime that has been started. */
static void run_body(void **state, int error) {
  void (*body)(void) = (void (*)(void))*state;
  assert_int_equal(error, 0);
  body();
  assert_int_equal(mltp_finalize(), 0);
  assert_checks();
}

void test_in_runtime(void **state) { run_body(state, mltp_init(0)); }

void test_unmonitored(void **state) { run_body(state, init_unmonitored(0)); }

void test_on_one_vp(void **state) {
  if (on_kernel_backend() || seeded()) skip();
  run_body(state, init_unmonitored(1));
}

void test_bare(void **state) {
  void (*body)(void) = (void (*)(void))*state;
  body();
  assert_checks();
}

int seeded(void) { return getenv("MLTP_SEED") != NULL; }

int on_kernel_backend(void) { return is_set_to("MLTP_BACKEND", "kernel"); }

int on_ucontext_backend(void) { return is_set_to("MLTP_BACKEND", "ucontext"); }

int has_guards(void) {
  const char *guard = getenv("MLTP_GUARD");
  return guard == NULL || strcmp(guard, "canary") != 0;
}

int scaled(int n) {
  if (!SANITIZED && !EMULATED) return n;
  return n < 10 ? 1 : n / 10;
}
