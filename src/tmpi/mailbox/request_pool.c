/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in slabs; request_pool.h says what for. */
#include "tmpi/mailbox/request_pool.h"

#include <mltp/mltp.h>
#include <stdlib.h>

#include "core/internal/locks.h"

enum {
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

struct tm_request_cache tm_request_caches[TM_REQUEST_CACHES];

static uint32_t ilock;
static struct slab *slabs; /* [ilock] those with free requests */
static uint32_t empty;     /* [ilock] those of them with nothing else */

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

static void take_batch(struct tm_request_cache *cache) {
  while (slabs != NULL && cache->count < BATCH) {
    struct slab *slab = slabs;
    struct tm_request *request = slab->free;
    slab->free = request->next_free;
    if (slab->count == TM_SLAB_REQUESTS) empty--;
    if (--slab->count == 0) unlink_slab(slab);
    tm_request_cache_push(cache, request);
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
static void fill_from_new_slab(struct tm_request_cache *cache) {
  struct slab *slab = aligned_alloc(TM_LINE, sizeof *slab);
  if (slab == NULL) return;
  slab->free = NULL;
  slab->count = 0;
  for (int i = TM_SLAB_REQUESTS - 1; i >= 0; i--) {
    slab->requests[i].magic = slab->requests[i].handle = 0;
    slab->requests[i].number = (uint8_t)(i + 1);
    tm_request_cache_push(cache, &slab->requests[i]);
  }
}

static void fill(struct tm_request_cache *cache) {
  mti_lock(&ilock);
  take_batch(cache);
  mti_unlock(&ilock);
  if (cache->head == NULL) fill_from_new_slab(cache);
}

static void spill(struct tm_request_cache *cache) {
  mti_lock(&ilock);
  for (int i = 0; i < BATCH; i++) free(give_back(tm_request_cache_pop(cache)));
  mti_unlock(&ilock);
}

/* ---- requests */

struct tm_request *tm_request_new_slow(struct tm_request_cache *cache) {
  if (cache == NULL) {
    struct tm_request *request = malloc(sizeof *request);
    if (request != NULL) request->number = 0, request->handle = 0;
    return request;
  }
  fill(cache);
  return cache->head != NULL ? tm_request_cache_pop(cache) : NULL;
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

void tm_request_free_slow(struct tm_request_cache *cache, struct tm_request *request) {
  if (request->number == 0) {
    free(request);
    return;
  }
  if (cache != NULL) {
    spill(cache);
    tm_request_cache_push(cache, request);
    return;
  }
  mti_lock(&ilock);
  free(give_back(request));
  mti_unlock(&ilock);
}
