/* SPDX-License-Identifier: Apache-2.0 */
/* One row for each call of libc that waits for another thread. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/blocking_calls.h"

static struct timespec in_an_hour(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_sec += 3600;
  return time;
}

int blocked_nothing(struct blocked *on) {
  (void)on;
  return 0;
}

int blocked_set(struct blocked *on) {
  __atomic_store_n(&on->word, 1, __ATOMIC_RELEASE);
  return 0;
}

bool blocked_is_set(const struct blocked *on) {
  return __atomic_load_n(&on->word, __ATOMIC_ACQUIRE) != 0;
}

/* ---- futexes */

static int wait_futex(struct blocked *on) {
  while (!blocked_is_set(on)) syscall(SYS_futex, &on->word, FUTEX_WAIT, 0, NULL, NULL, 0);
  return 0;
}

static int wake_futex(struct blocked *on) {
  blocked_set(on);
  syscall(SYS_futex, &on->word, FUTEX_WAKE, 1, NULL, NULL, 0);
  return 0;
}

static int make_semaphore(struct blocked *on) {
  NEED(sem_init(&on->semaphore, 0, 0) == 0);
  return 0;
}

static int wait_sem(struct blocked *on) {
  NEED(sem_wait(&on->semaphore) == 0);
  return 0;
}

static int wait_sem_timed(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_REALTIME);
  NEED(sem_timedwait(&on->semaphore, &late) == 0);
  return 0;
}

static int wait_sem_clock(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_MONOTONIC);
  NEED(sem_clockwait(&on->semaphore, CLOCK_MONOTONIC, &late) == 0);
  return 0;
}

static int post_sem(struct blocked *on) {
  NEED(sem_post(&on->semaphore) == 0);
  return 0;
}

static int make_locks(struct blocked *on) {
  NEED(pthread_mutex_init(&on->mutex, NULL) == 0 && pthread_cond_init(&on->cond, NULL) == 0);
  NEED(pthread_rwlock_init(&on->lock, NULL) == 0);
  NEED(pthread_barrier_init(&on->barrier, NULL, 2) == 0);
  NEED(mtx_init(&on->c11_mutex, mtx_timed) == thrd_success);
  NEED(cnd_init(&on->c11_cond) == thrd_success);
  return 0;
}

/* A pthread has a lock until the semaphore is posted. */
static int hold_by(struct blocked *on, void *(*holder)(void *)) {
  NEED(make_locks(on) == 0 && make_semaphore(on) == 0);
  NEED(pthread_create(&on->thread, NULL, holder, on) == 0);
  while (!blocked_is_set(on)) sched_yield();
  NEED(pthread_detach(on->thread) == 0);
  return 0;
}

static void *hold_mutex(void *of) {
  struct blocked *on = of;
  pthread_mutex_lock(&on->mutex);
  blocked_set(on);
  while (sem_wait(&on->semaphore) != 0) continue;
  pthread_mutex_unlock(&on->mutex);
  return NULL;
}

static int lock_mutex(struct blocked *on) { return hold_by(on, hold_mutex); }

static int wait_mutex(struct blocked *on) {
  NEED(pthread_mutex_lock(&on->mutex) == 0 && pthread_mutex_unlock(&on->mutex) == 0);
  return 0;
}

static int wait_mutex_timed(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_REALTIME);
  NEED(pthread_mutex_timedlock(&on->mutex, &late) == 0 && pthread_mutex_unlock(&on->mutex) == 0);
  return 0;
}

static int wait_mutex_clock(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_MONOTONIC);
  NEED(pthread_mutex_clocklock(&on->mutex, CLOCK_MONOTONIC, &late) == 0);
  NEED(pthread_mutex_unlock(&on->mutex) == 0);
  return 0;
}

static int wait_cond(struct blocked *on) {
  pthread_mutex_lock(&on->mutex);
  while (!on->word) NEED(pthread_cond_wait(&on->cond, &on->mutex) == 0);
  pthread_mutex_unlock(&on->mutex);
  return 0;
}

static int wait_cond_timed(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_REALTIME);
  pthread_mutex_lock(&on->mutex);
  while (!on->word) NEED(pthread_cond_timedwait(&on->cond, &on->mutex, &late) == 0);
  pthread_mutex_unlock(&on->mutex);
  return 0;
}

static int wait_cond_clock(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_MONOTONIC);
  pthread_mutex_lock(&on->mutex);
  while (!on->word)
    NEED(pthread_cond_clockwait(&on->cond, &on->mutex, CLOCK_MONOTONIC, &late) == 0);
  pthread_mutex_unlock(&on->mutex);
  return 0;
}

static int signal_cond(struct blocked *on) {
  pthread_mutex_lock(&on->mutex);
  on->word = 1;
  pthread_cond_signal(&on->cond);
  pthread_mutex_unlock(&on->mutex);
  return 0;
}

static void *hold_to_write(void *of) {
  struct blocked *on = of;
  pthread_rwlock_wrlock(&on->lock);
  blocked_set(on);
  while (sem_wait(&on->semaphore) != 0) continue;
  pthread_rwlock_unlock(&on->lock);
  return NULL;
}

static int lock_to_write(struct blocked *on) { return hold_by(on, hold_to_write); }

static int wait_to_read(struct blocked *on) {
  NEED(pthread_rwlock_rdlock(&on->lock) == 0 && pthread_rwlock_unlock(&on->lock) == 0);
  return 0;
}

static int wait_to_write(struct blocked *on) {
  NEED(pthread_rwlock_wrlock(&on->lock) == 0 && pthread_rwlock_unlock(&on->lock) == 0);
  return 0;
}

static int wait_to_read_timed(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_REALTIME);
  NEED(pthread_rwlock_timedrdlock(&on->lock, &late) == 0 && pthread_rwlock_unlock(&on->lock) == 0);
  return 0;
}

static int wait_to_write_timed(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_REALTIME);
  NEED(pthread_rwlock_timedwrlock(&on->lock, &late) == 0 && pthread_rwlock_unlock(&on->lock) == 0);
  return 0;
}

static int wait_to_read_clock(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_MONOTONIC);
  NEED(pthread_rwlock_clockrdlock(&on->lock, CLOCK_MONOTONIC, &late) == 0);
  NEED(pthread_rwlock_unlock(&on->lock) == 0);
  return 0;
}

static int wait_to_write_clock(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_MONOTONIC);
  NEED(pthread_rwlock_clockwrlock(&on->lock, CLOCK_MONOTONIC, &late) == 0);
  NEED(pthread_rwlock_unlock(&on->lock) == 0);
  return 0;
}

static int meet(struct blocked *on) {
  int result = pthread_barrier_wait(&on->barrier);
  NEED(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
  return 0;
}

static void *hold_c11(void *of) {
  struct blocked *on = of;
  mtx_lock(&on->c11_mutex);
  blocked_set(on);
  while (sem_wait(&on->semaphore) != 0) continue;
  mtx_unlock(&on->c11_mutex);
  return NULL;
}

static int lock_c11(struct blocked *on) { return hold_by(on, hold_c11); }

static int wait_c11(struct blocked *on) {
  NEED(mtx_lock(&on->c11_mutex) == thrd_success && mtx_unlock(&on->c11_mutex) == thrd_success);
  return 0;
}

static int wait_c11_timed(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_REALTIME);
  NEED(mtx_timedlock(&on->c11_mutex, &late) == thrd_success);
  NEED(mtx_unlock(&on->c11_mutex) == thrd_success);
  return 0;
}

static int wait_cnd(struct blocked *on) {
  mtx_lock(&on->c11_mutex);
  while (!__atomic_load_n(&on->word, __ATOMIC_RELAXED)) /* ThreadSanitizer knows no C11 locks */
    NEED(cnd_wait(&on->c11_cond, &on->c11_mutex) == thrd_success);
  mtx_unlock(&on->c11_mutex);
  return 0;
}

static int wait_cnd_timed(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_REALTIME);
  mtx_lock(&on->c11_mutex);
  while (!__atomic_load_n(&on->word, __ATOMIC_RELAXED)) /* as wait_cnd() */
    NEED(cnd_timedwait(&on->c11_cond, &on->c11_mutex, &late) == thrd_success);
  mtx_unlock(&on->c11_mutex);
  return 0;
}

static int signal_cnd(struct blocked *on) {
  mtx_lock(&on->c11_mutex);
  __atomic_store_n(&on->word, 1, __ATOMIC_RELAXED);
  cnd_signal(&on->c11_cond);
  mtx_unlock(&on->c11_mutex);
  return 0;
}

/* ---- pthreads */

static void *wait_for_post(void *of) {
  struct blocked *on = of;
  while (sem_wait(&on->semaphore) != 0) continue;
  return on;
}

static int start_pthread(struct blocked *on) {
  NEED(make_semaphore(on) == 0);
  NEED(pthread_create(&on->thread, NULL, wait_for_post, on) == 0);
  return 0;
}

static int wait_join(struct blocked *on) {
  void *result;
  NEED(pthread_join(on->thread, &result) == 0 && result == on);
  return 0;
}

static int wait_join_timed(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_REALTIME);
  void *result;
  NEED(pthread_timedjoin_np(on->thread, &result, &late) == 0 && result == on);
  return 0;
}

static int wait_join_clock(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_MONOTONIC);
  void *result;
  NEED(pthread_clockjoin_np(on->thread, &result, CLOCK_MONOTONIC, &late) == 0 && result == on);
  return 0;
}

static int wait_for_post_c11(void *of) { return wait_for_post(of) == of ? 7 : 0; }

static int start_c11(struct blocked *on) {
  NEED(make_semaphore(on) == 0);
  NEED(thrd_create(&on->c11_thread, wait_for_post_c11, on) == thrd_success);
  return 0;
}

static int wait_join_c11(struct blocked *on) {
  int result;
  NEED(thrd_join(on->c11_thread, &result) == thrd_success && result == 7);
  return 0;
}

/* ---- initialisers that run once: a pthread runs one until the semaphore is posted */

static struct blocked *initialised;

static void initialise(void) {
  blocked_set(initialised);
  while (sem_wait(&initialised->semaphore) != 0) continue;
}

static void *hold_once(void *of) {
  initialised = of;
  pthread_once(&initialised->once, initialise);
  return NULL;
}

static void *hold_c11_once(void *of) {
  initialised = of;
  call_once(&initialised->c11_once, initialise);
  return NULL;
}

static int run_once(struct blocked *on) { return hold_by(on, hold_once); }

static int run_c11_once(struct blocked *on) { return hold_by(on, hold_c11_once); }

static int wait_once(struct blocked *on) {
  NEED(pthread_once(&on->once, abort) == 0);
  return 0;
}

static int wait_c11_once(struct blocked *on) {
  call_once(&on->c11_once, abort);
  return 0;
}

/* In the order of mltp-blocking(7). */
static const struct blocking_call locks[] = {
    {"syscall", blocked_nothing, wait_futex, wake_futex},
    {"sem_wait", make_semaphore, wait_sem, post_sem},
    {"sem_timedwait", make_semaphore, wait_sem_timed, post_sem},
    {"sem_clockwait", make_semaphore, wait_sem_clock, post_sem},
    {"pthread_mutex_lock", lock_mutex, wait_mutex, post_sem},
    {"pthread_mutex_timedlock", lock_mutex, wait_mutex_timed, post_sem},
    {"pthread_mutex_clocklock", lock_mutex, wait_mutex_clock, post_sem},
    {"pthread_cond_wait", make_locks, wait_cond, signal_cond},
    {"pthread_cond_timedwait", make_locks, wait_cond_timed, signal_cond},
    {"pthread_cond_clockwait", make_locks, wait_cond_clock, signal_cond},
    {"pthread_rwlock_rdlock", lock_to_write, wait_to_read, post_sem},
    {"pthread_rwlock_wrlock", lock_to_write, wait_to_write, post_sem},
    {"pthread_rwlock_timedrdlock", lock_to_write, wait_to_read_timed, post_sem},
    {"pthread_rwlock_timedwrlock", lock_to_write, wait_to_write_timed, post_sem},
    {"pthread_rwlock_clockrdlock", lock_to_write, wait_to_read_clock, post_sem},
    {"pthread_rwlock_clockwrlock", lock_to_write, wait_to_write_clock, post_sem},
    {"pthread_barrier_wait", make_locks, meet, meet},
    {"pthread_join", start_pthread, wait_join, post_sem},
    {"pthread_timedjoin_np", start_pthread, wait_join_timed, post_sem},
    {"pthread_clockjoin_np", start_pthread, wait_join_clock, post_sem},
    {"pthread_once", run_once, wait_once, post_sem},
    {"mtx_lock", lock_c11, wait_c11, post_sem},
    {"mtx_timedlock", lock_c11, wait_c11_timed, post_sem},
    {"cnd_wait", make_locks, wait_cnd, signal_cnd},
    {"cnd_timedwait", make_locks, wait_cnd_timed, signal_cnd},
    {"thrd_join", start_c11, wait_join_c11, post_sem},
    {"call_once", run_c11_once, wait_c11_once, post_sem},
};

/* ThreadSanitizer of gcc 12 sees only a half of what these do: the unlock, or the thread.
 * THREADS_SEEN: this program is built without it, and runs in a tmpirun that is built with it. */
static bool is_half_seen(const struct blocking_call *lock) {
#if defined(__SANITIZE_THREAD__) || defined(THREADS_SEEN)
  static const char *const names[] = {"pthread_mutex_clocklock", "pthread_rwlock_clockrdlock",
                                      "pthread_rwlock_clockwrlock", "pthread_clockjoin_np",
                                      "thrd_join"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(lock->name, names[i]) == 0) return true;
#endif
  (void)lock;
  return false;
}

const struct blocking_call *blocking_lock(int number) {
  for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
    if (!is_half_seen(&locks[i]) && number-- == 0) return &locks[i];
  return NULL;
}
