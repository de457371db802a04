/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that mltp-limits(7) lists: each is met where the page says, with what it says. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

static char page[1 << 14];

/* @return whether the page's entry of that title has the words. */
static int page_says(const char *title, const char *words) {
  const char *entry = strstr(page, title);
  const char *end = entry != NULL ? strstr(entry, ".TP\n") : NULL;
  const char *found = entry != NULL ? strstr(entry, words) : NULL;
  return found != NULL && (end == NULL || found < end);
}

static void read_page(void) {
  FILE *file = fopen(LIMITS_PAGE, "r");
  size_t length = file != NULL ? fread(page, 1, sizeof page - 1, file) : 0;
  if (file != NULL) fclose(file);
  page[length] = '\0';
  CHECK(length > 0);
}

static void keys(void) {
  enum { LISTED = 1024 };
  static mltp_tss_t made[LISTED + 1];
  int count = 0, error;
  read_page();
  while ((error = mltp_tss_create(&made[count], NULL)) == 0 && count < LISTED) count++;
  CHECK_EQUAL(error, EAGAIN);
  CHECK_EQUAL(count, LISTED);
  CHECK(page_says("Thread-specific keys\n", "1,024."));
  while (count > 0) mltp_tss_delete(made[--count]);
}

static void vps_and_stacks(void) {
  read_page();
  mltp_t *thread;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.stack_size = ((size_t)1 << 30) + 1;
  CHECK_EQUAL(mltp_set_vps(1025), EINVAL);
  CHECK(page_says("Virtual processors\n", "1,024."));
  CHECK_EQUAL(mltp_create(&thread, &attr, NULL, NULL), EINVAL);
  CHECK(page_says("Size of a stack\n", "1 GiB."));
}

static void *wait_for_ever(void *arg) {
  mltp_sem_t never = MLTP_SEM_INIT(0);
  mltp_sem_wait(&never);
  return arg;
}

static void start_too_many(void) {
  enum { SPACE_HOLDS = 16 };
  mltp_t *thread = NULL;
  mltp_init(1);
  for (int i = 0; i < SPACE_HOLDS; i++) {
    if (mltp_create(&thread, NULL, wait_for_ever, NULL) != 0) _exit(1);
    mltp_yield();
  }
  mltp_join(thread, NULL);
}

/* One stack is the first VP's own, so one thread is too many. */
static void stacks_run_out_where_the_page_says(void **state) {
  (void)state;
  static const char *const settings[] = {"MLTP_STACK_SPACE=67108864", "MLTP_STACK_SIZE=4194304",
                                         "MLTP_BACKEND=native", NULL};
  struct outcome outcome;
  read_page();
  assert_checks();
  run_child(&outcome, start_too_many, settings);
  assert_true(WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 86);
  assert_non_null(strstr(outcome.said, "no memory for its stack"));
  assert_non_null(strstr(outcome.said, "waits for memory for its stack of 4096 KiB"));
  assert_true(page_says("Threads that have started", "no memory for its stack"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stacks_run_out_where_the_page_says),
      TEST(keys),
      TEST(vps_and_stacks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
