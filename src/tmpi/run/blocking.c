/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls in which a rank may wait in the kernel for another rank, or for a pthread of its own. Its
 * VP waits there, and another VP runs the other ranks meanwhile. A call that would not wait is made
 * at once: to tell libmltp of a wait costs more than most of these calls.
 */
#include <errno.h>
#include <linux/futex.h>
#include <mltp/mltp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/pthreads.h"
#include "tmpi/run/override.h"
#include "tmpi/run/streams.h"

enum { SECOND = 1000000000 };

/* ---- semaphores and barriers */

static int wait_at_barrier(pthread_barrier_t *barrier) {
  mltp_blocking_begin();
  int error = os_pthread_barrier_wait(barrier);
  mltp_blocking_end();
  return error;
}

static int wait_for_semaphore(sem_t *semaphore) {
  if (sem_trywait(semaphore) == 0) return 0;
  mltp_blocking_begin();
  int result = sem_wait(semaphore), error = errno;
  mltp_blocking_end();
  tm_set_errno(error);
  return result;
}

/* @return whether libc takes the time. It looks at that first, also where it need not wait. */
static bool is_time(clockid_t clock, const struct timespec *time) {
  bool is_known = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
  return is_known && time->tv_nsec >= 0 && time->tv_nsec < SECOND;
}

static int wait_for_semaphore_until(sem_t *semaphore, clockid_t clock,
                                    const struct timespec *time) {
  if (is_time(clock, time) && sem_trywait(semaphore) == 0) return 0;
  mltp_blocking_begin();
  int result = sem_clockwait(semaphore, clock, time), error = errno;
  mltp_blocking_end();
  tm_set_errno(error);
  return result;
}

static int wait_for_semaphore_timed(sem_t *semaphore, const struct timespec *time) {
  return wait_for_semaphore_until(semaphore, CLOCK_REALTIME, time);
}

/* ---- files */

static int flock_rank(int fd, int operation) {
  fd = tm_streams_meant(fd);
  if ((operation & (LOCK_NB | LOCK_UN)) != 0) return flock(fd, operation);
  if (flock(fd, operation | LOCK_NB) == 0) return 0;
  if (errno != EWOULDBLOCK) return -1;
  mltp_blocking_begin();
  int result = flock(fd, operation), error = errno;
  mltp_blocking_end();
  tm_set_errno(error);
  return result;
}

/* ---- system calls by number: futures of C++ wait in futex(2) */

static bool futex_waits(long operation) {
  long command = operation & FUTEX_CMD_MASK;
  return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI;
}

static long syscall_rank(long number, ...) {
  va_list list;
  long word[6];
  va_start(list, number);
  for (int i = 0; i < 6; i++) word[i] = va_arg(list, long);
  va_end(list);
  bool waits = number == SYS_futex && futex_waits(word[1]);
  if (waits) mltp_blocking_begin();
  long result = syscall(number, word[0], word[1], word[2], word[3], word[4], word[5]);
  int error = errno;
  if (waits) mltp_blocking_end();
  tm_set_errno(error);
  return result;
}

const struct tm_override tm_override_blocking[] = {
    {"pthread_barrier_wait", (tm_any *)wait_at_barrier},
    {"sem_wait", (tm_any *)wait_for_semaphore},
    {"sem_timedwait", (tm_any *)wait_for_semaphore_timed},
    {"sem_clockwait", (tm_any *)wait_for_semaphore_until},
    {"flock", (tm_any *)flock_rank},
    {"syscall", (tm_any *)syscall_rank},
    {NULL, NULL},
};
