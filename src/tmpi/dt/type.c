/* SPDX-License-Identifier: Apache-2.0 */
/* Derived types: made of blocks, counted, freed. */
#include "tmpi/dt/type.h"

#include <stdlib.h>

#include "base/atomic.h"
#include "tmpi/dt/derive.h"
#include "tmpi/dt/predefined.h"

enum { HANDLE_LIMIT = 0x1000 }; /* no object lies below; predefined handles do */

struct tm_type *tm_type_of(MPI_Datatype handle) {
  uintptr_t value = (uintptr_t)handle;
  if (value < HANDLE_LIMIT) return tm_type_predefined(value);
  struct tm_type *type = (struct tm_type *)handle;
  return type->magic == TM_TYPE_MAGIC ? type : NULL;
}

MPI_Datatype tm_type_handle(const struct tm_type *type) {
  return type->predefined ? tm_type_predefined_handle(type) : (MPI_Datatype)(uintptr_t)type;
}

void tm_type_hold(struct tm_type *type) {
  if (!type->predefined) mt_add_relaxed(&type->refs, 1); /* relaxed: the caller has one */
}

void tm_type_release(struct tm_type *type) {
  /* DT-1 acq_rel: whoever used it has done so; pairs DT-1 */
  if (type->predefined || mt_add_acq_rel(&type->refs, (uint32_t)-1) != 1) return;
  tm_recipe_empty(&type->recipe);
  free(type->blocks);
  free(type->runs);
  free(type->name);
  type->magic = 0;
  free(type);
}

struct tm_type *tm_type_new(int combiner) {
  struct tm_type *type = calloc(1, sizeof *type);
  if (type == NULL) return NULL;
  type->magic = TM_TYPE_MAGIC;
  type->refs = 1;
  type->combiner = combiner;
  type->align = 1;
  type->lb = type->true_lb = PTRDIFF_MAX;
  type->ub = type->true_ub = PTRDIFF_MIN;
  return type;
}

/* @return array with room for one more, NULL: no memory. */
static void *grow(void *array, size_t count, size_t *room, size_t size) {
  if (count < *room) return array;
  size_t more = *room == 0 ? 4 : *room * 2;
  void *larger = realloc(array, more * size);
  if (larger != NULL) *room = more;
  return larger;
}

static bool add_block(struct tm_type *type, ptrdiff_t at, size_t length) {
  if (type->block_count > 0) {
    struct tm_block *last = &type->blocks[type->block_count - 1];
    if (last->at + (ptrdiff_t)last->length == at) {
      last->length += length;
      return true;
    }
  }
  void *blocks = grow(type->blocks, type->block_count, &type->block_room, sizeof *type->blocks);
  if (blocks == NULL) return false;
  type->blocks = blocks;
  type->blocks[type->block_count++] = (struct tm_block){at, length};
  return true;
}

static bool add_run(struct tm_type *type, const struct tm_run *run, size_t times) {
  struct tm_run *last = type->run_count > 0 ? &type->runs[type->run_count - 1] : NULL;
  if (last != NULL && last->size == run->size && last->external == run->external) {
    last->count += run->count * times;
    return true;
  }
  void *runs = grow(type->runs, type->run_count, &type->run_room, sizeof *type->runs);
  if (runs == NULL) return false;
  type->runs = runs;
  type->runs[type->run_count++] = (struct tm_run){run->size, run->count * times, run->external};
  return true;
}

static bool add_runs(struct tm_type *type, const struct tm_type *old, size_t count) {
  if (old->run_count == 1) return add_run(type, &old->runs[0], count);
  for (size_t i = 0; i < count; i++)
    for (size_t r = 0; r < old->run_count; r++)
      if (!add_run(type, &old->runs[r], 1)) return false;
  return true;
}

static void widen(ptrdiff_t *low, ptrdiff_t *high, ptrdiff_t from, ptrdiff_t to) {
  if (from < *low) *low = from;
  if (to > *high) *high = to;
}

bool tm_type_add(struct tm_type *type, const struct tm_type *old, ptrdiff_t at, size_t count) {
  if (count == 0) return true;
  ptrdiff_t extent = tm_type_extent(old), last = at + (ptrdiff_t)(count - 1) * extent;
  widen(&type->lb, &type->ub, at + old->lb, at + old->ub);
  widen(&type->lb, &type->ub, last + old->lb, last + old->ub);
  if (old->align > type->align) type->align = old->align;
  if (old->size == 0) return true;
  widen(&type->true_lb, &type->true_ub, at + old->true_lb, at + old->true_ub);
  widen(&type->true_lb, &type->true_ub, last + old->true_lb, last + old->true_ub);
  type->size += count * old->size;
  if (!add_runs(type, old, count)) return false;
  if (old->dense) return add_block(type, at + old->blocks[0].at, count * old->size);
  for (size_t i = 0; i < count; i++, at += extent)
    for (size_t b = 0; b < old->block_count; b++)
      if (!add_block(type, at + old->blocks[b].at, old->blocks[b].length)) return false;
  return true;
}

void tm_type_finish(struct tm_type *type, bool pad) {
  if (type->lb == PTRDIFF_MAX) type->lb = type->ub = 0;
  if (type->true_lb == PTRDIFF_MAX) type->true_lb = type->true_ub = 0;
  ptrdiff_t align = (ptrdiff_t)type->align, odd = pad ? tm_type_extent(type) % align : 0;
  if (odd != 0) type->ub += align - odd;
  type->dense = type->block_count == 1 && (ptrdiff_t)type->size == tm_type_extent(type);
}
