/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ops.h
 * What the workers of the stress test do at random. An operation is a file here
 * that defines a `struct operation`, and a row of the table in mix.c.
 *
 * Operations keep invariants that they check themselves, at once or in end().
 * Each must end by itself whatever the other threads do, and must not rely on
 * others doing the same operation: a worker stops when its time is over.
 */
#ifndef TESTS_STRESS_OPS_H
#define TESTS_STRESS_OPS_H

#include <stdatomic.h>
#include <stdlib.h>

#include "support/support.h"

struct operation {
  const char *name;
  unsigned weight;     /* how often it is chosen, beside the others */
  int leaf;            /* starts no threads: short-lived threads do it, too */
  void (*begin)(void); /* before the workers of a life start; NULL: nothing to do */
  void (*act)(unsigned *random);
  void (*end)(void); /* after the last act; NULL: nothing to check */
};

extern const struct operation op_lock, op_sem, op_tokens, op_meet, op_crowd, op_create, op_pthread,
    op_yield, op_sleep, op_timeout, op_resize, op_block, op_dump, op_channel, op_pipe, op_rwlock,
    op_tasks, op_cancel, op_key, op_await;

/** @return a number from 0 to below - 1. random is the caller's own state. */
static inline unsigned pick(unsigned *random, unsigned below) {
  return (unsigned)rand_r(random) % below;
}

/** @return true once in n calls. */
static inline int one_in(unsigned *random, unsigned n) { return pick(random, n) == 0; }

/** @return a deadline less than ns from now. */
static inline uint64_t soon(unsigned *random, unsigned ns) { return mltp_after(pick(random, ns)); }

/** Does an operation that starts no threads. */
void act_as_leaf(unsigned *random);

/** Returns when the detached threads that operations created have done theirs. */
void wait_for_children(void);

/** The choices of the life that runs now begin with this. */
unsigned life_seed(void);

#endif
