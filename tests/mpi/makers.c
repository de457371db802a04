/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that make datatypes, with ints and with 64-bit counts: the same layout, and each tells
 * how its type was made. What is packed by one is unpacked by the other. */
#include <string.h>

#include "check.h"

enum { N = 4, ROOM = 64, MOST = 32 };

static const int lengths[N] = {1, 2, 1, 3}, displs[N] = {0, 4, 9, 12}, places[N] = {0, 3, 5, 9};
static const MPI_Aint addresses[N] = {0, 16, 36, 48};
static const MPI_Count wide_lengths[N] = {1, 2, 1, 3}, wide_displs[N] = {0, 4, 9, 12};
static const MPI_Count wide_places[N] = {0, 3, 5, 9}, wide_addresses[N] = {0, 16, 36, 48};

/* Both have the same layout and the same numbers in their contents. */
static void same(MPI_Datatype small, MPI_Datatype large) {
  int in[ROOM], out[ROOM], packed[ROOM], ni, na, nd, combiner, large_combiner, at = 0, size,
                                                                               integers[MOST];
  MPI_Count lni, lna, lnc, lnd, lb, extent, bytes, counts[MOST];
  MPI_Aint small_lb, small_extent, places_reported[MOST];
  MPI_Datatype types[MOST];
  MPI_Type_commit(&small);
  MPI_Type_commit(&large);
  for (int i = 0; i < ROOM; i++) in[i] = i, out[i] = -1;
  MPI_Pack(in, 1, small, packed, sizeof packed, &at, MPI_COMM_SELF);
  MPI_Type_size(small, &size);
  MPI_Type_size_c(large, &bytes);
  CHECK(at == size && bytes == size);
  at = 0;
  MPI_Unpack(packed, sizeof packed, &at, out, 1, large, MPI_COMM_SELF);
  int moved = 0;
  for (int i = 0; i < ROOM; i++) {
    CHECK(out[i] == -1 || out[i] == i);
    moved += out[i] == i;
  }
  CHECK(moved * (int)sizeof(int) == size);
  MPI_Type_get_extent(small, &small_lb, &small_extent);
  MPI_Type_get_extent_c(large, &lb, &extent);
  CHECK(lb == small_lb && extent == small_extent);
  MPI_Type_get_true_extent(small, &small_lb, &small_extent);
  MPI_Type_get_true_extent_c(large, &lb, &extent);
  CHECK(lb == small_lb && extent == small_extent);
  MPI_Type_get_envelope(small, &ni, &na, &nd, &combiner);
  MPI_Type_get_envelope_c(large, &lni, &lna, &lnc, &lnd, &large_combiner);
  CHECK(combiner == large_combiner && nd == lnd && ni + na == lni + lna + lnc && lnc > 0);
  MPI_Type_get_contents(small, MOST, MOST, MOST, integers, places_reported, types);
  long sum = 0, large_sum = 0;
  for (int i = 0; i < ni; i++) sum += integers[i];
  for (int i = 0; i < na; i++) sum += places_reported[i];
  MPI_Type_get_contents_c(large, MOST, MOST, MOST, MOST, integers, places_reported, counts, types);
  for (int i = 0; i < lni; i++) large_sum += integers[i];
  for (int i = 0; i < lnc; i++) large_sum += counts[i];
  CHECK(sum == large_sum && types[0] == MPI_INT);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(MPI_Type_get_envelope(large, &ni, &na, &nd, &combiner) == MPI_ERR_TYPE);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&small);
  MPI_Type_free(&large);
}

static void patterns(void) {
  MPI_Datatype small, large;
  MPI_Type_contiguous(5, MPI_INT, &small);
  MPI_Type_contiguous_c(5, MPI_INT, &large);
  same(small, large);
  MPI_Type_vector(3, 2, 5, MPI_INT, &small);
  MPI_Type_vector_c(3, 2, 5, MPI_INT, &large);
  same(small, large);
  MPI_Type_create_hvector(3, 2, 24, MPI_INT, &small);
  MPI_Type_create_hvector_c(3, 2, 24, MPI_INT, &large);
  same(small, large);
  MPI_Type_indexed(N, lengths, displs, MPI_INT, &small);
  MPI_Type_indexed_c(N, wide_lengths, wide_displs, MPI_INT, &large);
  same(small, large);
  MPI_Type_create_hindexed(N, lengths, addresses, MPI_INT, &small);
  MPI_Type_create_hindexed_c(N, wide_lengths, wide_addresses, MPI_INT, &large);
  same(small, large);
  MPI_Type_create_indexed_block(N, 2, places, MPI_INT, &small);
  MPI_Type_create_indexed_block_c(N, 2, wide_places, MPI_INT, &large);
  same(small, large);
  MPI_Type_create_hindexed_block(N, 2, addresses, MPI_INT, &small);
  MPI_Type_create_hindexed_block_c(N, 2, wide_addresses, MPI_INT, &large);
  same(small, large);
}

static void others(void) {
  static const int sizes[] = {4, 6}, subsizes[] = {2, 3}, starts[] = {1, 2};
  static const MPI_Count wide_sizes[] = {4, 6}, wide_subsizes[] = {2, 3}, wide_starts[] = {1, 2};
  static const int distribs[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, processes[] = {2, 2};
  static const int dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
  const MPI_Datatype types[N] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
  MPI_Datatype small, large;
  MPI_Type_create_struct(N, lengths, addresses, types, &small);
  MPI_Type_create_struct_c(N, wide_lengths, wide_addresses, types, &large);
  same(small, large);
  MPI_Type_create_resized(MPI_INT, 0, 12, &small);
  MPI_Type_create_resized_c(MPI_INT, 0, 12, &large);
  same(small, large);
  for (int order = MPI_ORDER_C; order <= MPI_ORDER_FORTRAN;
       order += MPI_ORDER_FORTRAN - MPI_ORDER_C) {
    MPI_Type_create_subarray(2, sizes, subsizes, starts, order, MPI_INT, &small);
    MPI_Type_create_subarray_c(2, wide_sizes, wide_subsizes, wide_starts, order, MPI_INT, &large);
    same(small, large);
    for (int rank = 0; rank < 4; rank++) {
      MPI_Type_create_darray(4, rank, 2, sizes, distribs, dargs, processes, order, MPI_INT, &small);
      MPI_Type_create_darray_c(4, rank, 2, wide_sizes, distribs, dargs, processes, order, MPI_INT,
                               &large);
      same(small, large);
    }
  }
}

/* ---- what a type tells of its making, number by number */

enum { NUMBERS = 16 };

struct contents {
  int combiner, integer_count, address_count, count_count, type_count;
  int integers[NUMBERS];
  MPI_Aint addresses[NUMBERS];
  MPI_Count counts[NUMBERS];
  MPI_Datatype types[NUMBERS];
};

/* Nothing else is written to the room that there is. Frees the type. */
static void tells(MPI_Datatype type, const struct contents *expected) {
  struct contents listed = {0};
  MPI_Count integers, addresses, counts, types;
  CHECK(type != MPI_DATATYPE_NULL);
  MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &listed.combiner);
  MPI_Type_get_contents_c(type, integers, addresses, counts, types, listed.integers,
                          listed.addresses, listed.counts, listed.types);
  CHECK(listed.combiner == expected->combiner && integers == expected->integer_count &&
        addresses == expected->address_count && counts == expected->count_count &&
        types == expected->type_count);
  CHECK(memcmp(listed.integers, expected->integers, sizeof listed.integers) == 0);
  CHECK(memcmp(listed.addresses, expected->addresses, sizeof listed.addresses) == 0);
  CHECK(memcmp(listed.counts, expected->counts, sizeof listed.counts) == 0);
  CHECK(memcmp(listed.types, expected->types, sizeof listed.types) == 0);
  MPI_Type_free(&type);
}

static void exactly(void) {
  static const int sizes[] = {7, 8}, subsizes[] = {3, 4}, starts[] = {1, 2};
  static const int distribs[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, dargs[] = {5, 3},
                   processes[] = {2, 3};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype type;
  MPI_Type_dup(MPI_SHORT, &type);
  tells(type,
        &(struct contents){.combiner = MPI_COMBINER_DUP, .type_count = 1, .types = {MPI_SHORT}});
  MPI_Type_contiguous(5, MPI_INT, &type);
  tells(type, &(struct contents){MPI_COMBINER_CONTIGUOUS, 1, 0, 0, 1, {5}, {0}, {0}, {MPI_INT}});
  MPI_Type_vector(3, 2, 5, MPI_INT, &type);
  tells(type, &(struct contents){MPI_COMBINER_VECTOR, 3, 0, 0, 1, {3, 2, 5}, {0}, {0}, {MPI_INT}});
  MPI_Type_create_hvector(3, 2, 24, MPI_INT, &type);
  tells(type, &(struct contents){MPI_COMBINER_HVECTOR, 2, 1, 0, 1, {3, 2}, {24}, {0}, {MPI_INT}});
  MPI_Type_indexed(2, &lengths[1], &displs[1], MPI_INT, &type);
  tells(type,
        &(struct contents){MPI_COMBINER_INDEXED, 5, 0, 0, 1, {2, 2, 1, 4, 9}, {0}, {0}, {MPI_INT}});
  MPI_Type_create_hindexed(2, &lengths[1], &addresses[1], MPI_INT, &type);
  tells(type,
        &(struct contents){MPI_COMBINER_HINDEXED, 3, 2, 0, 1, {2, 2, 1}, {16, 36}, {0}, {MPI_INT}});
  MPI_Type_create_indexed_block(2, 3, &displs[1], MPI_INT, &type);
  tells(type, &(struct contents){
                  MPI_COMBINER_INDEXED_BLOCK, 4, 0, 0, 1, {2, 3, 4, 9}, {0}, {0}, {MPI_INT}});
  MPI_Type_create_hindexed_block(2, 3, &addresses[1], MPI_INT, &type);
  tells(type, &(struct contents){
                  MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 0, 1, {2, 3}, {16, 36}, {0}, {MPI_INT}});
  MPI_Type_create_struct(2, &lengths[1], &addresses[1], types, &type);
  tells(type,
        &(struct contents){
            MPI_COMBINER_STRUCT, 3, 2, 0, 2, {2, 2, 1}, {16, 36}, {0}, {MPI_INT, MPI_DOUBLE}});
  MPI_Type_create_resized(MPI_INT, -4, 12, &type);
  tells(type, &(struct contents){MPI_COMBINER_RESIZED, 0, 2, 0, 1, {0}, {-4, 12}, {0}, {MPI_INT}});
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
  tells(type, &(struct contents){MPI_COMBINER_SUBARRAY,
                                 8,
                                 0,
                                 0,
                                 1,
                                 {2, 7, 8, 3, 4, 1, 2, MPI_ORDER_C},
                                 {0},
                                 {0},
                                 {MPI_INT}});
  MPI_Type_create_darray(6, 4, 2, sizes, distribs, dargs, processes, MPI_ORDER_FORTRAN, MPI_INT,
                         &type);
  tells(type,
        &(struct contents){MPI_COMBINER_DARRAY,
                           12,
                           0,
                           0,
                           1,
                           {6, 4, 2, 7, 8, distribs[0], distribs[1], 5, 3, 2, 3, MPI_ORDER_FORTRAN},
                           {0},
                           {0},
                           {MPI_INT}});
}

/* The same of the calls with 64-bit counts. */
static void exactly_large(void) {
  static const MPI_Count sizes[] = {7, 8}, subsizes[] = {3, 4}, starts[] = {1, 2};
  static const int distribs[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, dargs[] = {5, 3},
                   processes[] = {2, 3};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype type;
  MPI_Type_vector_c(3, 2, 5, MPI_INT, &type);
  tells(type, &(struct contents){MPI_COMBINER_VECTOR, 0, 0, 3, 1, {0}, {0}, {3, 2, 5}, {MPI_INT}});
  MPI_Type_create_hvector_c(3, 2, 24, MPI_INT, &type);
  tells(type,
        &(struct contents){MPI_COMBINER_HVECTOR, 0, 0, 3, 1, {0}, {0}, {3, 2, 24}, {MPI_INT}});
  MPI_Type_indexed_c(2, &wide_lengths[1], &wide_displs[1], MPI_INT, &type);
  tells(type,
        &(struct contents){MPI_COMBINER_INDEXED, 0, 0, 5, 1, {0}, {0}, {2, 2, 1, 4, 9}, {MPI_INT}});
  MPI_Type_create_hindexed_block_c(2, 3, &wide_addresses[1], MPI_INT, &type);
  tells(type, &(struct contents){
                  MPI_COMBINER_HINDEXED_BLOCK, 0, 0, 4, 1, {0}, {0}, {2, 3, 16, 36}, {MPI_INT}});
  MPI_Type_create_struct_c(2, &wide_lengths[1], &wide_addresses[1], types, &type);
  tells(type,
        &(struct contents){
            MPI_COMBINER_STRUCT, 0, 0, 5, 2, {0}, {0}, {2, 2, 1, 16, 36}, {MPI_INT, MPI_DOUBLE}});
  MPI_Type_create_resized_c(MPI_INT, -4, 12, &type);
  tells(type, &(struct contents){MPI_COMBINER_RESIZED, 0, 0, 2, 1, {0}, {0}, {-4, 12}, {MPI_INT}});
  MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
  tells(
      type,
      &(struct contents){
          MPI_COMBINER_SUBARRAY, 2, 0, 6, 1, {2, MPI_ORDER_C}, {0}, {7, 8, 3, 4, 1, 2}, {MPI_INT}});
  MPI_Type_create_darray_c(6, 4, 2, sizes, distribs, dargs, processes, MPI_ORDER_FORTRAN, MPI_INT,
                           &type);
  tells(type, &(struct contents){MPI_COMBINER_DARRAY,
                                 10,
                                 0,
                                 2,
                                 1,
                                 {6, 4, 2, distribs[0], distribs[1], 5, 3, 2, 3, MPI_ORDER_FORTRAN},
                                 {0},
                                 {7, 8},
                                 {MPI_INT}});
}

/* A long list is listed in its order; a type that is listed is held, by each that is listed anew.
 */
static void listed_and_held(void) {
  enum { BLOCKS = 1000 };
  static int block_displs[BLOCKS], integers[BLOCKS + 2];
  MPI_Datatype inner, outer, listed;
  int size;
  for (int i = 0; i < BLOCKS; i++) block_displs[i] = 3 * i;
  MPI_Type_create_indexed_block(BLOCKS, 2, block_displs, MPI_INT, &inner);
  MPI_Type_get_contents(inner, BLOCKS + 2, 0, 1, integers, NULL, &listed);
  CHECK(integers[0] == BLOCKS && integers[1] == 2);
  for (int i = 0; i < BLOCKS; i++) CHECK(integers[i + 2] == 3 * i);
  MPI_Type_contiguous(2, inner, &outer);
  MPI_Type_free(&inner);
  for (int i = 0; i < 3; i++) {
    MPI_Type_get_contents(outer, 1, 0, 1, integers, NULL, &listed);
    MPI_Type_size(listed, &size);
    CHECK(size == 2 * BLOCKS * (int)sizeof(int));
    MPI_Type_free(&listed);
  }
  MPI_Type_free(&outer);
}

/* ---- distributed arrays: each element is of the process that the standard's formulas name */

enum { DIMS = 3 };

struct dealt {
  int ndims, sizes[DIMS], distribs[DIMS], dargs[DIMS], processes[DIMS];
};

/* @return the place, in its dimension's processes, of the owner of an index. */
static int owner(const struct dealt *d, int dim, int index) {
  int processes = d->processes[dim], block = d->dargs[dim];
  if (d->distribs[dim] == MPI_DISTRIBUTE_NONE) return 0;
  if (block == MPI_DISTRIBUTE_DFLT_DARG)
    block =
        d->distribs[dim] == MPI_DISTRIBUTE_CYCLIC ? 1 : (d->sizes[dim] + processes - 1) / processes;
  return index / block % processes;
}

/* @return the rank that owns the element at a place of the array. */
static int owner_of(const struct dealt *d, int order, int at) {
  int owners[DIMS], rank = 0;
  for (int n = 0; n < d->ndims; n++) {
    int dim = order == MPI_ORDER_C ? d->ndims - 1 - n : n;
    owners[dim] = owner(d, dim, at % d->sizes[dim]);
    at /= d->sizes[dim];
  }
  for (int dim = 0; dim < d->ndims; dim++) rank = rank * d->processes[dim] + owners[dim];
  return rank;
}

static void deal(const struct dealt *d, int order) {
  enum { MOST_ELEMENTS = 400 };
  int all[MOST_ELEMENTS], own[MOST_ELEMENTS], elements = 1, ranks = 1, dealt = 0;
  for (int i = 0; i < d->ndims; i++) elements *= d->sizes[i], ranks *= d->processes[i];
  for (int i = 0; i < elements; i++) all[i] = i;
  for (int rank = 0; rank < ranks; rank++) {
    MPI_Datatype type;
    MPI_Aint lb, extent;
    int at = 0, expected = 0;
    MPI_Type_create_darray(ranks, rank, d->ndims, d->sizes, d->distribs, d->dargs, d->processes,
                           order, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &lb, &extent);
    CHECK(lb == 0 && extent == elements * (MPI_Aint)sizeof(int));
    MPI_Pack(all, 1, type, own, sizeof own, &at, MPI_COMM_SELF);
    for (int i = 0; i < elements; i++)
      if (owner_of(d, order, i) == rank) CHECK(own[expected++] == i);
    CHECK(at == expected * (int)sizeof(int));
    dealt += expected;
    MPI_Type_free(&type);
  }
  CHECK(dealt == elements);
}

static void distributed(void) {
  enum {
    NONE = MPI_DISTRIBUTE_NONE,
    BLOCK = MPI_DISTRIBUTE_BLOCK,
    CYCLIC = MPI_DISTRIBUTE_CYCLIC,
    DEFAULT = MPI_DISTRIBUTE_DFLT_DARG
  };
  static const struct dealt cases[] = {
      {1, {1}, {BLOCK}, {1}, {1}},
      {1, {5}, {BLOCK}, {DEFAULT}, {2}},
      {1, {9}, {BLOCK}, {3}, {3}}, /* the blocks are full */
      {1, {4}, {BLOCK}, {4}, {3}}, /* two have nothing */
      {1, {7}, {CYCLIC}, {DEFAULT}, {3}},
      {1, {11}, {CYCLIC}, {2}, {2}},
      {1, {6}, {NONE}, {DEFAULT}, {1}},
      {2, {5, 7}, {BLOCK, CYCLIC}, {DEFAULT, 2}, {2, 3}},
      {2, {4, 6}, {CYCLIC, BLOCK}, {1, DEFAULT}, {3, 2}},
      {3, {3, 4, 5}, {CYCLIC, NONE, BLOCK}, {DEFAULT, DEFAULT, 3}, {2, 1, 2}},
      {3, {3, 5, 7}, {BLOCK, CYCLIC, CYCLIC}, {2, 1, 3}, {2, 3, 2}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    deal(&cases[i], MPI_ORDER_C);
    deal(&cases[i], MPI_ORDER_FORTRAN);
  }
}

/* Larger than an int can tell; no memory is needed for it. */
static void huge(void) {
  const MPI_Count count = (MPI_Count)1 << 33;
  MPI_Datatype type, old;
  MPI_Count size, lb, extent, integers, addresses, counts, types;
  int small, combiner;
  MPI_Type_contiguous_c(count, MPI_INT, &type);
  MPI_Type_size(type, &small);
  MPI_Type_size_x(type, &size);
  CHECK(small == MPI_UNDEFINED && size == 4 * count);
  MPI_Type_get_extent_x(type, &lb, &extent);
  CHECK(lb == 0 && extent == 4 * count);
  MPI_Type_get_true_extent_x(type, &lb, &extent);
  CHECK(lb == 0 && extent == 4 * count);
  MPI_Pack_size(1, MPI_INT, MPI_COMM_SELF, &small);
  CHECK(small == 4);
  MPI_Type_get_contents_c(type, 0, 0, 1, 1, NULL, NULL, &size, &old);
  CHECK(size == count && old == MPI_INT);
  MPI_Type_free(&type);
  MPI_Type_dup(MPI_DOUBLE, &type);
  MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
  CHECK(combiner == MPI_COMBINER_DUP && types == 1 && counts == 0);
  MPI_Type_free(&type);
}

/* Names, addresses, and parts of elements that have been received. */
static void asked(void) {
  static const int lengths_of[] = {1, 2};
  static const MPI_Aint places_of[] = {0, 4};
  const MPI_Datatype types[] = {MPI_INT, MPI_SHORT};
  char name[MPI_MAX_OBJECT_NAME];
  int length, numbers[4], count;
  MPI_Aint first, third;
  MPI_Datatype type, several;
  MPI_Status status;
  MPI_Type_get_name(MPI_INT, name, &length);
  CHECK(strcmp(name, "MPI_INT") == 0 && length == 7);
  int own_rank;
  char own[32];
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  snprintf(own, sizeof own, "INT of rank %d", own_rank); /* other ranks do not see it */
  MPI_Type_set_name(MPI_INT, own);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_get_name(MPI_INT, name, &length);
  CHECK(strcmp(name, own) == 0 && length == (int)strlen(own));
  MPI_Type_get_name(MPI_C_FLOAT_COMPLEX, name, &length);
  CHECK(strcmp(name, "MPI_C_COMPLEX") == 0);
  MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length);
  CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0);
  MPI_Type_create_struct(2, lengths_of, places_of, types, &type);
  MPI_Type_get_name(type, name, &length);
  CHECK(length == 0);
  MPI_Type_set_name(type, "an int and two shorts");
  MPI_Type_get_name(type, name, &length);
  CHECK(strcmp(name, "an int and two shorts") == 0);
  MPI_Type_commit(&type);
  MPI_Get_address(&numbers[0], &first);
  MPI_Get_address(&numbers[2], &third);
  CHECK(MPI_Aint_diff(third, first) == 8 && MPI_Aint_add(first, 8) == third);
  MPI_Type_contiguous(2, type, &several); /* elements of different sizes, in turn */
  MPI_Type_commit(&several);
  MPI_Status_set_elements(&status, several, 4); /* one and a third */
  MPI_Get_elements(&status, several, &count);
  CHECK(count == 4);
  MPI_Get_count(&status, several, &count);
  CHECK(count == MPI_UNDEFINED);
  MPI_Status_set_elements(&status, MPI_INT, 0);
  MPI_Type_free(&several);
  MPI_Type_contiguous(0, MPI_INT, &several);
  MPI_Type_commit(&several);
  MPI_Get_count(&status, several, &count);
  CHECK(count == 0);
  MPI_Status_set_elements(&status, several, 0); /* it has no element */
  MPI_Get_elements(&status, several, &count);
  CHECK(count == 0);
  MPI_Type_free(&several);
  MPI_Type_free(&type);
}

/* A copy keeps the bounds that a type was given. */
static void copied(void) {
  MPI_Datatype every_second, copy;
  int from[4] = {1, 2, 3, 4}, to[2] = {0, 0}, at = 0;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_second);
  MPI_Type_dup(every_second, &copy);
  MPI_Type_commit(&copy);
  MPI_Pack(from, 2, copy, to, sizeof to, &at, MPI_COMM_SELF);
  CHECK(at == sizeof to && to[0] == 1 && to[1] == 3);
  MPI_Type_free(&every_second);
  MPI_Type_free(&copy);
}

/* Found by what they are to hold. */
static void found(void) {
  MPI_Datatype type, again;
  int ni, na, nd, combiner, digits[2];
  MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type);
  CHECK(type == MPI_DOUBLE_INT);
  MPI_Type_get_value_index(MPI_CHAR, MPI_INT, &type);
  CHECK(type == MPI_DATATYPE_NULL);
  MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
  CHECK(type == MPI_REAL8);
  MPI_Type_match_size(MPI_TYPECLASS_REAL, 16, &type);
  CHECK(type == MPI_REAL16);
  MPI_Type_create_f90_real(33, 4931, &type);
  MPI_Type_size(type, &ni);
  CHECK(ni == 16);
  MPI_Type_create_f90_real(15, 30, &type);
  MPI_Type_create_f90_real(15, 30, &again);
  CHECK(type == again);
  MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
  CHECK(combiner == MPI_COMBINER_F90_REAL && ni == 2 && nd == 0);
  MPI_Type_get_contents(type, 2, 0, 0, digits, NULL, NULL);
  CHECK(digits[0] == 15 && digits[1] == 30);
  MPI_Type_size(type, &ni);
  CHECK(ni == sizeof(double));
  MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &type);
  MPI_Type_size(type, &ni);
  CHECK(ni == 2 * sizeof(float));
  MPI_Type_create_f90_integer(9, &type);
  MPI_Type_size(type, &ni);
  CHECK(ni == 4);
  MPI_Type_create_f90_integer(38, &type);
  MPI_Type_size(type, &ni);
  CHECK(ni == 16);
  double value = 2.5, sum;
  MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type);
  MPI_Allreduce(&value, &sum, 1, type, MPI_SUM, MPI_COMM_SELF); /* has the operations of its kind */
  CHECK(sum == value);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(MPI_Type_free(&type) == MPI_ERR_TYPE);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* Most significant byte first; sizes are the same everywhere. */
static void external(void) {
  static const unsigned char minus_two[] = {0xff, 0xff, 0xff, 0xfe},
                             one_and_half[] = {0x3f, 0xf8, 0, 0, 0, 0, 0, 0};
  static const unsigned char quad_two[] = {0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  unsigned char room[256];
  MPI_Aint at = 0, size;
  MPI_Count wide_at = 0, wide_size;
  long longs[2] = {-2, 77}, longs_back[2] = {0, 0};
  unsigned long word = 0xfffffffe, word_back = 0;
  double number = 1.5, number_back = 0;
  long double quad = 2, quad_back = 0;
  wchar_t letter = L'x', letter_back = 0;
  struct {
    short value;
    int index;
  } pair = {-3, 9}, pair_back = {0, 0};
  MPI_Pack_external("external32", longs, 2, MPI_LONG, room, sizeof room, &at);
  CHECK(at == 8 && memcmp(room, minus_two, 4) == 0);
  MPI_Pack_external("external32", &number, 1, MPI_DOUBLE, room, sizeof room, &at);
  CHECK(at == 16 && memcmp(room + 8, one_and_half, 8) == 0);
  MPI_Pack_external("external32", &quad, 1, MPI_LONG_DOUBLE, room, sizeof room, &at);
  CHECK(at == 32 && memcmp(room + 16, quad_two, 16) == 0);
  MPI_Pack_external("external32", &letter, 1, MPI_WCHAR, room, sizeof room, &at);
  MPI_Pack_external("external32", &pair, 1, MPI_SHORT_INT, room, sizeof room, &at);
  MPI_Pack_external("external32", &word, 1, MPI_UNSIGNED_LONG, room, sizeof room, &at);
  CHECK(at == 32 + 2 + 6 + 4);
  at = 0;
  MPI_Unpack_external("external32", room, sizeof room, &at, longs_back, 2, MPI_LONG);
  MPI_Unpack_external("external32", room, sizeof room, &at, &number_back, 1, MPI_DOUBLE);
  MPI_Unpack_external("external32", room, sizeof room, &at, &quad_back, 1, MPI_LONG_DOUBLE);
  MPI_Unpack_external("external32", room, sizeof room, &at, &letter_back, 1, MPI_WCHAR);
  MPI_Unpack_external("external32", room, sizeof room, &at, &pair_back, 1, MPI_SHORT_INT);
  MPI_Unpack_external("external32", room, sizeof room, &at, &word_back, 1, MPI_UNSIGNED_LONG);
  CHECK(longs_back[0] == -2 && longs_back[1] == 77 && number_back == 1.5 && quad_back == 2);
  CHECK(letter_back == L'x' && pair_back.value == -3 && pair_back.index == 9 && word_back == word);
  MPI_Pack_external_c("external32", longs, 2, MPI_LONG_LONG, room, sizeof room, &wide_at);
  CHECK(wide_at == 16);
  wide_at = 0;
  MPI_Unpack_external_c("external32", room, sizeof room, &wide_at, longs_back, 2, MPI_LONG_LONG);
  CHECK(longs_back[0] == -2);
  MPI_Pack_external_size("external32", 3, MPI_C_DOUBLE_COMPLEX, &size);
  MPI_Pack_external_size_c("external32", 3, MPI_C_FLOAT_COMPLEX, &wide_size);
  CHECK(size == 48 && wide_size == 24);
  __float128 two[2] = {2, 2}, two_back[2] = {0, 0};
  at = 0;
  MPI_Pack_external("external32", two, 1, MPI_COMPLEX32, room, sizeof room, &at);
  CHECK(at == 32 && memcmp(room + 16, quad_two, 16) == 0);
  at = 0;
  MPI_Unpack_external("external32", room, sizeof room, &at, two_back, 2, MPI_REAL16);
  CHECK(two_back[0] == 2 && two_back[1] == 2);
}

/* Two types of one layout here, which external data tell apart. */
static void alike(void) {
  MPI_Datatype made[3];
  const MPI_Datatype parts[2][2] = {{MPI_LONG, MPI_WCHAR}, {MPI_LONG_LONG, MPI_INT}};
  const MPI_Aint at[2] = {0, 8};
  MPI_Aint size;
  CHECK(sizeof(long) == sizeof(long long) && sizeof(wchar_t) == sizeof(int));
  for (int i = 0; i < 2; i++) MPI_Type_create_struct(2, (int[]){1, 1}, at, parts[i], &made[i]);
  for (int first = 0; first < 2; first++) {
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 16},
                           (MPI_Datatype[]){made[first], made[1 - first]}, &made[2]);
    MPI_Type_commit(&made[2]);
    MPI_Pack_external_size("external32", 1, made[2], &size);
    CHECK(size == 4 + 2 + 8 + 4);
    MPI_Type_free(&made[2]);
  }
  for (int i = 0; i < 2; i++) MPI_Type_free(&made[i]);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  patterns();
  others();
  exactly();
  exactly_large();
  listed_and_held();
  distributed();
  huge();
  asked();
  copied();
  found();
  external();
  alike();
  MPI_Finalize();
  return 0;
}
