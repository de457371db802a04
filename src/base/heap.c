/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary heap.
 *
 * Invariants: nodes are numbered from 1 as in an array, level by level, and the numbers of a heap
 * of n nodes are 1 to n. Below its highest bit, a number says the way from the root: 0 is the first
 * child, 1 the second. No node is before its parent.
 */
#include "base/heap.h"

#include <stdbool.h>

static bool is_before(const struct mt_heap_node *a, const struct mt_heap_node *b) {
  return a->key != b->key ? a->key < b->key : a->sequence < b->sequence;
}

/* @return the link that points to a node of the heap. */
static struct mt_heap_node **link_to(struct mt_heap *heap, const struct mt_heap_node *node) {
  struct mt_heap_node *parent = node->parent;
  return parent == NULL ? &heap->root : &parent->child[parent->child[1] == node];
}

/* @return the link to a number. *parent: the node that it is in. */
static struct mt_heap_node **link_to_number(struct mt_heap *heap, uint64_t number,
                                            struct mt_heap_node **parent) {
  struct mt_heap_node **link = &heap->root;
  *parent = NULL;
  for (int bit = 62 - __builtin_clzll(number); bit >= 0; bit--) {
    *parent = *link;
    link = &(*link)->child[number >> bit & 1];
  }
  return link;
}

/* Tells the neighbours of a node, whose own links are right, where it is. */
static void settle(struct mt_heap_node **link, struct mt_heap_node *node) {
  *link = node;
  for (int i = 0; i < 2; i++)
    if (node->child[i] != NULL) node->child[i]->parent = node;
}

static void swap_with_parent(struct mt_heap *heap, struct mt_heap_node *node) {
  struct mt_heap_node *parent = node->parent, **link = link_to(heap, parent);
  bool side = parent->child[1] == node;
  struct mt_heap_node *sibling = parent->child[!side];
  node->parent = parent->parent;
  parent->child[0] = node->child[0];
  parent->child[1] = node->child[1];
  node->child[side] = parent;
  node->child[!side] = sibling;
  settle(link, node);
  settle(&node->child[side], parent);
}

static void rise(struct mt_heap *heap, struct mt_heap_node *node) {
  while (node->parent != NULL && is_before(node, node->parent)) swap_with_parent(heap, node);
}

static void sink(struct mt_heap *heap, struct mt_heap_node *node) {
  for (struct mt_heap_node *least; (least = node->child[0]) != NULL;) {
    struct mt_heap_node *other = node->child[1];
    if (other != NULL && is_before(other, least)) least = other;
    if (!is_before(least, node)) return;
    swap_with_parent(heap, least);
  }
}

void mt_heap_insert(struct mt_heap *heap, struct mt_heap_node *node) {
  node->sequence = heap->insertions++;
  node->child[0] = node->child[1] = NULL;
  *link_to_number(heap, ++heap->count, &node->parent) = node;
  rise(heap, node);
}

/* The last node takes the place. */
void mt_heap_remove(struct mt_heap *heap, struct mt_heap_node *node) {
  struct mt_heap_node *parent, **end = link_to_number(heap, heap->count--, &parent), *last = *end;
  *end = NULL;
  if (last == node) return;
  last->parent = node->parent;
  last->child[0] = node->child[0];
  last->child[1] = node->child[1];
  settle(link_to(heap, node), last);
  if (last->parent != NULL && is_before(last, last->parent))
    rise(heap, last);
  else
    sink(heap, last);
}
