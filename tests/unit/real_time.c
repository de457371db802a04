/* SPDX-License-Identifier: Apache-2.0 */
/* Real-time priorities are taken from all threads but the caller, and given back. */
#define _GNU_SOURCE /* gettid, SCHED_RESET_ON_FORK */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>

#include "os/os.h"
#include "support/support.h"

enum { THREADS = 3, PRIORITY = 5, FLAG = SCHED_RESET_ON_FORK };

static sem_t ready, go;
static pid_t tasks[THREADS];

/* Each with another priority; one with the flag that the kernel reports together with the policy.
 * The last one has none. */
static void *wait_with_priority(void *number) {
  int i = (int)(intptr_t)number, policy = i == 0 ? SCHED_FIFO : SCHED_RR | FLAG;
  struct sched_param parameters = {.sched_priority = PRIORITY + i};
  tasks[i] = gettid();
  if (i < THREADS - 1 && sched_setscheduler(0, policy, &parameters) != 0) tasks[i] = 0;
  sem_post(&ready);
  sem_wait(&go);
  return NULL;
}

static void check_is(pid_t task, int policy, int priority) {
  struct sched_param parameters;
  CHECK(sched_getscheduler(task) == policy);
  CHECK(sched_getparam(task, &parameters) == 0);
  CHECK(parameters.sched_priority == priority);
}

static void check_all(bool taken) {
  check_is(tasks[0], taken ? SCHED_OTHER : SCHED_FIFO, taken ? 0 : PRIORITY);
  check_is(tasks[1], (taken ? SCHED_OTHER : SCHED_RR) | FLAG, taken ? 0 : PRIORITY + 1);
  check_is(tasks[2], SCHED_OTHER, 0);
}

static void start(pthread_t *threads) {
  sem_init(&ready, 0, 0);
  sem_init(&go, 0, 0);
  for (int i = 0; i < THREADS; i++) {
    pthread_create(&threads[i], NULL, wait_with_priority, (void *)(intptr_t)i);
    sem_wait(&ready);
  }
}

static void end(const pthread_t *threads) {
  for (int i = 0; i < THREADS; i++) sem_post(&go);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void priorities_are_taken_and_given_back(void) {
  static struct os_real_time taken;
  struct sched_param own = {.sched_priority = PRIORITY}, none = {0};
  pthread_t threads[THREADS];
  start(threads);
  bool may = tasks[0] != 0 && sched_setscheduler(0, SCHED_FIFO, &own) == 0;
  if (may) {
    check_all(false);
    os_real_time_take(&taken);
    CHECK(taken.count == THREADS - 1);
    check_all(true);
    check_is(0, SCHED_FIFO, PRIORITY);
    CHECK(os_real_time_return(&taken) == 0);
    check_all(false);
    sched_setscheduler(0, SCHED_OTHER, &none);
  }
  end(threads);
  if (!may) skip(); /* no real-time priority may be had here */
}

/* A thread that has ended meanwhile is no error. */
static void those_that_have_ended_are_left_out(void) {
  static struct os_real_time taken;
  pthread_t threads[THREADS];
  start(threads);
  bool may = tasks[0] != 0;
  os_real_time_take(&taken);
  end(threads);
  CHECK(os_real_time_return(&taken) == 0);
  if (!may) skip();
  CHECK(taken.count == THREADS - 1);
}

static void the_flag_hides_no_priority(void) {
  struct sched_param own = {.sched_priority = PRIORITY}, none = {0};
  CHECK(os_priority() == 0);
  bool may = sched_setscheduler(0, SCHED_FIFO | FLAG, &own) == 0;
  if (may) {
    CHECK(os_priority() == PRIORITY);
    CHECK(os_priority_raise() == 0); /* a new thread would have none */
    sched_setscheduler(0, SCHED_OTHER, &none);
  }
  CHECK(os_priority() == 0);
  if (!may) skip();
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(priorities_are_taken_and_given_back),
                                     TEST_BARE(those_that_have_ended_are_left_out),
                                     TEST_BARE(the_flag_hides_no_priority)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
