/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cache.h
 * Free lists of equal things, last in, first out: a cache with one owner and no
 * lock, and a pool behind it that caches exchange batches with (Anderson et al.,
 * section II: local free lists, balanced). Free things are linked through their
 * first word.
 */
#ifndef MT_BASE_CACHE_H
#define MT_BASE_CACHE_H

#include <stddef.h>

#include "base/ilock.h"

enum {
  MT_CACHE_MAX = 512, /**< the most things in a cache, unless a strategy sets fewer */
  MT_CACHE_MOVE = 128 /**< the number exchanged with its pool at a time */
};

struct mt_cache {
  void *head;    /* [owner] */
  uint32_t room; /* [owner] how many more it may keep */
};

struct mt_pool {
  mt_ilock ilock;
  uint32_t count; /* [ilock] */
  uint32_t least; /* [ilock] the least count since it was last reset */
  void *head;     /* [ilock] */
};

static inline void mt_free_list_push(void **head, void *item) {
  *(void **)item = *head;
  *head = item;
}

static inline void *mt_free_list_pop(void **head) {
  void *item = *head;
  if (item != NULL) *head = *(void **)item;
  return item;
}

/** Puts it into a pool. Its internal lock is held. */
static inline void mt_pool_push(struct mt_pool *pool, void *item) {
  mt_free_list_push(&pool->head, item);
  pool->count++;
}

/** @return a thing of a pool, or NULL: empty. Its internal lock is held. */
static inline void *mt_pool_pop(struct mt_pool *pool) {
  void *item = mt_free_list_pop(&pool->head);
  if (item == NULL) return NULL;
  if (--pool->count < pool->least) pool->least = pool->count;
  return item;
}

/** @return a thing, or NULL: empty. */
static inline void *mt_cache_take(struct mt_cache *cache) {
  void *item = mt_free_list_pop(&cache->head);
  if (item != NULL) cache->room++;
  return item;
}

/** Moves a batch from the pool. The pool's internal lock is held. */
void mt_cache_refill(struct mt_cache *cache, struct mt_pool *pool);

/** Moves a batch to the pool. */
void mt_cache_spill(struct mt_cache *cache, struct mt_pool *pool);

static inline bool mt_cache_has_room(const struct mt_cache *cache) { return cache->room != 0; }

/** The cache has room. */
static inline void mt_cache_push(struct mt_cache *cache, void *item) {
  mt_free_list_push(&cache->head, item);
  cache->room--;
}

/** Puts it into the cache, which spills if it is full. */
static inline void mt_cache_put(struct mt_cache *cache, struct mt_pool *pool, void *item) {
  if (mt_unlikely(!mt_cache_has_room(cache))) mt_cache_spill(cache, pool);
  mt_cache_push(cache, item);
}

#endif
