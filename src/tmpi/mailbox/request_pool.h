/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file request_pool.h
 * Where requests come from.
 *
 * They stand in slabs, each at the begin of a cache line. Threads on a VP take them from the VP's
 * cache and put them back there, the last one first, without a lock: no thread leaves its VP
 * meanwhile. Caches exchange batches with the slabs, under a lock. A slab whose requests are all
 * free goes back to libc's allocator, except for a few. After requests have ended in random order,
 * those in a VP's cache may keep a slab each: at most 2 MiB.
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

#include "tmpi/mailbox/mailbox.h"

enum { TM_SLAB_REQUESTS = 85 /**< with the slab's own line just 16 KiB */ };

/** @return a request whose fields are not set; NULL: no memory. Any thread. */
struct tm_request *tm_request_new(void);

/** @return a request with a magic number and a kind, and all else zero; NULL: no memory. */
struct tm_request *tm_request_new_of(enum tm_kind kind);

/** Frees a request of these functions. NULL: nothing. Any thread. */
void tm_request_free(struct tm_request *request);

#endif
