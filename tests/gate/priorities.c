/* SPDX-License-Identifier: Apache-2.0 */
/* A stock pthread program: a thread that gets a real-time priority, while it runs or when it is
 * created, is woken before one that waited longer. Each function that sets a priority is tried.
 * Prints "right", or "refused" where the kernel allows no such priority. It runs without the gate,
 * too. */
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
static int raises_itself, refusal;

static void *wait_in_turn(void *raised) {
  if (raised != NULL) sem_wait(&begun);
  if (raised != NULL) sem_wait(&go);
  if (raised != NULL && raises_itself)
    refusal = pthread_setschedparam(pthread_self(), SCHED_FIFO,
                                    &(struct sched_param){.sched_priority = PRIORITY});
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

static int by_itself(pthread_t t, pid_t id) {
  (void)t;
  (void)id;
  raises_itself = 1;
  return 0;
}

static int by_number(pthread_t t, pid_t id) {
  (void)t;
  return sched_setscheduler(id, SCHED_RR, &(struct sched_param){.sched_priority = PRIORITY});
}

static int by_number_with_flag(pthread_t t, pid_t id) {
  (void)t;
  return sched_setscheduler(id, SCHED_FIFO | SCHED_RESET_ON_FORK,
                            &(struct sched_param){.sched_priority = PRIORITY});
}

static void *report_id(void *id) {
  *(pid_t *)id = gettid();
  sem_post(&served);
  return wait_in_turn(id);
}

static int by_creation(pthread_t t, pid_t id) {
  (void)t;
  (void)id;
  return 0; /* it has its priority */
}

static int by_parameters(pthread_t t, pid_t id) {
  (void)t;
  return sched_setparam(id, &(struct sched_param){.sched_priority = PRIORITY + 1});
}

static int by_priority(pthread_t t, pid_t id) {
  (void)id;
  return pthread_setschedprio(t, PRIORITY + 1);
}

static pthread_attr_t real_time, usual;

static int create_usual(pthread_t *t, void *arg) { return pthread_create(t, NULL, report_id, arg); }

static int create_real_time(pthread_t *t, void *arg) {
  return pthread_create(t, &real_time, report_id, arg);
}

static int create_by_defaults(pthread_t *t, void *arg) {
  if (pthread_setattr_default_np(&real_time) != 0) exit(3);
  int error = pthread_create(t, NULL, report_id, arg);
  if (pthread_setattr_default_np(&usual) != 0) exit(3);
  return error;
}

static void prepare_attributes(void) {
  pthread_attr_init(&usual);
  pthread_attr_init(&real_time);
  pthread_attr_setinheritsched(&real_time, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(&real_time, SCHED_FIFO);
  pthread_attr_setschedparam(&real_time, &(struct sched_param){.sched_priority = PRIORITY});
}

/* @return whether the thread with a priority came first; -1: it cannot get one. */
static int comes_first(int (*create)(pthread_t *t, void *arg),
                       int (*raise)(pthread_t t, pid_t id)) {
  pthread_t first, second;
  pid_t id;
  count = 0;
  pthread_create(&first, NULL, wait_in_turn, NULL);
  await_sleep();
  if (create(&second, &id) != 0) {
    sem_post(&ticket);
    sem_wait(&served);
    pthread_join(first, NULL);
    return -1;
  }
  sem_wait(&served);
  sem_post(&begun); /* it has waited before it is raised */
  raises_itself = refusal = 0;
  int error = raise(second, id);
  sem_post(&go);
  if (error == 0) await_sleep();
  for (int i = 0; i < 2; i++) {
    sem_post(&ticket);
    sem_wait(&served);
  }
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  return error != 0 || refusal != 0 ? -1 : order[0] == 1;
}

int main(void) {
  sem_t *all[] = {&begun, &go, &ticket, &served};
  for (int i = 0; i < 4; i++) sem_init(all[i], 0, 0);
  prepare_attributes();
  int results[] = {
      comes_first(create_usual, by_thread),       comes_first(create_usual, by_number),
      comes_first(create_real_time, by_creation), comes_first(create_real_time, by_parameters),
      comes_first(create_real_time, by_priority), comes_first(create_by_defaults, by_creation),
      comes_first(create_usual, by_itself),       comes_first(create_usual, by_number_with_flag)};
  int wrong = 0, refused = 0;
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    wrong |= results[i] == 0;
    refused |= results[i] < 0;
  }
  puts(refused ? "refused" : wrong ? "wrong" : "right");
  return 0;
}
