/* SPDX-License-Identifier: Apache-2.0 */
/* A stock pthread program whose threads are unusual: libc refuses some, makes others itself, and
 * some end with keys that were made by other names. Objects on which threads wait side by side.
 * Children that are forked by other calls than fork(), in handlers, or while threads wait. It knows
 * nothing of the gate, and runs without it, too. With an argument it does the first alone, and
 * another thread than the first is the last.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"

#define CHECK(condition)                                                                           \
  ((condition) ? (void)0 : failed(__LINE__, #condition)) /* not assert(): NDEBUG may be set */

static void failed(int line, const char *what) {
  fprintf(stderr, "edges.c:%d: not true: %s\n", line, what);
  _exit(1);
}

static void wait_for(sem_t *sem) {
  while (sem_wait(sem) != 0) CHECK(errno == EINTR);
}

/* ---- threads that libc refuses */

static void *returns(void *arg) { return arg; }

static void test_refusals(void) {
  enum { REFUSED = 3 };
  static int given;
  pthread_attr_t huge;
  pthread_t thread;
  void *result;
  CHECK(pthread_attr_init(&huge) == 0 && pthread_attr_setstacksize(&huge, (size_t)1 << 60) == 0);
  for (int i = 0; i < REFUSED; i++)
    CHECK(pthread_create(&thread, &huge, returns, &given) == EAGAIN);
  for (int i = 0; i <= REFUSED; i++) {
    CHECK(pthread_create(&thread, NULL, returns, &given) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == &given);
  }
  CHECK(pthread_attr_destroy(&huge) == 0);
}

/* ---- keys */

int __pthread_key_create(pthread_key_t *, void (*)(void *)); /* an older name */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t old_key;
static tss_t c11_key;
static int destroyed;

static void destroy(void *value) {
  pthread_mutex_lock(&mutex);
  destroyed += *(int *)value;
  pthread_mutex_unlock(&mutex);
}

static int set_c11(void *value) { return tss_set(c11_key, value) == thrd_success; }

static void *set_old(void *value) {
  CHECK(pthread_setspecific(old_key, value) == 0);
  return value;
}

static void test_keys(void) {
  static int one = 1, ten = 10;
  thrd_t c11;
  pthread_t thread;
  int result;
  CHECK(tss_create(&c11_key, destroy) == thrd_success);
  CHECK(thrd_create(&c11, set_c11, &one) == thrd_success);
  CHECK(thrd_join(c11, &result) == thrd_success && result == 1 && destroyed == 1);
  CHECK(__pthread_key_create(&old_key, destroy) == 0);
  CHECK(pthread_create(&thread, NULL, set_old, &ten) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(destroyed == 11);
}

/* ---- a thread that libc makes for a timer */

static sem_t rung;
static int rings;

static void ring(union sigval value) {
  pthread_mutex_lock(&mutex);
  rings += value.sival_int;
  pthread_mutex_unlock(&mutex);
  sem_post(&rung);
}

static void test_timer(void) {
  const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value = {.sival_int = 7}};
  timer_t timer;
  event.sigev_notify_function = ring;
  CHECK(sem_init(&rung, 0, 0) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
  wait_for(&rung);
  CHECK(rings == 7 && timer_delete(timer) == 0);
}

/* ---- objects whose waiters are in one queue: the gate hashes addresses by the golden ratio, so
 * objects that are a Fibonacci number of bytes apart share a queue */

enum { APART = 46368, OBJECTS = 8 };

static union object {
  sem_t sem;
  char all[APART];
} objects[OBJECTS];

static sem_t ready;
static int woken; /* [atomic] */

static void *wait_for_own(void *object) {
  union object *own = object;
  sem_post(&ready);
  wait_for(&own->sem);
  __atomic_store_n(&woken, (int)(own - objects), __ATOMIC_RELAXED);
  sem_post(&ready);
  return NULL;
}

/* Each thread wakes by the post to its own object. Those in front of it have waited for longer. */
static void test_neighbours(void) {
  pthread_t threads[OBJECTS];
  CHECK(sizeof objects[0] == APART && sem_init(&ready, 0, 0) == 0);
  for (int i = 0; i < OBJECTS; i++) {
    CHECK(sem_init(&objects[i].sem, 0, 0) == 0);
    CHECK(pthread_create(&threads[i], NULL, wait_for_own, &objects[i]) == 0);
    wait_for(&ready);
  }
  for (int i = OBJECTS - 1; i >= 0; i--) {
    sem_post(&objects[i].sem);
    wait_for(&ready);
    CHECK(__atomic_load_n(&woken, __ATOMIC_RELAXED) == i);
  }
  for (int i = 0; i < OBJECTS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

/* ---- children whose beginning no handler of pthread_atfork() sees */

enum { OTHERS = 2, NAPS = 300 };

static bool over; /* [atomic] */

static void *give_way(void *arg) {
  sem_post(&ready);
  while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) sched_yield();
  return arg;
}

static pid_t begin_child(bool by_libc) {
  return by_libc ? _Fork() : (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
}

/* The threads that were ready at the fork are not in the child, so it does not wait for them. */
static void test_children(void) {
  const struct timespec nap = {.tv_nsec = 1000};
  pthread_t threads[OTHERS];
  int status;
  CHECK(sem_init(&ready, 0, 0) == 0);
  for (int i = 0; i < OTHERS; i++) CHECK(pthread_create(&threads[i], NULL, give_way, NULL) == 0);
  for (int i = 0; i < OTHERS; i++) wait_for(&ready);
  for (int by_libc = 0; by_libc <= 1; by_libc++) {
    pid_t child = begin_child(by_libc);
    CHECK(child >= 0);
    for (int i = 0; child == 0 && i < NAPS; i++) nanosleep(&nap, NULL);
    if (child == 0) _exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  __atomic_store_n(&over, true, __ATOMIC_RELAXED);
  for (int i = 0; i < OTHERS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

/* ---- children of a handler that interrupts a wait */

enum { CHILDREN = 20 };

static pid_t newest; /* [atomic] -1: none; 0: this is it */

static void on_fork(int signo) {
  (void)signo;
  __atomic_store_n(&newest, fork(), __ATOMIC_RELAXED);
}

static void *signal_often(void *sleeper) {
  const struct timespec nap = {.tv_nsec = 100000};
  for (int i = 0; i < CHILDREN; i++) {
    wait_for(&ready);
    nanosleep(&nap, NULL);
    CHECK(pthread_kill(*(pthread_t *)sleeper, SIGUSR1) == 0);
  }
  return NULL;
}

/* Most signals find the thread asleep. Its child returns from the handler, and its sleep ends. */
static void test_children_of_handlers(void) {
  const struct timespec nap = {.tv_nsec = 1000000};
  const struct sigaction forks = {.sa_handler = on_fork};
  pthread_t thread, self = pthread_self();
  int status;
  CHECK(sem_init(&ready, 0, 0) == 0 && sigaction(SIGUSR1, &forks, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, signal_often, &self) == 0);
  for (int i = 0; i < CHILDREN; i++) {
    pid_t child = newest = -1;
    sem_post(&ready);
    while ((child = __atomic_load_n(&newest, __ATOMIC_RELAXED)) == -1) nanosleep(&nap, NULL);
    if (child == 0) _exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  CHECK(pthread_join(thread, NULL) == 0);
}

/* ---- a child of a program in which a thread runs a routine that runs once. That thread is not in
 * the child, so the routine runs again there, and so in a child of the child */

static pthread_once_t beginning = PTHREAD_ONCE_INIT;
static sem_t in_routine, may_return;
static int runs, stays;

static void begin(void) {
  runs++;
  if (!stays) return;
  sem_post(&in_routine);
  wait_for(&may_return);
}

static void *begin_here(void *arg) {
  CHECK(pthread_once(&beginning, begin) == 0);
  return arg;
}

static void test_once(int children) {
  pthread_t thread;
  int status;
  runs = 0;
  stays = children > 0;
  CHECK(sem_init(&in_routine, 0, 0) == 0 && sem_init(&may_return, 0, 0) == 0);
  CHECK(pthread_create(&thread, NULL, begin_here, NULL) == 0);
  if (stays) {
    wait_for(&in_routine);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      test_once(children - 1);
      _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    sem_post(&may_return);
  }
  CHECK(pthread_join(thread, NULL) == 0 && runs == 1);
  CHECK(pthread_once(&beginning, begin) == 0 && runs == 1);
}

/* ---- a handler that interrupts a wait */

enum wait { AT_SLEEP, AT_COND, AT_MUTEX, AT_SEM, AT_BARRIER };

/* What is waited for. libc keeps something of a wait that was left, so each round has its own. */
static struct {
  enum wait wait;
  pthread_cond_t cond;
  pthread_mutex_t mutex;
  sem_t sem;
  pthread_barrier_t barrier;
  bool is_free;
} object;

static sigjmp_buf before_wait;
static volatile sig_atomic_t leaves, handled;
static volatile pid_t waiter; /* 0: it is not about to wait */
static pthread_t first_waiter;

/* It leaves the wait, or calls what handlers may not call. */
static void on_interrupt(int signo) {
  (void)signo;
  waiter = 0;
  if (leaves) siglongjmp(before_wait, 1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  waiter = gettid();
  handled = 1;
}

static void begin_round(enum wait wait) {
  pthread_mutexattr_t attr;
  object.wait = wait;
  object.is_free = false;
  handled = 0;
  first_waiter = pthread_self();
  CHECK(pthread_cond_init(&object.cond, NULL) == 0);
  CHECK(pthread_mutexattr_init(&attr) == 0);
  CHECK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK) == 0);
  CHECK(pthread_mutex_init(&object.mutex, &attr) == 0 && sem_init(&object.sem, 0, 0) == 0);
  CHECK(pthread_barrier_init(&object.barrier, NULL, 2) == 0 && sem_init(&ready, 0, 0) == 0);
}

static void wait_for_object(void) {
  switch (object.wait) {
    case AT_COND:
      pthread_mutex_lock(&object.mutex);
      while (!object.is_free) CHECK(pthread_cond_wait(&object.cond, &object.mutex) == 0);
      pthread_mutex_unlock(&object.mutex);
      break;
    case AT_MUTEX:
      CHECK(pthread_mutex_lock(&object.mutex) == 0);
      pthread_mutex_unlock(&object.mutex);
      break;
    case AT_SEM: wait_for(&object.sem); break;
    case AT_BARRIER: pthread_barrier_wait(&object.barrier); break;
    default:
      for (;;) sleep(1000);
  }
  CHECK(object.is_free);
}

/* By the thread that has the mutex, if that is waited for. */
static void make_free(void) {
  if (object.wait == AT_COND) pthread_mutex_lock(&object.mutex);
  object.is_free = true;
  if (object.wait == AT_COND) pthread_cond_signal(&object.cond);
  if (object.wait == AT_SEM) sem_post(&object.sem);
  if (object.wait == AT_BARRIER) pthread_barrier_wait(&object.barrier);
  if (object.wait == AT_COND || object.wait == AT_MUTEX) pthread_mutex_unlock(&object.mutex);
}

static void *interrupt(void *arg) {
  await_sleep(&waiter);
  CHECK(pthread_kill(first_waiter, SIGUSR2) == 0);
  return arg;
}

/* Has the mutex from the beginning, and makes the object free after a post of `go`. */
static void *hold(void *go) {
  if (object.wait == AT_MUTEX) pthread_mutex_lock(&object.mutex);
  sem_post(&ready);
  wait_for(go);
  make_free();
  return NULL;
}

static void *wait_as_other(void *tid) {
  *(volatile pid_t *)tid = gettid();
  wait_for_object();
  return NULL;
}

/* The thread waits for nothing then: it wakes others, and no wake-up of another is for it. */
static void leave(enum wait wait) {
  static volatile pid_t other_tid;
  static sem_t go;
  pthread_t holder, other, interrupter;
  begin_round(wait);
  leaves = 1;
  other_tid = 0;
  CHECK(sem_init(&go, 0, 0) == 0 && pthread_create(&holder, NULL, hold, &go) == 0);
  wait_for(&ready);
  CHECK(pthread_create(&interrupter, NULL, interrupt, NULL) == 0);
  if (sigsetjmp(before_wait, 1) == 0) {
    waiter = gettid();
    wait_for_object();
    failed(__LINE__, "it is interrupted");
  }
  if (wait == AT_COND) { /* libc has locked the mutex for it again */
    CHECK(pthread_mutex_trylock(&object.mutex) == EBUSY);
    CHECK(pthread_mutex_unlock(&object.mutex) == 0);
  }
  if (wait == AT_SLEEP) object.wait = AT_COND;
  CHECK(pthread_create(&other, NULL, wait_as_other, (void *)&other_tid) == 0);
  await_sleep(&other_tid);
  sem_post(&go);
  CHECK(pthread_join(interrupter, NULL) == 0 && pthread_join(holder, NULL) == 0);
  CHECK(pthread_join(other, NULL) == 0);
}

static void *disturb(void *arg) {
  if (object.wait == AT_MUTEX) pthread_mutex_lock(&object.mutex);
  sem_post(&ready);
  interrupt(NULL);
  while (!handled) sched_yield();
  await_sleep(&waiter);
  make_free();
  return arg;
}

/* The wait continues when the handler returns. */
static void stay(enum wait wait) {
  pthread_t thread;
  begin_round(wait);
  leaves = 0;
  CHECK(pthread_create(&thread, NULL, disturb, NULL) == 0);
  wait_for(&ready);
  waiter = gettid();
  wait_for_object();
  waiter = 0;
  CHECK(pthread_join(thread, NULL) == 0);
}

static void test_interrupted_waits(void) {
  const struct sigaction action = {.sa_handler = on_interrupt};
  CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
  for (int round = 0; round < 3; round++) {
    for (enum wait wait = AT_SLEEP; wait <= AT_SEM; wait++) leave(wait);
    for (enum wait wait = AT_COND; wait <= AT_BARRIER; wait++) stay(wait);
  }
}

/* ---- a handler that leaves a call that gives way, wherever that is */

enum { JUMPS = 1000, YIELDERS = 3 };

static sigjmp_buf before_yield;
static volatile sig_atomic_t jumps_next, jumps_made;

static void jump(int signo) {
  (void)signo;
  if (!jumps_next) return;
  jumps_next = 0;
  jumps_made++;
  siglongjmp(before_yield, 1);
}

/* With an argument it interrupts that thread. */
static void *yield_until_all_are_made(void *first) {
  while (jumps_made < JUMPS) {
    if (first != NULL && jumps_next) CHECK(pthread_kill(*(pthread_t *)first, SIGUSR2) == 0);
    sched_yield();
  }
  return NULL;
}

static void test_jumps(void) {
  static pthread_t first, threads[YIELDERS];
  const struct sigaction action = {.sa_handler = jump};
  CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
  first = pthread_self();
  for (int i = 0; i < YIELDERS; i++)
    CHECK(pthread_create(&threads[i], NULL, yield_until_all_are_made, i == 0 ? &first : NULL) == 0);
  sigsetjmp(before_yield, 1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  jumps_next = jumps_made < JUMPS;
  while (jumps_next) sched_yield();
  for (int i = 0; i < YIELDERS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

/* ---- many that wait for one broadcast, and a child of a program that has such threads */

enum { MANY = 40 };

static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER, released = PTHREAD_COND_INITIALIZER;
static int waiting, go_on;

static void *wait_for_release(void *arg) {
  pthread_mutex_lock(&mutex);
  if (++waiting == MANY) pthread_cond_signal(&arrived);
  while (!go_on) CHECK(pthread_cond_wait(&released, &mutex) == 0);
  waiting--;
  pthread_mutex_unlock(&mutex);
  return arg;
}

static void release_all(void) {
  pthread_mutex_lock(&mutex);
  go_on = 1;
  pthread_cond_broadcast(&released);
  pthread_mutex_unlock(&mutex);
}

/* The others do not exist here, though they were waiting. */
static void be_child(void) {
  pthread_t thread;
  void *result;
  release_all();
  CHECK(pthread_create(&thread, NULL, returns, &waiting) == 0);
  CHECK(pthread_join(thread, &result) == 0 && result == &waiting);
  CHECK(waiting == MANY);
  _exit(0);
}

static void test_many(void) {
  pthread_t threads[MANY];
  int status = -1;
  for (int i = 0; i < MANY; i++)
    CHECK(pthread_create(&threads[i], NULL, wait_for_release, NULL) == 0);
  pthread_mutex_lock(&mutex);
  while (waiting < MANY) CHECK(pthread_cond_wait(&arrived, &mutex) == 0);
  pthread_mutex_unlock(&mutex);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) be_child();
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  release_all();
  for (int i = 0; i < MANY; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(waiting == 0);
}

/* ---- a cancellation does not end a wait of a thread that has disabled it */

static sem_t own_turn, began;

static void *wait_undisturbed(void *at_sem) {
  CHECK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL) == 0);
  pthread_mutex_lock(&mutex);
  sem_post(&began);
  while (at_sem == NULL && !go_on) CHECK(pthread_cond_wait(&released, &mutex) == 0);
  pthread_mutex_unlock(&mutex);
  if (at_sem != NULL) CHECK(sem_wait(&own_turn) == 0);
  CHECK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL) == 0);
  pthread_testcancel();
  failed(__LINE__, "it is cancelled then");
  return NULL;
}

static void test_disabled_cancellation(void) {
  CHECK(sem_init(&own_turn, 0, 0) == 0 && sem_init(&began, 0, 0) == 0);
  for (int at_sem = 0; at_sem < 2; at_sem++) {
    pthread_t thread;
    void *result;
    go_on = 0;
    CHECK(pthread_create(&thread, NULL, wait_undisturbed, at_sem ? &own_turn : NULL) == 0);
    CHECK(sem_wait(&began) == 0);
    usleep(1000);
    pthread_mutex_lock(&mutex); /* it has given it back, where it waits for the condition */
    CHECK(pthread_cancel(thread) == 0);
    pthread_mutex_unlock(&mutex);
    usleep(1000);
    release_all();
    if (at_sem) sem_post(&own_turn);
    CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
  }
}

/* ---- the first thread ends, and the process with the last one. Not after test_timer(): the thread
 * that libc has made for timers stays */

/* As in the thread that ends the process. */
static void at_the_end(void) {
  sigset_t mask;
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
  CHECK(sigismember(&mask, SIGUSR1) == 0 && sigismember(&mask, SIGUSR2) == 1);
  puts("right");
}

static void *be_the_last(void *first) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  CHECK(pthread_sigmask(SIG_BLOCK, &mask, NULL) == 0);
  CHECK(pthread_join(*(pthread_t *)first, NULL) == 0);
  return NULL;
}

static void leave_to_the_last(void) {
  static pthread_t first;
  pthread_t last;
  first = pthread_self();
  CHECK(atexit(at_the_end) == 0);
  CHECK(pthread_create(&last, NULL, be_the_last, &first) == 0);
  pthread_exit(NULL);
}

int main(int argc, char **argv) {
  (void)argv;
  test_refusals();
  if (argc > 1) leave_to_the_last();
  test_keys();
  test_timer();
  test_neighbours();
  test_children();
  test_children_of_handlers();
  test_once(2);
  test_interrupted_waits();
  test_jumps();
  test_many();
  test_disabled_cancellation();
  puts("right");
  return 0;
}
