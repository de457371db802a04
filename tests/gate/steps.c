/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stock pthread program whose choices in a seeded run are known one by one.
 *   steps calls        makes each call once, none of which waits, while another thread is ready
 *   steps waits        waits once for each kind of object
 *   steps stuck KIND   waits for one of that kind forever
 *   steps times        prints what the clocks say, before and after sleeps
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "support/plain.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once;
static sem_t semaphore, begun, go, never;
static bool set;

static void *nothing(void *arg) { return arg; }

static void no_routine(void) {}

static void make_calls(void) {
  pthread_t thread;
  pthread_barrier_t alone;
  pthread_once_t first = PTHREAD_ONCE_INIT;
  struct timespec until = {2000000000, 0};
  void *result = &thread;
  CHECK(pthread_create(&thread, NULL, nothing, &first) == 0);
  CHECK(pthread_mutex_lock(&mutex) == 0);
  CHECK(pthread_mutex_trylock(&mutex) == EBUSY);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
  CHECK(pthread_mutex_timedlock(&mutex, &until) == 0 && pthread_mutex_unlock(&mutex) == 0);
  CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until) == 0 &&
        pthread_mutex_unlock(&mutex) == 0);
  CHECK(pthread_cond_signal(&cond) == 0);
  CHECK(pthread_cond_broadcast(&cond) == 0);
  CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
  CHECK(pthread_rwlock_tryrdlock(&rwlock) == 0);
  CHECK(pthread_rwlock_timedrdlock(&rwlock, &until) == 0);
  CHECK(pthread_rwlock_clockrdlock(&rwlock, CLOCK_REALTIME, &until) == 0);
  CHECK(pthread_rwlock_trywrlock(&rwlock) == EBUSY);
  for (int i = 0; i < 4; i++) CHECK(pthread_rwlock_unlock(&rwlock) == 0);
  CHECK(pthread_rwlock_wrlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
  CHECK(pthread_spin_lock(&spin) == 0);
  CHECK(pthread_spin_trylock(&spin) == EBUSY);
  CHECK(pthread_spin_unlock(&spin) == 0);
  CHECK(sem_post(&semaphore) == 0 && sem_wait(&semaphore) == 0);
  CHECK(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
  CHECK(sem_post(&semaphore) == 0 && sem_timedwait(&semaphore, &until) == 0);
  CHECK(sem_post(&semaphore) == 0 && sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) == 0);
  pthread_barrier_init(&alone, NULL, 1);
  int arrived = pthread_barrier_wait(&alone);
  CHECK(arrived == PTHREAD_BARRIER_SERIAL_THREAD);
  CHECK(pthread_once(&first, no_routine) == 0);
  CHECK(pthread_once(&first, abort) == 0); /* no choice: it is done */
  struct timeval now;
  CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0 && gettimeofday(&now, NULL) == 0);
  CHECK(time(&until.tv_sec) == until.tv_sec);
  CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &until) == 0); /* the kernel's */
  CHECK(pthread_cancel(thread) == 0);
  CHECK(pthread_join(thread, &result) == 0 && (result == &first || result == PTHREAD_CANCELED));
}

/* ---- the other thread holds, then gives */

static void wait_inside(void) {
  sem_post(&begun);
  sem_wait(&go);
}

static const char *const kinds[] = {"mutex",  "condition", "semaphore", "barrier", "rdlock",
                                    "wrlock", "spin",      "once",      "join",    "sleep"};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool is(const void *arg, const char *kind) { return strcmp(arg, kind) == 0; }

static void hold(const void *arg) {
  if (is(arg, "mutex")) pthread_mutex_lock(&mutex);
  if (is(arg, "rdlock")) pthread_rwlock_wrlock(&rwlock);
  if (is(arg, "wrlock")) pthread_rwlock_rdlock(&rwlock);
  if (is(arg, "spin")) pthread_spin_lock(&spin);
}

static void give(const void *arg) {
  if (is(arg, "mutex")) pthread_mutex_unlock(&mutex);
  if (is(arg, "rdlock") || is(arg, "wrlock")) pthread_rwlock_unlock(&rwlock);
  if (is(arg, "spin")) pthread_spin_unlock(&spin);
  if (is(arg, "semaphore")) sem_post(&semaphore);
  if (is(arg, "barrier")) pthread_barrier_wait(&barrier);
  if (!is(arg, "condition")) return;
  pthread_mutex_lock(&mutex);
  set = true;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&mutex);
}

static void *other(void *arg) {
  hold(arg);
  if (is(arg, "once"))
    pthread_once(&once, wait_inside);
  else
    wait_inside();
  give(arg);
  return arg;
}

static void *stuck(void *arg) {
  hold(arg);
  sem_post(&begun);
  sem_wait(&never);
  return arg;
}

static void stuck_inside(void) { stuck((void *)"once"); }

static void *stuck_in_once(void *arg) {
  pthread_once(&once, stuck_inside);
  return arg;
}

static void take(pthread_t thread, const void *arg) {
  void *result = NULL;
  if (is(arg, "mutex")) CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
  if (is(arg, "rdlock"))
    CHECK(pthread_rwlock_rdlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
  if (is(arg, "wrlock"))
    CHECK(pthread_rwlock_wrlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
  if (is(arg, "spin")) CHECK(pthread_spin_lock(&spin) == 0 && pthread_spin_unlock(&spin) == 0);
  if (is(arg, "semaphore")) CHECK(sem_wait(&semaphore) == 0);
  if (is(arg, "barrier")) pthread_barrier_wait(&barrier);
  if (is(arg, "once")) CHECK(pthread_once(&once, abort) == 0);
  if (is(arg, "sleep")) CHECK(usleep(1000) == 0);
  if (is(arg, "condition")) {
    pthread_mutex_lock(&mutex);
    while (!set) pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
  }
  CHECK(pthread_join(thread, &result) == 0 && result == arg);
}

static void wait_for(const char *wait, void *(*func)(void *)) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, func, (void *)wait) == 0);
  sem_wait(&begun);
  sem_post(&go);
  take(thread, wait);
}

/* ---- time */

static void print_times(const char *when) {
  struct timespec monotonic, real;
  struct timeval day;
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  clock_gettime(CLOCK_REALTIME, &real);
  gettimeofday(&day, NULL);
  time_t now = time(NULL);
  printf("%s: %ld.%09ld %ld.%09ld %ld.%06ld %ld\n", when, (long)monotonic.tv_sec, monotonic.tv_nsec,
         (long)real.tv_sec, real.tv_nsec, (long)day.tv_sec, (long)day.tv_usec, (long)now);
}

static void print_all_times(void) {
  struct timespec time = {3, 5}, left = {7, 7}, past = {1, 0}, late = {1007, 0};
  print_times("start");
  CHECK(nanosleep(&time, &left) == 0 && left.tv_sec == 7);
  print_times("nanosleep");
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL) == 0);
  print_times("clock_nanosleep");
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL) == 0);
  print_times("past");
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &late, NULL) == 0);
  print_times("late");
  CHECK(usleep(2500000) == 0);
  print_times("usleep");
  CHECK(sleep(4) == 0);
  print_times("sleep");
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += 2;
  CHECK(sem_timedwait(&never, &time) == -1 && errno == ETIMEDOUT);
  print_times("sem_timedwait");
  time.tv_sec = -1;
  CHECK(nanosleep(&time, NULL) == -1 && errno == EINVAL);
  time = (struct timespec){0, 1000000000};
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL) == EINVAL);
  print_times("none");
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  pthread_barrier_init(&barrier, NULL, 2);
  sem_init(&semaphore, 0, 0);
  sem_init(&begun, 0, 0);
  sem_init(&go, 0, 0);
  sem_init(&never, 0, 0);
  if (strcmp(what, "calls") == 0) make_calls();
  if (strcmp(what, "times") == 0) print_all_times();
  for (int i = 0; i < KINDS && strcmp(what, "waits") == 0; i++) wait_for(kinds[i], other);
  for (int i = 0; i < KINDS && argc > 2; i++)
    if (strcmp(argv[2], kinds[i]) == 0)
      wait_for(kinds[i], strcmp(argv[2], "once") == 0 ? stuck_in_once : stuck);
  printf("right\n");
}
