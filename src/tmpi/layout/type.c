/* SPDX-License-Identifier: Apache-2.0 */
/* Derived types: made of blocks, counted. */
#include "tmpi/layout/type.h"

#include <stdlib.h>

struct tm_type *tm_type_new(int combiner) {
  struct tm_type *type = malloc(sizeof *type); /* calloc() does not ask the thread's cache */
  if (type == NULL) return NULL;
  *type = (struct tm_type){.magic = TM_TYPE_MAGIC,
                           .refs = 1,
                           .align = 1,
                           .lb = PTRDIFF_MAX,
                           .ub = PTRDIFF_MIN,
                           .true_lb = PTRDIFF_MAX,
                           .true_ub = PTRDIFF_MIN,
                           .combiner = combiner};
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

static bool push(struct tm_type *type, struct tm_block block) {
  void *blocks = grow(type->blocks, type->block_count, &type->block_room, sizeof *type->blocks);
  if (blocks == NULL) return false;
  type->blocks = blocks;
  type->blocks[type->block_count++] = block;
  return true;
}

static struct tm_block *last_block(const struct tm_type *type) {
  return type->block_count > 0 ? &type->blocks[type->block_count - 1] : NULL;
}

static ptrdiff_t last_piece(const struct tm_block *block) {
  return block->at + (ptrdiff_t)(block->count - 1) * block->stride;
}

/* Another piece: the last one grows if it touches it, the last block does if it is where that goes
 * on. */
static bool add_piece(struct tm_type *type, ptrdiff_t at, size_t length) {
  struct tm_block *last = last_block(type);
  if (last == NULL) return push(type, (struct tm_block){at, length, 1, 0});
  ptrdiff_t before = last_piece(last);
  if (before + (ptrdiff_t)last->length == at) {
    length += last->length;
    if (last->count == 1) {
      last->length = length;
      return true;
    }
    last->count--; /* it is not as long as the others any more */
    if (last->count == 1) last->stride = 0;
    return push(type, (struct tm_block){before, length, 1, 0});
  }
  if (last->length == length && (last->count == 1 || last->stride == at - before)) {
    last->stride = at - before;
    last->count++;
    return true;
  }
  return push(type, (struct tm_block){at, length, 1, 0});
}

static bool add_block(struct tm_type *type, struct tm_block block) {
  if (block.count > 1 && block.stride == (ptrdiff_t)block.length)
    block = (struct tm_block){block.at, block.length * block.count, 1, 0};
  if (block.count == 1) return add_piece(type, block.at, block.length);
  struct tm_block *last = last_block(type);
  if (last == NULL) return push(type, block);
  ptrdiff_t before = last_piece(last);
  if (before + (ptrdiff_t)last->length == block.at) {
    if (!add_piece(type, block.at, block.length)) return false;
    block.at += block.stride;
    if (--block.count == 1) return add_piece(type, block.at, block.length);
    return push(type, block);
  }
  if (last->length == block.length && block.at - before == block.stride &&
      (last->count == 1 || last->stride == block.stride)) {
    last->stride = block.stride;
    last->count += block.count;
    return true;
  }
  return push(type, block);
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

/* Elements that follow each other. */
static bool add_row(struct tm_type *type, const struct tm_type *old, ptrdiff_t at, size_t length) {
  ptrdiff_t extent = tm_type_extent(old);
  const struct tm_block *first = &old->blocks[0];
  if (old->block_count == 1 && first->count == 1)
    return add_block(type, (struct tm_block){at + first->at, first->length, length, extent});
  for (size_t i = 0; i < length; i++, at += extent)
    for (size_t b = 0; b < old->block_count; b++) {
      struct tm_block block = old->blocks[b];
      block.at += at;
      if (!add_block(type, block)) return false;
    }
  return true;
}

bool tm_type_add_rows(struct tm_type *type, const struct tm_type *old, ptrdiff_t at, size_t length,
                      size_t rows, ptrdiff_t stride) {
  if (length == 0 || rows == 0) return true;
  ptrdiff_t across = (ptrdiff_t)(length - 1) * tm_type_extent(old);
  ptrdiff_t down = (ptrdiff_t)(rows - 1) * stride;
  const ptrdiff_t corners[] = {at, at + across, at + down, at + down + across};
  for (int i = 0; i < 4; i++) {
    widen(&type->lb, &type->ub, corners[i] + old->lb, corners[i] + old->ub);
    if (old->size == 0) continue;
    widen(&type->true_lb, &type->true_ub, corners[i] + old->true_lb, corners[i] + old->true_ub);
  }
  if (old->align > type->align) type->align = old->align;
  if (old->size == 0) return true;
  type->size += rows * length * old->size;
  if (!add_runs(type, old, rows * length)) return false;
  const struct tm_block *first = &old->blocks[0];
  bool one_piece = old->block_count == 1 && first->count == 1;
  if (old->dense || (one_piece && length == 1)) /* each row is a piece */
    return add_block(type, (struct tm_block){at + first->at, length * first->length, rows, stride});
  for (size_t i = 0; i < rows; i++, at += stride)
    if (!add_row(type, old, at, length)) return false;
  return true;
}

bool tm_type_add(struct tm_type *type, const struct tm_type *old, ptrdiff_t at, size_t count) {
  return tm_type_add_rows(type, old, at, count, 1, 0);
}

void tm_type_finish(struct tm_type *type, bool pad) {
  if (type->lb == PTRDIFF_MAX) type->lb = type->ub = 0;
  if (type->true_lb == PTRDIFF_MAX) type->true_lb = type->true_ub = 0;
  ptrdiff_t align = (ptrdiff_t)type->align, odd = pad ? tm_type_extent(type) % align : 0;
  if (odd != 0) type->ub += align - odd;
  type->dense = type->block_count == 1 && type->blocks[0].count == 1 &&
                (ptrdiff_t)type->size == tm_type_extent(type);
}
