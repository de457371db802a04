/* SPDX-License-Identifier: Apache-2.0 */
#include "os/pthreads.h"

#include <signal.h>

int os_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
                      void *argument) {
  return pthread_create(thread, attr, function, argument);
}

int os_pthread_detach(pthread_t thread) { return pthread_detach(thread); }

int os_pthread_join(pthread_t thread, void **result) { return pthread_join(thread, result); }

int os_pthread_tryjoin(pthread_t thread, void **result) {
  return pthread_tryjoin_np(thread, result);
}

int os_pthread_clockjoin(pthread_t thread, void **result, clockid_t clock,
                         const struct timespec *time) {
  return clock == CLOCK_REALTIME
             ? pthread_timedjoin_np(thread, result, time) /* sanitizers know it */
             : pthread_clockjoin_np(thread, result, clock, time);
}

void os_pthread_exit(void *result) { pthread_exit(result); }

int os_pthread_barrier_wait(pthread_barrier_t *barrier) { return pthread_barrier_wait(barrier); }

int os_pthread_kill(pthread_t thread, int signo) { return pthread_kill(thread, signo); }

int os_pthread_getattr(pthread_t thread, pthread_attr_t *attr) {
  return pthread_getattr_np(thread, attr);
}

int os_pthread_setaffinity(pthread_t thread, size_t size, const cpu_set_t *cpus) {
  return pthread_setaffinity_np(thread, size, cpus);
}

static pthread_t first;

/* Constructors run on the process's first thread. */
__attribute__((constructor)) static void note_first(void) { first = pthread_self(); }

pthread_t os_pthread_self(void) { return pthread_self(); }

pthread_t os_pthread_first(void) { return first; }

bool os_pthread_is_first(pthread_t thread) { return pthread_equal(thread, first) != 0; }

bool os_pthread_is_self(pthread_t thread) { return pthread_equal(thread, pthread_self()) != 0; }
