/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between buffers of any types: two cursors, each at a piece that lies together. */
#include <string.h>

#include "tmpi/layout/type.h"

/* A place in a sequence of elements, in packed order. */
struct cursor {
  const struct tm_type *type;
  char *element; /* its address, or that of the repetition in it */
  size_t repeat; /* which one */
  size_t block;
  size_t more; /* pieces of the block behind this one */
  char *at;    /* the next byte */
  size_t left; /* bytes that lie together from there */
};

/* All elements of a dense type are one piece. */
static struct cursor start(const void *address, const struct tm_type *type, size_t skip,
                           size_t bytes) {
  struct cursor c = {.type = type, .element = (char *)(uintptr_t)address};
  const struct tm_block *b = type->blocks;
  if (type->dense) {
    c.at = c.element + b->at + skip;
    c.left = bytes;
    return c;
  }
  c.element += (ptrdiff_t)(skip / type->size) * tm_type_extent(type);
  skip %= type->size;
  size_t repetition = type->size / type->repeats;
  c.repeat = skip / repetition;
  c.element += (ptrdiff_t)c.repeat * type->period;
  skip %= repetition;
  for (; skip >= b->length * b->count; b++) skip -= b->length * b->count;
  c.block = (size_t)(b - type->blocks);
  size_t piece = skip / b->length;
  c.more = b->count - 1 - piece;
  skip %= b->length;
  c.at = c.element + b->at + (ptrdiff_t)piece * b->stride + skip;
  c.left = b->length - skip;
  return c;
}

/* The next repetition of the blocks, or the next element. */
static void next_repetition(struct cursor *c) {
  const struct tm_type *type = c->type;
  if (++c->repeat < type->repeats) {
    c->element += type->period;
    return;
  }
  c->element += tm_type_extent(type) - (ptrdiff_t)(c->repeat - 1) * type->period;
  c->repeat = 0;
}

static void advance(struct cursor *c, size_t bytes) {
  c->at += bytes;
  c->left -= bytes;
  if (c->left > 0 || c->type->dense) return;
  if (c->more > 0) {
    const struct tm_block *same = &c->type->blocks[c->block];
    c->more--;
    c->at += same->stride - (ptrdiff_t)same->length;
    c->left = same->length;
    return;
  }
  if (++c->block == c->type->block_count) {
    c->block = 0;
    next_repetition(c);
  }
  const struct tm_block *b = &c->type->blocks[c->block];
  c->at = c->element + b->at;
  c->more = b->count - 1;
  c->left = b->length;
}

/* Pieces of one size, at equal distances from here on. A piece is divided where it has room for
 * several. */
struct series {
  size_t count;
  ptrdiff_t step;
};

static bool goes_on(const struct cursor *c, size_t bytes) {
  return c->left != bytes || c->more > 0;
}

static struct series series(const struct cursor *c, size_t bytes) {
  const struct tm_block *b = &c->type->blocks[c->block];
  if (c->left != bytes) /* no piece is empty: NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
    return (struct series){c->left / bytes, (ptrdiff_t)bytes};
  if (b->length != bytes) return (struct series){1, 0}; /* the end of a piece */
  return (struct series){c->more + 1, b->stride};
}

/* Moves past `count` pieces of a series. */
static void skip_series(struct cursor *c, size_t piece, size_t count, ptrdiff_t step) {
  if (c->left == piece) {
    c->more -= count - 1;
    c->at += (ptrdiff_t)(count - 1) * step;
    advance(c, piece);
  } else {
    advance(c, count * piece);
  }
}

/* Compiled for some sizes, of which each is a load and a store. A rank may send to itself: memmove.
 */
static inline void move(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step,
                        size_t bytes, size_t count) {
  for (size_t i = 0; i < count; i++, to += to_step, from += from_step) memmove(to, from, bytes);
}

static void move_pieces(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step,
                        size_t bytes, size_t count) {
  switch (bytes) {
    case 1: move(to, to_step, from, from_step, 1, count); break;
    case 2: move(to, to_step, from, from_step, 2, count); break;
    case 4: move(to, to_step, from, from_step, 4, count); break;
    case 8: move(to, to_step, from, from_step, 8, count); break;
    case 16: move(to, to_step, from, from_step, 16, count); break;
    default: move(to, to_step, from, from_step, bytes, count); break;
  }
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Copies as many pieces of a size as both sides have in a series. @return how many bytes. */
__attribute__((noinline)) static size_t copy_series(struct cursor *to, struct cursor *from,
                                                    size_t piece, size_t bytes) {
  struct series t = series(to, piece), f = series(from, piece);
  /* likewise: NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
  size_t count = least(least(t.count, f.count), bytes / piece);
  move_pieces(to->at, t.step, from->at, f.step, piece, count);
  if (count * piece < bytes) {
    skip_series(to, piece, count, t.step);
    skip_series(from, piece, count, f.step);
  }
  return count * piece;
}

static void copy(struct cursor *to, struct cursor *from, size_t bytes) {
  for (;;) {
    size_t piece = least(to->left, from->left);
    if (piece < bytes && goes_on(to, piece) && goes_on(from, piece)) {
      bytes -= copy_series(to, from, piece, bytes);
      if (bytes == 0) return;
      continue;
    }
    piece = least(piece, bytes);
    memmove(to->at, from->at, piece);
    bytes -= piece;
    if (bytes == 0) return;
    advance(to, piece);
    advance(from, piece);
  }
}

void tm_type_copy_pieces(void *to, const struct tm_type *to_type, const void *from,
                         const struct tm_type *from_type, size_t bytes) {
  struct cursor t = start(to, to_type, 0, bytes), f = start(from, from_type, 0, bytes);
  copy(&t, &f, bytes);
}

void tm_type_pack(void *to, const void *from, const struct tm_type *type, size_t skip,
                  size_t bytes) {
  if (bytes == 0) return;
  if (type->dense) {
    memmove(to, (const char *)from + type->blocks[0].at + skip, bytes);
    return;
  }
  struct cursor t = start(to, tm_type_of(MPI_BYTE), 0, bytes), f = start(from, type, skip, bytes);
  copy(&t, &f, bytes);
}

void tm_type_unpack(void *to, const struct tm_type *type, size_t skip, const void *from,
                    size_t bytes) {
  if (bytes == 0) return;
  if (type->dense) {
    memmove((char *)to + type->blocks[0].at + skip, from, bytes);
    return;
  }
  struct cursor t = start(to, type, skip, bytes), f = start(from, tm_type_of(MPI_BYTE), 0, bytes);
  copy(&t, &f, bytes);
}

size_t tm_type_pieces(struct tm_piece *pieces, size_t room, const void *address,
                      const struct tm_type *type, size_t skip, size_t *bytes) {
  size_t count = 0, left = *bytes;
  if (left == 0) return 0;
  for (struct cursor c = start(address, type, skip, left);;) {
    size_t piece = least(c.left, left);
    pieces[count++] = (struct tm_piece){(uintptr_t)c.at, piece};
    left -= piece;
    if (left == 0 || count == room) break;
    advance(&c, piece);
  }
  *bytes -= left;
  return count;
}

size_t tm_type_elements(const struct tm_type *type, size_t bytes, size_t *rest) {
  size_t per_element = 0, elements;
  *rest = bytes;
  if (type->size == 0) return 0;
  for (size_t i = 0; i < type->run_count; i++) per_element += type->runs[i].count;
  elements = bytes / tm_type_run_bytes(type) * per_element;
  *rest = bytes % tm_type_run_bytes(type);
  for (size_t i = 0; i < type->run_count && *rest >= type->runs[i].size; i++) {
    size_t whole = *rest / type->runs[i].size;
    if (whole > type->runs[i].count) whole = type->runs[i].count;
    elements += whole;
    *rest -= whole * type->runs[i].size;
    if (whole < type->runs[i].count) break;
  }
  return elements;
}
