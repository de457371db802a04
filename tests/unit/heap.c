/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of timers, beside a plain array: what leaves, in which order, and in how many steps. */
#include <stdbool.h>

#include "base/heap.h"
#include "support/support.h"

enum { NODES = 2000, KEYS = 100 };

static struct mt_heap heap;
static struct mt_heap_node nodes[NODES];
static bool inside[NODES];
static uint32_t seed;

static uint32_t any(uint32_t below) {
  seed = seed * 1664525 + 1013904223;
  return (seed >> 8) % below;
}

/* @return the one that should be the root; NULL: none is inside. */
static const struct mt_heap_node *first(void) {
  const struct mt_heap_node *best = NULL;
  for (int i = 0; i < NODES; i++) {
    const struct mt_heap_node *node = &nodes[i];
    if (!inside[i] || (best != NULL && node->key > best->key)) continue;
    if (best == NULL || node->key < best->key || node->sequence < best->sequence) best = node;
  }
  return best;
}

static void insert(int i, uint64_t key) {
  nodes[i].key = key;
  mt_heap_insert(&heap, &nodes[i]);
  inside[i] = true;
}

static void take(int i) {
  mt_heap_remove(&heap, &nodes[i]);
  inside[i] = false;
}

static void nodes_leave_in_order(void) {
  for (seed = 1; seed < 4; seed++) {
    uint32_t start = seed;
    for (int step = 0; step < 3 * NODES; step++) {
      int i = (int)any(NODES);
      if (inside[i])
        take(i);
      else
        insert(i, any(KEYS));
      if (step % 16 == 0) CHECK(heap.root == first());
    }
    while (heap.root != NULL) {
      CHECK(heap.root == first());
      take((int)(heap.root - nodes));
    }
    CHECK_EQUAL(heap.count, 0);
    seed = start;
  }
}

/* @return the depth of the deepest node: what each operation takes at most. */
static int depth_of(const struct mt_heap_node *node) {
  int depth = 0;
  for (; node != NULL; node = node->child[0]) depth++; /* the tree is complete */
  return depth;
}

static void the_tree_is_never_deeper_than_log_n(void) {
  for (int order = 0; order < 2; order++) {
    for (int i = 0; i < NODES; i++) insert(i, (uint64_t)(order == 0 ? i : NODES - i));
    CHECK_EQUAL(depth_of(heap.root), 11); /* 2^10 <= NODES < 2^11 */
    for (int i = 0; i < NODES - 1; i++) take((int)(heap.root - nodes));
    CHECK_EQUAL(depth_of(heap.root), 1);
    take((int)(heap.root - nodes));
  }
}

static void equal_keys_leave_as_they_came(void) {
  for (int i = 0; i < NODES; i++) insert(i, 7);
  for (int i = 0; i < NODES; i++) {
    CHECK(heap.root == &nodes[i]);
    take(i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(nodes_leave_in_order),
      TEST_BARE(the_tree_is_never_deeper_than_log_n),
      TEST_BARE(equal_keys_leave_as_they_came),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
