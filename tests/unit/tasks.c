/* SPDX-License-Identifier: Apache-2.0 */
/* How many kernel threads the process has, and what they do: the look for a deadlock relies on it.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "os/os.h"
#include "support/support.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(none_is_missed_while_another_ends),
                                     TEST_BARE(states_are_what_threads_do)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
