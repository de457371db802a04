/* SPDX-License-Identifier: Apache-2.0 */
/* Where an object of the process asks for executable stacks, as this program does, threads have
 * them. */
#define _GNU_SOURCE /* prctl.h */
#include <errno.h>
#include <mltp/mltp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/stack_code.h"
#include "support/support.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65 /* Linux 6.3 */
#endif

enum { THREADS = 200, LARGE = 20 << 20, REFUSED = 3, UNKNOWN = 4 };

static mltp_sem_t gate;

static void *call(void *unused) {
  CHECK(call_code_on_stack() == 42);
  mltp_sem_wait(&gate); /* it may continue on another VP, on the same stack */
  CHECK(call_code_on_stack() == 42);
  return unused;
}

/* Stacks of the default size and others, some of which take the place of prepared ones. */
static void threads_call_code_on_their_stacks(void) {
  mltp_t *threads[THREADS];
  mltp_sem_init(&gate, 0, "gate");
  for (int i = 0; i < THREADS; i++) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    if (i % 50 == 1) attr.stack_size = LARGE;
    if (i % 50 == 2) attr.stack_size = 16 << 10;
    CHECK(mltp_create(&threads[i], &attr, call, NULL) == 0);
  }
  for (int i = 0; i < THREADS; i++) mltp_sem_post(&gate);
  for (int i = 0; i < THREADS; i++) mltp_join(threads[i], NULL);
  mltp_sem_destroy(&gate);
}

static void bound_threads_call_code_on_their_stacks(void) {
  mltp_t *thread;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.bound = 1;
  mltp_sem_init(&gate, 1, "gate");
  CHECK(mltp_create(&thread, &attr, call, NULL) == 0);
  mltp_join(thread, NULL);
  mltp_sem_destroy(&gate);
}

/* A kernel that forbids it: mltp_init() says so, and no thread crashes later. */
static void the_start_is_refused_where_code_on_stacks_is(void) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (prctl(PR_SET_MDWE, 1, 0, 0, 0) != 0) _exit(UNKNOWN);
    _exit(mltp_init(1) == EACCES ? REFUSED : 1);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == REFUSED || WEXITSTATUS(status) == UNKNOWN);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(the_start_is_refused_where_code_on_stacks_is),
                                     TEST(threads_call_code_on_their_stacks),
                                     TEST(bound_threads_call_code_on_their_stacks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
