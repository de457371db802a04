/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in slabs; request_pool.h says what for. */
#include "tmpi/mailbox/request_pool.h"

#include <mltp/mltp.h>
#include <stdlib.h>

#include "core/internal/locks.h"

enum {
  CACHES = 64,     /* VPs that have a cache; others' threads use libc's allocator */
  CACHE_MAX = 128, /* requests in one */
  BATCH = 64,
  EMPTY_MAX = 8 /* slabs that are kept although all of their requests are free */
};

struct slab {
  alignas(TM_LINE) struct slab *next, *prev; /* [ilock] among those with free requests */
  struct tm_request *free;                   /* [ilock] */
  uint32_t count;                            /* [ilock] of its free requests */
  alignas(TM_LINE) struct tm_request requests[TM_SLAB_REQUESTS];
};

_Static_assert(sizeof(struct tm_request) == 3 * TM_LINE, "requests in a row are aligned to lines");
_Static_assert(offsetof(struct tm_request, entry.order) == TM_LINE, "matching takes one line");
_Static_assert(offsetof(struct tm_request, peer) == 2 * TM_LINE, "completing takes two lines");
_Static_assert(TM_SLAB_REQUESTS <= UINT8_MAX, "requests have numbers");

/* Of a VP. Only threads on it touch this, and they do not switch meanwhile. */
struct cache {
  alignas(TM_LINE) struct tm_request *head;
  uint32_t count;
};

static uint32_t ilock;
static struct slab *slabs; /* [ilock] those with free requests */
static uint32_t empty;     /* [ilock] those of them with nothing else */

/* @return the cache of the caller's VP; NULL: it has none. Sanitizers watch each request by itself,
 * if libc's allocator makes it. */
static struct cache *cache_here(void) {
#ifdef TM_SANITIZED
  return NULL;
#else
  static struct cache caches[CACHES];
  int vp = mltp_vp();
  return vp >= 0 && vp < CACHES ? &caches[vp] : NULL;
#endif
}

static void push(struct cache *cache, struct tm_request *request) {
  request->next_free = cache->head;
  cache->head = request;
  cache->count++;
}

static struct tm_request *pop(struct cache *cache) {
  struct tm_request *request = cache->head;
  cache->head = request->next_free;
  cache->count--;
  return request;
}

/* ---- slabs. The lock is held. */

static void link_slab(struct slab *slab) {
  slab->prev = NULL;
  slab->next = slabs;
  if (slabs != NULL) slabs->prev = slab;
  slabs = slab;
}

static void unlink_slab(struct slab *slab) {
  *(slab->prev != NULL ? &slab->prev->next : &slabs) = slab->next;
  if (slab->next != NULL) slab->next->prev = slab->prev;
}

static void take_batch(struct cache *cache) {
  while (slabs != NULL && cache->count < BATCH) {
    struct slab *slab = slabs;
    struct tm_request *request = slab->free;
    slab->free = request->next_free;
    if (slab->count == TM_SLAB_REQUESTS) empty--;
    if (--slab->count == 0) unlink_slab(slab);
    push(cache, request);
  }
}

/* @return a slab that is to be freed; NULL: none. */
static struct slab *give_back(struct tm_request *request) {
  struct tm_request *first = request - (request->number - 1);
  struct slab *slab = (struct slab *)((char *)first - offsetof(struct slab, requests));
  request->next_free = slab->free;
  slab->free = request;
  if (slab->count++ == 0) link_slab(slab);
  if (slab->count < TM_SLAB_REQUESTS) return NULL;
  if (empty < EMPTY_MAX) {
    empty++;
    return NULL;
  }
  unlink_slab(slab);
  return slab;
}

/* ---- caches and slabs */

/* Puts all requests of a new slab into a cache, in the order of their addresses. */
static void fill_from_new_slab(struct cache *cache) {
  struct slab *slab = aligned_alloc(TM_LINE, sizeof *slab);
  if (slab == NULL) return;
  slab->free = NULL;
  slab->count = 0;
  for (int i = TM_SLAB_REQUESTS - 1; i >= 0; i--) {
    slab->requests[i].magic = slab->requests[i].handle = 0;
    slab->requests[i].number = (uint8_t)(i + 1);
    push(cache, &slab->requests[i]);
  }
}

static void fill(struct cache *cache) {
  mti_lock(&ilock);
  take_batch(cache);
  mti_unlock(&ilock);
  if (cache->head == NULL) fill_from_new_slab(cache);
}

static void spill(struct cache *cache) {
  mti_lock(&ilock);
  for (int i = 0; i < BATCH; i++) free(give_back(pop(cache)));
  mti_unlock(&ilock);
}

/* ---- requests */

struct tm_request *tm_request_new(void) {
  struct cache *cache = cache_here();
  if (cache == NULL) {
    struct tm_request *request = malloc(sizeof *request);
    if (request != NULL) request->number = 0, request->handle = 0;
    return request;
  }
  if (cache->head == NULL) fill(cache);
  return cache->head != NULL ? pop(cache) : NULL;
}

struct tm_request *tm_request_new_of(enum tm_kind kind) {
  struct tm_request *request = tm_request_new();
  if (request == NULL) return NULL;
  *request = (struct tm_request){.magic = TM_REQUEST_MAGIC,
                                 .kind = (uint8_t)kind,
                                 .number = request->number,
                                 .handle = request->handle};
  return request;
}

void tm_request_free(struct tm_request *request) {
  if (request == NULL) return;
  request->magic = 0;
  if (request->number == 0) {
    free(request);
    return;
  }
  struct cache *cache = cache_here();
  if (cache != NULL) {
    push(cache, request);
    if (cache->count > CACHE_MAX) spill(cache);
    return;
  }
  mti_lock(&ilock);
  free(give_back(request));
  mti_unlock(&ilock);
}
