/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that a rank holds while it moves from one kernel thread to another (src/tmpi/run/locks.c).
 * The locks are libc's, and pthreads are the kernel threads, one at a time, so each move is
 * certain. What the rank finds held is released at the moment at which it begins to block.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "captured.h"
#include "core/internal/direct_switch.h"
#include "overridden.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "traced_calls.h"

enum { NUMBER = (1 << 28) + 7 /* the rank as an owner */, PROTOCOL = 32 | 64 /* bits of a kind */ };

static struct tm_process process = {.number = 7}, *caller;
static bool is_native, is_pthread;
static const struct timespec past = {1, 0}, future = {1L << 40, 0};

struct tm_process *tm_process_here(void) { return caller; }
bool tm_on_pthread(void) { return is_pthread; }
bool mti_is_native(void) { return is_native; }

static pthread_mutex_t mutex;
static pthread_rwlock_t lock;
static pthread_cond_t cond;
static void (*at_block)(void); /* what another thread does then */

void mltp_blocking_begin(void) {
  note("[");
  if (at_block != NULL) at_block();
}

static int owner; /* the mutex's, when the rank has waited */
void mltp_blocking_end(void) {
  note("]");
  owner = mutex.__data.__owner;
}

void tm_job_abort(int status) {
  if (gettid() == getpid()) fail_msg("the test itself ends the job");
  note("abort:%d", status);
  pthread_exit(NULL);
}

static tm_any *row(const char *name) { return overridden(tm_override_locks, name); }

typedef int of_mutex(pthread_mutex_t *);
typedef int timed_mutex(pthread_mutex_t *, const struct timespec *);
typedef int clock_mutex(pthread_mutex_t *, clockid_t, const struct timespec *);
typedef int of_rwlock(pthread_rwlock_t *);
typedef int timed_rwlock(pthread_rwlock_t *, const struct timespec *);
typedef int clock_rwlock(pthread_rwlock_t *, clockid_t, const struct timespec *);

static int take(void) { return ((of_mutex *)row("pthread_mutex_lock"))(&mutex); }
static int try(void) { return ((of_mutex *)row("pthread_mutex_trylock"))(&mutex); }
static int release(void) { return ((of_mutex *)row("pthread_mutex_unlock"))(&mutex); }

static int take_until(const struct timespec *time) {
  return ((timed_mutex *)row("pthread_mutex_timedlock"))(&mutex, time);
}

static int take_by(clockid_t clock, const struct timespec *time) {
  return ((clock_mutex *)row("pthread_mutex_clocklock"))(&mutex, clock, time);
}

/* ---- kernel threads */

static void *call(void *function) { return (void *)(intptr_t)(*(int (**)(void))function)(); }

/* Calls a function on a kernel thread of its own. @return what that returns; 0: it has ended the
 * job */
static int elsewhere(int (*function)(void)) {
  pthread_t thread;
  void *result;
  assert_int_equal(pthread_create(&thread, NULL, call, &function), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
  return (int)(intptr_t)result;
}

static int libc_takes(void) { return pthread_mutex_trylock(&mutex); }

/* @return whether another thread finds the mutex free. */
static int look(void) {
  int error = libc_takes();
  if (error == 0) pthread_mutex_unlock(&mutex);
  return error;
}

static void make(int type, int robust) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, type);
  pthread_mutexattr_setrobust(&attr, robust);
  assert_int_equal(pthread_mutex_init(&mutex, &attr), 0);
  pthread_mutexattr_destroy(&attr);
}

static int start(void **state) {
  (void)state;
  caller = &process;
  process.robust_held = 0;
  is_native = true;
  is_pthread = false;
  at_block = NULL;
  make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
  lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
  cond = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  trace[0] = '\0';
  return 0;
}

/* ---- mutexes that know their owner */

static int take_in_time(void) { return take_until(&past); }
static int take_in_time_by_clock(void) { return take_by(CLOCK_MONOTONIC, &past); }

static int (*const ways[])(void) = {take, try, take_in_time, take_in_time_by_clock};

static void test_a_recursive_mutex_is_the_rank_s_everywhere(void **state) {
  (void)state;
  make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(elsewhere(ways[i]), 0);
    for (int k = 0; k < 4; k++) assert_int_equal(elsewhere(ways[k]), 0);
    for (int k = 0; k < 5; k++) {
      assert_int_equal(elsewhere(look), EBUSY);
      assert_int_equal(elsewhere(release), 0);
    }
    assert_int_equal(elsewhere(look), 0);
    assert_int_equal(elsewhere(release), EPERM);
  }
  check_trace(""); /* nothing has blocked */
  assert_int_equal(take(), 0);
  mutex.__data.__count = UINT_MAX; /* nobody locks one so often */
  for (int i = 0; i < 4; i++) assert_int_equal(ways[i](), EAGAIN);
  mutex.__data.__count = 1;
  assert_int_equal(release(), 0);
}

static void test_a_mutex_that_checks_errors(void **state) {
  (void)state;
  make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(elsewhere(release), EPERM);
    assert_int_equal(elsewhere(ways[i]), 0);
    for (int k = 0; k < 4; k++) assert_int_equal(elsewhere(ways[k]), k == 1 ? EBUSY : EDEADLK);
    assert_int_equal(elsewhere(release), 0);
    assert_int_equal(elsewhere(look), 0);
  }
}

/* One that another rank or a pthread has is not the caller's. */
static void test_a_mutex_of_another_owner(void **state) {
  (void)state;
  make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
  assert_int_equal(take(), 0);
  assert_int_equal(mutex.__data.__owner, NUMBER);
  process.number = 6;
  assert_int_equal(release(), EPERM);
  assert_int_equal(try(), EBUSY);
  process.number = 7;
  is_pthread = true;
  assert_int_equal(elsewhere(try), EBUSY);
  is_pthread = false;
  assert_int_equal(release(), 0);
}

/* libc's owner is right for a pthread of a rank, for a thread of no rank, and where each rank has a
 * kernel thread. */
static void test_owners_that_libc_knows(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    is_pthread = i == 0;
    is_native = i != 1;
    caller = i == 2 ? NULL : &process;
    make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
    assert_int_equal(take(), 0);
    assert_int_equal(mutex.__data.__owner, gettid());
    assert_int_equal(take(), 0);
    assert_int_equal(elsewhere(release), EPERM);
    assert_int_equal(release(), 0);
    assert_int_equal(release(), 0);
    assert_int_equal(pthread_rwlock_init(&lock, NULL), 0);
    assert_int_equal(((of_rwlock *)row("pthread_rwlock_wrlock"))(&lock), 0);
    assert_int_equal(lock.__data.__cur_writer, gettid());
    assert_int_equal(((of_rwlock *)row("pthread_rwlock_unlock"))(&lock), 0);
  }
}

/* ---- waits */

static void free_mutex(void) { assert_int_equal(pthread_mutex_unlock(&mutex), 0); }

static int take_later(void) { return take_until(&future); }
static int take_later_by_clock(void) { return take_by(CLOCK_MONOTONIC, &future); }

static int release_by_libc(void) { return pthread_mutex_unlock(&mutex); }

static void test_waits_for_a_mutex(void **state) {
  (void)state;
  static int (*const waits[])(void) = {take, take_later, take_later_by_clock};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(pthread_mutex_lock(&mutex), 0); /* as if another rank's */
    at_block = free_mutex;
    assert_int_equal(waits[i](), 0);
    check_trace("[ ] ");
    at_block = NULL;
    assert_int_equal(try(), EBUSY);
    assert_int_equal(take_in_time(), ETIMEDOUT);
    check_trace("[ ] ");
    assert_int_equal(take_in_time_by_clock(), ETIMEDOUT);
    check_trace("[ ] ");
    assert_int_equal(mutex.__data.__owner, gettid()); /* a plain one needs no number */
    assert_int_equal(release(), 0);
    assert_int_equal(elsewhere(look), 0);
  }
  assert_int_equal(take_by(12345, &past), 0); /* no clock is looked at where none has it */
  assert_int_equal(take_by(12345, &past), EINVAL);
}

/* ---- condition variables */

static int owner_at_wait;

static int wake(void) {
  int error = pthread_mutex_lock(&mutex);
  return error != 0 ? error : pthread_cond_signal(&cond) | pthread_mutex_unlock(&mutex);
}

static pthread_t waker;
static int (*const wakes)(void) = wake;

/* The waker has the mutex when the waiter has released it. */
static void start_waker(void) {
  owner_at_wait = mutex.__data.__owner;
  assert_int_equal(pthread_create(&waker, NULL, call, (void *)(uintptr_t)&wakes), 0);
}

static int wait_once(int way) {
  typedef int plain(pthread_cond_t *, pthread_mutex_t *);
  typedef int timed(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  typedef int clocked(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
  if (way == 0) return ((plain *)row("pthread_cond_wait"))(&cond, &mutex);
  if (way == 1) return ((timed *)row("pthread_cond_timedwait"))(&cond, &mutex, &future);
  return ((clocked *)row("pthread_cond_clockwait"))(&cond, &mutex, CLOCK_MONOTONIC, &future);
}

static void test_conditions(void **state) {
  (void)state;
  for (int i = 0; i < 6; i++) {
    bool known = i % 2 == 0;
    make(known ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
    assert_int_equal(elsewhere(take), 0);
    if (!known) mutex.__data.__owner = gettid(); /* libc asks no reader for it */
    at_block = start_waker;
    assert_int_equal(wait_once(i / 2), 0);
    assert_int_equal(pthread_join(waker, NULL), 0);
    assert_int_equal(owner_at_wait, gettid()); /* libc releases it */
    assert_int_equal(owner, known ? NUMBER : gettid());
    check_trace("[ ] ");
    assert_int_equal(elsewhere(release), 0);
    assert_int_equal(elsewhere(look), 0);
  }
}

static void test_conditions_with_deadlines(void **state) {
  (void)state;
  typedef int timed(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  typedef int clocked(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
  make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
  assert_int_equal(elsewhere(take), 0);
  assert_int_equal(((timed *)row("pthread_cond_timedwait"))(&cond, &mutex, &past), ETIMEDOUT);
  assert_int_equal(
      ((clocked *)row("pthread_cond_clockwait"))(&cond, &mutex, CLOCK_MONOTONIC, &past), ETIMEDOUT);
  assert_int_equal(((clocked *)row("pthread_cond_clockwait"))(&cond, &mutex, 12345, &past), EINVAL);
  assert_int_equal(mutex.__data.__owner, NUMBER);
  assert_int_equal(elsewhere(release), 0);
}

/* ---- locks of readers and writers */

static int read_it(void) { return ((of_rwlock *)row("pthread_rwlock_rdlock"))(&lock); }
static int write_it(void) { return ((of_rwlock *)row("pthread_rwlock_wrlock"))(&lock); }
static int try_to_write(void) { return ((of_rwlock *)row("pthread_rwlock_trywrlock"))(&lock); }
static int free_it(void) { return ((of_rwlock *)row("pthread_rwlock_unlock"))(&lock); }

static const struct timespec *deadline;

static int read_in_time(void) {
  return ((timed_rwlock *)row("pthread_rwlock_timedrdlock"))(&lock, deadline);
}

static int read_by_clock(void) {
  return ((clock_rwlock *)row("pthread_rwlock_clockrdlock"))(&lock, CLOCK_MONOTONIC, deadline);
}

static int write_in_time(void) {
  return ((timed_rwlock *)row("pthread_rwlock_timedwrlock"))(&lock, deadline);
}

static int write_by_clock(void) {
  return ((clock_rwlock *)row("pthread_rwlock_clockwrlock"))(&lock, CLOCK_MONOTONIC, deadline);
}

static int (*const reads[])(void) = {read_it, read_in_time, read_by_clock};
static int (*const writes[])(void) = {write_it, write_in_time, write_by_clock, try_to_write};

static int libc_writes(void) {
  int error = pthread_rwlock_trywrlock(&lock);
  return error != 0 ? error : pthread_rwlock_unlock(&lock);
}

/* libc would take the writer for a reader, and the lock would never be free again. */
static void test_a_writer_is_one_everywhere(void **state) {
  (void)state;
  deadline = &past;
  for (int i = 0; i < 4; i++) {
    assert_int_equal(elsewhere(writes[i]), 0);
    assert_int_equal(lock.__data.__cur_writer, NUMBER);
    for (int k = 0; k < 3; k++) assert_int_equal(elsewhere(reads[k]), EDEADLK);
    for (int k = 0; k < 4; k++) assert_int_equal(elsewhere(writes[k]), k < 3 ? EDEADLK : EBUSY);
    assert_int_equal(lock.__data.__cur_writer, NUMBER);
    assert_int_equal(elsewhere(free_it), 0);
    assert_int_equal(elsewhere(libc_writes), 0);
  }
  check_trace("");
  for (int i = 0; i < 3; i++) {
    assert_int_equal(elsewhere(reads[i]), 0);
    assert_int_equal(elsewhere(libc_writes), EBUSY);
    assert_int_equal(elsewhere(free_it), 0);
    assert_int_equal(elsewhere(libc_writes), 0);
  }
  check_trace("");
}

static void free_rwlock(void) { assert_int_equal(pthread_rwlock_unlock(&lock), 0); }

static void test_waits_for_readers_and_writers(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    deadline = &future;
    at_block = free_rwlock;
    assert_int_equal(pthread_rwlock_wrlock(&lock), 0); /* as if another rank's */
    assert_int_equal(reads[i](), 0);
    check_trace("[ ] "); /* held by a reader now: the next one waits */
    assert_int_equal(writes[i](), 0);
    check_trace("[ ] ");
    assert_int_equal(lock.__data.__cur_writer, NUMBER);
    assert_int_equal(free_it(), 0);
    at_block = NULL;
    deadline = &past;
    assert_int_equal(pthread_rwlock_rdlock(&lock), 0);
    if (i > 0) assert_int_equal(writes[i](), ETIMEDOUT);
    assert_int_equal(lock.__data.__cur_writer, 0);
    assert_int_equal(free_it(), 0);
    assert_int_equal(pthread_rwlock_wrlock(&lock), 0);
    if (i > 0) assert_int_equal(elsewhere(reads[i]), ETIMEDOUT);
    assert_int_equal(pthread_rwlock_unlock(&lock), 0);
    trace[0] = '\0';
  }
}

/* ---- priorities and robust mutexes */

static int kind_of_protocol(int protocol) {
  typedef int function(pthread_mutex_t *, const pthread_mutexattr_t *);
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutexattr_setprotocol(&attr, protocol);
  function *init = (function *)row("pthread_mutex_init");
  assert_int_equal(init(&mutex, protocol == PTHREAD_PRIO_NONE ? NULL : &attr), 0);
  int now = -1; /* the program's attributes stay */
  assert_int_equal(pthread_mutexattr_getprotocol(&attr, &now), 0);
  assert_int_equal(now, protocol);
  return mutex.__data.__kind;
}

/* Their owner would be the kernel's, which knows no ranks. */
static void test_ranks_have_no_priorities(void **state) {
  (void)state;
  assert_int_equal(kind_of_protocol(PTHREAD_PRIO_NONE), PTHREAD_MUTEX_NORMAL);
  assert_int_equal(kind_of_protocol(PTHREAD_PRIO_INHERIT), PTHREAD_MUTEX_RECURSIVE);
  assert_int_equal(kind_of_protocol(PTHREAD_PRIO_PROTECT), PTHREAD_MUTEX_RECURSIVE);
  is_native = false;
  assert_int_not_equal(kind_of_protocol(PTHREAD_PRIO_INHERIT) & PROTOCOL, 0);
  is_native = true;
  caller = NULL;
  assert_int_not_equal(kind_of_protocol(PTHREAD_PRIO_INHERIT) & PROTOCOL, 0);
}

static char text[1000];

/* Calls it on another kernel thread, and looks whether it ends the job. */
static void check_left_behind(int (*function)(void)) {
  struct captured captured = captured_begin();
  elsewhere(function);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text,
                      "tmpirun: rank 7 cannot release a robust mutex: it continued on another "
                      "kernel thread while it held that, in a call that waits (run with "
                      "--one-to-one)\n");
  check_trace("abort:1 ");
}

static int wait_in_time(void) {
  typedef int timed(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  return ((timed *)row("pthread_cond_timedwait"))(&cond, &mutex, &past);
}

/* The kernel's list of the first kernel thread has it. */
static void test_a_robust_mutex_stays_behind(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    make(i == 0 ? PTHREAD_MUTEX_NORMAL : PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST);
    assert_int_equal(i == 0 ? take() : try(), 0);
    check_left_behind(release);
    check_left_behind(wait_in_time);
    assert_int_equal(wait_in_time(), ETIMEDOUT);
    check_trace("[ ] ");
    assert_int_equal(release(), 0);
    assert_int_equal(process.robust_held, 0);
  }
}

/* The rank has none, so the mutex is another rank's. */
static void test_a_robust_mutex_that_the_rank_does_not_hold(void **state) {
  (void)state;
  make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST);
  assert_int_equal(elsewhere(release), EPERM); /* nobody has it */
  assert_int_equal(pthread_mutex_lock(&mutex), 0);
  assert_int_equal(elsewhere(release), EPERM);
  assert_int_equal(process.robust_held, 0);
  assert_int_equal(elsewhere(try), EBUSY);
  assert_int_equal(process.robust_held, 0);
  assert_int_equal(release_by_libc(), 0);
  process.robust_held = 1; /* another mutex */
  assert_int_equal(elsewhere(release), EPERM);
  assert_int_equal(process.robust_held, 1);
  is_pthread = true; /* a pthread of the rank does not move */
  assert_int_equal(take(), 0);
  assert_int_equal(elsewhere(release), EPERM);
  assert_int_equal(release(), 0);
  assert_int_equal(process.robust_held, 1);
}

/* Its holder has ended with it. */
static void test_a_robust_mutex_whose_owner_is_dead(void **state) {
  (void)state;
  make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
  assert_int_equal(elsewhere(libc_takes), 0);
  assert_int_equal(take(), EOWNERDEAD);
  assert_int_equal(process.robust_held, 1);
  assert_int_equal(pthread_mutex_consistent(&mutex), 0);
  assert_int_equal(release(), 0);
  assert_int_equal(process.robust_held, 0);
}

/* ---- C11 */

static void test_locks_of_c11(void **state) {
  (void)state;
  typedef int of_mtx(mtx_t *);
  typedef int timed_mtx(mtx_t *, const struct timespec *);
  typedef int of_cnd(cnd_t *, mtx_t *);
  typedef int timed_cnd(cnd_t *, mtx_t *, const struct timespec *);
  mtx_t *one = (mtx_t *)&mutex;
  cnd_t *event = (cnd_t *)&cond;
  make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
  assert_int_equal(((of_mtx *)row("mtx_unlock"))(one), thrd_error);
  assert_int_equal(((of_mtx *)row("mtx_lock"))(one), thrd_success);
  assert_int_equal(((of_mtx *)row("mtx_lock"))(one), thrd_error);
  assert_int_equal(((of_mtx *)row("mtx_trylock"))(one), thrd_busy);
  assert_int_equal(((timed_cnd *)row("cnd_timedwait"))(event, one, &past), thrd_timedout);
  at_block = start_waker;
  assert_int_equal(((of_cnd *)row("cnd_wait"))(event, one), thrd_success);
  at_block = NULL;
  assert_int_equal(pthread_join(waker, NULL), 0);
  assert_int_equal(((of_mtx *)row("mtx_unlock"))(one), thrd_success);
  assert_int_equal(pthread_mutex_lock(&mutex), 0); /* as if another rank's */
  assert_int_equal(((timed_mtx *)row("mtx_timedlock"))(one, &past), thrd_error);
  make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
  assert_int_equal(((timed_mtx *)row("mtx_timedlock"))(one, &past), thrd_success);
  assert_int_equal(((timed_mtx *)row("mtx_timedlock"))(one, &past), thrd_timedout);
}

int main(void) {
#define ROW(name) cmocka_unit_test_setup(name, start)
  const struct CMUnitTest tests[] = {
      ROW(test_a_recursive_mutex_is_the_rank_s_everywhere),
      ROW(test_a_mutex_that_checks_errors),
      ROW(test_a_mutex_of_another_owner),
      ROW(test_owners_that_libc_knows),
      ROW(test_waits_for_a_mutex),
      ROW(test_conditions),
      ROW(test_conditions_with_deadlines),
      ROW(test_a_writer_is_one_everywhere),
      ROW(test_waits_for_readers_and_writers),
      ROW(test_ranks_have_no_priorities),
      ROW(test_a_robust_mutex_stays_behind),
      ROW(test_a_robust_mutex_that_the_rank_does_not_hold),
      ROW(test_a_robust_mutex_whose_owner_is_dead),
      ROW(test_locks_of_c11),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
