/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stock pthread program: how many of its threads compute at the same time? Prints the mean, in
 * hundredths.
 *   crowd          eight threads that compute for a moment between two locks
 *   crowd spin     one thread spins until another, created later, stores a word
 *   crowd read     threads block in read(2) until the last one writes
 *   crowd ask      one thread asks another again and again, and spins until it has the answer,
 *                  until some of the last 32 answers came much sooner than a slice of 10 ms
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 150, COMPUTE_NS = 200000, SOON = 6, SOON_NS = 6000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int computing, samples, word, ends[2];
static sem_t question;
static long sum;

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *compute(void *arg) {
  for (int i = 0; i < ROUNDS; i++) {
    int beside = __atomic_fetch_add(&computing, 1, __ATOMIC_RELAXED);
    for (long end = now() + COMPUTE_NS; now() < end;) continue;
    __atomic_fetch_sub(&computing, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&mutex);
    sum += beside + 1;
    samples++;
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

static void *spin(void *arg) {
  while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0) continue;
  return arg;
}

static void *store(void *arg) {
  __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
  return arg;
}

static void *receive(void *arg) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) _exit(1);
  return arg;
}

static void *send(void *arg) {
  for (int i = 0; i < THREADS - 1; i++)
    if (write(ends[1], "x", 1) != 1) _exit(1);
  return arg;
}

static void *ask(void *arg) {
  unsigned soon = 0; /* a bit for each of the last answers */
  for (int answers = 0; __builtin_popcount(soon) < SOON; answers++) {
    long begin = now();
    sem_post(&question);
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == answers) continue;
    soon = soon << 1 | (now() - begin < SOON_NS);
  }
  __atomic_store_n(&word, -1, __ATOMIC_RELEASE);
  sem_post(&question);
  return arg;
}

static void *answer(void *arg) {
  for (int answers = 0; __atomic_load_n(&word, __ATOMIC_ACQUIRE) >= 0; answers++) {
    sem_wait(&question);
    int expected = answers;
    __atomic_compare_exchange_n(&word, &expected, answers + 1, 0, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
  }
  return arg;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  void *(*first)(void *) = compute, *(*last)(void *) = compute;
  pthread_t threads[THREADS];
  int count = strcmp(what, "ask") == 0 ? 2 : THREADS;
  if (pipe(ends) != 0 || sem_init(&question, 0, 0) != 0) return 1;
  if (strcmp(what, "ask") == 0) first = ask, last = answer;
  if (strcmp(what, "spin") == 0) first = spin, last = store;
  if (strcmp(what, "read") == 0) first = receive, last = send;
  for (int i = 0; i < count; i++)
    if (pthread_create(&threads[i], NULL, i < count - 1 ? first : last, NULL) != 0) return 1;
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  printf("%ld\n", samples > 0 ? 100 * sum / samples : 0);
  return 0;
}
