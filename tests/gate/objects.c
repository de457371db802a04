/* SPDX-License-Identifier: Apache-2.0 */
/* A stock pthread program that uses each kind of object, and checks what it gets. It knows nothing
 * of the gate, and runs without it, too. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
  ((condition) ? (void)0 : failed(__LINE__, #condition)) /* not assert(): NDEBUG may be set */

enum { THREADS = 6, ROUNDS = 2000 };

static void failed(int line, const char *what) {
  fprintf(stderr, "objects.c:%d: not true: %s\n", line, what);
  _exit(1);
}

static struct timespec in_ms(clockid_t clock, long ms) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ms * 1000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

/* Runs func on THREADS threads, and joins them. */
static void on_all(void *(*func)(void *)) {
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, func, (void *)i) == 0);
  for (long i = 0; i < THREADS; i++) {
    void *result;
    CHECK(pthread_join(threads[i], &result) == 0 && result == (void *)i);
  }
}

/* ---- mutexes, conditions, barriers */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static long count, spun, turn;
static int serial;

static void *locks(void *arg) {
  for (int i = 0; i < ROUNDS; i++) {
    pthread_mutex_lock(&mutex);
    count++;
    pthread_mutex_unlock(&mutex);
    pthread_spin_lock(&spin);
    spun++;
    pthread_spin_unlock(&spin);
  }
  return arg;
}

static void *takes_turns(void *arg) {
  for (int i = 0; i < 200; i++) {
    pthread_mutex_lock(&mutex);
    while (turn % THREADS != (long)arg) pthread_cond_wait(&cond, &mutex);
    turn++;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

static void *meets(void *arg) {
  for (int i = 0; i < 200; i++) {
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    int which = pthread_barrier_wait(&barrier);
    if (which == PTHREAD_BARRIER_SERIAL_THREAD) __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);
    CHECK(__atomic_load_n(&count, __ATOMIC_RELAXED) >= (i + 1) * THREADS);
    pthread_barrier_wait(&barrier);
  }
  return arg;
}

static void test_locks(void) {
  count = 0;
  static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&other);
  CHECK(pthread_mutex_trylock(&other) == EBUSY);
  struct timespec soon = in_ms(CLOCK_REALTIME, 20);
  CHECK(pthread_mutex_timedlock(&other, &soon) == ETIMEDOUT);
  soon = in_ms(CLOCK_MONOTONIC, 20);
  CHECK(pthread_mutex_clocklock(&other, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
  pthread_mutex_unlock(&other);
  on_all(takes_turns);
  CHECK(turn == 200 * THREADS);
  pthread_barrier_init(&barrier, NULL, THREADS);
  on_all(meets);
  CHECK(serial == 200);
}

static void test_exclusion(void) {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  count = 0;
  on_all(locks);
  CHECK(count == (long)THREADS * ROUNDS && spun == count);
}

/* What another thread gets of a mutex. */
static void *tries(void *m) {
  int error = pthread_mutex_trylock(m);
  if (error == 0) pthread_mutex_unlock(m);
  return (void *)(intptr_t)error;
}

static void *unlocks(void *m) { return (void *)(intptr_t)pthread_mutex_unlock(m); }

static int elsewhere(void *(*func)(void *), pthread_mutex_t *m) {
  pthread_t thread;
  void *error;
  CHECK(pthread_create(&thread, NULL, func, m) == 0 && pthread_join(thread, &error) == 0);
  return (int)(intptr_t)error;
}

static void test_recursive(pthread_mutex_t *m) {
  CHECK(pthread_mutex_unlock(m) == EPERM);
  for (int i = 0; i < 3; i++)
    CHECK(i == 1 ? pthread_mutex_trylock(m) == 0 : pthread_mutex_lock(m) == 0);
  for (int i = 0; i < 3; i++) {
    CHECK(elsewhere(tries, m) == EBUSY && elsewhere(unlocks, m) == EPERM);
    CHECK(pthread_mutex_destroy(m) == EBUSY && pthread_mutex_unlock(m) == 0);
  }
  CHECK(elsewhere(tries, m) == 0 && pthread_mutex_unlock(m) == EPERM);
  CHECK(pthread_mutex_destroy(m) == 0);
}

static void test_types(void) {
  pthread_mutexattr_t attr;
  pthread_mutex_t checks, again;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&checks, &attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&again, &attr);
  CHECK(pthread_mutex_lock(&checks) == 0);
  CHECK(pthread_mutex_lock(&checks) == EDEADLK);
  CHECK(pthread_mutex_unlock(&checks) == 0);
  CHECK(pthread_mutex_unlock(&checks) == EPERM);
  test_recursive(&again);
  CHECK(pthread_cond_wait(&cond, &checks) == EPERM);
  CHECK(pthread_join(pthread_self(), NULL) == EDEADLK);
}

/* ---- semaphores, readers and writers, once */

static sem_t sem;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int onces;

static void init_once(void) {
  usleep(2000);
  onces++;
}

static void *mixes(void *arg) {
  pthread_once(&once, init_once);
  CHECK(onces == 1);
  for (int i = 0; i < ROUNDS / 4; i++) {
    pthread_rwlock_rdlock(&rwlock);
    long before = count;
    pthread_rwlock_unlock(&rwlock);
    CHECK(before >= 0);
    pthread_rwlock_wrlock(&rwlock);
    count++;
    pthread_rwlock_unlock(&rwlock);
    while (sem_wait(&sem) != 0) CHECK(errno == EINTR);
    turn++;
    sem_post(&sem);
  }
  return arg;
}

static void test_others(void) {
  count = turn = 0;
  sem_init(&sem, 0, 1);
  on_all(mixes);
  CHECK(count == THREADS * (ROUNDS / 4) && turn == count);
  sem_wait(&sem);
  struct timespec soon = in_ms(CLOCK_REALTIME, 20);
  CHECK(sem_timedwait(&sem, &soon) == -1 && errno == ETIMEDOUT);
  pthread_rwlock_rdlock(&rwlock);
  soon = in_ms(CLOCK_REALTIME, 20);
  CHECK(pthread_rwlock_timedwrlock(&rwlock, &soon) == ETIMEDOUT);
  pthread_rwlock_unlock(&rwlock);
  soon = in_ms(CLOCK_REALTIME, 20);
  pthread_mutex_lock(&mutex);
  while (pthread_cond_timedwait(&cond, &mutex, &soon) == 0) continue;
  pthread_mutex_unlock(&mutex);
}

/* ---- what libc refuses */

/* A time that is none is an error also where nothing would wait, but not for a mutex. */
static void test_bad_times(void) {
  const struct timespec bad = {.tv_nsec = 1000000000}, past = {0};
  pthread_mutex_t free_mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t free_lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_t thread;
  sem_t one;
  sem_init(&one, 0, 1);
  CHECK(sem_timedwait(&one, &bad) == -1 && errno == EINVAL);
  CHECK(sem_clockwait(&one, CLOCK_MONOTONIC, &bad) == -1 && errno == EINVAL);
  CHECK(sem_timedwait(&one, &past) == 0);
  CHECK(pthread_rwlock_timedrdlock(&free_lock, &bad) == EINVAL);
  CHECK(pthread_rwlock_timedwrlock(&free_lock, &bad) == EINVAL);
  CHECK(pthread_rwlock_timedwrlock(&free_lock, &past) == 0);
  CHECK(pthread_rwlock_clockrdlock(&free_lock, CLOCK_REALTIME, &bad) == EINVAL);
  CHECK(pthread_rwlock_clockrdlock(&free_lock, CLOCK_REALTIME, &past) == EDEADLK);
  CHECK(pthread_mutex_timedlock(&free_mutex, &bad) == 0);
  CHECK(pthread_create(&thread, NULL, tries, &free_mutex) == 0);
  CHECK(pthread_clockjoin_np(thread, NULL, CLOCK_PROCESS_CPUTIME_ID, &past) == EINVAL);
  CHECK(pthread_clockjoin_np(thread, NULL, CLOCK_PROCESS_CPUTIME_ID, NULL) == EINVAL);
  CHECK(pthread_join(thread, NULL) == 0);
}

static pthread_mutex_t of_waiter;
static bool over;

static void *waits_with(void *arg) {
  pthread_mutex_lock(&of_waiter);
  __atomic_store_n(&count, 1, __ATOMIC_RELEASE);
  while (!over) CHECK(pthread_cond_wait(&cond, &of_waiter) == 0);
  pthread_mutex_unlock(&of_waiter);
  return arg;
}

/* A thread that waits for a condition locks its mutex again, which nobody may destroy meanwhile. */
static void test_mutex_of_a_waiter(int type) {
  pthread_mutexattr_t attr;
  pthread_t thread;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, type);
  pthread_mutex_init(&of_waiter, &attr);
  over = false;
  count = 0;
  CHECK(pthread_create(&thread, NULL, waits_with, NULL) == 0);
  while (__atomic_load_n(&count, __ATOMIC_ACQUIRE) == 0) sched_yield();
  pthread_mutex_lock(&of_waiter); /* it waits now */
  pthread_mutex_unlock(&of_waiter);
  CHECK(pthread_mutex_destroy(&of_waiter) == EBUSY);
  pthread_mutex_lock(&of_waiter);
  over = true;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&of_waiter);
  CHECK(pthread_join(thread, NULL) == 0 && pthread_mutex_destroy(&of_waiter) == 0);
}

/* ---- cancellation, handlers, fork, C11 */

static int cleaned;

static void clean(void *arg) {
  cleaned++;
  pthread_mutex_unlock(arg);
}

static void *waits_forever(void *arg) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(clean, &mutex);
  for (;;) pthread_cond_wait(&cond, &mutex);
  pthread_cleanup_pop(1);
  return arg;
}

static void *waits_for_sem(void *arg) {
  for (;;) sem_wait(&sem);
  return arg;
}

static void on_alarm(int signo) {
  (void)signo;
  sem_post(&sem);
}

/* A wait for a semaphore ends by a cancellation also where it need not wait. */
static void *cancels_itself(void *unused) {
  sem_t own;
  sem_init(&own, 0, 1);
  pthread_cancel(pthread_self());
  sem_wait(&own);
  return unused;
}

static void test_cancellation(void) {
  void *(*bodies[2])(void *) = {waits_forever, waits_for_sem};
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, bodies[i], NULL) == 0);
    usleep(10000);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
  }
  CHECK(elsewhere(cancels_itself, NULL) == -1); /* PTHREAD_CANCELED */
  CHECK(cleaned == 1 && pthread_mutex_trylock(&mutex) == 0);
  pthread_mutex_unlock(&mutex);
}

static void test_handlers(void) {
  signal(SIGALRM, on_alarm);
  ualarm(20000, 0);
  while (sem_wait(&sem) != 0) CHECK(errno == EINTR);
}

static void test_fork(void) {
  pid_t child = fork();
  if (child == 0) {
    test_types();
    on_all(locks);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static mtx_t mtx;
static cnd_t cnd;

static int c11(void *arg) {
  mtx_lock(&mtx);
  *(int *)arg = 1;
  cnd_signal(&cnd);
  mtx_unlock(&mtx);
  return 7;
}

static void test_c11(void) {
  thrd_t thread;
  int set = 0, result;
  CHECK(mtx_init(&mtx, mtx_plain) == thrd_success && cnd_init(&cnd) == thrd_success);
  mtx_lock(&mtx);
  CHECK(thrd_create(&thread, c11, &set) == thrd_success);
  while (set == 0) CHECK(cnd_wait(&cnd, &mtx) == thrd_success);
  mtx_unlock(&mtx);
  CHECK(thrd_join(thread, &result) == thrd_success && result == 7);
}

int main(void) {
  test_locks();
  test_exclusion();
  test_types();
  test_others();
  test_bad_times();
  test_mutex_of_a_waiter(PTHREAD_MUTEX_NORMAL);
  test_mutex_of_a_waiter(PTHREAD_MUTEX_RECURSIVE);
  test_mutex_of_a_waiter(PTHREAD_MUTEX_ERRORCHECK);
  test_cancellation();
  test_handlers();
  test_fork();
  test_c11();
  puts("right");
  return 0;
}
