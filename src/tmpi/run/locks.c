/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks of pthreads that a program has. A rank's own thread that finds one held waits in the kernel
 * with its VP, and another VP runs the other ranks meanwhile.
 *
 * libc knows the owner of some locks by its kernel thread. A rank's own thread runs now on this
 * one, now on that: it would not be allowed to release a recursive mutex, and would release a
 * rwlock as a reader that it has locked as the writer. So these locks have the rank's number as
 * owner while a rank's own thread holds them, and libc's when libc is about to look.
 */
#include <errno.h>
#include <mltp/mltp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "core/internal/direct_switch.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

enum {
  NUMBERS = 1 << 28, /* above all of the kernel's, below the bits of futexes */
  KIND = 127,        /* the bits of a mutex's kind that say how it is locked */
  ROBUST = 16        /* one of them */
};

/* @return the calling thread's number as an owner; 0: libc's is right. */
static int own_number(void) {
  const struct tm_process *process = tm_process_here();
  return process != NULL && !tm_on_pthread() && mti_is_native() ? NUMBERS + process->number : 0;
}

/* ---- mutexes */

/* @return whether the mutex knows its owner. Robust ones are the kernel's. */
static bool has_owner(const pthread_mutex_t *mutex) {
  int kind = mutex->__data.__kind & KIND;
  return kind == PTHREAD_MUTEX_RECURSIVE || kind == PTHREAD_MUTEX_ERRORCHECK;
}

/* The kernel's list of a kernel thread has it, and knows no other owner. */
static bool is_robust(const pthread_mutex_t *mutex) { return (mutex->__data.__kind & ROBUST) != 0; }

static bool is_recursive(const pthread_mutex_t *mutex) {
  return (mutex->__data.__kind & KIND) == PTHREAD_MUTEX_RECURSIVE;
}

/* @return whether the caller has it, by its number. */
static bool is_held(const pthread_mutex_t *mutex, int number) {
  return number != 0 && has_owner(mutex) && mutex->__data.__owner == number;
}

/* A mutex that the caller has. error: of one that is not recursive. */
static int lock_again(pthread_mutex_t *mutex, int error) {
  if (!is_recursive(mutex)) return error;
  if (mutex->__data.__count + 1 == 0) return EAGAIN;
  mutex->__data.__count++;
  return 0;
}

static int take(pthread_mutex_t *mutex, int number, int error) {
  bool taken = error == 0 || error == EOWNERDEAD;
  if (taken && number != 0 && is_robust(mutex)) tm_process_here()->robust_held++;
  if (error == 0 && number != 0 && has_owner(mutex)) mutex->__data.__owner = number;
  return error;
}

/* Ranks have the priority of their VPs, so a mutex with a priority protocol is one without. Its
 * owner would be the kernel's, which knows no ranks. */
static int init_mutex(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr) {
  int protocol = PTHREAD_PRIO_NONE;
  if (attr != NULL) pthread_mutexattr_getprotocol(attr, &protocol);
  if (protocol == PTHREAD_PRIO_NONE || tm_process_here() == NULL || !mti_is_native())
    return pthread_mutex_init(mutex, attr);
  pthread_mutexattr_t plain = *attr;
  pthread_mutexattr_setprotocol(&plain, PTHREAD_PRIO_NONE);
  return pthread_mutex_init(mutex, &plain);
}

static int lock_mutex(pthread_mutex_t *mutex) {
  int number = own_number();
  if (is_held(mutex, number)) return lock_again(mutex, EDEADLK);
  int error = pthread_mutex_trylock(mutex);
  if (error == EBUSY) {
    mltp_blocking_begin();
    error = pthread_mutex_lock(mutex);
    mltp_blocking_end();
  }
  return take(mutex, number, error);
}

static int try_mutex(pthread_mutex_t *mutex) {
  int number = own_number();
  if (is_held(mutex, number)) return lock_again(mutex, EBUSY);
  return take(mutex, number, pthread_mutex_trylock(mutex));
}

static int lock_mutex_until(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time) {
  int number = own_number();
  if (is_held(mutex, number)) return lock_again(mutex, EDEADLK);
  int error = pthread_mutex_trylock(mutex);
  if (error == EBUSY) {
    mltp_blocking_begin();
    error = clock == CLOCK_REALTIME ? pthread_mutex_timedlock(mutex, time) /* sanitizers know it */
                                    : pthread_mutex_clocklock(mutex, clock, time);
    mltp_blocking_end();
  }
  return take(mutex, number, error);
}

static int lock_mutex_timed(pthread_mutex_t *mutex, const struct timespec *time) {
  return lock_mutex_until(mutex, CLOCK_REALTIME, time);
}

/* @return whether the mutex belongs to the kernel thread of a VP that the rank has left. */
static bool is_left_behind(const pthread_mutex_t *mutex) {
  return is_robust(mutex) && mutex->__data.__owner != 0 && mutex->__data.__owner != gettid() &&
         tm_process_here()->robust_held > 0;
}

static void end_if_left_behind(const pthread_mutex_t *mutex) {
  if (!is_left_behind(mutex)) return;
  fprintf(stderr,
          "tmpirun: rank %d cannot release a robust mutex: it continued on another kernel thread "
          "while it held that, in a call that waits (run with --one-to-one)\n",
          tm_process_here()->number);
  tm_job_abort(1);
}

static int unlock_robust(pthread_mutex_t *mutex) {
  end_if_left_behind(mutex);
  int error = pthread_mutex_unlock(mutex);
  if (error == 0) tm_process_here()->robust_held--;
  return error;
}

static int unlock_mutex(pthread_mutex_t *mutex) {
  int number = own_number();
  if (number != 0 && is_robust(mutex)) return unlock_robust(mutex);
  if (number == 0 || !has_owner(mutex)) return pthread_mutex_unlock(mutex);
  if (!is_held(mutex, number)) return EPERM;
  if (is_recursive(mutex) && mutex->__data.__count > 1) {
    mutex->__data.__count--;
    return 0;
  }
  mutex->__data.__owner = gettid();
  return pthread_mutex_unlock(mutex);
}

/* ---- condition variables: libc releases the mutex and takes it again */

static int wait_for_cond_until(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                               const struct timespec *time, bool by_clock) {
  int number = own_number();
  bool held = is_held(mutex, number);
  if (held) mutex->__data.__owner = gettid();
  if (number != 0) end_if_left_behind(mutex);
  mltp_blocking_begin();
  int error = time == NULL ? pthread_cond_wait(cond, mutex)
              : by_clock   ? pthread_cond_clockwait(cond, mutex, clock, time)
                           : pthread_cond_timedwait(cond, mutex, time);
  if (held) mutex->__data.__owner = number;
  mltp_blocking_end();
  return error;
}

static int wait_for_cond(pthread_cond_t *cond, pthread_mutex_t *mutex) {
  return wait_for_cond_until(cond, mutex, CLOCK_REALTIME, NULL, false);
}

static int wait_for_cond_timed(pthread_cond_t *cond, pthread_mutex_t *mutex,
                               const struct timespec *time) {
  return wait_for_cond_until(cond, mutex, CLOCK_REALTIME, time, false);
}

static int wait_for_cond_clock(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                               const struct timespec *time) {
  return wait_for_cond_until(cond, mutex, clock, time, true);
}

/* ---- locks of readers and writers */

/* @return whether the caller has the lock to write: to wait for it would never end. */
static bool is_writer(const pthread_rwlock_t *lock, int number) {
  return number != 0 && lock->__data.__cur_writer == number;
}

static int lock_as_reader(pthread_rwlock_t *lock) {
  if (is_writer(lock, own_number())) return EDEADLK;
  int error = pthread_rwlock_tryrdlock(lock);
  if (error != EBUSY) return error;
  mltp_blocking_begin();
  error = pthread_rwlock_rdlock(lock);
  mltp_blocking_end();
  return error;
}

static int become_writer(pthread_rwlock_t *lock, int number, int error) {
  if (error == 0 && number != 0) lock->__data.__cur_writer = number;
  return error;
}

static int lock_as_writer(pthread_rwlock_t *lock) {
  int number = own_number();
  if (is_writer(lock, number)) return EDEADLK;
  int error = pthread_rwlock_trywrlock(lock);
  if (error == EBUSY) {
    mltp_blocking_begin();
    error = pthread_rwlock_wrlock(lock);
    mltp_blocking_end();
  }
  return become_writer(lock, number, error);
}

static int try_as_writer(pthread_rwlock_t *lock) {
  return become_writer(lock, own_number(), pthread_rwlock_trywrlock(lock));
}

static int lock_as_reader_until(pthread_rwlock_t *lock, clockid_t clock,
                                const struct timespec *time) {
  if (is_writer(lock, own_number())) return EDEADLK;
  int error = pthread_rwlock_tryrdlock(lock);
  if (error != EBUSY) return error;
  mltp_blocking_begin();
  error = pthread_rwlock_clockrdlock(lock, clock, time);
  mltp_blocking_end();
  return error;
}

static int lock_as_reader_timed(pthread_rwlock_t *lock, const struct timespec *time) {
  return lock_as_reader_until(lock, CLOCK_REALTIME, time);
}

static int lock_as_writer_until(pthread_rwlock_t *lock, clockid_t clock,
                                const struct timespec *time) {
  int number = own_number();
  if (is_writer(lock, number)) return EDEADLK;
  int error = pthread_rwlock_trywrlock(lock);
  if (error == EBUSY) {
    mltp_blocking_begin();
    error = pthread_rwlock_clockwrlock(lock, clock, time);
    mltp_blocking_end();
  }
  return become_writer(lock, number, error);
}

static int lock_as_writer_timed(pthread_rwlock_t *lock, const struct timespec *time) {
  return lock_as_writer_until(lock, CLOCK_REALTIME, time);
}

static int unlock_rwlock(pthread_rwlock_t *lock) {
  if (is_writer(lock, own_number())) lock->__data.__cur_writer = gettid();
  return pthread_rwlock_unlock(lock);
}

/* ---- the same for C11 */

static int c11_of(int error) {
  switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ENOMEM: return thrd_nomem;
    case ETIMEDOUT: return thrd_timedout;
    default: return thrd_error;
  }
}

static int mtx_lock_rank(mtx_t *mutex) { return c11_of(lock_mutex((pthread_mutex_t *)mutex)); }

static int mtx_trylock_rank(mtx_t *mutex) { return c11_of(try_mutex((pthread_mutex_t *)mutex)); }

static int mtx_timedlock_rank(mtx_t *mutex, const struct timespec *time) {
  return c11_of(lock_mutex_timed((pthread_mutex_t *)mutex, time));
}

static int mtx_unlock_rank(mtx_t *mutex) { return c11_of(unlock_mutex((pthread_mutex_t *)mutex)); }

static int cnd_wait_rank(cnd_t *cond, mtx_t *mutex) {
  return c11_of(wait_for_cond((pthread_cond_t *)cond, (pthread_mutex_t *)mutex));
}

static int cnd_timedwait_rank(cnd_t *cond, mtx_t *mutex, const struct timespec *time) {
  return c11_of(wait_for_cond_timed((pthread_cond_t *)cond, (pthread_mutex_t *)mutex, time));
}

const struct tm_override tm_override_locks[] = {
    {"pthread_mutex_init", (tm_any *)init_mutex},
    {"pthread_mutex_lock", (tm_any *)lock_mutex},
    {"pthread_mutex_trylock", (tm_any *)try_mutex},
    {"pthread_mutex_timedlock", (tm_any *)lock_mutex_timed},
    {"pthread_mutex_clocklock", (tm_any *)lock_mutex_until},
    {"pthread_mutex_unlock", (tm_any *)unlock_mutex},
    {"pthread_cond_wait", (tm_any *)wait_for_cond},
    {"pthread_cond_timedwait", (tm_any *)wait_for_cond_timed},
    {"pthread_cond_clockwait", (tm_any *)wait_for_cond_clock},
    {"pthread_rwlock_rdlock", (tm_any *)lock_as_reader},
    {"pthread_rwlock_timedrdlock", (tm_any *)lock_as_reader_timed},
    {"pthread_rwlock_clockrdlock", (tm_any *)lock_as_reader_until},
    {"pthread_rwlock_wrlock", (tm_any *)lock_as_writer},
    {"pthread_rwlock_trywrlock", (tm_any *)try_as_writer},
    {"pthread_rwlock_timedwrlock", (tm_any *)lock_as_writer_timed},
    {"pthread_rwlock_clockwrlock", (tm_any *)lock_as_writer_until},
    {"pthread_rwlock_unlock", (tm_any *)unlock_rwlock},
    {"mtx_lock", (tm_any *)mtx_lock_rank},
    {"mtx_trylock", (tm_any *)mtx_trylock_rank},
    {"mtx_timedlock", (tm_any *)mtx_timedlock_rank},
    {"mtx_unlock", (tm_any *)mtx_unlock_rank},
    {"cnd_wait", (tm_any *)cnd_wait_rank},
    {"cnd_timedwait", (tm_any *)cnd_timedwait_rank},
    {NULL, NULL},
};
