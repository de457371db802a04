/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file descriptor.h
 * Where descriptors of threads come from: a VP's cache, then a shared slab.
 */
#ifndef MT_CORE_MEMORY_DESCRIPTOR_H
#define MT_CORE_MEMORY_DESCRIPTOR_H

#include "core/vp/vp.h"

enum {
  MT_SLAB_PER_CHUNK = 4096,
  MT_SLAB_CHUNKS_MAX = 16384 /**< 67 million threads */
};

struct mt_slab {
  struct mt_pool pool;
  uint32_t used;                                  /* [atomic] written under the pool's ilock */
  struct mltp_thread *chunks[MT_SLAB_CHUNKS_MAX]; /* [atomic] constant below used / per chunk */
};

/** Ours, freed with the runtime; and foreign threads', as long as the process: such a
 * thread may outlive the runtime and meet the next one. */
extern struct mt_slab mt_slabs[2];

enum { MT_ID_BLOCK = 1024 /**< ids that a VP takes at a time */ };

/** One from the slab, with a batch for the VP's cache. vp NULL: outside. */
struct mltp_thread *mt_descriptor_from_slab(struct mt_vp *vp);
void mt_descriptor_to_slab(struct mt_vp *vp, struct mltp_thread *t);

/** @return the first of count ids nobody else gets. */
uint64_t mt_ids_take(uint32_t count);

static inline uint64_t mt_new_id(struct mt_vp *vp) {
  if (vp == NULL) return mt_ids_take(1);
  if (mt_unlikely(vp->caches.next_id == vp->caches.last_id)) {
    vp->caches.next_id = mt_ids_take(MT_ID_BLOCK);
    vp->caches.last_id = vp->caches.next_id + MT_ID_BLOCK;
  }
  return vp->caches.next_id++;
}

/** Clears what the last user may have left. The rest is zero from the start or set by the
 * creator. It clears field by field, because a memset of this size is a slow string
 * instruction. */
static inline void mt_descriptor_init(struct mltp_thread *t, struct mt_vp *vp) {
  t->vp = NULL;
  t->kind = MT_UNBOUND; /* with the three flags below one store */
  t->done = 0;
  t->named = 0;
  t->cancel = 0;
  t->special = 0;
  t->own = 0;
  t->saved_errno = 0;
  t->stack = NULL;
  t->joiner = NULL;
  t->id = mt_new_id(vp);
}

/** @return a descriptor with an id, as of an unbound thread that has not run;
 * NULL: no memory. vp: the calling VP, NULL outside. */
static inline struct mltp_thread *mt_descriptor_new(struct mt_vp *vp) {
  struct mltp_thread *t = vp != NULL ? mt_cache_take(&vp->caches.descriptors) : NULL;
  if (mt_unlikely(t == NULL)) t = mt_descriptor_from_slab(vp);
  if (mt_likely(t != NULL)) mt_descriptor_init(t, vp);
  return t;
}

static inline void mt_descriptor_free(struct mt_vp *vp, struct mltp_thread *t) {
  mt_set_where(t, MT_FREE, 0);
  if (mt_likely(vp != NULL && mt_cache_has_room(&vp->caches.descriptors)))
    mt_cache_push(&vp->caches.descriptors, t);
  else
    mt_descriptor_to_slab(vp, t);
}

/** Gives back the memory of all descriptors but foreign threads'. */
void mt_descriptors_free(void);

/** In a child of fork(): all of them stay mapped, and none is in use. */
void mt_descriptors_forget(void);

/** Calls visit with the address of every descriptor, outside ones included. Those of
 * threads that end, and all while the runtime ends, may go meanwhile: what is there is
 * for mt_descriptor_peek(). From any context. */
void mt_descriptors_visit(void (*visit)(const struct mltp_thread *t, void *arg), void *arg);

/** Copies the descriptor of a thread that others may be running, ending, or have ended; t
 * may be any number. From any context.
 * @return false: there is no thread; what *copy holds is undefined. */
bool mt_descriptor_peek(struct mltp_thread *copy, const struct mltp_thread *t);

/** @return whether the thread still is where it was when it was copied, and waits for the
 * same: what was read since then through pointers of the copy was there, most likely. It
 * may have left and come back. */
bool mt_descriptor_unchanged(const struct mltp_thread *copy, const struct mltp_thread *t);

/** Descriptors of foreign threads outlive the runtime. */
struct mltp_thread *mt_foreign_new(void);
void mt_foreign_free(struct mltp_thread *t);

#endif
