/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file pthreads.h
 * libc's threads for a program that makes its own: what tmpirun's functions in their place call. It
 * is no part of libmltp. As the functions of these names without os_.
 */
#ifndef MT_OS_PTHREADS_H
#define MT_OS_PTHREADS_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <time.h>

int os_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
                      void *argument);
int os_pthread_detach(pthread_t thread);
int os_pthread_join(pthread_t thread, void **result);
int os_pthread_tryjoin(pthread_t thread, void **result);
int os_pthread_clockjoin(pthread_t thread, void **result, clockid_t clock,
                         const struct timespec *time);
void os_pthread_exit(void *result) __attribute__((noreturn));
int os_pthread_barrier_wait(pthread_barrier_t *barrier);
int os_pthread_kill(pthread_t thread, int signo);
int os_pthread_getattr(pthread_t thread, pthread_attr_t *attr);
int os_pthread_setaffinity(pthread_t thread, size_t size, const cpu_set_t *cpus);
/** @return whether it is the calling kernel thread. */
bool os_pthread_is_self(pthread_t thread);
/** @return the calling kernel thread; the process's first one. */
pthread_t os_pthread_self(void);
pthread_t os_pthread_first(void);
bool os_pthread_is_first(pthread_t thread);

#endif
