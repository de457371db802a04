/* SPDX-License-Identifier: Apache-2.0 */
/* Random datatypes of vectors, blocks, structures, subarrays, one made of another: what is packed,
 * unpacked and sent are the bytes at the offsets that follow from the standard's type maps, which
 * are written out here. */
#include <string.h>

#include "check.h"

enum { ROUNDS = 600, DEPTH = 3, MOST = 6000, ROOM = 1 << 18, MIDDLE = ROOM / 2 };

/* A type and the offsets of its bytes, in the order of its map. */
struct layout {
  MPI_Datatype type;
  int basics; /* basic elements */
  int count;
  long at[MOST];
};

static unsigned long state = 1;

static int chance(int below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (unsigned)below);
}

static void append(struct layout *to, const struct layout *old, long at) {
  to->basics += old->basics;
  for (int i = 0; i < old->count && to->count < MOST; i++) to->at[to->count++] = at + old->at[i];
}

static long extent_of(const struct layout *layout) {
  MPI_Aint lb, extent;
  MPI_Type_get_extent(layout->type, &lb, &extent);
  return extent;
}

static void basic(struct layout *layout) {
  static const MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_SHORT_INT};
  static const int sizes[] = {1, 2, 4, 8, 2};
  int which = chance(5);
  layout->type = types[which];
  layout->count = 0;
  layout->basics = which == 4 ? 2 : 1;
  for (int i = 0; i < sizes[which]; i++) layout->at[layout->count++] = i;
  for (int i = 0; which == 4 && i < 4; i++) layout->at[layout->count++] = 4 + i;
}

/* Many: the blocks of one are repeated, and written out where something follows. */
static void contiguous(struct layout *to, const struct layout *old) {
  int count = 20 + chance(60);
  MPI_Type_contiguous(count, old->type, &to->type);
  for (int i = 0; i < count; i++) append(to, old, i * extent_of(old));
}

static void vector(struct layout *to, const struct layout *old) {
  int count = chance(5), length = chance(4), stride = chance(9) - 3;
  MPI_Type_vector(count, length, stride, old->type, &to->type);
  for (int i = 0; i < count; i++)
    for (int j = 0; j < length; j++) append(to, old, (i * stride + j) * extent_of(old));
}

static void hvector(struct layout *to, const struct layout *old) {
  int count = chance(6), length = 1 + chance(2), stride = chance(60) - 20;
  MPI_Type_create_hvector(count, length, stride, old->type, &to->type);
  for (int i = 0; i < count; i++)
    for (int j = 0; j < length; j++) append(to, old, i * stride + j * extent_of(old));
}

static void indexed(struct layout *to, const struct layout *old) {
  int count = chance(7), lengths[7], displs[7], at = 0;
  for (int i = 0; i < count; i++) {
    lengths[i] = chance(3);
    displs[i] = at;
    at += lengths[i] + chance(3);
    for (int j = 0; j < lengths[i]; j++) append(to, old, (displs[i] + j) * extent_of(old));
  }
  MPI_Type_indexed(count, lengths, displs, old->type, &to->type);
}

static void structure(struct layout *to, const struct layout *old) {
  int lengths[3] = {1 + chance(3), chance(2), 1 + chance(4)};
  MPI_Aint displs[3] = {chance(20), 100 + chance(9), 300};
  MPI_Datatype types[3] = {old->type, MPI_INT, old->type};
  MPI_Type_create_struct(3, lengths, displs, types, &to->type);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < lengths[i]; j++)
      if (i == 1) {
        to->basics++;
        for (int k = 0; k < 4 && to->count < MOST; k++) to->at[to->count++] = displs[1] + k;
      } else
        append(to, old, displs[i] + j * extent_of(old));
}

static void resized(struct layout *to, const struct layout *old) {
  MPI_Type_create_resized(old->type, chance(5) - 2, extent_of(old) + chance(20) - 4, &to->type);
  append(to, old, 0);
}

static void subarray(struct layout *to, const struct layout *old) {
  int sizes[2] = {4, 5}, parts[2] = {1 + chance(4), 1 + chance(5)};
  int starts[2] = {chance(5 - parts[0]), chance(6 - parts[1])};
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, old->type, &to->type);
  for (int i = 0; i < parts[0]; i++)
    for (int j = 0; j < parts[1]; j++)
      append(to, old, ((starts[0] + i) * 5 + starts[1] + j) * extent_of(old));
}

static void make(struct layout *to, int depth) {
  static void (*const makers[])(struct layout *, const struct layout *) = {
      contiguous, contiguous, vector,    vector,  hvector,
      hvector,    indexed,    structure, resized, subarray};
  if (depth == 0) {
    basic(to);
    return;
  }
  struct layout *old = malloc(sizeof *old);
  make(old, depth - 1);
  to->count = to->basics = 0;
  makers[chance(10)](to, old);
  if (depth > 1) MPI_Type_free(&old->type);
  free(old);
}

/* Whether all bytes of `count` elements are within the buffer; larger ones are not tested.
 */
static int fits(const struct layout *layout, int elements) {
  long extent = extent_of(layout);
  if (layout->count == 0 || layout->count == MOST) return 0;
  for (int e = 0; e < elements; e++)
    for (int i = 0; i < layout->count; i++)
      if (labs(e * extent + layout->at[i]) >= MIDDLE) return 0;
  return 1;
}

static int overlaps(const struct layout *layout, int elements) {
  static char used[ROOM];
  memset(used, 0, sizeof used);
  for (int e = 0; e < elements; e++)
    for (int i = 0; i < layout->count; i++) {
      char *at = &used[MIDDLE + e * extent_of(layout) + layout->at[i]];
      if ((*at)++ > 0) return 1;
    }
  return 0;
}

static void check_one(const struct layout *layout, int elements) {
  static char memory[ROOM], copy[ROOM], expected[ROOM], packed[2 * MOST], plain[2 * MOST];
  int bytes = 0, at = 0, size;
  MPI_Status status;
  for (int i = 0; i < ROOM; i++) memory[i] = (char)chance(256);
  for (int e = 0; e < elements; e++)
    for (int i = 0; i < layout->count; i++)
      plain[bytes++] = memory[MIDDLE + e * extent_of(layout) + layout->at[i]];
  MPI_Type_size(layout->type, &size);
  CHECK(size * elements == bytes);
  MPI_Pack(memory + MIDDLE, elements, layout->type, packed, sizeof packed, &at, MPI_COMM_SELF);
  CHECK(at == bytes && memcmp(packed, plain, (size_t)bytes) == 0);
  if (overlaps(layout, elements)) return; /* fine to send, not to receive */
  memset(copy, 0, sizeof copy);
  memset(expected, 0, sizeof expected);
  for (int e = 0, n = 0; e < elements; e++)
    for (int i = 0; i < layout->count; i++)
      expected[MIDDLE + e * extent_of(layout) + layout->at[i]] = plain[n++];
  at = 0;
  MPI_Unpack(packed, bytes, &at, copy + MIDDLE, elements, layout->type, MPI_COMM_SELF);
  CHECK(memcmp(copy, expected, sizeof copy) == 0);
  memset(copy, 0, sizeof copy); /* type to type, which does not pack */
  MPI_Sendrecv(memory + MIDDLE, elements, layout->type, 0, 1, copy + MIDDLE, elements, layout->type,
               0, 1, MPI_COMM_SELF, &status);
  CHECK(memcmp(copy, expected, sizeof copy) == 0);
  MPI_Get_elements(&status, layout->type, &at);
  CHECK(at == elements * layout->basics);
  MPI_Status_set_elements(&status, layout->type, at - 1);
  MPI_Get_elements(&status, layout->type, &bytes);
  CHECK(bytes == at - 1);
}

/* A gigabyte of pieces takes no memory, and no time to make. */
static void huge(void) {
  MPI_Datatype type, twice;
  MPI_Count lb, extent, size;
  MPI_Type_vector(1 << 30, 1, 3, MPI_INT, &type);
  MPI_Type_create_resized(type, 0, 8, &twice);
  MPI_Type_get_extent_x(type, &lb, &extent);
  MPI_Type_size_x(twice, &size);
  CHECK(lb == 0 && extent == 12 * (MPI_Count)(1 << 30) - 8 && size == (MPI_Count)4 << 30);
  MPI_Type_free(&type);
  MPI_Type_free(&twice);
  int lengths[] = {1, 1};
  MPI_Aint displs[] = {0, 8};
  MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE}, one;
  MPI_Type_create_struct(2, lengths, displs, parts, &one);
  MPI_Type_contiguous(1 << 30, one, &type);
  MPI_Type_contiguous(1 << 10, type, &twice);
  MPI_Type_size_x(twice, &size);
  CHECK(size == (MPI_Count)9 << 40);
  MPI_Type_free(&type);
  MPI_Type_free(&twice);
  MPI_Type_free(&one);
}

int main(int argc, char **argv) {
  struct layout *layout = malloc(sizeof *layout);
  int size, rank = check_start(&argc, &argv, &size), checked = 0;
  state += (unsigned)rank;
  for (int i = 0; i < ROUNDS; i++) {
    int elements = 1 + chance(2);
    make(layout, 1 + chance(DEPTH));
    MPI_Type_commit(&layout->type);
    if (fits(layout, elements)) {
      check_one(layout, elements);
      checked++;
    }
    MPI_Type_free(&layout->type);
  }
  CHECK(checked > ROUNDS / 4);
  huge();
  free(layout);
  MPI_Finalize();
  return 0;
}
