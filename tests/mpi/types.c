/* SPDX-License-Identifier: Apache-2.0 */
/* Derived types: what is sent from one layout arrives in another. What there is to know of
 * predefined types, and of types that are found by what they hold. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { N = 8 };

/* Rank 0 sends a column of a matrix, rank 1 receives it as a row. */
static void column_to_row(int rank) {
  int matrix[N][N], row[N];
  MPI_Datatype column;
  MPI_Type_vector(N, 1, N, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < N * N; i++) matrix[i / N][i % N] = i;
  if (rank == 0) MPI_Send(&matrix[0][3], 1, column, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(row, N, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++) CHECK(row[i] == i * N + 3);
  }
  MPI_Type_free(&column);
}

struct mixed {
  char letter;
  double value;
  int numbers[3];
};

static void structure(int rank) {
  struct mixed out[2] = {{'a', 1.5, {1, 2, 3}}, {'b', 2.5, {4, 5, 6}}}, in[2];
  static const int lengths[] = {1, 1, 3};
  static const MPI_Aint displs[] = {offsetof(struct mixed, letter), offsetof(struct mixed, value),
                                    offsetof(struct mixed, numbers)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
  MPI_Datatype type;
  MPI_Aint lower, extent;
  MPI_Status status;
  int count, elements, size;
  MPI_Type_create_struct(3, lengths, displs, types, &type);
  MPI_Type_commit(&type);
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_size(type, &size);
  CHECK(lower == 0 && extent == sizeof(struct mixed) && size == 1 + 8 + 12);
  memset(in, 0, sizeof in);
  MPI_Sendrecv(out, 2, type, rank, 0, in, 2, type, rank, 0, MPI_COMM_WORLD, &status);
  for (int i = 0; i < 2; i++)
    CHECK(in[i].letter == out[i].letter && in[i].value == out[i].value &&
          memcmp(in[i].numbers, out[i].numbers, sizeof in[i].numbers) == 0);
  MPI_Get_count(&status, type, &count);
  MPI_Get_elements(&status, type, &elements);
  CHECK(count == 2 && elements == 10);
  MPI_Type_free(&type);
}

static void subarray(int rank) {
  static const int sizes[] = {4, 5}, subsizes[] = {2, 3}, starts[] = {1, 1};
  int array[4][5], packed[6], position = 0;
  char buffer[64];
  MPI_Datatype type;
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < 20; i++) array[i / 5][i % 5] = i;
  MPI_Sendrecv(array, 1, type, rank, 0, packed, 6, MPI_INT, rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < 6; i++) CHECK(packed[i] == (1 + i / 3) * 5 + 1 + i % 3);
  MPI_Pack(array, 1, type, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
  CHECK(position == 24 && memcmp(buffer, packed, sizeof packed) == 0);
  memset(array, 0, sizeof array);
  position = 0;
  MPI_Unpack(buffer, sizeof buffer, &position, array, 1, type, MPI_COMM_WORLD);
  CHECK(array[1][1] == 6 && array[2][3] == 13 && array[0][0] == 0 && array[1][4] == 0);
  MPI_Type_free(&type);
}

/* Large and not contiguous, through the path where the receiver copies from the sender. */
static void large(int rank, int size) {
  enum { ITEMS = 20000 };
  static int out[2 * ITEMS], in[3 * ITEMS];
  MPI_Datatype every_second, every_third;
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Type_vector(ITEMS, 1, 2, MPI_INT, &every_second);
  MPI_Type_vector(ITEMS, 1, 3, MPI_INT, &every_third);
  MPI_Type_commit(&every_second);
  MPI_Type_commit(&every_third);
  for (int i = 0; i < 2 * ITEMS; i++) out[i] = rank + i;
  memset(in, 0xff, sizeof in);
  MPI_Sendrecv(out, 1, every_second, next, 0, in, 1, every_third, before, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < ITEMS; i++) CHECK(in[3 * i] == before + 2 * i && in[3 * i + 1] == -1);
  MPI_Type_free(&every_second);
  MPI_Type_free(&every_third);
}

/* ---- predefined types: sizes and bounds are those of C's types */

struct known {
  MPI_Datatype type;
  const char *name;
  int size;
  MPI_Aint true_extent, extent;
};

#define KNOWN(name, type) {MPI_##name, "MPI_" #name, sizeof(type), sizeof(type), sizeof(type)}
#define KNOWN_PAIR(name, a, b)                                                                     \
  {MPI_##name, "MPI_" #name, sizeof(a) + sizeof(b),                                                \
   offsetof(                                                                                       \
       struct {                                                                                    \
         a first;                                                                                  \
         b second;                                                                                 \
       },                                                                                          \
       second) +                                                                                   \
       sizeof(b),                                                                                  \
   sizeof(struct {                                                                                 \
     a first;                                                                                      \
     b second;                                                                                     \
   })}

static void predefined(void) {
  static const struct known table[] = {
      KNOWN(AINT, MPI_Aint),
      KNOWN(COUNT, MPI_Count),
      KNOWN(OFFSET, MPI_Offset),
      KNOWN(PACKED, char),
      KNOWN(SHORT, short),
      KNOWN(INT, int),
      KNOWN(LONG, long),
      KNOWN(LONG_LONG, long long),
      KNOWN(UNSIGNED_SHORT, short),
      KNOWN(UNSIGNED, int),
      KNOWN(UNSIGNED_LONG, long),
      KNOWN(FLOAT, float),
      KNOWN(DOUBLE, double),
      KNOWN(LONG_DOUBLE, long double),
      KNOWN(C_DOUBLE_COMPLEX, double _Complex),
      KNOWN(C_LONG_DOUBLE_COMPLEX, long double _Complex),
      KNOWN(LOGICAL, int),
      KNOWN(CHARACTER, char),
      KNOWN(DOUBLE_PRECISION, double),
      KNOWN(WCHAR, wchar_t),
      KNOWN(C_BOOL, _Bool),
      KNOWN(BYTE, char),
      KNOWN(INT8_T, int8_t),
      KNOWN(UINT64_T, uint64_t),
      KNOWN(INTEGER16, __int128),
      KNOWN(REAL16, __float128),
      KNOWN_PAIR(FLOAT_INT, float, int),
      KNOWN_PAIR(DOUBLE_INT, double, int),
      KNOWN_PAIR(LONG_INT, long, int),
      KNOWN_PAIR(2INT, int, int),
      KNOWN_PAIR(SHORT_INT, short, int),
      KNOWN_PAIR(LONG_DOUBLE_INT, long double, int),
      KNOWN_PAIR(2REAL, float, float),
      KNOWN_PAIR(2DOUBLE_PRECISION, double, double),
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    const struct known *known = &table[i];
    char name[MPI_MAX_OBJECT_NAME];
    int size, length, integers, addresses, types, combiner;
    MPI_Aint lb, extent;
    MPI_Type_get_name(known->type, name, &length);
    CHECK(strcmp(name, known->name) == 0 && length == (int)strlen(name));
    MPI_Type_size(known->type, &size);
    CHECK(size == known->size);
    MPI_Type_get_extent(known->type, &lb, &extent);
    CHECK(lb == 0 && extent == known->extent);
    MPI_Type_get_true_extent(known->type, &lb, &extent);
    CHECK(lb == 0 && extent == known->true_extent);
    MPI_Type_get_envelope(known->type, &integers, &addresses, &types, &combiner);
    CHECK(combiner == MPI_COMBINER_NAMED && integers == 0 && addresses == 0 && types == 0);
  }
}

/* The end of a structure is rounded to its strictest part, as a compiler does. */
static void rounded(void) {
  static const struct {
    MPI_Datatype type;
    MPI_Aint alignment;
  } table[] = {{MPI_CHAR, 1},       {MPI_SHORT, 2},        {MPI_INT, 4},
               {MPI_DOUBLE, 8},     {MPI_LONG_DOUBLE, 16}, {MPI_SHORT_INT, 4},
               {MPI_DOUBLE_INT, 8}, {MPI_FLOAT_INT, 4},    {MPI_C_DOUBLE_COMPLEX, 8}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    MPI_Datatype type, again;
    MPI_Aint lb, extent, part;
    MPI_Type_get_extent(table[i].type, &lb, &part);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, part},
                           (MPI_Datatype[]){table[i].type, MPI_CHAR}, &type);
    MPI_Type_get_extent(type, &lb, &extent);
    CHECK(lb == 0 && extent == (part / table[i].alignment + 1) * table[i].alignment);
    MPI_Type_create_struct(1, (int[]){1}, (MPI_Aint[]){0}, &type, &again); /* it is already */
    MPI_Type_get_extent(again, &lb, &part);
    CHECK(lb == 0 && part == extent);
    MPI_Type_free(&type);
    MPI_Type_free(&again);
  }
}

/* The bounds of an array hold for what is made of its parts. */
static void bounds_of_parts(void) {
  MPI_Datatype part, type;
  MPI_Aint lb, extent;
  MPI_Type_create_subarray(1, (int[]){4}, (int[]){2}, (int[]){1}, MPI_ORDER_C, MPI_INT, &part);
  MPI_Type_get_extent(part, &lb, &extent);
  CHECK(lb == 0 && extent == 16);
  MPI_Type_get_true_extent(part, &lb, &extent);
  CHECK(lb == 4 && extent == 8);
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 100}, (MPI_Datatype[]){part, MPI_INT},
                         &type);
  MPI_Type_get_extent(type, &lb, &extent);
  CHECK(lb == 0 && extent == 16);
  MPI_Type_free(&type);
  MPI_Type_free(&part);
  MPI_Type_create_subarray(2, (int[]){1, 3}, (int[]){1, 3}, (int[]){0, 0}, MPI_ORDER_C, MPI_INT,
                           &part); /* all of it */
  MPI_Type_get_true_extent(part, &lb, &extent);
  CHECK(lb == 0 && extent == 12);
  MPI_Type_free(&part);
}

/* A copy of a type is committed if the type is, and has its operations. */
static void copies(void) {
  MPI_Datatype type, copy;
  int values[2] = {40, 2}, sum = 0;
  MPI_Type_dup(MPI_INT, &copy);
  MPI_Allreduce(&values[0], &sum, 1, copy, MPI_SUM, MPI_COMM_SELF);
  CHECK(sum == 40);
  MPI_Type_free(&copy);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_dup(type, &copy);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_TYPE, MPI_Send(values, 1, copy, MPI_PROC_NULL, 0, MPI_COMM_SELF));
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&copy);
  MPI_Type_commit(&type);
  MPI_Type_dup(type, &copy);
  MPI_Send(values, 1, copy, MPI_PROC_NULL, 0, MPI_COMM_SELF);
  MPI_Type_free(&copy);
  MPI_Type_free(&type);
}

/* Names are cut where there is no more room, and given anew. */
static void named(void) {
  char name[MPI_MAX_OBJECT_NAME], given[2 * MPI_MAX_OBJECT_NAME];
  MPI_Datatype type;
  int length;
  memset(given, 'n', sizeof given - 1);
  given[sizeof given - 1] = '\0';
  MPI_Type_contiguous(1, MPI_INT, &type);
  MPI_Type_set_name(type, given);
  MPI_Type_get_name(type, name, &length);
  CHECK(length == MPI_MAX_OBJECT_NAME - 1 && strlen(name) == MPI_MAX_OBJECT_NAME - 1);
  MPI_Type_set_name(type, "");
  MPI_Type_get_name(type, name, &length);
  CHECK(length == 0 && name[0] == '\0');
  MPI_Type_free(&type);
}

/* ---- types that are found by what they hold */

static void found_by_size(void) {
  static const struct {
    int typeclass, size;
    MPI_Datatype type;
  } table[] = {
      {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
      {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
      {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 4, MPI_REAL4},
      {MPI_TYPECLASS_REAL, 8, MPI_REAL8},         {MPI_TYPECLASS_REAL, 16, MPI_REAL16},
      {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
      {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
  };
  static const MPI_Datatype pairs[][3] = {
      {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
      {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
      {MPI_LONG, MPI_INT, MPI_LONG_INT},
      {MPI_INT, MPI_INT, MPI_2INT},
      {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
      {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
      {MPI_REAL, MPI_REAL, MPI_2REAL},
      {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
      {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
      {MPI_INT, MPI_REAL, MPI_DATATYPE_NULL},
      {MPI_INT, MPI_LONG, MPI_DATATYPE_NULL},
      {MPI_REAL, MPI_INT, MPI_DATATYPE_NULL},
  };
  MPI_Datatype type;
  int size;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    MPI_Type_match_size(table[i].typeclass, table[i].size, &type);
    MPI_Type_size(type, &size);
    CHECK(type == table[i].type && size == table[i].size);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 3, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_REAL, 2, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 4, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_match_size(99, 4, &type));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    MPI_Type_get_value_index(pairs[i][0], pairs[i][1], &type);
    CHECK(type == pairs[i][2]);
  }
}

/* Digits and exponents up to which a kind of number serves, and the next ones. */
static void found_by_digits(void) {
  static const int integers[][2] = {{1, 1},  {2, 1},  {3, 2},   {4, 2},   {5, 4},  {9, 4},
                                    {10, 8}, {18, 8}, {19, 16}, {38, 16}, {39, 0}, {99, 0}};
  static const struct {
    int digits, exponent, bytes; /* bytes 0: there is none */
  } reals[] = {{6, 37, 4},
               {6, 38, 4},
               {7, 37, 8},
               {6, 39, 8},
               {15, 307, 8},
               {15, 308, 8},
               {16, 307, 16},
               {15, 309, 16},
               {18, 4932, 16},
               {19, 4931, 16},
               {33, 4931, 16},
               {33, 4932, 0},
               {34, 10, 0},
               {5, 5000, 0},
               {6, MPI_UNDEFINED, 4},
               {MPI_UNDEFINED, 38, 4},
               {MPI_UNDEFINED, 39, 8},
               {MPI_UNDEFINED, 308, 8},
               {MPI_UNDEFINED, 309, 16},
               {MPI_UNDEFINED, 4932, 16},
               {MPI_UNDEFINED, 4933, 0},
               {7, MPI_UNDEFINED, 8},
               {15, MPI_UNDEFINED, 8},
               {16, MPI_UNDEFINED, 16},
               {33, MPI_UNDEFINED, 16},
               {34, MPI_UNDEFINED, 0},
               {19, 4932, 0}};
  MPI_Datatype type, again;
  int size, digits[2], counts[3], combiner;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
    if (integers[i][1] == 0) {
      EXPECT(MPI_ERR_ARG, MPI_Type_create_f90_integer(integers[i][0], &type));
      continue;
    }
    MPI_Type_create_f90_integer(integers[i][0], &type);
    MPI_Type_size(type, &size);
    MPI_Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &combiner);
    CHECK(size == integers[i][1] && combiner == MPI_COMBINER_F90_INTEGER && counts[0] == 1 &&
          counts[1] == 0 && counts[2] == 0);
    MPI_Type_get_contents(type, 1, 0, 0, digits, NULL, NULL);
    CHECK(digits[0] == integers[i][0]);
  }
  for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
    if (reals[i].bytes == 0) {
      EXPECT(MPI_ERR_ARG, MPI_Type_create_f90_real(reals[i].digits, reals[i].exponent, &type));
      EXPECT(MPI_ERR_ARG, MPI_Type_create_f90_complex(reals[i].digits, reals[i].exponent, &type));
      continue;
    }
    MPI_Type_create_f90_real(reals[i].digits, reals[i].exponent, &type);
    MPI_Type_size(type, &size);
    CHECK(size == reals[i].bytes);
    MPI_Type_create_f90_real(reals[i].digits, reals[i].exponent, &again);
    CHECK(type == again);
    MPI_Type_create_f90_complex(reals[i].digits, reals[i].exponent, &again);
    MPI_Type_size(again, &size);
    CHECK(again != type && size == 2 * reals[i].bytes);
    MPI_Type_get_contents(again, 2, 0, 0, digits, NULL, NULL);
    CHECK(digits[0] == reals[i].digits && digits[1] == reals[i].exponent);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void digits_differ(void) {
  MPI_Datatype one, other;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Type_create_f90_real(6, 30, &one);
  MPI_Type_create_f90_real(6, 31, &other);
  CHECK(one != other);
  MPI_Type_create_f90_real(5, 30, &other);
  CHECK(one != other);
  EXPECT(MPI_ERR_TYPE, MPI_Type_free(&one));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Types of digits are never freed, so there is an end of them. Earlier ones are still found. */
static void digits_end(void) {
  enum { DIGITS = 30, EXPONENTS = 30 };
  static MPI_Datatype made[DIGITS][EXPONENTS];
  MPI_Datatype again;
  int ended = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int d = 0; d < DIGITS; d++)
    for (int e = 0; e < EXPONENTS; e++) {
      int error = MPI_Type_create_f90_real(d, e, &made[d][e]);
      if (error != MPI_SUCCESS) made[d][e] = MPI_DATATYPE_NULL, ended++;
      CHECK(error == (ended > 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS));
    }
  CHECK(ended > 0 && made[0][0] != MPI_DATATYPE_NULL);
  for (int d = 0; d < DIGITS; d++)
    for (int e = 0; e < EXPONENTS && made[d][e] != MPI_DATATYPE_NULL; e++)
      CHECK(MPI_Type_create_f90_real(d, e, &again) == MPI_SUCCESS && again == made[d][e]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- packing: all the room may be used, and no byte more */

static void packed_to_the_end(void) {
  int values[2] = {1, 2}, back[2] = {0, 0}, at = 4;
  char room[8] = {0};
  MPI_Aint place = 0;
  long double precise = 2, precise_back;
  unsigned char far[16], bytes[sizeof precise_back];
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Pack(values, 1, MPI_INT, room, 8, &at, MPI_COMM_WORLD) == MPI_SUCCESS && at == 8);
  CHECK(MPI_Pack(values, 0, MPI_INT, room, 8, &at, MPI_COMM_WORLD) == MPI_SUCCESS && at == 8);
  EXPECT(MPI_ERR_TRUNCATE, MPI_Pack(values, 1, MPI_CHAR, room, 8, &at, MPI_COMM_WORLD));
  at = 9;
  EXPECT(MPI_ERR_TRUNCATE, MPI_Pack(values, 0, MPI_INT, room, 8, &at, MPI_COMM_WORLD));
  at = 0;
  EXPECT(MPI_ERR_TRUNCATE, MPI_Pack(values, 1, MPI_CHAR, room, -1, &at, MPI_COMM_WORLD));
  EXPECT(MPI_ERR_TRUNCATE, MPI_Unpack(room, -1, &at, values, 1, MPI_CHAR, MPI_COMM_WORLD));
  EXPECT(MPI_ERR_TRUNCATE, MPI_Unpack(room, 7, &at, back, 2, MPI_INT, MPI_COMM_WORLD));
  CHECK(at == 0 && back[0] == 0 && back[1] == 0);
  CHECK(MPI_Pack_external("external32", values, 2, MPI_INT, room, 8, &place) == MPI_SUCCESS);
  CHECK(place == 8);
  CHECK(MPI_Pack_external("external32", values, 0, MPI_INT, room, 8, &place) == MPI_SUCCESS);
  EXPECT(MPI_ERR_TRUNCATE, MPI_Pack_external("external32", values, 1, MPI_CHAR, room, 8, &place));
  place = 9;
  EXPECT(MPI_ERR_TRUNCATE, MPI_Pack_external("external32", values, 0, MPI_CHAR, room, 8, &place));
  place = -1;
  EXPECT(MPI_ERR_ARG, MPI_Unpack_external("external32", room, 8, &place, back, 1, MPI_INT));
  place = 0;
  EXPECT(MPI_ERR_ARG, MPI_Unpack_external(NULL, room, 8, &place, back, 1, MPI_INT));
  CHECK(MPI_Unpack_external("external32", room, 8, &place, back, 2, MPI_INT) == MPI_SUCCESS);
  CHECK(place == 8 && back[0] == 1 && back[1] == 2);
  place = 0;
  MPI_Pack_external("external32", &precise, 1, MPI_LONG_DOUBLE, far, sizeof far, &place);
  place = 0;
  MPI_Unpack_external("external32", far, sizeof far, &place, &precise_back, 1, MPI_LONG_DOUBLE);
  memcpy(bytes, &precise_back, sizeof bytes);
  CHECK(precise_back == 2);
  for (size_t i = 10; i < sizeof bytes; i++) CHECK(bytes[i] == 0); /* which the number has not */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  if (size > 1) column_to_row(rank);
  structure(rank);
  subarray(rank);
  large(rank, size);
  predefined();
  rounded();
  bounds_of_parts();
  copies();
  named();
  found_by_size();
  found_by_digits();
  digits_differ();
  digits_end();
  packed_to_the_end();
  MPI_Finalize();
  return 0;
}
