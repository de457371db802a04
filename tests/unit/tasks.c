/* SPDX-License-Identifier: Apache-2.0 */
/* How many kernel threads the process has, and what they do: the look for a deadlock relies on it.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "support/support.h"

enum { NOBODY = 1 << 22 /* no thread has so high a number */ };

static sem_t first, second;

static void *wait_for(void *go) {
  sem_wait(go);
  return NULL;
}

/* The second one is there all the time, while the first one, which is older, ends. */
static void none_is_missed_while_another_ends(void) {
  sem_init(&first, 0, 0);
  sem_init(&second, 0, 0);
  for (int round = 0; round < scaled(3000); round++) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, wait_for, &first);
    pthread_create(&threads[1], NULL, wait_for, &second);
    CHECK(os_task_count() >= 3);
    sem_post(&first);
    for (int i = 0; i < 10; i++) CHECK(os_task_count() >= 2);
    sem_post(&second);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  }
}

static struct os_task waiter;
static sem_t ready;

static void *note_and_wait(void *go) {
  os_task_self(&waiter);
  sem_post(&ready);
  sem_wait(go);
  return NULL;
}

/* What the kernel says of a thread that runs, that waits, and that has ended. */
static void states_are_what_threads_do(void) {
  pthread_t thread;
  struct os_task self;
  os_task_self(&self);
  if (os_task_state(&self) == OS_TASK_UNKNOWN) skip(); /* no /proc */
  CHECK(os_task_state(&self) == OS_TASK_RUNS);
  sem_init(&first, 0, 0);
  sem_init(&ready, 0, 0);
  pthread_create(&thread, NULL, note_and_wait, &first);
  sem_wait(&ready);
  while (os_task_state(&waiter) != OS_TASK_SLEEPS) sched_yield();
  long call = os_task_call(&waiter);
  CHECK(EMULATED || call == SYS_futex || call == -1); /* not every kernel tells */
  sem_post(&first);
  pthread_join(thread, NULL);
  while (os_task_state(&waiter) != OS_TASK_UNKNOWN) sched_yield(); /* it leaves after its join */
  CHECK(os_task_call(&waiter) == -1);
}

static void *pause_until_cancelled(void *unused) {
  os_task_self(&waiter);
  sem_post(&ready);
  for (;;) pause();
  return unused;
}

static void *wait_with_a_time(void *go) {
  struct timespec later;
  clock_gettime(CLOCK_REALTIME, &later);
  later.tv_sec += 3600;
  os_task_self(&waiter);
  sem_post(&ready);
  sem_timedwait(go, &later);
  return NULL;
}

static bool known; /* the kernel says which call a thread is in */

/* @return whether a thread that sleeps in the kernel waits for a word of the process, and for no
 * time. */
static bool seems_to_wait_forever(void *(*func)(void *)) {
  pthread_t thread;
  uint64_t switches = 0, again = 0;
  sem_init(&first, 0, 0);
  sem_init(&ready, 0, 0);
  pthread_create(&thread, NULL, func, &first);
  sem_wait(&ready);
  while (os_task_state(&waiter) != OS_TASK_SLEEPS) sched_yield();
  known = os_task_call(&waiter) >= 0;
  errno = EDOM;
  bool forever = os_task_waits_forever(&waiter, &switches);
  CHECK(os_task_waits_forever(&waiter, &again) == forever && again == switches && switches > 0);
  CHECK_EQUAL(errno, EDOM);
  if (func == pause_until_cancelled)
    pthread_cancel(thread);
  else
    sem_post(&first);
  pthread_join(thread, NULL);
  return forever;
}

static void a_wait_with_an_end_does_not_count(void) {
  struct os_task self, gone = os_task_of(NOBODY);
  uint64_t switches = 1;
  os_task_self(&self);
  bool forever = seems_to_wait_forever(note_and_wait);
  if (!known || EMULATED) skip(); /* the emulator's threads wait in its own words */
  CHECK(forever);
  CHECK(!seems_to_wait_forever(wait_with_a_time));
  CHECK(!seems_to_wait_forever(pause_until_cancelled));
  CHECK(!os_task_waits_forever(&self, &switches) && switches > 0); /* it runs */
  errno = EDOM;
  CHECK(!os_task_waits_forever(&gone, &switches) && switches == 0);
  CHECK(os_task_state(&gone) == OS_TASK_UNKNOWN && os_task_call(&gone) == -1);
  CHECK_EQUAL(errno, EDOM);
}

static void time_is_that_of_the_thread(void) {
  struct os_task self, gone = os_task_of(NOBODY);
  os_task_self(&self);
  struct os_task same = os_task_of(self.tid);
  uint64_t before = os_task_cpu_time(&self);
  while (os_task_cpu_time(&self) < before + 1000000) continue; /* else this hangs */
  CHECK(before > 0 && os_task_cpu_time(&same) >= before + 1000000);
  CHECK_EQUAL(os_task_cpu_time(&gone), 0);
  self.has_clock = false;
  CHECK_EQUAL(os_task_cpu_time(&self), 0);
}

static bool count(const struct os_task *task, void *context) {
  int *left = context;
  CHECK(task->tid > 0);
  errno = EBADF; /* as a call of the visitor's may leave it */
  return --*left > 0;
}

static void visits_end_at_will(void) {
  int left = 1000000, lowest = dup(STDERR_FILENO); /* the lowest descriptor that is free */
  close(lowest);
  errno = EDOM;
  CHECK(os_tasks_visit(count, &left) && left < 1000000);
  left = 1;
  CHECK(!os_tasks_visit(count, &left) && left == 0); /* the first one was enough */
  CHECK_EQUAL(errno, EDOM);
  CHECK_EQUAL(dup(STDERR_FILENO), lowest); /* none is left open */
  close(lowest);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(none_is_missed_while_another_ends),
      TEST_BARE(states_are_what_threads_do),
      TEST_BARE(a_wait_with_an_end_does_not_count),
      TEST_BARE(time_is_that_of_the_thread),
      TEST_BARE(visits_end_at_will),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
