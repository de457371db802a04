/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file heap.h
 * A pairing heap (Fredman et al. 1986) of nodes that live in their owners: no
 * memory of its own, so inserting cannot fail. Insert O(1), remove O(log n)
 * amortised. The caller locks.
 */
#ifndef MT_BASE_HEAP_H
#define MT_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct mt_heap_node {
  uint64_t key;               /**< smallest first */
  struct mt_heap_node *child; /**< first child */
  struct mt_heap_node *next;  /**< next sibling */
  struct mt_heap_node *prev;  /**< previous sibling, or the parent of a first child */
};

struct mt_heap {
  struct mt_heap_node *root; /**< the smallest; NULL: empty */
};

void mt_heap_insert(struct mt_heap *heap, struct mt_heap_node *node);

/** Removes a node that is in the heap. */
void mt_heap_remove(struct mt_heap *heap, struct mt_heap_node *node);

#endif
