/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stock pthread program with a bug that few orders of its threads show.
 *   planted deadlock   two threads lock two mutexes, each in its own order
 *   planted signal     a signal may come before the wait, which then never ends
 *   planted check      a thread acts on what it has read in an earlier critical section
 *   planted race       two threads add to a word without a lock
 *   planted masked     the same by threads that block all signals
 *   planted sleep      a thread trusts that another sleeps for longer; no order shows a bug
 *   planted read       a thread waits for the other in the kernel; no bug, but no seed says when
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int value;

static void *lock_both(void *arg) {
  pthread_mutex_lock(arg != NULL ? &a : &b);
  pthread_mutex_lock(arg != NULL ? &b : &a);
  value++;
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  return NULL;
}

static void *signal_or_wait(void *arg) {
  pthread_mutex_lock(&a);
  if (arg != NULL)
    pthread_cond_wait(&cond, &a);
  else
    pthread_cond_signal(&cond);
  pthread_mutex_unlock(&a);
  return NULL;
}

static void *take_one(void *arg) {
  pthread_mutex_lock(&a);
  int there = value;
  pthread_mutex_unlock(&a);
  if (there == 0) return arg;
  pthread_mutex_lock(&a);
  value--;
  if (value < 0) abort();
  pthread_mutex_unlock(&a);
  return arg;
}

static void *add_one(void *arg) {
  int seen = *(volatile int *)&value;
  *(volatile int *)&value = seen + 1;
  return arg;
}

static void *add_one_masked(void *arg) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  return add_one(arg);
}

static void *sleep_for(void *arg) {
  sleep(arg != NULL ? 1000 : 2000);
  if (value++ != (arg == NULL)) abort();
  return NULL;
}

static int ends[2];

/* Whichever runs first reads, and waits for the other's byte. */
static void *read_or_write(void *arg) {
  static int first = 1;
  char byte = 'x';
  if (first-- > 0 ? read(ends[0], &byte, 1) != 1 : write(ends[1], &byte, 1) != 1) abort();
  return arg;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  void *(*body)(void *) = lock_both;
  pthread_t threads[2];
  if (strcmp(what, "signal") == 0) body = signal_or_wait;
  if (strcmp(what, "check") == 0) body = take_one, value = 1;
  if (strcmp(what, "race") == 0) body = add_one;
  if (strcmp(what, "masked") == 0) body = add_one_masked;
  if (strcmp(what, "sleep") == 0) body = sleep_for;
  if (strcmp(what, "read") == 0) body = read_or_write;
  if (pipe(ends) != 0) return 2;
  if (pthread_create(&threads[0], NULL, body, NULL) != 0) return 2;
  if (pthread_create(&threads[1], NULL, body, threads) != 0) return 2;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  if ((body == add_one || body == add_one_masked) && value != 2) abort();
  return 0;
}
