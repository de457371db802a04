/* SPDX-License-Identifier: Apache-2.0 */
/* Two kernel threads fail at once: one of them says so, and the other does not cut its report. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

enum { THREADS = 4, ROUNDS = 20 };

static mltp_lock_t unlocked = MLTP_LOCK_INIT;
static unsigned arrived;

/* Each is bound, so all have kernel threads at a time. */
static void meet(void) {
  __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < THREADS) usleep(1);
}

static void *misuse(void *unused) {
  meet();
  mltp_unlock(&unlocked);
  return unused;
}

static __attribute__((noinline)) int dig(int depth) {
  volatile char frame[512];
  memset((char *)frame, depth, sizeof frame);
  int below = depth < 0 ? 0 : dig(depth + 1);
  return below + frame[depth & 511];
}

static void *overflow(void *unused) {
  meet();
  return dig(0) == -1 ? NULL : unused;
}

static void *end_kernel_thread(void *unused) {
  meet();
  pthread_exit(unused);
}

static void start(void *(*function)(void *)) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  mltp_t *threads[THREADS];
  attr.bound = 1;
  if (mltp_init(0) != 0) _exit(1);
  for (int i = 0; i < THREADS; i++)
    if (mltp_create(&threads[i], &attr, function, NULL) != 0) _exit(1);
  for (int i = 0; i < THREADS; i++) mltp_join(threads[i], NULL);
}

static void all_misuse(void) { start(misuse); }
static void all_overflow(void) { start(overflow); }
static void all_end_kernel_threads(void) { start(end_kernel_thread); }

static int count(const char *text, const char *word) {
  int found = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) found++;
  return found;
}

static void check_one_report(void (*body)(void), const char *frame) {
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  for (int i = 0; i < ROUNDS; i++) {
    run_child(&outcome, body, no_settings);
    if (count(outcome.said, "mltp: ") != 1) print_message("%s", outcome.said);
    assert_true(WIFSIGNALED(outcome.status));
    assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
    assert_int_equal(count(outcome.said, "mltp: "), 1);
    assert_int_equal(count(outcome.said, "#0  "), frame != NULL);
    assert_true(frame == NULL || strstr(outcome.said, frame) != NULL); /* it is complete */
  }
}

static void misuse_at_once(void) { check_one_report(all_misuse, NULL); }

static void overflow_at_once(void) { check_one_report(all_overflow, "    #13 "); }

static void ends_of_kernel_threads_at_once(void) { check_one_report(all_end_kernel_threads, NULL); }

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(misuse_at_once),
      TEST_BARE(overflow_at_once),
      TEST_BARE(ends_of_kernel_threads_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
