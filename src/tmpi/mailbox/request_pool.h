/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file request_pool.h
 * Where requests come from.
 *
 * They stand in slabs, each at the begin of a cache line. Threads on a VP take them from the VP's
 * cache and put them back there, the last one first, without a lock: no thread leaves its VP
 * meanwhile. The usual case is inline, because a call costs as much. Caches exchange batches with
 * the slabs, under a lock. A slab whose requests are all free goes back to libc's allocator, except
 * for a few. After requests have ended in random order, those in a VP's cache may keep a slab each:
 * at most 2 MiB.
 *
 * The slabs' lock comes after a mailbox's, and none of ours is taken under it.
 *
 * Rejected: libc's allocator for each request. It joins what is freed with the neighbours in
 * memory, so requests that end in another order than they began in cost five cache misses each.
 * Rejected: a pool for each rank. A thousand ranks would have a thousand slabs, and a VP would not
 * use again for one rank what another one has in its cache.
 */
#ifndef TM_MAILBOX_REQUEST_POOL_H
#define TM_MAILBOX_REQUEST_POOL_H

#include <mltp/mltp.h>

#include "base/atomic.h"
#include "tmpi/mailbox/mailbox.h"

enum {
  TM_SLAB_REQUESTS = 85,     /**< with the slab's own line just 16 KiB */
  TM_REQUEST_CACHES = 64,    /**< VPs that have a cache; others' threads use libc's allocator */
  TM_REQUEST_CACHE_MAX = 128 /**< requests in one */
};

/** Of a VP. Only threads on it touch this, and they do not switch meanwhile. */
struct tm_request_cache {
  alignas(TM_LINE) struct tm_request *head;
  uint32_t count;
};

extern struct tm_request_cache tm_request_caches[TM_REQUEST_CACHES];

/** @return the cache of the caller's VP; NULL: it has none. Sanitizers watch each request by
 * itself, if libc's allocator makes it. */
static inline struct tm_request_cache *tm_request_cache_here(void) {
#ifdef TM_SANITIZED
  return NULL;
#else
  int vp = mltp_vp();
  return vp >= 0 && vp < TM_REQUEST_CACHES ? &tm_request_caches[vp] : NULL;
#endif
}

static inline void tm_request_cache_push(struct tm_request_cache *cache,
                                         struct tm_request *request) {
  request->next_free = cache->head;
  cache->head = request;
  cache->count++;
}

static inline struct tm_request *tm_request_cache_pop(struct tm_request_cache *cache) {
  struct tm_request *request = cache->head;
  cache->head = request->next_free;
  cache->count--;
  return request;
}

/** The same as the next one where the cache is empty, or NULL. */
struct tm_request *tm_request_new_slow(struct tm_request_cache *cache);

/** @return a request whose fields are not set; NULL: no memory. Any thread. */
static inline struct tm_request *tm_request_new(void) {
  struct tm_request_cache *cache = tm_request_cache_here();
  if (mt_unlikely(cache == NULL || cache->head == NULL)) return tm_request_new_slow(cache);
  return tm_request_cache_pop(cache);
}

/** @return a request with a magic number and a kind, and all else zero; NULL: no memory. */
struct tm_request *tm_request_new_of(enum tm_kind kind);

/** The same as the next one where the cache is full, or NULL. */
void tm_request_free_slow(struct tm_request_cache *cache, struct tm_request *request);

/** Frees a request of these functions. NULL: nothing. Any thread. */
static inline void tm_request_free(struct tm_request *request) {
  if (mt_unlikely(request == NULL)) return;
  request->magic = 0;
  struct tm_request_cache *cache = tm_request_cache_here();
  if (mt_unlikely(request->number == 0 || cache == NULL || cache->count == TM_REQUEST_CACHE_MAX))
    tm_request_free_slow(cache, request);
  else
    tm_request_cache_push(cache, request);
}

#endif
