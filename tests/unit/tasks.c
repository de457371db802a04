/* SPDX-License-Identifier: Apache-2.0 */
/* How many kernel threads the process has: the look for a deadlock relies on it. */
#include <pthread.h>
#include <semaphore.h>

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

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(none_is_missed_while_another_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
