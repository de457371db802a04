/* SPDX-License-Identifier: Apache-2.0 */
/* A stock pthread program without a fault, for the sanitizers: plain accesses of several threads
 * are ordered by a once, by a barrier, by each kind of lock, by a condition and by a semaphore. It
 * knows nothing of the gate. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 20 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;
static int first, own[THREADS], sum, next, written, spun, posted;

static void set_first(void) { first = 1; }

static void meet(int number, int round) {
  own[number] = round;
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < THREADS; i++)
    if (own[i] != round) abort();
  pthread_barrier_wait(&barrier);
}

/* The threads come in the order of their numbers. */
static void come_in_order(int number) {
  pthread_mutex_lock(&mutex);
  while (next % THREADS != number) pthread_cond_wait(&cond, &mutex);
  next++;
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(&mutex);
}

static void add_under_locks(void) {
  pthread_rwlock_wrlock(&rwlock);
  written++;
  pthread_rwlock_unlock(&rwlock);
  pthread_rwlock_rdlock(&rwlock);
  if (written == 0) abort();
  pthread_rwlock_unlock(&rwlock);
  pthread_spin_lock(&spin);
  spun++;
  pthread_spin_unlock(&spin);
  sem_wait(&sem);
  posted++;
  sem_post(&sem);
}

static void *work(void *arg) {
  int number = *(int *)arg;
  pthread_once(&once, set_first);
  char *memory = malloc(16);
  if (first != 1 || memory == NULL) abort();
  for (int round = 0; round < ROUNDS; round++) {
    meet(number, round);
    come_in_order(number);
    add_under_locks();
  }
  free(memory);
  pthread_mutex_lock(&mutex);
  sum += own[number];
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) {
  static int numbers[THREADS];
  pthread_t threads[THREADS];
  pthread_barrier_init(&barrier, NULL, THREADS);
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  sem_init(&sem, 0, 1);
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0) return 1;
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  enum { ALL = THREADS * ROUNDS };
  bool right = sum == THREADS * (ROUNDS - 1) && next == ALL && written == ALL && spun == ALL &&
               posted == ALL;
  puts(right ? "right" : "wrong");
  return !right;
}
