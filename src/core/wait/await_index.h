/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file await_index.h
 * An index of waiters by word and value. With it a waker finds the waiters whose predicate holds
 * without looking at the others. The nodes lie on the waiters' stacks. The caller locks.
 *
 * Waiters with equal predicates are a group. All waiters until a word no longer has a value are
 * one group for the word. All waiters for a word are a group, too: if there is none, the word may
 * be gone, and a waker must not read it. Groups are in a tree by the bits of a hash, so its depth
 * is log2 of their number, about, and it needs neither balancing nor memory.
 *
 * Rejected: more buckets as waiters come: each store of a word that others may wait for reads its
 * bucket, which would be in another cache line for each word, and would move.
 */
#ifndef MT_CORE_WAIT_AWAIT_INDEX_H
#define MT_CORE_WAIT_AWAIT_INDEX_H

#include "core/wait/predicate.h"

enum {
  MT_AWAIT_FEW = 4, /**< waiters of a bucket that its queue alone has to hold */
  MT_AWAIT_ROOTS = 16,
  MT_AWAIT_ANY = 2 /**< as `equal` of a predicate: the group of all waiters for a word */
};

struct mltp_thread;

struct mt_await_index {
  struct mt_await_node *roots[MT_AWAIT_ROOTS]; /* by other bits of the hash */
};

/** A waiter in one of its two groups. */
struct mt_await_node {
  struct mt_await_waiter *waiter;
  struct mt_await key;
  uint64_t hash;
  struct mt_await_node *next, *prev; /**< in its group; prev of the first is the last */
  struct mt_await_node *child[2];    /**< of the first of a group: by the next bit of the hash */
};

/** A waiter. On its stack. */
struct mt_await_waiter {
  struct mltp_thread *thread;
  const struct mt_await *predicate;
  struct mt_await_node by_predicate, by_word;
};

/** Adds a waiter. */
void mt_await_index_add(struct mt_await_index *index, struct mt_await_waiter *waiter);

/** Removes a waiter that is in the index. */
void mt_await_index_remove(struct mt_await_index *index, struct mt_await_waiter *waiter);

/** @return the first node of the group of a predicate; NULL: none. If it is one for
 * "not equal", the group has all values. */
struct mt_await_node *mt_await_index_find(struct mt_await_index *index,
                                          const struct mt_await *predicate);

#endif
