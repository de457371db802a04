/* SPDX-License-Identifier: Apache-2.0 */
/* Predefined operations on all types they are for, against small numbers. */
#include <complex.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"

enum { ROOM = 64 };

/* A type, with 6 and 3 in it, or what they give. */
struct number {
  MPI_Datatype type;
  size_t size;
  void (*put)(void *at, int value);
};

#define PUT(name, type) /* puts a small number */                                                  \
  static void put_##name(void *at, int value) {                                                    \
    type number = (type)value;                                                                     \
    memcpy(at, &number, sizeof number);                                                            \
  }
PUT(i8, int8_t)
PUT(i16, int16_t)
PUT(i32, int32_t)
PUT(i64, int64_t)
PUT(f32, float)
PUT(f64, double)
PUT(f80, long double)
PUT(i128, __int128)
PUT(f128, __float128)
PUT(c32, float complex)
PUT(c64, double complex)
PUT(c80, long double complex)

static void put_c128(void *at, int value) {
  __float128 number[2] = {value, 0};
  memcpy(at, number, sizeof number);
}

static const struct number integers[] = {
    {MPI_INT8_T, 1, put_i8},      {MPI_INT16_T, 2, put_i16},  {MPI_INT32_T, 4, put_i32},
    {MPI_INT64_T, 8, put_i64},    {MPI_UINT8_T, 1, put_i8},   {MPI_UINT16_T, 2, put_i16},
    {MPI_UINT32_T, 4, put_i32},   {MPI_UINT64_T, 8, put_i64}, {MPI_LONG, 8, put_i64},
    {MPI_UNSIGNED, 4, put_i32},   {MPI_INTEGER, 4, put_i32},  {MPI_AINT, 8, put_i64},
    {MPI_INTEGER16, 16, put_i128}};
static const struct number reals[] = {{MPI_FLOAT, 4, put_f32},
                                      {MPI_DOUBLE, 8, put_f64},
                                      {MPI_LONG_DOUBLE, 10, put_f80},
                                      {MPI_REAL16, 16, put_f128}};
static const struct number complexes[] = {{MPI_C_FLOAT_COMPLEX, 8, put_c32},
                                          {MPI_C_DOUBLE_COMPLEX, 16, put_c64},
                                          {MPI_C_LONG_DOUBLE_COMPLEX, 10, put_c80},
                                          {MPI_COMPLEX32, 32, put_c128}};

/* 6 op 3 gives `result`. */
static void gives(const struct number *of, MPI_Op op, int result) {
  char in[ROOM] = {0}, inout[ROOM] = {0}, expected[ROOM] = {0};
  of->put(in, 6);
  of->put(inout, 3);
  of->put(expected, result);
  MPI_Reduce_local(in, inout, 1, of->type, op);
  CHECK(memcmp(inout, expected, of->size) == 0);
}

static void arithmetic(const struct number *of, bool ordered) {
  gives(of, MPI_SUM, 9);
  gives(of, MPI_PROD, 18);
  if (ordered) gives(of, MPI_MIN, 3);
  if (ordered) gives(of, MPI_MAX, 6);
}

static void bits(const struct number *of) {
  gives(of, MPI_BAND, 6 & 3);
  gives(of, MPI_BOR, 6 | 3);
  gives(of, MPI_BXOR, 6 ^ 3);
  gives(of, MPI_LAND, 1);
  gives(of, MPI_LOR, 1);
  gives(of, MPI_LXOR, 0);
}

/* The value decides; of equal ones the smaller index. */
#define PAIR(name, handle, value_type, index_type)                                                 \
  static void name(void) {                                                                         \
    struct {                                                                                       \
      value_type value;                                                                            \
      index_type index;                                                                            \
    } in[3] = {{6, 1}, {3, 2}, {5, 7}}, low[3] = {{3, 9}, {6, 9}, {5, 4}}, high[3];                \
    memcpy(high, low, sizeof high);                                                                \
    MPI_Reduce_local(in, low, 3, handle, MPI_MINLOC);                                              \
    MPI_Reduce_local(in, high, 3, handle, MPI_MAXLOC);                                             \
    CHECK(low[0].value == 3 && low[0].index == 9 && low[1].value == 3 && low[1].index == 2);       \
    CHECK(high[0].value == 6 && high[0].index == 1 && high[1].value == 6 && high[1].index == 9);   \
    CHECK(low[2].index == 4 && high[2].index == 4);                                                \
  }
PAIR(float_int, MPI_FLOAT_INT, float, int)
PAIR(double_int, MPI_DOUBLE_INT, double, int)
PAIR(long_int, MPI_LONG_INT, long, int)
PAIR(int_int, MPI_2INT, int, int)
PAIR(short_int, MPI_SHORT_INT, short, int)
PAIR(long_double_int, MPI_LONG_DOUBLE_INT, long double, int)
PAIR(float_float, MPI_2REAL, float, float)
PAIR(double_double, MPI_2DOUBLE_PRECISION, double, double)

/* A pair of different sizes may not be one block: what is sent arrives. */
static void moved(void) {
  struct {
    long double value;
    int index;
  } out = {2.5L, 7}, in = {0, 0};
  MPI_Sendrecv(&out, 1, MPI_LONG_DOUBLE_INT, 0, 0, &in, 1, MPI_LONG_DOUBLE_INT, 0, 0, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  CHECK(in.value == 2.5L && in.index == 7);
}

/* Loops take several elements at a time: any number of them, at any address, and none beyond. */
static void many(const struct number *of) {
  enum { MOST = 67, SHIFTS = 3 };
  static char in[MOST * ROOM], inout[MOST * ROOM];
  char expected[ROOM], beyond[ROOM];
  of->put(expected, 9);
  of->put(beyond, 3);
  for (size_t shift = 0; shift < SHIFTS; shift++) {
    for (size_t count = 0; count < MOST; count++) {
      for (size_t i = 0; i < MOST - 1; i++) {
        of->put(in + shift + i * of->size, 6);
        of->put(inout + shift + i * of->size, 3);
      }
      MPI_Reduce_local(in + shift, inout + shift, (int)count, of->type, MPI_SUM);
      for (size_t i = 0; i < MOST - 1; i++)
        CHECK(memcmp(inout + shift + i * of->size, i < count ? expected : beyond, of->size) == 0);
    }
  }
}

int main(int argc, char **argv) {
  int commute;
  MPI_Init(&argc, &argv);
  for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
    arithmetic(&integers[i], true);
    bits(&integers[i]);
    many(&integers[i]);
  }
  for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
    arithmetic(&reals[i], true);
    if (reals[i].type != MPI_LONG_DOUBLE) many(&reals[i]); /* has bytes that mean nothing */
  }
  for (size_t i = 0; i < sizeof complexes / sizeof complexes[0]; i++)
    arithmetic(&complexes[i], false);
  float_int(), double_int(), long_int(), int_int();
  short_int(), long_double_int(), float_float(), double_double();
  moved();
  MPI_Op_commutative(MPI_SUM, &commute);
  CHECK(commute);
  MPI_Finalize();
  return 0;
}
