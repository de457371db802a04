/* SPDX-License-Identifier: Apache-2.0 */
/* Pthreads of a rank: how they wait for each other, how they end, where they run; and sleeping,
 * which lets other ranks run. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { THREADS = 3 };

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int arrived, ended, came[THREADS];

extern int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *of);

static void note_end(void *argument) {
  __atomic_add_fetch(&ended, argument == &ended, __ATOMIC_RELAXED);
}

/* It stays on one CPU, and nobody else does. */
static void bind(void) {
  cpu_set_t one, after;
  CPU_ZERO(&one);
  CPU_SET((unsigned)sched_getcpu(), &one);
  CHECK(pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&one, &after));
}

static void *work(void *argument) {
  int *index = argument;
  bind();
  __cxa_thread_atexit_impl(note_end, &ended, &ended);
  pthread_barrier_wait(&barrier);
  came[index - came] = 1;
  pthread_mutex_lock(&mutex);
  if (++arrived == THREADS + 1) pthread_cond_broadcast(&cond);
  while (arrived <= THREADS) pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
  pthread_exit(index);
}

static void check_phase(void) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&barrier, NULL, THREADS + 1);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, &came[i]) == 0);
  int last = pthread_barrier_wait(&barrier);
  CHECK(last == 0 || last == PTHREAD_BARRIER_SERIAL_THREAD);
  pthread_mutex_lock(&mutex);
  if (++arrived == THREADS + 1) pthread_cond_broadcast(&cond);
  while (arrived <= THREADS) pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < THREADS; i++) {
    void *result;
    CHECK(pthread_join(threads[i], &result) == 0 && result == &came[i] && came[i]);
  }
  CHECK(ended == THREADS);
}

/* ---- pthreads that wait until they may end */

struct waiter {
  sem_t runs, may_end;
  pid_t number;
};

static void *wait_for_end(void *argument) {
  struct waiter *waiter = argument;
  waiter->number = gettid();
  sem_post(&waiter->runs);
  while (sem_wait(&waiter->may_end) != 0) continue;
  return NULL;
}

static void start_waiter(pthread_t *thread, struct waiter *waiter) {
  CHECK(sem_init(&waiter->runs, 0, 0) == 0 && sem_init(&waiter->may_end, 0, 0) == 0);
  CHECK(pthread_create(thread, NULL, wait_for_end, waiter) == 0);
}

/* A rank binds a pthread of its own, from outside: by libc's number and by the kernel's. */
static void check_binding(void) {
  struct waiter bound;
  pthread_t thread;
  cpu_set_t one, now;
  CPU_ZERO(&one);
  CPU_SET((unsigned)sched_getcpu(), &one);
  start_waiter(&thread, &bound);
  while (sem_wait(&bound.runs) != 0) continue;
  CHECK(pthread_setaffinity_np(thread, sizeof one, &one) == 0);
  CHECK(sched_getaffinity(bound.number, sizeof now, &now) == 0 && CPU_EQUAL(&one, &now));
  CHECK(sched_setaffinity(bound.number, sizeof one, &one) == 0);
  CPU_ZERO(&now);
  CHECK(sched_setaffinity(bound.number, sizeof now, &now) != 0);
  sem_post(&bound.may_end);
  CHECK(pthread_join(thread, NULL) == 0);
}

/* ---- joins that may fail */

enum { JOINS = 4000, KEPT_BYTES = JOINS * 16 };

static void *return_at_once(void *argument) { return argument; }

static void *join_itself(void *error) {
  *(int *)error = pthread_join(pthread_self(), NULL);
  return NULL;
}

static struct timespec in_ms(clockid_t clock, long ms) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += ms * 1000000;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

/* A join that fails is none: the pthread can be joined later, by any of the calls. */
static void check_failing_joins(void) {
  for (int i = 0; i < 4; i++) {
    pthread_t thread;
    void *result = NULL;
    int error;
    struct waiter waiter;
    struct timespec soon = in_ms(CLOCK_MONOTONIC, 1), late = in_ms(CLOCK_REALTIME, 1000000);
    start_waiter(&thread, &waiter);
    CHECK(pthread_tryjoin_np(thread, &result) == EBUSY);
    CHECK(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    soon = in_ms(CLOCK_REALTIME, 1);
    CHECK(pthread_timedjoin_np(thread, &result, &soon) == ETIMEDOUT);
    sem_post(&waiter.may_end);
    if (i == 0) CHECK(pthread_join(thread, &result) == 0);
    if (i == 1) CHECK(pthread_timedjoin_np(thread, &result, &late) == 0);
    late = in_ms(CLOCK_MONOTONIC, 1000000);
    if (i == 2) CHECK(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &late) == 0);
    if (i == 3) {
      while ((error = pthread_tryjoin_np(thread, &result)) == EBUSY) sched_yield();
      CHECK(error == 0);
    }
    CHECK(result == NULL);
    CHECK(pthread_create(&thread, NULL, join_itself, &error) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && error == EDEADLK);
  }
}

/* What was kept for a joiner goes with the join, by whatever call. */
static void check_memory_of_joins(int rank) {
  size_t before = mallinfo2().uordblks;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < JOINS; i++) {
    pthread_t thread;
    struct timespec late = in_ms(CLOCK_REALTIME, 1000000);
    CHECK(pthread_create(&thread, NULL, return_at_once, NULL) == 0);
    CHECK(pthread_timedjoin_np(thread, NULL, &late) == 0);
  }
  if (rank == 0) CHECK(mallinfo2().uordblks < before + KEPT_BYTES);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- sleeping */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void check_sleep(void) {
  struct timespec wrong = {0, 1000000000}, a_while = {0, 2000000}, left = {7, 7}, until;
  double start = now();
  CHECK(nanosleep(&a_while, &left) == 0 && left.tv_sec == 0 && left.tv_nsec == 0);
  CHECK(nanosleep(&a_while, NULL) == 0);
  CHECK(now() - start >= 0.004);
  CHECK(nanosleep(&wrong, NULL) == -1 && errno == EINVAL);
  wrong.tv_sec = -1;
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL) == EINVAL);
  left.tv_sec = 7;
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &a_while, &left) == 0 && left.tv_sec == 0);
  clock_gettime(CLOCK_REALTIME, &until);
  CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == 0); /* it is over */
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += 1000000;
  if (until.tv_nsec < 1000000000)
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
  CHECK(clock_nanosleep(-1000, TIMER_ABSTIME, &until, NULL) == EINVAL);
  CHECK(usleep(1000) == 0 && sleep(0) == 0 && sched_yield() == 0);
  left.tv_sec = 7;
  CHECK(thrd_sleep(&a_while, &left) == 0 && left.tv_sec == 0);
  CHECK(thrd_sleep(&wrong, NULL) < -1);
  thrd_yield();
}

/* Rank 0 waits without MPI for what the others do: on one VP each must let the rest run. */
static void check_turns(int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  int done = 0, flag = 0;
  if (rank == 0) MPI_Irecv(&done, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  while (rank == 0 && !flag) {
    sched_yield();
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
  CHECK(rank != 0 || done == 1);
}

static void *number_of_pthread(void *number) {
  *(pthread_t *)number = pthread_self();
  return number;
}

/* A rank has one number wherever it runs, which no pthread of its has, and which is not 0:
 * libraries take that for no thread. */
static void check_number(void) {
  pthread_t own = pthread_self(), thread, other;
  CHECK(own != 0);
  CHECK(pthread_create(&thread, NULL, number_of_pthread, &other) == 0);
  for (int i = 0; i < 50; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (i % 10 == 0) usleep(1);
    CHECK(pthread_equal(own, pthread_self()));
  }
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(pthread_equal(thread, other) && !pthread_equal(thread, own));
}

/* The number is stored before the pthread runs: each of many creations is interrupted until it has
 * looked, or for a while. */
enum { CREATIONS = 50, DELAY = 300000 };

static volatile sig_atomic_t looked, all_created;
static pthread_t stored;

static void delay(int signo) {
  for (volatile int i = 0; i < DELAY && !looked; i++) (void)signo;
}

static void *interrupt(void *creator) {
  while (!all_created) CHECK(pthread_kill(*(pthread_t *)creator, SIGUSR2) == 0);
  return creator;
}

static void *look(void *unused) {
  (void)unused;
  bool own = pthread_equal(stored, pthread_self());
  looked = 1;
  return own ? &stored : NULL;
}

static void check_stored_number(void) {
  pthread_t self = pthread_self(), interrupter;
  void *result;
  signal(SIGUSR2, delay);
  CHECK(pthread_create(&interrupter, NULL, interrupt, &self) == 0);
  for (int i = 0; i < CREATIONS; i++) {
    looked = 0;
    stored = 0;
    CHECK(pthread_create(&stored, NULL, look, NULL) == 0);
    CHECK(pthread_join(stored, &result) == 0 && result == &stored);
  }
  all_created = 1;
  CHECK(pthread_join(interrupter, NULL) == 0);
}

/* ---- the error of dlsym() is that of the thread that has called it */

static void *fail_to_find(void *unused) {
  CHECK(dlsym(RTLD_DEFAULT, "malloc") != NULL && dlerror() == NULL);
  CHECK(dlsym(RTLD_DEFAULT, "second_of_none") == NULL);
  const char *why = dlerror();
  CHECK(why != NULL && strstr(why, "second_of_none") != NULL && dlerror() == NULL);
  return unused;
}

static void check_errors_of_threads(void) {
  pthread_t thread;
  CHECK(dlsym(RTLD_DEFAULT, "first_of_none") == NULL);
  CHECK(pthread_create(&thread, NULL, fail_to_find, NULL) == 0 && pthread_join(thread, NULL) == 0);
  const char *why = dlerror();
  CHECK(why != NULL && strstr(why, "first_of_none") != NULL && dlerror() == NULL);
}

int main(int argc, char **argv) {
  int size, rank, level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_phase();
  check_binding();
  check_failing_joins();
  if (check_is_one_node()) check_memory_of_joins(rank); /* else UCX allocates meanwhile */
  check_number();
  check_stored_number();
  check_sleep();
  check_turns(rank);
  check_errors_of_threads();
  MPI_Finalize();
  return 0;
}
