/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stock pthread program with a bug that few orders of its threads show.
 *   planted deadlock   two threads lock two mutexes, each in its own order
 *   planted signal     a signal may come before the wait, which then never ends
 *   planted check      a thread acts on what it has read in an earlier critical section
 *   planted race       two threads add to a word without a lock
 *   planted masked     the same by threads that block all signals
 *   planted first      the same by threads that block them by sigprocmask()
 *   planted handled    the same by a handler that blocks them while it runs, and by a thread
 *   planted stuck      a thread waits for a semaphore of its own, which nobody posts
 *   planted sleep      a thread trusts that another sleeps for longer; no order shows a bug
 *   planted clocks     the same of two clocks
 *   planted yield      a thread yields until the other, created later, stores a word; no bug
 *   planted words      as deadlock, with locks of the program's own, which wait for words
 *   planted timed      as sleep, by waits for words
 *   planted wakes      a thread waits for words, and the other wakes it in each way; no bug
 *   planted slow       threads take turns, and the kernel takes its time; no bug
 *   planted read       a thread waits for the other in the kernel; no bug, but no seed says when
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
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

static void *add_one_masked_first(void *arg) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  return add_one(arg);
}

/* With a call of libc's, behind which the gate's breakpoint stays. */
static void add_one_slowly(int signo) {
  int seen = *(volatile int *)&value;
  (void)signo;
  getppid();
  *(volatile int *)&value = seen + 1;
}

static void *add_one_in_handler(void *arg) {
  if (arg == NULL)
    add_one_slowly(0);
  else
    raise(SIGUSR1);
  return arg;
}

static void handle_signals(void) {
  struct sigaction action = {.sa_handler = add_one_slowly};
  sigfillset(&action.sa_mask);
  if (sigaction(SIGUSR1, &action, NULL) != 0) abort();
}

static void *wait_for_nobody(void *arg) {
  sem_t own;
  sem_init(&own, 0, 0);
  if (arg == NULL) sem_wait(&own);
  return arg;
}

static void *sleep_for(void *arg) {
  sleep(arg != NULL ? 1000 : 2000);
  if (value++ != (arg == NULL)) abort();
  return NULL;
}

enum { CLOCK_MS = 1000000, SOON_NS = CLOCK_MS / 2 };

/* Waits by a clock for some milliseconds, and not for much longer. */
static void wait_by(clockid_t clock, int ms) {
  struct timespec until, now;
  sem_t never;
  sem_init(&never, 0, 0);
  clock_gettime(clock, &until);
  until.tv_nsec += ms * CLOCK_MS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  if (sem_clockwait(&never, clock, &until) == 0) abort();
  clock_gettime(clock, &now);
  long late = (now.tv_sec - until.tv_sec) * 1000000000 + now.tv_nsec - until.tv_nsec;
  if (late < 0 || late > SOON_NS) abort();
}

/* The one with the earlier time is the first, whichever clock it is by. */
static void *wait_by_two_clocks(void *arg) {
  clockid_t clock = arg == NULL ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  wait_by(clock, arg == NULL ? 10 : 12);
  if (value++ != (arg != NULL)) abort();
  wait_by(clock, arg == NULL ? 20 : 10);
  if (value++ != 2 + (arg == NULL)) abort();
  return arg;
}

static void *yield_or_store(void *arg) {
  while (arg == NULL && __atomic_load_n(&value, __ATOMIC_RELAXED) == 0) sched_yield();
  __atomic_store_n(&value, 1, __ATOMIC_RELAXED);
  return arg;
}

/* ---- words, as the locks of Rust's library are */

static uint32_t words[2]; /* [atomic] 1: locked */

static long use_word(uint32_t *word, int call, uint32_t number, const struct timespec *time) {
  return syscall(SYS_futex, word, call | FUTEX_PRIVATE_FLAG, number, time, NULL,
                 FUTEX_BITSET_MATCH_ANY);
}

static void lock_word(uint32_t *word) {
  while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE) != 0)
    if (use_word(word, FUTEX_WAIT, 1, NULL) != 0 && errno != EAGAIN) abort();
}

static void unlock_word(uint32_t *word) {
  __atomic_store_n(word, 0, __ATOMIC_RELEASE);
  if (use_word(word, FUTEX_WAKE, 1, NULL) > 1) abort();
}

/* The locks make no call while they are free. */
static void *lock_both_words(void *arg) {
  lock_word(&words[arg != NULL]);
  sched_yield();
  lock_word(&words[arg == NULL]);
  value++;
  unlock_word(&words[0]);
  unlock_word(&words[1]);
  return NULL;
}

static void *wait_for_time(void *arg) {
  uint32_t never = 0;
  struct timespec now, after = {.tv_sec = 1000};
  clock_gettime(CLOCK_MONOTONIC, &now);
  now.tv_sec += 2000;
  long result = arg != NULL ? use_word(&never, FUTEX_WAIT, 0, &after)
                            : use_word(&never, FUTEX_WAIT_BITSET, 0, &now);
  if (result != -1 || errno != ETIMEDOUT || value++ != (arg == NULL)) abort();
  return NULL;
}

enum { WAKES = 5 };

static void wake_by(int way, uint32_t *word) {
  const int op = FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0);
  uint32_t other = 0;
  if (way < WAKES - 1) __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  switch (way) {
    case 0: use_word(word, FUTEX_WAKE, 1, NULL); break;
    case 1: use_word(word, FUTEX_WAKE_BITSET, INT_MAX, NULL); break;
    case 2: syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 2); break;
    case 3: syscall(SYS_futex, word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1L, &other, 1); break;
    default: syscall(SYS_futex, &other, FUTEX_WAKE_OP_PRIVATE, 1, 1L, word, op);
  }
}

static void *wait_or_wake(void *arg) {
  static uint32_t here[WAKES];
  for (int way = 0; way < WAKES; way++) {
    if (arg != NULL) wake_by(way, &here[way]);
    while (__atomic_load_n(&here[way], __ATOMIC_ACQUIRE) == 0)
      if (use_word(&here[way], FUTEX_WAIT_BITSET, 0, NULL) != 0 && errno != EAGAIN) abort();
  }
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
  if (strcmp(what, "first") == 0) body = add_one_masked_first;
  if (strcmp(what, "handled") == 0) body = add_one_in_handler, handle_signals();
  if (strcmp(what, "stuck") == 0) body = wait_for_nobody;
  if (strcmp(what, "sleep") == 0) body = sleep_for;
  if (strcmp(what, "clocks") == 0) body = wait_by_two_clocks;
  if (strcmp(what, "yield") == 0) body = yield_or_store;
  if (strcmp(what, "read") == 0) body = read_or_write;
  if (strcmp(what, "words") == 0) body = lock_both_words;
  if (strcmp(what, "timed") == 0) body = wait_for_time;
  if (strcmp(what, "wakes") == 0) body = wait_or_wake;
  if (strcmp(what, "slow") == 0) return run_slowly();
  printf("%s\n", what); /* stays in stdio's buffer until the end */
  if (pipe(ends) != 0) return 2;
  if (pthread_create(&threads[0], NULL, body, NULL) != 0) return 2;
  if (pthread_create(&threads[1], NULL, body, threads) != 0) return 2;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  bool adds = body == add_one || body == add_one_masked || body == add_one_masked_first ||
              body == add_one_in_handler;
  if (adds && value != 2) abort();
  return 0;
}
