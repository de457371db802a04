/* SPDX-License-Identifier: Apache-2.0 */
/* Derived types: made of blocks, counted. */
#include "tmpi/layout/type.h"

#include <stdlib.h>

enum { FOLDED_MIN = 64 /* more blocks are repeated rather than written out */ };

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
                           .repeats = 1,
                           .run_repeats = 1,
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

static bool add_runs(struct tm_type *type, const struct tm_run *runs, size_t run_count,
                     size_t times) {
  for (size_t i = 0; i < times; i++)
    for (size_t r = 0; r < run_count; r++)
      if (!add_run(type, &runs[r], 1)) return false;
  return true;
}

static bool same_runs(const struct tm_type *a, const struct tm_type *b) {
  if (a->run_count != b->run_count) return false;
  for (size_t r = 0; r < a->run_count; r++)
    if (a->runs[r].size != b->runs[r].size || a->runs[r].count != b->runs[r].count ||
        a->runs[r].external != b->runs[r].external)
      return false;
  return true;
}

/* Writes repetitions out, for something else to follow. */
static bool unfold_runs(struct tm_type *type) {
  struct tm_run *runs = type->runs;
  size_t count = type->run_count, times = type->run_repeats;
  if (times == 1) return true;
  type->runs = NULL;
  type->run_count = type->run_room = 0;
  type->run_repeats = 1;
  bool ok = add_runs(type, runs, count, times);
  free(runs);
  return ok;
}

/* The runs of count elements: those of one, repeated, while there is nothing else. */
static bool add_runs_of(struct tm_type *type, const struct tm_type *old, size_t count) {
  if (old->run_count == 1 && old->run_repeats == 1)
    return unfold_runs(type) && add_run(type, &old->runs[0], count);
  size_t times = old->run_repeats * count;
  if (type->run_count > 0 && same_runs(type, old)) {
    type->run_repeats += times;
    return true;
  }
  if (type->run_count > 0 || times == 1)
    return unfold_runs(type) && add_runs(type, old->runs, old->run_count, times);
  if (!add_runs(type, old->runs, old->run_count, 1)) return false;
  type->run_repeats = times;
  return true;
}

static void widen(ptrdiff_t *low, ptrdiff_t *high, ptrdiff_t from, ptrdiff_t to) {
  if (from < *low) *low = from;
  if (to > *high) *high = to;
}

/* All blocks of a type, so often, with the first element at an address. */
static bool add_blocks(struct tm_type *type, const struct tm_block *blocks, size_t count,
                       ptrdiff_t at) {
  for (size_t b = 0; b < count; b++) {
    struct tm_block block = blocks[b];
    block.at += at;
    if (!add_block(type, block)) return false;
  }
  return true;
}

/* Writes repetitions out, for something else to follow. */
static bool unfold(struct tm_type *type) {
  struct tm_block *blocks = type->blocks;
  size_t count = type->block_count, times = type->repeats;
  bool ok = true;
  if (times == 1) return true;
  type->blocks = NULL;
  type->block_count = type->block_room = 0;
  type->repeats = 1;
  for (size_t i = 0; i < times && ok; i++)
    ok = add_blocks(type, blocks, count, (ptrdiff_t)i * type->period);
  free(blocks);
  return ok;
}

static bool is_one_piece(const struct tm_type *type) {
  return type->repeats == 1 && type->block_count == 1 && type->blocks[0].count == 1;
}

/* One element. */
static bool add_element(struct tm_type *type, const struct tm_type *old, ptrdiff_t at) {
  for (size_t i = 0; i < old->repeats; i++)
    if (!add_blocks(type, old->blocks, old->block_count, at + (ptrdiff_t)i * old->period))
      return false;
  return true;
}

/* Elements that follow each other. */
static bool add_row(struct tm_type *type, const struct tm_type *old, ptrdiff_t at, size_t length) {
  ptrdiff_t extent = tm_type_extent(old);
  const struct tm_block *first = &old->blocks[0];
  if (is_one_piece(old))
    return add_block(type, (struct tm_block){at + first->at, first->length, length, extent});
  for (size_t i = 0; i < length; i++, at += extent)
    if (!add_element(type, old, at)) return false;
  return true;
}

/* Many elements at equal distances, where there is nothing else yet: the blocks of one, repeated.
 * Where an element repeats its blocks and the distance does not continue with that, its repetitions
 * are written out. */
static bool repeat(struct tm_type *type, const struct tm_type *old, ptrdiff_t at, size_t times,
                   ptrdiff_t distance) {
  bool goes_on =
      old->repeats > 1 && (times == 1 || distance == (ptrdiff_t)old->repeats * old->period);
  if (!(goes_on ? add_blocks(type, old->blocks, old->block_count, at) : add_element(type, old, at)))
    return false;
  type->repeats = goes_on ? old->repeats * times : times;
  type->period = goes_on ? old->period : distance;
  return true;
}

/* Rows of elements. */
struct grid {
  size_t length, rows;
  ptrdiff_t stride;
};

static bool add_pieces(struct tm_type *type, const struct tm_type *old, ptrdiff_t at,
                       const struct grid *grid) {
  ptrdiff_t extent = tm_type_extent(old), distance = grid->rows == 1 ? extent : grid->stride;
  size_t length = grid->length, rows = grid->rows, pieces = old->block_count * old->repeats;
  const struct tm_block *first = &old->blocks[0];
  bool even = rows == 1 || length == 1 || distance == (ptrdiff_t)length * extent;
  if (rows > 1 && length > 1 && even) distance = extent;
  if (old->dense || (is_one_piece(old) && length == 1)) /* each row is a piece */
    return unfold(type) && add_block(type, (struct tm_block){at + first->at, length * first->length,
                                                             rows, grid->stride});
  bool folds = type->block_count == 0 && !is_one_piece(old) &&
               (old->repeats > 1 || length * rows * pieces > FOLDED_MIN);
  if (folds && even) return repeat(type, old, at, length * rows, distance);
  if (folds) { /* the blocks of a row are repeated */
    if (!add_row(type, old, at, length)) return false;
    type->repeats = rows;
    type->period = distance;
    return true;
  }
  if (!unfold(type)) return false;
  for (size_t i = 0; i < rows; i++, at += grid->stride)
    if (!add_row(type, old, at, length)) return false;
  return true;
}

/* @return whether elements of a type count for a bound of another: all do until one comes whose
 * bound is marked, and from then on only those. marked: whether `bound` is; none: its first value.
 * A type of no data that has only the other bound has not this one. */
static bool counts_for(const struct tm_type *old, bool old_marked, bool *marked, ptrdiff_t *bound,
                       ptrdiff_t none) {
  if (!old_marked) return !*marked && (old->size > 0 || old->lb_marked == old->ub_marked);
  if (!*marked) *bound = none;
  *marked = true;
  return true;
}

bool tm_type_add_rows(struct tm_type *type, const struct tm_type *old, ptrdiff_t at, size_t length,
                      size_t rows, ptrdiff_t stride) {
  if (length == 0 || rows == 0) return true;
  size_t elements, bytes;
  type->too_large |= __builtin_mul_overflow(rows, length, &elements) ||
                     __builtin_mul_overflow(elements, old->size, &bytes) ||
                     __builtin_add_overflow(type->size, bytes, &bytes) || bytes > PTRDIFF_MAX;
  if (type->too_large) return false;
  ptrdiff_t across = (ptrdiff_t)(length - 1) * tm_type_extent(old);
  ptrdiff_t down = (ptrdiff_t)(rows - 1) * stride;
  const ptrdiff_t corners[] = {at, at + across, at + down, at + down + across};
  bool lower = counts_for(old, old->lb_marked, &type->lb_marked, &type->lb, PTRDIFF_MAX);
  bool upper = counts_for(old, old->ub_marked, &type->ub_marked, &type->ub, PTRDIFF_MIN);
  for (int i = 0; i < 4; i++) {
    if (lower && corners[i] + old->lb < type->lb) type->lb = corners[i] + old->lb;
    if (upper && corners[i] + old->ub > type->ub) type->ub = corners[i] + old->ub;
    if (old->size == 0) continue;
    widen(&type->true_lb, &type->true_ub, corners[i] + old->true_lb, corners[i] + old->true_ub);
  }
  if (old->align > type->align) type->align = old->align;
  if (old->size == 0) return true;
  type->size = bytes;
  if (!add_runs_of(type, old, elements)) return false;
  return add_pieces(type, old, at, &(struct grid){length, rows, stride});
}

bool tm_type_add(struct tm_type *type, const struct tm_type *old, ptrdiff_t at, size_t count) {
  return tm_type_add_rows(type, old, at, count, 1, 0);
}

void tm_type_finish(struct tm_type *type, bool pad) {
  if (type->lb == PTRDIFF_MAX) type->lb = 0;
  if (type->ub == PTRDIFF_MIN) type->ub = 0;
  if (type->true_lb == PTRDIFF_MAX) type->true_lb = type->true_ub = 0;
  ptrdiff_t align = (ptrdiff_t)type->align,
            odd = pad && !type->ub_marked ? tm_type_extent(type) % align : 0;
  if (odd != 0) type->ub += align - odd;
  type->dense = is_one_piece(type) && (ptrdiff_t)type->size == tm_type_extent(type);
}
