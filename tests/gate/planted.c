/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stock pthread program with a bug that few orders of its threads show.
 *   planted deadlock   two threads lock two mutexes, each in its own order
 *   planted signal     a signal may come before the wait, which then never ends
 *   planted check      a thread acts on what it has read in an earlier critical section
 *   planted race       two threads add to a word without a lock
 *   planted masked     the same by threads that block all signals
 *   planted sleep      a thread trusts that another sleeps for longer; no order shows a bug
 *   planted slow       threads take turns, and the kernel takes its time; no bug
 *   planted read       a thread waits for the other in the kernel; no bug, but no seed says when
 */
#include <dlfcn.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
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

/* ---- slow: as on a machine with much to do */

enum { SLOW_THREADS = 4, SLOW_NS = 70000000 /* some looks of the monitor */ };

static bool slow;
static pthread_key_t slow_end;

static long straight(long number, const long arg[6]) {
  static long (*next)(long, ...);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "syscall");
  return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static void delay(void) {
  const struct timespec time = {0, SLOW_NS};
  straight(SYS_nanosleep, (long[6]){(long)&time});
}

/* The gate's wake-ups come here. */
long syscall(long number, ...) {
  long arg[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) arg[i] = va_arg(list, long);
  va_end(list);
  if (slow && number == SYS_futex && (arg[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) delay();
  return straight(number, arg);
}

/* In the last round the thread has left the gate. */
static void end_slowly(void *arg) {
  intptr_t round = (intptr_t)arg;
  if (round < PTHREAD_DESTRUCTOR_ITERATIONS)
    pthread_setspecific(slow_end, (void *)(round + 1));
  else
    delay();
}

static void *take_turns(void *arg) {
  pthread_setspecific(slow_end, (void *)1);
  pthread_mutex_lock(&a);
  while (value != (int)(intptr_t)arg) pthread_cond_wait(&cond, &a);
  value++;
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(&a);
  return NULL;
}

static int run_slowly(void) {
  pthread_t threads[SLOW_THREADS];
  slow = true;
  if (pthread_key_create(&slow_end, end_slowly) != 0) return 2;
  for (intptr_t i = 0; i < SLOW_THREADS; i++)
    if (pthread_create(&threads[i], NULL, take_turns, (void *)i) != 0) return 2;
  for (int i = 0; i < SLOW_THREADS; i++) pthread_join(threads[i], NULL);
  if (value != SLOW_THREADS) abort();
  return 0;
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
  if (strcmp(what, "slow") == 0) return run_slowly();
  printf("%s\n", what); /* stays in stdio's buffer until the end */
  if (pipe(ends) != 0) return 2;
  if (pthread_create(&threads[0], NULL, body, NULL) != 0) return 2;
  if (pthread_create(&threads[1], NULL, body, threads) != 0) return 2;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  if ((body == add_one || body == add_one_masked) && value != 2) abort();
  return 0;
}
