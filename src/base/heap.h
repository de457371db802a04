/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file heap.h
 * A binary heap of nodes that live in their owners: no memory of its own, so inserting cannot fail.
 * The tree is complete and its nodes are linked, so inserting and removing are O(log n) in the
 * worst case. Nodes of equal keys leave in the order in which they came. The caller locks.
 *
 * Rejected: a pairing heap. It inserts in O(1), but the first removal after n insertions walks n
 * nodes while the caller holds its lock.
 */
#ifndef MT_BASE_HEAP_H
#define MT_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct mt_heap_node {
  uint64_t key;      /**< smallest first */
  uint64_t sequence; /**< insertions before this one: the order of equal keys */
  struct mt_heap_node *parent;
  struct mt_heap_node *child[2];
};

struct mt_heap {
  struct mt_heap_node *root; /**< the smallest; NULL: empty */
  uint64_t count;            /**< nodes in the heap */
  uint64_t insertions;
};

/** Inserts a node that has its key. */
void mt_heap_insert(struct mt_heap *heap, struct mt_heap_node *node);

/** Removes a node that is in the heap. */
void mt_heap_remove(struct mt_heap *heap, struct mt_heap_node *node);

#endif
