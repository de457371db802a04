/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file blocking_calls.h
 * The table of calls that block a kernel thread: tests/unit/calls.c runs each row between threads,
 * tests/mpi/calls.c between ranks, tests/gate/calls.c between gated pthreads, and
 * tests/lint/test_blocking.py compares the rows with the table in mltp-blocking(7) and with the
 * functions that stand before libc's.
 */
#ifndef TESTS_SUPPORT_BLOCKING_CALLS_H
#define TESTS_SUPPORT_BLOCKING_CALLS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <threads.h>

/** What one blocked call and its end need. */
struct blocked {
  int ends[2];   /* of a pipe, or two descriptors of a file that is locked */
  char path[64]; /* of a FIFO or a socket */
  pid_t child;
  uint32_t word; /* of a futex; and 1: the one that ends the wait has run */
  sem_t semaphore;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  pthread_rwlock_t lock;
  pthread_barrier_t barrier;
  pthread_t thread;
  mtx_t c11_mutex;
  cnd_t c11_cond;
  thrd_t c11_thread;
  pthread_once_t once;
  once_flag c11_once;
};

/** In a step of a call: the step fails unless the condition holds. */
#define NEED(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) return __LINE__;                                                             \
  } while (0)

/** A call: begin() prepares, block() does not return before end() has run elsewhere. Each returns
 * 0, or the number of the line that went wrong. */
struct blocking_call {
  const char *name;
  int (*begin)(struct blocked *on);
  int (*block)(struct blocked *on);
  int (*end)(struct blocked *on);
};

enum { BLOCKING_CALLS_MOST = 64 };

/** @return the row of a number from 0 on; NULL: there are no more. */
const struct blocking_call *blocking_call(int number);
/** The same of the calls that wait for other threads. */
const struct blocking_call *blocking_lock(int number);

/** Steps of several calls: nothing; the word is set. */
int blocked_nothing(struct blocked *on);
int blocked_set(struct blocked *on);
bool blocked_is_set(const struct blocked *on);

#endif
