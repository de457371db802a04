/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of threads, carved from chunks. A chunk stays mapped until the
 * runtime ends, so a descriptor that was freed can still be read: a lock's waiter
 * may ask whether the holder it saw runs. Reports, which may come while the runtime
 * ends, copy what they look at.
 *
 * Relaxed: which chunks there are is published by `used`. */
#include "core/memory/descriptor.h"

#include <string.h>

#include "base/peek.h"
#include "core/memory/pool.h"

enum { PER_CHUNK = MT_SLAB_PER_CHUNK };

static const size_t CHUNK_SIZE = PER_CHUNK * sizeof(struct mltp_thread);

struct mt_slab mt_slabs[2];
static struct mt_slab *const ours = &mt_slabs[0];
static struct mt_slab *const foreign = &mt_slabs[1];
static uint64_t next_id = 1; /* [atomic] relaxed: only has to be unique */

void mt_descriptors_free(void) {
  uint32_t used = ours->used;
  mt_store_relaxed(&ours->used, 0); /* a dump that has begun finds what is not there */
  for (uint32_t i = 0; i * PER_CHUNK < used; i++) {
    mt_sanitizer_no_roots(ours->chunks[i], CHUNK_SIZE);
    os_release(ours->chunks[i], CHUNK_SIZE);
    mt_store_relaxed(&ours->chunks[i], NULL);
  }
  ours->pool = (struct mt_pool){0};
}

void mt_descriptors_forget(void) { memset(mt_slabs, 0, sizeof mt_slabs); }

/* Under the internal lock. */
static struct mltp_thread *slab_take(struct mt_slab *slab) {
  struct mltp_thread *t = mt_pool_pop(&slab->pool);
  if (t != NULL) return t;
  uint32_t index = slab->used / PER_CHUNK;
  if (slab->used % PER_CHUNK == 0) {
    if (index == MT_SLAB_CHUNKS_MAX) return NULL;
    void *chunk = os_reserve(CHUNK_SIZE);
    if (chunk == NULL) return NULL;
    if (os_commit(chunk, CHUNK_SIZE) != 0) {
      os_release(chunk, CHUNK_SIZE);
      return NULL;
    }
    mt_sanitizer_roots(chunk, CHUNK_SIZE);
    mt_store_relaxed(&slab->chunks[index], chunk);
  }
  t = &slab->chunks[index][slab->used % PER_CHUNK];
  mt_store_release(&slab->used, slab->used + 1); /* DS-1 release: the chunk; pairs DS-2 */
  return t;
}

uint64_t mt_ids_take(uint32_t count) {
  return mt_add_relaxed(&next_id, count); /* relaxed: only has to be unique */
}

struct mltp_thread *mt_descriptor_from_slab(struct mt_vp *vp) {
  bool other = vp != NULL && mt_has_alternative();
  struct mltp_thread *t = other ? mt_alternative->descriptor_new(vp) : NULL;
  if (t != NULL) return t;
  mt_pool_lock(&ours->pool, true);
  t = slab_take(ours);
  if (vp != NULL && mt_cache_limits.batches) mt_cache_refill(&vp->caches.descriptors, &ours->pool);
  mt_pool_unlock(&ours->pool, true);
  if (t == NULL && other) mt_alternative->forget(vp);
  return t;
}

void mt_descriptor_to_slab(struct mt_vp *vp, struct mltp_thread *t) {
  if (vp != NULL && mt_cache_limits.batches) {
    mt_cache_put(&vp->caches.descriptors, &ours->pool, t);
    return;
  }
  if (vp != NULL && mt_alternative->descriptor_free(vp, t)) return;
  mt_pool_lock(&ours->pool, true);
  mt_pool_push(&ours->pool, t);
  mt_pool_unlock(&ours->pool, true);
}

struct mltp_thread *mt_foreign_new(void) {
  mt_ilock_lock(&foreign->pool.ilock);
  struct mltp_thread *t = slab_take(foreign);
  mt_ilock_unlock(&foreign->pool.ilock);
  if (t == NULL) return NULL;
  mt_descriptor_init(t, NULL);
  t->number = 0;
  t->token = 0;
  t->kind = MT_FOREIGN;
  mt_set_where(t, MT_RUNNING, 0);
  return t;
}

void mt_foreign_free(struct mltp_thread *t) {
  mt_set_where(t, MT_FREE, 0);
  mt_ilock_lock(&foreign->pool.ilock);
  mt_pool_push(&foreign->pool, t);
  mt_ilock_unlock(&foreign->pool.ilock);
}

static uint32_t used_of(const struct mt_slab *slab) {
  return mt_load_acquire(&slab->used); /* DS-2 acquire: pairs DS-1 */
}

static void visit_slab(const struct mt_slab *slab,
                       void (*visit)(const struct mltp_thread *, void *), void *arg) {
  uint32_t used = used_of(slab);
  for (uint32_t i = 0; i < used; i++) {
    const struct mltp_thread *chunk = mt_load_relaxed(&slab->chunks[i / PER_CHUNK]);
    if (chunk == NULL) return; /* the runtime has ended meanwhile */
    visit(chunk + i % PER_CHUNK, arg);
  }
}

void mt_descriptors_visit(void (*visit)(const struct mltp_thread *t, void *arg), void *arg) {
  visit_slab(ours, visit, arg);
  visit_slab(foreign, visit, arg);
}

static bool is_in(const struct mt_slab *slab, uintptr_t at) {
  uint32_t used = used_of(slab);
  for (uint32_t i = 0; i * PER_CHUNK < used; i++) {
    uintptr_t chunk = (uintptr_t)mt_load_relaxed(&slab->chunks[i]);
    if (at - chunk < CHUNK_SIZE) return (at - chunk) % sizeof(struct mltp_thread) == 0;
  }
  return false;
}

bool mt_descriptor_peek(struct mltp_thread *copy, const struct mltp_thread *t) {
  return (is_in(ours, (uintptr_t)t) || is_in(foreign, (uintptr_t)t)) &&
         mt_peek(copy, t, sizeof *copy) && mt_state(copy) != MT_FREE && mt_state(copy) <= MT_DONE &&
         copy->kind < MT_IDLE;
}

bool mt_descriptor_unchanged(const struct mltp_thread *copy, const struct mltp_thread *t) {
  struct mltp_thread now;
  return mt_descriptor_peek(&now, t) && now.id == copy->id && now.where == copy->where &&
         now.why == copy->why && now.waitq == copy->waitq && now.context.ip == copy->context.ip &&
         now.context.bp == copy->context.bp;
}
