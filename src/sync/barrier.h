/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file barrier.h
 * What the opaque storage of a barrier holds; barrier.c has the protocol.
 */
#ifndef MT_SYNC_BARRIER_H
#define MT_SYNC_BARRIER_H

#include "mltp/sync.h"

enum { MT_BARRIER_PARTS = 8 };

/** The threads of some VPs that wait in a barrier. [lock: its queue's] */
struct __attribute__((may_alias)) mt_barrier_part {
  char apart[80]; /* parts share no cache line, wherever the barrier lies */
  mltp_waitq_t queue;
  void *home;     /* the VP of all waiters, while mixed is false */
  uint32_t owed;  /* threads still to come in this episode */
  uint32_t quota; /* threads that come in each episode */
  uint64_t mixed; /* waiters of several VPs, or of none */
};

/** The storage. It aliases words that the program's initialiser wrote, all zero. [lock: the
 * barrier's queue's] */
struct __attribute__((may_alias)) mt_barrier_parts {
  uint32_t given; /* of the needed threads: the number that parts have in their quotas */
  uint32_t open;  /* parts that owe something */
  struct mt_barrier_part part[MT_BARRIER_PARTS];
};

_Static_assert(sizeof(struct mt_barrier_parts) <= MLTP_BARRIER_WORDS * sizeof(uint64_t),
               "the storage is part of the binary interface");

static inline struct mt_barrier_parts *mt_barrier_parts(mltp_barrier_t *barrier) {
  return (struct mt_barrier_parts *)barrier->parts_;
}

/** @return how many threads wait in the barrier; a hint unless all its internal locks are held. */
uint32_t mt_barrier_waiters(const mltp_barrier_t *barrier);

#endif
