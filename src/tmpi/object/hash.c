/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes in buckets; hash.h says what for. */
#include "tmpi/object/hash.h"

#include <stddef.h>
#include <stdlib.h>

enum { FIRST = 16 };

static struct tm_hash_node **bucket_of(struct tm_hash *table, uint64_t hash) {
  return table->buckets == NULL ? &table->one : &table->buckets[hash & (table->bucket_count - 1)];
}

static void put(struct tm_hash *table, struct tm_hash_node *node) {
  struct tm_hash_node **bucket = bucket_of(table, node->hash);
  node->next = *bucket;
  *bucket = node;
}

/* Moves a list to its new buckets from its end, so that nodes of one hash keep their order. */
static void move(struct tm_hash *table, struct tm_hash_node *list) {
  struct tm_hash_node *reversed = NULL;
  while (list != NULL) {
    struct tm_hash_node *next = list->next;
    list->next = reversed;
    reversed = list;
    list = next;
  }
  while (reversed != NULL) {
    struct tm_hash_node *next = reversed->next;
    put(table, reversed);
    reversed = next;
  }
}

static void grow(struct tm_hash *table) {
  uint32_t count = table->bucket_count == 0 ? FIRST : table->bucket_count * 2;
  struct tm_hash_node **buckets = count != 0 ? calloc(count, sizeof(struct tm_hash_node *)) : NULL;
  if (buckets == NULL) return;
  struct tm_hash old = *table;
  table->buckets = buckets;
  table->bucket_count = count;
  table->one = NULL;
  move(table, old.one);
  for (uint32_t i = 0; i < old.bucket_count; i++) move(table, old.buckets[i]);
  free(old.buckets);
}

void tm_hash_add(struct tm_hash *table, struct tm_hash_node *node, uint64_t hash) {
  if (table->count > table->bucket_count) grow(table);
  table->count++;
  node->hash = hash;
  put(table, node);
}

void tm_hash_remove(struct tm_hash *table, struct tm_hash_node *node) {
  struct tm_hash_node **link = bucket_of(table, node->hash);
  while (*link != node) link = &(*link)->next;
  *link = node->next;
  table->count--;
}

void tm_hash_empty(struct tm_hash *table) {
  free(table->buckets);
  *table = (struct tm_hash){NULL, NULL, 0, 0};
}

struct tm_hash_node *tm_hash_first(const struct tm_hash *table, uint64_t hash) {
  struct tm_hash_node *node =
      table->buckets == NULL ? table->one : table->buckets[hash & (table->bucket_count - 1)];
  while (node != NULL && node->hash != hash) node = node->next;
  return node;
}

struct tm_hash_node *tm_hash_next(const struct tm_hash_node *node) {
  struct tm_hash_node *next = node->next;
  while (next != NULL && next->hash != node->hash) next = next->next;
  return next;
}

struct tm_hash_node *tm_hash_walk(const struct tm_hash *table, const struct tm_hash_node *node) {
  if (node != NULL && node->next != NULL) return node->next;
  if (table->buckets == NULL) return node == NULL ? table->one : NULL;
  size_t bucket = node == NULL ? 0 : (node->hash & (table->bucket_count - 1)) + 1;
  while (bucket < table->bucket_count && table->buckets[bucket] == NULL) bucket++;
  return bucket < table->bucket_count ? table->buckets[bucket] : NULL;
}
