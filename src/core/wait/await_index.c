/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of waiters; await_index.h explains it.
 *
 * Invariant: a group at depth d has the d lowest bits of its hash in common with all groups below
 * it. So any group without children may take the place of one above it that is removed.
 */
#include "core/wait/await_index.h"

#include <stdbool.h>
#include <stddef.h>

enum { ROOT_SHIFT = 60 }; /* the highest bits choose the root, the lowest the way from there */

/* Multiplication carries each bit of the key to the high half, which is folded into the low one. */
static uint64_t hash_of(const struct mt_await *p) {
  uint64_t value = p->equal == true ? p->value : 0, word = (uintptr_t)p->word / sizeof *p->word;
  uint64_t product = (word + (value * 4 + p->equal) * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u;
  return product ^ product >> 32;
}

static bool is_same_group(const struct mt_await *a, const struct mt_await *b) {
  return a->word == b->word && a->equal == b->equal && (a->equal != true || a->value == b->value);
}

/* @return the link to the first of a group, or where it would be. */
static struct mt_await_node **find(struct mt_await_index *index, const struct mt_await *predicate,
                                   uint64_t hash) {
  struct mt_await_node **link = &index->roots[hash >> ROOT_SHIFT];
  for (uint64_t bits = hash; *link != NULL && !is_same_group(&(*link)->key, predicate); bits >>= 1)
    link = &(*link)->child[bits & 1];
  return link;
}

static void add(struct mt_await_index *index, struct mt_await_node *node) {
  node->hash = hash_of(&node->key);
  node->next = node->child[0] = node->child[1] = NULL;
  node->prev = node;
  struct mt_await_node **link = find(index, &node->key, node->hash), *first = *link;
  if (first == NULL) {
    *link = node;
    return;
  }
  node->prev = first->prev;
  first->prev->next = node;
  first->prev = node;
}

void mt_await_index_add(struct mt_await_index *index, struct mt_await_waiter *waiter) {
  waiter->by_predicate.waiter = waiter->by_word.waiter = waiter;
  waiter->by_predicate.key = *waiter->predicate;
  waiter->by_word.key = (struct mt_await){waiter->predicate->word, 0, MT_AWAIT_ANY};
  add(index, &waiter->by_predicate);
  add(index, &waiter->by_word);
}

/* Takes a group without children out of the tree below a link. @return its first waiter. */
static struct mt_await_node *take_leaf(struct mt_await_node **link) {
  while ((*link)->child[0] != NULL || (*link)->child[1] != NULL)
    link = &(*link)->child[(*link)->child[0] == NULL];
  struct mt_await_node *leaf = *link;
  *link = NULL;
  return leaf;
}

static void replace(struct mt_await_node **link, struct mt_await_node *by) {
  by->child[0] = (*link)->child[0];
  by->child[1] = (*link)->child[1];
  *link = by;
}

static void take_out(struct mt_await_index *index, struct mt_await_node *node) {
  struct mt_await_node **link = find(index, &node->key, node->hash), *first = *link;
  if (node != first) {
    node->prev->next = node->next;
    if (node->next != NULL)
      node->next->prev = node->prev;
    else
      first->prev = node->prev;
  } else if (node->next != NULL) {
    node->next->prev = node->prev;
    replace(link, node->next);
  } else {
    struct mt_await_node *leaf = take_leaf(link);
    if (leaf != node) replace(link, leaf);
  }
}

void mt_await_index_remove(struct mt_await_index *index, struct mt_await_waiter *waiter) {
  take_out(index, &waiter->by_predicate);
  take_out(index, &waiter->by_word);
}

struct mt_await_node *mt_await_index_find(struct mt_await_index *index,
                                          const struct mt_await *predicate) {
  return *find(index, predicate, hash_of(predicate));
}
