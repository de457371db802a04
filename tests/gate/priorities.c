/* SPDX-License-Identifier: Apache-2.0 */
/* A stock pthread program: a thread that gets a real-time priority while it runs is woken before
 * one that waited longer. Each function that sets a priority is tried. Prints "right", or "refused"
 * where the kernel allows no such priority. It runs without the gate, too. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PRIORITY = 5 };

static sem_t begun, go, ticket, served;
static atomic_int tid;
static int order[2], count;

static void *wait_in_turn(void *raised) {
  if (raised != NULL) sem_wait(&begun);
  if (raised != NULL) sem_wait(&go);
  atomic_store(&tid, gettid());
  sem_wait(&ticket);
  order[count++] = raised != NULL;
  sem_post(&served);
  return NULL;
}

/* Waits until the thread that announced itself sleeps; it has nothing to do but to wait. */
static void await_sleep(void) {
  char path[64], state = 'R';
  while (state != 'S') {
    usleep(1000);
    int id = atomic_load(&tid);
    if (id == 0) continue;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1) exit(2);
    fclose(file);
  }
  atomic_store(&tid, 0);
}

static int by_thread(pthread_t t, pid_t id) {
  (void)id;
  return pthread_setschedparam(t, SCHED_FIFO, &(struct sched_param){.sched_priority = PRIORITY});
}

static int by_number(pthread_t t, pid_t id) {
  (void)t;
  return sched_setscheduler(id, SCHED_RR, &(struct sched_param){.sched_priority = PRIORITY});
}

static void *report_id(void *id) {
  *(pid_t *)id = gettid();
  sem_post(&served);
  return wait_in_turn(id);
}

/* @return whether the thread that was raised came first; -1: it cannot be raised. */
static int comes_first(int (*raise)(pthread_t t, pid_t id)) {
  pthread_t first, second;
  pid_t id;
  count = 0;
  pthread_create(&first, NULL, wait_in_turn, NULL);
  await_sleep();
  pthread_create(&second, NULL, report_id, &id);
  sem_wait(&served);
  sem_post(&begun); /* it has waited without a priority before it gets one */
  int error = raise(second, id);
  sem_post(&go);
  if (error == 0) await_sleep();
  for (int i = 0; i < 2; i++) {
    sem_post(&ticket);
    sem_wait(&served);
  }
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  return error != 0 ? -1 : order[0] == 1;
}

int main(void) {
  sem_t *all[] = {&begun, &go, &ticket, &served};
  for (int i = 0; i < 4; i++) sem_init(all[i], 0, 0);
  int results[] = {comes_first(by_thread), comes_first(by_number)};
  if (results[0] < 0 || results[1] < 0)
    puts("refused");
  else
    puts(results[0] && results[1] ? "right" : "wrong");
  return 0;
}
