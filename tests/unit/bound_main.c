/* SPDX-License-Identifier: Apache-2.0 */
/* A main thread that stays on the kernel thread that started the runtime. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { WORKERS = 8, ROUNDS = 100 };

static __thread int here; /* of the kernel thread */

struct work {
  mltp_lock_t lock;
  mltp_sem_t turn;
  long sum;
  pthread_t main;
  int on_main; /* how often a thread ran on main's kernel thread */
};

static void *add(void *p0) {
  struct work *work = p0;
  for (int i = 0; i < ROUNDS; i++) {
    mltp_lock(&work->lock);
    work->sum++;
    if (pthread_equal(pthread_self(), work->main)) work->on_main++;
    mltp_yield();
    mltp_unlock(&work->lock);
  }
  mltp_sem_post(&work->turn);
  return p0;
}

static void start_bound(void) {
  mltp_init_attr_t attr = MLTP_INIT_ATTR_INIT;
  attr.bound_main = 1;
  CHECK_EQUAL(mltp_init_with(&attr), 0);
}

static void run_workers(void) {
  struct work work = {.main = pthread_self()};
  mltp_t *threads[WORKERS];
  mltp_lock_init(&work.lock, MLTP_LOCK_STANDARD, "sum");
  mltp_sem_init(&work.turn, 0, "turn");
  here = 42;
  for (int i = 0; i < WORKERS; i++) threads[i] = spawn(add, &work);
  for (int i = 0; i < WORKERS; i++) {
    mltp_sem_wait(&work.turn);
    CHECK_EQUAL(here, 42);
  }
  for (int i = 0; i < WORKERS; i++) mltp_join(threads[i], NULL);
  mltp_sleep(1000000);
  CHECK(pthread_equal(pthread_self(), work.main));
  CHECK_EQUAL(work.sum, WORKERS * ROUNDS);
  CHECK_EQUAL(work.on_main, 0);
}

static void main_stays_and_threads_run_elsewhere(void) {
  for (int round = 0; round < 10; round++) {
    start_bound();
    CHECK_EQUAL(mltp_vp(), -1);
    run_workers();
    CHECK_EQUAL(mltp_finalize(), 0);
  }
}

static void the_option_has_the_same_effect(void) {
  setenv("MLTP_MAIN", "bound", 1);
  CHECK_EQUAL(mltp_init(0), 0);
  run_workers();
  CHECK_EQUAL(mltp_finalize(), 0);
  unsetenv("MLTP_MAIN");
}

static mltp_lock_t never_free;

static void *lock_it(void *p0) {
  mltp_lock(&never_free);
  return p0;
}

static void deadlock_of_a_thread(void) {
  start_bound();
  mltp_lock_init(&never_free, MLTP_LOCK_STANDARD, "never free");
  mltp_lock(&never_free);
  spawn(lock_it, NULL);
  mltp_finalize();
}

static void a_deadlock_is_reported(void) {
  if (EMULATED) skip(); /* a kernel thread of qemu's own might wake others, for all we know */
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  run_child(&outcome, deadlock_of_a_thread, no_settings);
  CHECK_EQUAL(outcome.status >> 8, 86);
  CHECK(strstr(outcome.said, "'main'") != NULL);
}

static void exit_by_pthreads(void) {
  start_bound();
  pthread_exit(NULL);
}

static void pthread_exit_of_main_is_reported(void) {
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  run_child(&outcome, exit_by_pthreads, no_settings);
  CHECK_EQUAL(outcome.status & 0x7f, SIGABRT);
  CHECK(strstr(outcome.said, "'main': pthread_exit()") != NULL);
}

static void unknown_attributes_are_refused(void) {
  enum { MOST = 4096 };
  union {
    mltp_init_attr_t known;
    char bytes[MOST + 1];
  } attr = {.known = MLTP_INIT_ATTR_INIT};
  attr.known.size = sizeof attr.known + 1;
  attr.bytes[sizeof attr.known] = 1;
  CHECK_EQUAL(mltp_init_with(&attr.known), EINVAL);
  attr.bytes[sizeof attr.known] = 0;
  CHECK_EQUAL(mltp_init_with(&attr.known), 0);
  CHECK_EQUAL(mltp_finalize(), 0);
  attr.known.size = MOST;
  CHECK_EQUAL(mltp_init_with(&attr.known), 0);
  CHECK_EQUAL(mltp_finalize(), 0);
  attr.bytes[MOST - 1] = 1;
  CHECK_EQUAL(mltp_init_with(&attr.known), EINVAL);
  attr.bytes[MOST - 1] = 0;
  attr.known.size = MOST + 1;
  CHECK_EQUAL(mltp_init_with(&attr.known), EINVAL);
  attr.known.size = 0;
  CHECK_EQUAL(mltp_init_with(&attr.known), EINVAL);
}

static void without_attributes_all_is_as_by_init(void) {
  CHECK_EQUAL(mltp_init(0), 0);
  int vps = mltp_vps();
  CHECK_EQUAL(mltp_finalize(), 0);
  CHECK_EQUAL(mltp_init_with(NULL), 0);
  CHECK_EQUAL(mltp_vps(), vps);
  CHECK_EQUAL(mltp_finalize(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(main_stays_and_threads_run_elsewhere),
      TEST_BARE(the_option_has_the_same_effect),
      TEST_BARE(a_deadlock_is_reported),
      TEST_BARE(pthread_exit_of_main_is_reported),
      TEST_BARE(unknown_attributes_are_refused),
      TEST_BARE(without_attributes_all_is_as_by_init),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
