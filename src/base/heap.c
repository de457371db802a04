/* SPDX-License-Identifier: Apache-2.0 */
/* The pairing heap. */
#include "base/heap.h"

/* Both are roots, neither has siblings. Ties: a stays above b, so that nodes of
 * equal keys leave in the order in which they came when a is the older. */
static struct mt_heap_node *meld(struct mt_heap_node *a, struct mt_heap_node *b) {
  if (a == NULL) return b;
  if (b == NULL) return a;
  if (b->key < a->key) {
    struct mt_heap_node *swap = a;
    a = b;
    b = swap;
  }
  b->prev = a;
  b->next = a->child;
  if (a->child != NULL) a->child->prev = b;
  a->child = b;
  return a;
}

/* The two passes: meld pairs from left to right, then the pairs from right to left. */
static struct mt_heap_node *meld_siblings(struct mt_heap_node *first) {
  struct mt_heap_node *pairs = NULL;
  while (first != NULL) {
    struct mt_heap_node *a = first, *b = first->next;
    first = b != NULL ? b->next : NULL;
    a->next = a->prev = NULL;
    if (b != NULL) b->next = b->prev = NULL;
    struct mt_heap_node *pair = meld(a, b);
    pair->next = pairs;
    pairs = pair;
  }
  struct mt_heap_node *root = NULL;
  while (pairs != NULL) {
    struct mt_heap_node *pair = pairs;
    pairs = pair->next;
    pair->next = NULL;
    root = meld(root, pair);
  }
  return root;
}

void mt_heap_insert(struct mt_heap *heap, struct mt_heap_node *node) {
  node->child = node->next = node->prev = NULL;
  heap->root = meld(heap->root, node);
}

void mt_heap_remove(struct mt_heap *heap, struct mt_heap_node *node) {
  struct mt_heap_node *orphans = meld_siblings(node->child);
  if (node == heap->root) {
    heap->root = orphans;
  } else {
    if (node->prev->child == node)
      node->prev->child = node->next;
    else
      node->prev->next = node->next;
    if (node->next != NULL) node->next->prev = node->prev;
    heap->root = meld(heap->root, orphans);
  }
  node->child = node->next = node->prev = NULL;
}
