/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file layout.h
 * What the gate reads of libc's objects: what kind they are. These fields are part of glibc's
 * binary interface, since programs initialise objects statically; gt_layout_holds() compares them
 * with what libc's own functions write, and the gate stays off if they differ.
 */
#ifndef MT_GATE_LAYOUT_H
#define MT_GATE_LAYOUT_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>

enum { GT_KIND_SPECIAL = 16 | 32 | 64 | 128 /* robust, inherit, protect, shared */ };

/** @return whether its waiters may be ours. */
static inline bool gt_mutex_is_plain(const pthread_mutex_t *m) {
  return (m->__data.__kind & GT_KIND_SPECIAL) == 0;
}

/** @return whether locking it again by its owner is an error that libc reports. */
static inline bool gt_mutex_checks(const pthread_mutex_t *m) {
  return (m->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK;
}

static inline pid_t gt_mutex_owner(const pthread_mutex_t *m) { return m->__data.__owner; }

static inline bool gt_cond_is_shared(const pthread_cond_t *c) {
  return (c->__data.__wrefs & 1) != 0;
}

static inline clockid_t gt_cond_clock(const pthread_cond_t *c) {
  return (c->__data.__wrefs & 2) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

static inline bool gt_rwlock_is_shared(const pthread_rwlock_t *l) {
  return l->__data.__shared != 0;
}

static inline bool gt_rwlock_prefers_writers(const pthread_rwlock_t *l) {
  return l->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

/* @return a word of an object whose fields libc does not name. */
static inline unsigned gt_word(const void *object, size_t index) {
  unsigned word;
  memcpy(&word, (const char *)object + index * sizeof word, sizeof word);
  return word;
}

static inline unsigned gt_barrier_count(const pthread_barrier_t *b) { return gt_word(b, 2); }

static inline bool gt_barrier_is_shared(const pthread_barrier_t *b) { return gt_word(b, 3) != 0; }

static inline bool gt_sem_is_shared(const sem_t *s) { return gt_word(s, 2) != 0; }

/** @return whether libc's objects look as this file says. */
bool gt_layout_holds(void);

#endif
