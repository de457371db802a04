/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between buffers of any types: two cursors, each at a piece that lies together. */
#include <string.h>

#include "tmpi/dt/type.h"

/* A place in a sequence of elements, in packed order. */
struct cursor {
  const struct tm_type *type;
  char *element; /* its address */
  size_t block;
  char *at;    /* the next byte */
  size_t left; /* bytes that lie together from there */
};

static void enter_block(struct cursor *c) {
  const struct tm_block *b = &c->type->blocks[c->block];
  c->at = c->element + b->at;
  c->left = b->length;
}

/* All elements of a dense type are one piece. */
static struct cursor start(const void *address, const struct tm_type *type, size_t skip,
                           size_t bytes) {
  struct cursor c = {type, (char *)(uintptr_t)address, 0, NULL, 0};
  if (type->dense) {
    c.at = c.element + type->blocks[0].at + skip;
    c.left = bytes;
    return c;
  }
  c.element += (ptrdiff_t)(skip / type->size) * tm_type_extent(type);
  skip %= type->size;
  while (skip >= type->blocks[c.block].length) skip -= type->blocks[c.block++].length;
  enter_block(&c);
  c.at += skip;
  c.left -= skip;
  return c;
}

static void advance(struct cursor *c, size_t bytes) {
  c->at += bytes;
  c->left -= bytes;
  if (c->left > 0 || c->type->dense) return;
  if (++c->block == c->type->block_count) {
    c->block = 0;
    c->element += tm_type_extent(c->type);
  }
  enter_block(c);
}

static void copy(struct cursor *to, struct cursor *from, size_t bytes) {
  while (bytes > 0) {
    size_t piece = to->left < from->left ? to->left : from->left;
    if (piece > bytes) piece = bytes;
    memmove(to->at, from->at, piece); /* a rank may send to itself */
    bytes -= piece;
    if (bytes == 0) break;
    advance(to, piece);
    advance(from, piece);
  }
}

void tm_type_copy(void *to, const struct tm_type *to_type, const void *from,
                  const struct tm_type *from_type, size_t bytes) {
  if (bytes == 0) return;
  if (to_type->dense && from_type->dense) {
    memmove((char *)to + to_type->blocks[0].at, (const char *)from + from_type->blocks[0].at,
            bytes);
    return;
  }
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

size_t tm_type_elements(const struct tm_type *type, size_t bytes, size_t *rest) {
  size_t per_element = 0, elements;
  *rest = bytes;
  if (type->size == 0) return 0;
  for (size_t i = 0; i < type->run_count; i++) per_element += type->runs[i].count;
  elements = bytes / type->size * per_element;
  *rest = bytes % type->size;
  for (size_t i = 0; i < type->run_count && *rest >= type->runs[i].size; i++) {
    size_t whole = *rest / type->runs[i].size;
    if (whole > type->runs[i].count) whole = type->runs[i].count;
    elements += whole;
    *rest -= whole * type->runs[i].size;
    if (whole < type->runs[i].count) break;
  }
  return elements;
}
