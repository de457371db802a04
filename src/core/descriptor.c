/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of threads, carved from chunks. A chunk stays mapped until the
 * runtime ends, so a descriptor that was freed can still be read: a lock's waiter
 * may ask whether the holder it saw runs, and a report may list threads while
 * they end. */
#include <string.h>

#include "core/descriptor.h"

enum { PER_CHUNK = MT_SLAB_PER_CHUNK };

static const size_t CHUNK_SIZE = PER_CHUNK * sizeof(struct mltp_thread);

struct mt_slab mt_slabs[2];
static struct mt_slab *const ours = &mt_slabs[0];
static struct mt_slab *const foreign = &mt_slabs[1];
static uint64_t next_id = 1; /* [atomic] relaxed: only has to be unique */

void mt_descriptors_free(void) {
  for (uint32_t i = 0; i * PER_CHUNK < ours->used; i++) os_release(ours->chunks[i], CHUNK_SIZE);
  memset(ours, 0, sizeof *ours);
}

void mt_descriptors_forget(void) { memset(mt_slabs, 0, sizeof mt_slabs); }

/* Under the guard. */
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
    slab->chunks[index] = chunk;
  }
  t = &slab->chunks[index][slab->used % PER_CHUNK];
  mt_store_release(&slab->used, slab->used + 1); /* DS-1 release: the chunk; pairs DS-2 */
  return t;
}

uint64_t mt_ids_take(uint32_t count) {
  return mt_add_relaxed(&next_id, count); /* relaxed: only has to be unique */
}

struct mltp_thread *mt_descriptor_from_slab(struct mt_vp *vp) {
  mt_spin_lock(&ours->pool.guard);
  struct mltp_thread *t = slab_take(ours);
  if (vp != NULL) mt_cache_refill(&vp->descriptors, &ours->pool);
  mt_spin_unlock(&ours->pool.guard);
  return t;
}

void mt_descriptor_to_slab(struct mt_vp *vp, struct mltp_thread *t) {
  if (vp != NULL) {
    mt_cache_put(&vp->descriptors, &ours->pool, t);
    return;
  }
  mt_spin_lock(&ours->pool.guard);
  mt_pool_push(&ours->pool, t);
  mt_spin_unlock(&ours->pool.guard);
}

struct mltp_thread *mt_foreign_new(void) {
  mt_spin_lock(&foreign->pool.guard);
  struct mltp_thread *t = slab_take(foreign);
  mt_spin_unlock(&foreign->pool.guard);
  if (t == NULL) return NULL;
  mt_descriptor_init(t, NULL);
  t->token = 0;
  t->kind = MT_FOREIGN;
  mt_set_where(t, MT_RUNNING, 0);
  return t;
}

void mt_foreign_free(struct mltp_thread *t) {
  mt_set_where(t, MT_FREE, 0);
  mt_spin_lock(&foreign->pool.guard);
  mt_pool_push(&foreign->pool, t);
  mt_spin_unlock(&foreign->pool.guard);
}

static void visit_slab(struct mt_slab *slab, void (*visit)(struct mltp_thread *, void *),
                       void *arg) {
  uint32_t used = mt_load_acquire(&slab->used); /* DS-2 acquire: pairs DS-1 */
  for (uint32_t i = 0; i < used; i++) {
    struct mltp_thread *t = &slab->chunks[i / PER_CHUNK][i % PER_CHUNK];
    if (mt_state(t) != MT_FREE) visit(t, arg);
  }
}

void mt_descriptors_visit(void (*visit)(struct mltp_thread *t, void *arg), void *arg) {
  visit_slab(ours, visit, arg);
  visit_slab(foreign, visit, arg);
}
