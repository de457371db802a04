/* SPDX-License-Identifier: Apache-2.0 */
/* Batches between caches and their pool. */
#include "base/cache.h"

void mt_cache_refill(struct mt_cache *cache, struct mt_pool *pool) {
  for (int i = 0; i < MT_CACHE_MOVE && pool->head != NULL; i++) {
    mt_cache_push(cache, mt_pool_pop(pool));
  }
}

void mt_cache_spill(struct mt_cache *cache, struct mt_pool *pool) {
  mt_ilock_lock(&pool->ilock);
  for (int i = 0; i < MT_CACHE_MOVE; i++) mt_pool_push(pool, mt_cache_take(cache));
  mt_ilock_unlock(&pool->ilock);
}
