/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of datatypes: parts that end where their array does, room that is just enough, packing
 * that fits to the byte. One rank. */
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { CELLS = 16 };

static int buffer[CELLS], other[CELLS];

/* ---- parts of arrays */

static int subarray(int size, int subsize, int start, int order) {
  MPI_Datatype type;
  const int two[] = {2, size}, all[] = {2, subsize}, from[] = {0, start};
  int code = MPI_Type_create_subarray(2, two, all, from, order, MPI_INT, &type);
  if (code == MPI_SUCCESS) MPI_Type_free(&type);
  return code;
}

static void subarrays(void) {
  EXPECT(MPI_SUCCESS, subarray(8, 8, 0, MPI_ORDER_C));
  EXPECT(MPI_SUCCESS, subarray(8, 3, 5, MPI_ORDER_FORTRAN));
  EXPECT(MPI_SUCCESS, subarray(1, 1, 0, MPI_ORDER_C));
  EXPECT(MPI_ERR_ARG, subarray(8, 9, 0, MPI_ORDER_C));
  EXPECT(MPI_ERR_ARG, subarray(8, 3, 6, MPI_ORDER_C));
  EXPECT(MPI_ERR_ARG, subarray(8, 0, 0, MPI_ORDER_C));
  EXPECT(MPI_ERR_ARG, subarray(8, 3, -1, MPI_ORDER_C));
  EXPECT(MPI_ERR_ARG, subarray(0, 0, 0, MPI_ORDER_C));
  EXPECT(MPI_ERR_ARG, subarray(8, 3, 0, MPI_ORDER_C + MPI_ORDER_FORTRAN));
}

/* A process's share of `size` elements: the number of its bytes; -1: refused. The type extends over
 * the array, whatever of it is the process's. */
static int share(int processes, int rank, int size, int kind, int argument) {
  MPI_Datatype type;
  MPI_Aint lb, extent;
  int bytes = -1;
  int code = MPI_Type_create_darray(processes, rank, 1, &size, &kind, &argument, &processes,
                                    MPI_ORDER_C, MPI_INT, &type);
  if (code != MPI_SUCCESS) {
    EXPECT(MPI_ERR_ARG, code);
    return -1;
  }
  MPI_Type_size(type, &bytes);
  MPI_Type_get_extent(type, &lb, &extent);
  CHECK(lb == 0 && extent == 4 * size);
  MPI_Type_get_true_extent(type, &lb, &extent);
  CHECK(bytes > 0 ? extent >= bytes : lb == 0 && extent == 0);
  MPI_Type_free(&type);
  return bytes;
}

static void shares(void) {
  const int block = MPI_DISTRIBUTE_BLOCK, cyclic = MPI_DISTRIBUTE_CYCLIC,
            none = MPI_DISTRIBUTE_NONE, usual = MPI_DISTRIBUTE_DFLT_DARG;
  CHECK(share(3, 0, 8, block, usual) == 12 && share(3, 2, 8, block, usual) == 8);
  CHECK(share(3, 0, 8, block, 3) == 12 && share(3, 0, 9, block, 3) == 12);
  CHECK(share(3, 0, 10, block, 3) == -1); /* one element is left over */
  CHECK(share(3, 2, 4, block, 2) == 0);   /* none is left */
  CHECK(share(3, 0, 8, cyclic, usual) == 12 && share(3, 2, 8, cyclic, usual) == 8);
  CHECK(share(3, 0, 8, cyclic, 2) == 16 && share(3, 1, 8, cyclic, 2) == 8);
  CHECK(share(2, 1, 7, cyclic, 2) == 12); /* its last block is cut */
  CHECK(share(1, 0, 8, none, usual) == 32 && share(2, 0, 8, none, usual) == -1);
  CHECK(share(3, 3, 8, block, usual) == -1 && share(3, -1, 8, block, usual) == -1);
  CHECK(share(3, 0, 0, block, usual) == -1 && share(3, 0, 8, block, 0) == -1);
  CHECK(share(3, 0, 8, none - 1, usual) == -1 && share(3, 0, 8, cyclic + 1, usual) == -1);
}

static int shares_of(int ndims, int processes, int order) {
  MPI_Datatype type;
  const int sizes[] = {8}, kinds[] = {MPI_DISTRIBUTE_BLOCK},
            arguments[] = {MPI_DISTRIBUTE_DFLT_DARG};
  return MPI_Type_create_darray(2, 0, ndims, sizes, kinds, arguments, &processes, order, MPI_INT,
                                &type);
}

static void refused_shares(void) {
  EXPECT(MPI_ERR_ARG, shares_of(0, 2, MPI_ORDER_C));
  EXPECT(MPI_ERR_ARG, shares_of(1, 0, MPI_ORDER_C));
  EXPECT(MPI_ERR_ARG, shares_of(1, 2, MPI_ORDER_C + MPI_ORDER_FORTRAN));
}

/* ---- how a type was made */

static void contents(void) {
  const int lengths[] = {1, 2, 3};
  const MPI_Aint places[] = {0, 16, 32};
  const MPI_Count wide_lengths[] = {1, 2, 3}, wide_places[] = {0, 16, 32};
  int integers[8];
  MPI_Aint addresses[8];
  MPI_Count counts[8];
  MPI_Datatype types[2], type, large;
  MPI_Type_create_hindexed(3, lengths, places, MPI_INT, &type);
  MPI_Type_create_hindexed_c(3, wide_lengths, wide_places, MPI_INT, &large);
  EXPECT(MPI_SUCCESS, MPI_Type_get_contents(type, 4, 3, 1, integers, addresses, types));
  CHECK(integers[0] == 3 && integers[3] == 3 && addresses[2] == 32 && types[0] == MPI_INT);
  EXPECT(MPI_ERR_ARG, MPI_Type_get_contents(type, 3, 3, 1, integers, addresses, types));
  EXPECT(MPI_ERR_ARG, MPI_Type_get_contents(type, 4, 2, 1, integers, addresses, types));
  EXPECT(MPI_ERR_ARG, MPI_Type_get_contents(type, 4, 3, 0, integers, addresses, types));
  EXPECT(MPI_SUCCESS,
         MPI_Type_get_contents_c(large, 0, 0, 7, 1, integers, addresses, counts, types));
  CHECK(counts[0] == 3 && counts[6] == 32);
  EXPECT(MPI_ERR_ARG,
         MPI_Type_get_contents_c(large, 0, 0, 6, 1, integers, addresses, counts, types));
  EXPECT(MPI_ERR_TYPE, MPI_Type_get_contents(large, 8, 8, 2, integers, addresses, types));
  EXPECT(MPI_ERR_TYPE,
         MPI_Type_get_envelope(large, &integers[0], &integers[1], &integers[2], &integers[3]));
  EXPECT(MPI_ERR_TYPE,
         MPI_Type_get_contents_c(MPI_INT, 8, 8, 8, 2, integers, addresses, counts, types));
  EXPECT(MPI_ERR_TYPE, MPI_Type_get_envelope_c(MPI_DATATYPE_NULL, &counts[0], &counts[1],
                                               &counts[2], &counts[3], &integers[0]));
  EXPECT(MPI_ERR_TYPE, MPI_Type_get_contents_c(MPI_DATATYPE_NULL, 8, 8, 8, 2, integers, addresses,
                                               counts, types));
  MPI_Type_free(&type);
  MPI_Type_free(&large);
}

/* ---- packing */

static int pack_at(int position, int size, int count, int *after) {
  *after = position;
  return MPI_Pack(buffer, count, MPI_INT, other, size, after, MPI_COMM_SELF);
}

static int unpack_at(int position, int size, int count, int *after) {
  *after = position;
  return MPI_Unpack(other, size, after, buffer, count, MPI_INT, MPI_COMM_SELF);
}

static int pack_external_at(MPI_Aint position, MPI_Aint size, int count, int *after) {
  int code = MPI_Pack_external("external32", buffer, count, MPI_INT, other, size, &position);
  *after = (int)position;
  return code;
}

static int unpack_external_at(MPI_Aint position, MPI_Aint size, int count, int *after) {
  int code = MPI_Unpack_external("external32", other, size, &position, buffer, count, MPI_INT);
  *after = (int)position;
  return code;
}

/* What is refused moves no position. */
static void packing(void) {
  static const struct {
    int position, size, count, class, after;
  } cases[] = {
      {0, 16, 4, MPI_SUCCESS, 16},       {8, 16, 2, MPI_SUCCESS, 16},
      {16, 16, 0, MPI_SUCCESS, 16},      {0, 0, 0, MPI_SUCCESS, 0},
      {0, 15, 4, MPI_ERR_TRUNCATE, 0},   {9, 16, 2, MPI_ERR_TRUNCATE, 9},
      {17, 16, 0, MPI_ERR_TRUNCATE, 17}, {-1, 16, 1, MPI_ERR_ARG, -1},
      {0, 16, -1, MPI_ERR_COUNT, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int position = cases[i].position, size = cases[i].size, count = cases[i].count, after;
    EXPECT(cases[i].class, pack_at(position, size, count, &after));
    CHECK(after == cases[i].after);
    EXPECT(cases[i].class, unpack_at(position, size, count, &after));
    CHECK(after == cases[i].after);
    EXPECT(cases[i].class, pack_external_at(position, size, count, &after));
    CHECK(after == cases[i].after);
    EXPECT(cases[i].class, unpack_external_at(position, size, count, &after));
    CHECK(after == cases[i].after);
  }
  MPI_Aint place = 0;
  EXPECT(MPI_ERR_ARG, MPI_Pack_external(NULL, buffer, 1, MPI_INT, other, 16, &place));
  EXPECT(MPI_ERR_ARG, MPI_Unpack_external("native", other, 16, &place, buffer, 1, MPI_INT));
}

/* Numbers keep their sign where they are shorter outside. */
static void external(void) {
  static const long numbers[] = {0, 1, -1, INT32_MAX, INT32_MIN, 0x01020304, -2};
  enum { NUMBERS = sizeof numbers / sizeof numbers[0] };
  unsigned char outside[4 * NUMBERS];
  long back[NUMBERS];
  unsigned long unsigned_back;
  MPI_Aint place = 0;
  MPI_Pack_external("external32", numbers, NUMBERS, MPI_LONG, outside, sizeof outside, &place);
  CHECK(place == sizeof outside && outside[4 * 5] == 1 && outside[4 * 5 + 3] == 4);
  place = 0;
  MPI_Unpack_external("external32", outside, sizeof outside, &place, back, NUMBERS, MPI_LONG);
  CHECK(memcmp(back, numbers, sizeof back) == 0);
  place = 8;
  MPI_Unpack_external("external32", outside, sizeof outside, &place, &unsigned_back, 1,
                      MPI_UNSIGNED_LONG);
  CHECK(unsigned_back == 0xffffffff); /* which has no sign */
}

/* ---- the numbers of which a type consists, where one part begins like the one before it */

/* external: bytes of an element outside. */
static void parts(void) {
  enum { KINDS = 7, MOST = 4 };
  static const struct {
    MPI_Datatype types[MOST]; /* MPI_DATATYPE_NULL: no more */
    int counts[MOST], numbers, external;
  } kinds[KINDS] = {
      {{MPI_INT, MPI_DOUBLE}, {1, 1}, 2, 12},
      {{MPI_INT, MPI_DOUBLE, MPI_CHAR}, {1, 1, 1}, 3, 13},
      {{MPI_INT, MPI_DOUBLE}, {2, 1}, 3, 16},
      {{MPI_LONG, MPI_CHAR}, {1, 1}, 2, 5},
      {{MPI_INT64_T, MPI_CHAR}, {1, 1}, 2, 9},
      {{MPI_SHORT, MPI_DOUBLE}, {1, 1}, 2, 10},
      {{MPI_SHORT}, {2}, 2, 4},
  };
  static const int numbers[KINDS][MOST] = {{4, 8}, {4, 8, 1}, {4, 4, 8}, {8, 1},
                                           {8, 1}, {2, 8},    {2, 2}}; /* bytes in memory */
  MPI_Datatype made[KINDS], both;
  MPI_Status status;
  MPI_Aint size;
  int elements, bytes;
  memset(&status, 0, sizeof status);
  for (int i = 0; i < KINDS; i++) {
    MPI_Aint places[MOST] = {0, 16, 32, 48};
    int count = 0;
    while (count < MOST && kinds[i].counts[count] > 0) count++;
    MPI_Type_create_struct(count, kinds[i].counts, places, kinds[i].types, &made[i]);
  }
  for (int a = 0; a < KINDS; a++)
    for (int b = 0; b < KINDS; b++) {
      const int twice[] = {2, 3};
      const MPI_Aint places[] = {0, 1024};
      MPI_Type_create_struct(2, twice, places, (MPI_Datatype[]){made[a], made[b]}, &both);
      MPI_Type_commit(&both);
      MPI_Pack_external_size("external32", 1, both, &size);
      CHECK(size == 2 * kinds[a].external + 3 * kinds[b].external);
      int all = 0, number = 0;
      for (int part = 0; part < 5; part++) {
        int kind = part < 2 ? a : b;
        for (int i = 0; i < kinds[kind].numbers; i++) {
          all += numbers[kind][i];
          number++;
          MPI_Status_set_elements(&status, MPI_BYTE, all);
          MPI_Get_elements(&status, both, &elements);
          CHECK(elements == number);
          MPI_Status_set_elements(&status, MPI_BYTE, 0);
          MPI_Status_set_elements(&status, both, number);
          MPI_Get_count(&status, MPI_BYTE, &bytes);
          CHECK(bytes == all);
        }
      }
      MPI_Type_size(both, &bytes);
      CHECK(bytes == all);
      MPI_Type_free(&both);
    }
  for (int i = 0; i < KINDS; i++) MPI_Type_free(&made[i]);
}

/* ---- types of no data: they lie nowhere, and begin and end at 0 */

static void without_data(void) {
  enum { MADE = 6 };
  MPI_Datatype made[MADE];
  MPI_Aint lb, extent;
  int size;
  MPI_Type_contiguous(0, MPI_INT, &made[0]);
  MPI_Type_vector(0, 2, 3, MPI_DOUBLE, &made[1]);
  MPI_Type_vector(2, 0, 3, MPI_INT, &made[2]);
  MPI_Type_create_struct(0, (int[]){0}, (MPI_Aint[]){0}, (MPI_Datatype[]){MPI_INT}, &made[3]);
  MPI_Type_create_struct(2, (int[]){0, 0}, (MPI_Aint[]){7, -9}, (MPI_Datatype[]){MPI_INT, MPI_CHAR},
                         &made[4]);
  MPI_Type_indexed(2, (int[]){0, 0}, (int[]){5, 9}, MPI_INT, &made[5]);
  for (int i = 0; i < MADE; i++) {
    lb = extent = 7;
    MPI_Type_get_extent(made[i], &lb, &extent);
    CHECK(lb == 0 && extent == 0);
    lb = extent = 7;
    MPI_Type_get_true_extent(made[i], &lb, &extent);
    CHECK(lb == 0 && extent == 0);
    MPI_Type_size(made[i], &size);
    CHECK(size == 0);
    MPI_Type_free(&made[i]);
  }
}

/* ---- names */

static void names(void) {
  char name[MPI_MAX_OBJECT_NAME + 10], got[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_get_name(type, got, &length);
  CHECK(length == 0 && got[0] == '\0');
  memset(name, 'n', sizeof name);
  name[sizeof name - 1] = '\0';
  MPI_Type_set_name(type, name); /* it is cut */
  MPI_Type_get_name(type, got, &length);
  CHECK(length == MPI_MAX_OBJECT_NAME - 1 && strlen(got) == (size_t)length);
  MPI_Type_free(&type);
  MPI_Type_get_name(MPI_DATATYPE_NULL, got, &length);
  CHECK(strcmp(got, "MPI_DATATYPE_NULL") == 0 && length == 17);
  MPI_Type_set_name(MPI_INT, "own");
  MPI_Type_get_name(MPI_INT, got, &length);
  CHECK(strcmp(got, "own") == 0);
  MPI_Type_get_name(MPI_FLOAT, got, &length);
  CHECK(strcmp(got, "MPI_FLOAT") == 0);
}

int main(int argc, char **argv) {
  int size;
  check_start(&argc, &argv, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  subarrays();
  shares();
  refused_shares();
  contents();
  packing();
  external();
  parts();
  without_data();
  names();
  MPI_Finalize();
  return 0;
}
