/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file quick.h
 * Free mutexes and semaphores: does to libc's words what libc does, without a call of libc's
 * functions, which cost as much again as the gate. A mutex that is not free, and every other kind
 * of object, goes to libc.
 *
 * These words are part of glibc's binary interface as those in layout.h are. gt_quick_start()
 * compares what libc writes and what these functions write, both ways. If they differ, or another
 * library has put its functions before libc's, all calls go to the functions in gt_next.
 *
 * A process of one thread needs no locked instruction, as in libc.
 */
#ifndef MT_GATE_QUICK_H
#define MT_GATE_QUICK_H

#include <limits.h>
#include <semaphore.h>
#include <sys/single_threaded.h>

#include "gate/gate.h"
#include "os/os.h"

enum { GT_QUICK_KINDS = 2 /**< gt_gate.quick: kinds of mutexes below are locked here */ };

/** @return 0: normal; 1: recursive. A program that asks for the normal kind also asks not to elide
 * it. */
static inline unsigned gt_quick_kind(const pthread_mutex_t *m) {
  enum { NOT_ELIDED = 512 };
  return (unsigned)m->__data.__kind & ~(unsigned)NOT_ELIDED;
}

/** Looks whether libc's words are as this file says. */
void gt_quick_start(pid_t tid);

/** @return gettid(), without a system call if libc's words are as this file says. */
pid_t gt_quick_tid(void);

/** Locks a free mutex. @return false: nothing has changed. */
static inline bool gt_quick_lock(pid_t tid, pthread_mutex_t *m) {
  unsigned kind = gt_quick_kind(m);
  int *lock = &m->__data.__lock, expected = 0;
  /* Relaxed: a hint; a recursive mutex that the caller has costs no locked instruction. */
  if (mt_unlikely(kind >= gt_gate.quick || mt_load_relaxed(lock) != 0)) return false;
  if (__libc_single_threaded)
    *lock = 1;
  else if (mt_unlikely(!mt_cas_acquire(lock, &expected, 1))) /* GT-11 acquire: pairs GT-12 */
    return false;
  m->__data.__owner = tid;
  m->__data.__nusers++;
  m->__data.__count = kind; /* a recursive mutex is locked once */
  return true;
}

enum gt_quick_unlock {
  GT_UNLOCKED,
  GT_UNLOCKED_FOR_LIBC, /**< a thread that has left the gate waits for the word */
  GT_NOT_UNLOCKED       /**< nothing has changed */
};

/** Unlocks a mutex of the caller's. */
static inline enum gt_quick_unlock gt_quick_unlock(pid_t tid, pthread_mutex_t *m) {
  unsigned kind = gt_quick_kind(m);
  int *lock = &m->__data.__lock;
  if (mt_unlikely(kind >= gt_gate.quick || m->__data.__owner != tid || m->__data.__count != kind))
    return GT_NOT_UNLOCKED;
  m->__data.__owner = 0;
  m->__data.__nusers--;
  m->__data.__count = 0;
  if (!__libc_single_threaded) /* GT-12 acq_rel: pairs GT-11 */
    return mt_unlikely(mt_swap_acq_rel(lock, 0) > 1) ? GT_UNLOCKED_FOR_LIBC : GT_UNLOCKED;
  *lock = 0;
  return GT_UNLOCKED;
}

/** @return the word of a semaphore: its value, and in the upper half the waiters in libc. */
static inline uint64_t *gt_quick_sem_word(sem_t *s) {
  void *word = s;
  return word;
}

/** Takes one from a semaphore that is not 0. @return false: nothing has changed. */
static inline bool gt_quick_sem_wait(sem_t *s) {
  uint64_t *word = gt_quick_sem_word(s), seen = mt_load_relaxed(word); /* relaxed: GT-13 decides */
  if (mt_unlikely((uint32_t)seen == 0 || gt_gate.quick == 0)) return false;
  if (mt_likely(!__libc_single_threaded))
    return mt_cas_acquire(word, &seen, seen - 1); /* GT-13 acquire: pairs GT-14 */
  *word = seen - 1;
  return true;
}

/** Adds one to a semaphore. @return false: nothing has changed. */
static inline bool gt_quick_sem_post(sem_t *s) {
  uint64_t *word = gt_quick_sem_word(s), seen = mt_load_relaxed(word); /* relaxed: GT-14 decides */
  /* The upper half counts threads that wait in libc. */
  if (mt_unlikely(seen >= INT_MAX || gt_gate.quick == 0)) return false;
  if (mt_likely(!__libc_single_threaded))
    return mt_cas_release(word, &seen, seen + 1); /* GT-14 release: pairs GT-13 */
  *word = seen + 1;
  return true;
}

#endif
