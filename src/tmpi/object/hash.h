/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file hash.h
 * A hash table that grows with what is in it. Nodes live in their owners, so that adding cannot
 * fail: without memory for more buckets, lists get longer. The caller computes hashes and compares
 * keys. No atomics: the caller locks.
 *
 * The number of buckets doubles when there are more nodes than buckets. It never shrinks: a table
 * that was large once will be again.
 *
 * Rejected: growing step by step. The one long operation of a doubling is paid by as many short
 * ones.
 */
#ifndef TM_OBJECT_HASH_H
#define TM_OBJECT_HASH_H

#include <stdint.h>

struct tm_hash_node {
  struct tm_hash_node *next; /* in its bucket */
  uint64_t hash;
};

/** All zero: empty. */
struct tm_hash {
  struct tm_hash_node **buckets; /* NULL: the one */
  struct tm_hash_node *one;
  uint32_t bucket_count; /* a power of two; 0: the one */
  uint32_t count;        /* nodes */
};

/** Adds a node. Of nodes with one hash the newest is found first. */
void tm_hash_add(struct tm_hash *table, struct tm_hash_node *node, uint64_t hash);

/** Removes a node that is in the table. */
void tm_hash_remove(struct tm_hash *table, struct tm_hash_node *node);

/** Frees the buckets. Nodes are left to their owners. */
void tm_hash_empty(struct tm_hash *table);

/** @return the first node with that hash; NULL: none. */
struct tm_hash_node *tm_hash_first(const struct tm_hash *table, uint64_t hash);
/** @return the next node with the same hash; NULL: none. */
struct tm_hash_node *tm_hash_next(const struct tm_hash_node *node);

/** @return the node after another in no particular order; NULL for the first, and after the last.
 */
struct tm_hash_node *tm_hash_walk(const struct tm_hash *table, const struct tm_hash_node *node);

/** Spreads two words over all bits (the finalizer of SplitMix64; Steele et al. 2014). */
static inline uint64_t tm_hash_words(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15u + b;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/** Fowler, Noll and Vo's hash of a string (FNV-1a). */
static inline uint64_t tm_hash_string(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash ^ hash >> 32;
}

#endif
