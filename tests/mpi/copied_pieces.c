/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of datatypes are copied, packed and listed from any byte on, up to any byte
 * (src/tmpi/layout/copy.c): between types whose pieces have other lengths and distances, and within
 * elements and repetitions. What each byte's place is, is written out here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tmpi/layout/predefined.h"
#include "tmpi/layout/type.h"

enum { KINDS = 9, ELEMENTS = 3, MOST = 400, ROOM = 3600, MIDDLE = 900, PIECES = 7 };

/* A type and the places of an element's bytes, in the order of its map. */
struct layout {
  struct tm_type *type;
  size_t count;
  ptrdiff_t at[MOST];
};

static struct layout layouts[KINDS];
static char memory[ROOM], other[ROOM], expected[ROOM], packed[ROOM];

/* Adds rows of elements to a type and to its map. */
static void add(struct layout *to, MPI_Datatype old, int at, int length, int rows, int stride) {
  const struct tm_type *type = tm_type_of(old);
  assert_true(tm_type_add_rows(to->type, type, at, (size_t)length, (size_t)rows, stride));
  for (int row = 0; row < rows; row++)
    for (int i = 0; i < length * (int)type->size; i++) to->at[to->count++] = at + row * stride + i;
}

/* The same of another layout's elements, each at `distance` behind the one before. */
static void add_layout(struct layout *to, const struct layout *old, int times, int distance) {
  assert_true(tm_type_add_rows(to->type, old->type, 0, 1, (size_t)times, distance));
  for (int i = 0; i < times; i++)
    for (size_t byte = 0; byte < old->count; byte++)
      to->at[to->count++] = i * distance + old->at[byte];
}

static struct layout *begin(int kind) {
  struct layout *layout = &layouts[kind];
  layout->type = tm_type_new(MPI_COMBINER_HINDEXED);
  layout->count = 0;
  assert_non_null(layout->type);
  return layout;
}

static int make_layouts(void **state) {
  (void)state;
  tm_types_start();
  add(begin(0), MPI_BYTE, 0, 24, 1, 0); /* in one piece, and so are all its elements */
  add(begin(1), MPI_BYTE, 5, 12, 1, 0); /* likewise, but not at its address */
  add(begin(2), MPI_BYTE, 2, 3, 4, 7);  /* a vector */
  add(begin(3), MPI_INT, 0, 4, 5, 20);  /* of pieces of 16 bytes */
  struct layout *mixed = begin(4);      /* three blocks */
  add(mixed, MPI_INT, 0, 1, 1, 0);
  add(mixed, MPI_SHORT, 6, 1, 1, 0);
  add(mixed, MPI_BYTE, 9, 3, 1, 0);
  struct layout *vectors = begin(5); /* two, one of them backwards */
  add(vectors, MPI_SHORT, 60, 1, 6, -8);
  add(vectors, MPI_DOUBLE, 72, 1, 3, 24);
  for (int kind = 2; kind < 6; kind++) tm_type_finish(layouts[kind].type, false);
  add_layout(begin(6), mixed, 30, 16);  /* many: its blocks are repeated */
  add_layout(begin(7), mixed, 40, -12); /* the same backwards */
  add_layout(begin(8), vectors, 3, 200);
  for (int kind = 0; kind < KINDS; kind++) {
    tm_type_finish(layouts[kind].type, false);
    assert_int_equal(layouts[kind].type->size, layouts[kind].count);
  }
  for (size_t i = 0; i < sizeof memory; i++) memory[i] = (char)(i * 37 + i / 251);
  return 0;
}

static int drop_layouts(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) tm_type_release(layouts[kind].type);
  return 0;
}

/* The place of a packed byte in memory. */
static size_t place(const struct layout *layout, size_t byte) {
  ptrdiff_t element = (ptrdiff_t)(byte / layout->count) * tm_type_extent(layout->type);
  ptrdiff_t at = MIDDLE + element + layout->at[byte % layout->count];
  assert_true(at >= 0 && at < ROOM);
  return (size_t)at;
}

/* Calls check for ranges of packed bytes: from each one on, and up to each one. */
static void each_range(void (*check)(const struct layout *, size_t skip, size_t bytes)) {
  for (int kind = 0; kind < KINDS; kind++) {
    size_t all = layouts[kind].count * ELEMENTS;
    for (size_t skip = 0; skip < all; skip++) {
      check(&layouts[kind], skip, all - skip);
      check(&layouts[kind], skip, (all - skip + 1) / 2);
      check(&layouts[kind], skip, 1);
    }
    for (size_t bytes = 0; bytes <= all; bytes++) check(&layouts[kind], 0, bytes);
  }
}

static void check_pack(const struct layout *layout, size_t skip, size_t bytes) {
  memset(packed, 0, bytes + 1);
  tm_type_pack(packed, memory + MIDDLE, layout->type, skip, bytes);
  for (size_t i = 0; i < bytes; i++) assert_int_equal(packed[i], memory[place(layout, skip + i)]);
  assert_int_equal(packed[bytes], 0);
}

static void any_bytes_are_packed(void **state) {
  (void)state;
  each_range(check_pack);
}

static void check_unpack(const struct layout *layout, size_t skip, size_t bytes) {
  memset(other, 0, sizeof other);
  memset(expected, 0, sizeof expected);
  for (size_t i = 0; i < bytes; i++) expected[place(layout, skip + i)] = memory[i];
  tm_type_unpack(other + MIDDLE, layout->type, skip, memory, bytes);
  assert_memory_equal(other, expected, sizeof other);
}

static void any_bytes_are_unpacked(void **state) {
  (void)state;
  each_range(check_unpack);
}

/* As many pieces as there is room for: each is next to no other one, or would be part of it. */
static void check_pieces(const struct layout *layout, size_t skip, size_t bytes) {
  struct tm_piece pieces[PIECES + 1];
  for (size_t room = 1; room <= PIECES; room += 3) {
    size_t covered = bytes, at = skip;
    pieces[room].bytes = 77;
    size_t count = tm_type_pieces(pieces, room, memory + MIDDLE, layout->type, skip, &covered);
    assert_true(pieces[room].bytes == 77 && count <= room && covered <= bytes);
    assert_true(covered == bytes || count == room);
    assert_true((count == 0) == (bytes == 0));
    for (size_t piece = 0; piece < count; piece++) {
      assert_true(pieces[piece].bytes > 0);
      for (size_t i = 0; i < pieces[piece].bytes; i++, at++)
        assert_int_equal(pieces[piece].at + i, (uintptr_t)&memory[place(layout, at)]);
    }
    assert_int_equal(at - skip, covered);
  }
}

static void pieces_are_listed(void **state) {
  (void)state;
  each_range(check_pieces);
}

static void check_copy(const struct layout *to, const struct layout *from, size_t bytes) {
  memset(other, 0, sizeof other);
  memset(expected, 0, sizeof expected);
  for (size_t i = 0; i < bytes; i++) expected[place(to, i)] = memory[place(from, i)];
  tm_type_copy(other + MIDDLE, to->type, memory + MIDDLE, from->type, bytes);
  assert_memory_equal(other, expected, sizeof other);
}

static void types_are_copied_to_other_types(void **state) {
  (void)state;
  for (int to = 0; to < KINDS; to++)
    for (int from = 0; from < KINDS; from++) {
      size_t a = layouts[to].count * ELEMENTS, b = layouts[from].count * ELEMENTS;
      for (size_t bytes = 0; bytes <= (a < b ? a : b); bytes++)
        check_copy(&layouts[to], &layouts[from], bytes);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_bytes_are_packed), cmocka_unit_test(any_bytes_are_unpacked),
      cmocka_unit_test(pieces_are_listed), cmocka_unit_test(types_are_copied_to_other_types)};
  return cmocka_run_group_tests(tests, make_layouts, drop_layouts);
}
