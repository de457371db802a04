/* SPDX-License-Identifier: Apache-2.0 */
/* A stock pthread program with a library that was linked long ago: it calls libc's functions by
 * names that new programs do not get from the linker. What waits by one name is woken by the other.
 * It knows nothing of the gate, and runs without it, too. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "asleep.h"

#define CHECK(condition)                                                                           \
  ((condition) ? (void)0 : failed(__LINE__, #condition)) /* not assert(): NDEBUG may be set */

static void failed(int line, const char *what) {
  fprintf(stderr, "old_names.c:%d: not true: %s\n", line, what);
  _exit(1);
}

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif
/* NOLINTNEXTLINE(bugprone-macro-parentheses) a name */
#define OLD(name)                                                                                  \
  __asm__(".symver old_" #name ", __pthread_" #name "@" FIRST_VERSION);                            \
  extern __typeof__(pthread_##name) old_##name

OLD(mutex_lock);
OLD(mutex_trylock);
OLD(mutex_unlock);
OLD(once);
OLD(rwlock_rdlock);
OLD(rwlock_tryrdlock);
OLD(rwlock_wrlock);
OLD(rwlock_trywrlock);
OLD(rwlock_unlock);

/* Of one round: by which names the waiter and the other thread call. */
static struct {
  __typeof__(pthread_mutex_lock) *lock;
  __typeof__(pthread_mutex_unlock) *unlock;
  __typeof__(pthread_once) *once;
  __typeof__(pthread_rwlock_rdlock) *read;
  __typeof__(pthread_rwlock_wrlock) *write;
  __typeof__(pthread_rwlock_unlock) *end;
} by[2] = {{pthread_mutex_lock, pthread_mutex_unlock, pthread_once, pthread_rwlock_rdlock,
            pthread_rwlock_wrlock, pthread_rwlock_unlock},
           {old_mutex_lock, old_mutex_unlock, old_once, old_rwlock_rdlock, old_rwlock_wrlock,
            old_rwlock_unlock}};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once;
static volatile pid_t waiter;
static int waiters_names, runs;

static void *wait_for_mutex(void *arg) {
  waiter = gettid();
  CHECK(by[waiters_names].lock(&mutex) == 0 && by[waiters_names].unlock(&mutex) == 0);
  return arg;
}

static void *wait_to_read(void *arg) {
  waiter = gettid();
  CHECK(by[waiters_names].read(&rwlock) == 0 && by[waiters_names].end(&rwlock) == 0);
  return arg;
}

static void *wait_to_write(void *arg) {
  waiter = gettid();
  CHECK(by[waiters_names].write(&rwlock) == 0 && by[waiters_names].end(&rwlock) == 0);
  return arg;
}

static void run_until_other_waits(void) {
  runs++;
  await_sleep(&waiter);
}

static void *wait_for_once(void *arg) {
  waiter = gettid();
  CHECK(by[waiters_names].once(&once, run_until_other_waits) == 0 && runs == 1);
  return arg;
}

static pthread_t begin(void *(*function)(void *)) {
  pthread_t thread;
  waiter = 0;
  CHECK(pthread_create(&thread, NULL, function, NULL) == 0);
  return thread;
}

static void end(pthread_t thread) { CHECK(pthread_join(thread, NULL) == 0); }

static pthread_t while_once_runs;

static void begin_and_run(void) {
  while_once_runs = begin(wait_for_once);
  run_until_other_waits();
}

static void round_of(int waiters, int others) {
  pthread_t thread;
  waiters_names = waiters;
  CHECK(by[others].lock(&mutex) == 0);
  thread = begin(wait_for_mutex);
  await_sleep(&waiter);
  CHECK(by[others].unlock(&mutex) == 0);
  end(thread);
  CHECK(by[others].write(&rwlock) == 0);
  thread = begin(wait_to_read);
  await_sleep(&waiter);
  CHECK(by[others].end(&rwlock) == 0);
  end(thread);
  CHECK(by[others].read(&rwlock) == 0);
  thread = begin(wait_to_write);
  await_sleep(&waiter);
  CHECK(by[others].end(&rwlock) == 0);
  end(thread);
  once = PTHREAD_ONCE_INIT;
  runs = 0;
  CHECK(by[others].once(&once, begin_and_run) == 0);
  end(while_once_runs);
}

static void test_tries(void) {
  CHECK(old_mutex_trylock(&mutex) == 0 && pthread_mutex_trylock(&mutex) == EBUSY);
  CHECK(old_mutex_trylock(&mutex) == EBUSY && old_mutex_unlock(&mutex) == 0);
  CHECK(old_rwlock_tryrdlock(&rwlock) == 0 && pthread_rwlock_trywrlock(&rwlock) == EBUSY);
  CHECK(old_rwlock_trywrlock(&rwlock) == EBUSY && old_rwlock_unlock(&rwlock) == 0);
}

int main(void) {
  for (int round = 0; round < 4; round++) round_of(round % 2, round / 2);
  test_tries();
  puts("right");
  return 0;
}
