/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread-specific values.
 *
 * A key is an index into one table and the generation of that entry, which is odd
 * while the key lives: it changes when a key is made and when it is deleted. A
 * thread's values are a hash table by index, made when it first sets one. So it grows
 * with the values that the thread has, not with the number of the key. Each value says by
 * which key it was set, so that neither a deleted key's value nor its destructor is
 * taken for those of a later key of the same index. Only the thread touches the
 * table: no lock, and looking up is two loads and a comparison, mostly.
 *
 * The hash of an index is the index: the first keys of a program do not collide. A place stays
 * taken once it was set. A quarter of the places is free, so each search ends.
 *
 * The thread says in has_values, a byte in a line that its end touches anyway, that
 * there is a table: a thread without one pays for a test of that byte.
 *
 * Rejected: a fixed array in each descriptor (memory of all for the use of few); the
 * first few values there (a second way to look up, for a gain of one allocation).
 *
 * Relaxed: a generation without the internal lock is a hint; using a key while it is being
 * deleted is a race of the program's.
 */
#include "core/thread/key.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "core/thread/thread.h"
#include "mltp/tss.h"

struct value {
  mltp_tss_t key; /* 0: never set */
  void *value;
};

struct mt_values {
  uint32_t mask; /* places less 1; a power of two less 1 */
  uint32_t used; /* places that were set */
  struct value of[];
};

static struct {
  mt_ilock ilock;
  struct {
    uint32_t generation;        /* [atomic] written under the internal lock */
    void (*destructor)(void *); /* [ilock] */
  } keys[MLTP_TSS_MAX];
} table;

void mt_keys_forked(void) { table.ilock = 0; } /* the keys themselves stay good */

static uint32_t index_of(mltp_tss_t key) { return (uint32_t)key; }

static mltp_tss_t key_of(uint32_t index, uint32_t generation) {
  return (mltp_tss_t)generation << 32 | index;
}

static bool is_live(mltp_tss_t key) {
  uint32_t generation = (uint32_t)(key >> 32);
  return index_of(key) < MLTP_TSS_MAX && generation % 2 == 1 &&
         mt_load_relaxed(&table.keys[index_of(key)].generation) == generation;
}

static int refuse(const char *call, mltp_tss_t key) {
  const struct mltp_thread *self = mt_current();
  return mt_misuse(EINVAL, call, self != NULL ? self->id : 0, self != NULL ? mt_name(self) : "",
                   "key %#lx was deleted, or never made (use mltp_tss_create)", (unsigned long)key);
}

/* ---- keys */

int mltp_tss_create(mltp_tss_t *key, void (*destructor)(void *)) {
  int error = EAGAIN;
  mt_ilock_lock(&table.ilock);
  for (uint32_t i = 0; i < MLTP_TSS_MAX && error != 0; i++) {
    uint32_t generation = mt_load_relaxed(&table.keys[i].generation) + 1;
    if (generation % 2 == 0) continue;
    mt_store_relaxed(&table.keys[i].generation, generation);
    table.keys[i].destructor = destructor;
    *key = key_of(i, generation);
    error = 0;
  }
  mt_ilock_unlock(&table.ilock);
  return error;
}

int mltp_tss_delete(mltp_tss_t key) {
  mt_ilock_lock(&table.ilock);
  bool live = is_live(key);
  if (live) mt_store_relaxed(&table.keys[index_of(key)].generation, (uint32_t)(key >> 32) + 1);
  mt_ilock_unlock(&table.ilock);
  return live ? 0 : refuse("mltp_tss_delete", key);
}

/* ---- values */

/* @return the place of an index, or the free one where it would be. */
static struct value *place_of(struct mt_values *values, uint32_t index) {
  uint32_t i = index & values->mask;
  while (values->of[i].key != 0 && index_of(values->of[i].key) != index) i = (i + 1) & values->mask;
  return &values->of[i];
}

static struct mt_values *new_values(uint32_t places) {
  struct mt_values *values = malloc(sizeof *values + places * sizeof values->of[0]);
  if (values == NULL) return NULL;
  values->mask = places - 1;
  values->used = 0;
  for (uint32_t i = 0; i < places; i++) values->of[i] = (struct value){0, NULL};
  return values;
}

/* Makes room for one value more. @return the table, or NULL: no memory. */
static struct mt_values *grow(struct mltp_thread *self) {
  enum { PLACES_MIN = 4 };
  struct mt_values *old = self->has_values ? self->values : NULL;
  if (old != NULL && old->used < old->mask - old->mask / 4) return old;
  struct mt_values *values = new_values(old != NULL ? 2 * (old->mask + 1) : PLACES_MIN);
  if (values == NULL) return NULL;
  for (uint32_t i = 0; old != NULL && i <= old->mask; i++) {
    if (old->of[i].key == 0) continue;
    *place_of(values, index_of(old->of[i].key)) = old->of[i];
    values->used++;
  }
  free(old);
  self->values = values;
  self->has_values = 1;
  return values;
}

int mltp_tss_set(mltp_tss_t key, const void *value) {
  struct mltp_thread *self = mt_self("mltp_tss_set");
  if (self == NULL) return EPERM;
  if (!is_live(key)) return refuse("mltp_tss_set", key);
  struct value *place = self->has_values ? place_of(self->values, index_of(key)) : NULL;
  if (place == NULL || place->key == 0) {
    if (value == NULL) return 0; /* it is that already */
    struct mt_values *values = grow(self);
    if (values == NULL) return ENOMEM;
    place = place_of(values, index_of(key));
    values->used++;
  }
  *place = (struct value){key, (void *)(uintptr_t)value};
  return 0;
}

/* Not inlined: mltp_tss_get() would save registers for its loop. */
__attribute__((noinline)) static void *get_displaced(struct mt_values *values, mltp_tss_t key) {
  const struct value *place = place_of(values, index_of(key));
  return place->key == key ? place->value : NULL;
}

void *mltp_tss_get(mltp_tss_t key) {
  const struct mltp_thread *self = mt_current();
  if (self == NULL || !self->has_values) return NULL;
  struct mt_values *values = self->values;
  const struct value *place = &values->of[index_of(key) & values->mask];
  return mt_likely(place->key == key) ? place->value : get_displaced(values, key);
}

/* ---- the end of a thread */

static void (*destructor_of(mltp_tss_t key))(void *) {
  mt_ilock_lock(&table.ilock);
  void (*destructor)(void *) = is_live(key) ? table.keys[index_of(key)].destructor : NULL;
  mt_ilock_unlock(&table.ilock);
  return destructor;
}

/* @return true when a destructor was called: it may have set values. If it made the table grow, the
 * walk begins again; values that are gone are skipped. */
static bool destroy_values(struct mltp_thread *self) {
  bool called = false;
  for (uint32_t i = 0; i <= self->values->mask; i++) {
    struct value *place = &self->values->of[i];
    void *value = place->value;
    if (value == NULL) continue;
    place->value = NULL;
    void (*destructor)(void *) = destructor_of(place->key);
    if (destructor == NULL) continue;
    uint32_t mask = self->values->mask;
    destructor(value);
    called = true;
    if (self->values->mask != mask) i = UINT32_MAX; /* the next one is 0 */
  }
  return called;
}

void mt_values_end_slow(struct mltp_thread *self) {
  for (int round = 0; round < MLTP_TSS_DTOR_ITERATIONS && destroy_values(self);) round++;
  free(self->values);
  self->has_values = 0;
}
