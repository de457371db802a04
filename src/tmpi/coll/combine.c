/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of predefined operations, one for each operation and basic type. */
#include <complex.h>

#include "tmpi/coll/op.h"

/* Numbers of 16 bytes. Elements may lie anywhere in a message, and the compiler's moves for these
 * types fault at addresses that are no multiple of 16. */
typedef __float128 quad __attribute__((aligned(1)));
typedef __int128 wide __attribute__((aligned(1)));
typedef unsigned __int128 unsigned_wide __attribute__((aligned(1)));
struct quad_complex {
  quad re, im;
};

/* A function that combines a, of the lower rank, with b. The compiler makes vectors of it, since
 * MPI forbids that the operands overlap, and CMakeLists.txt asks for that here. The elements of a
 * message may have any address. A type cannot stand in brackets:
 * NOLINTBEGIN(bugprone-macro-parentheses) */
#define LOOP(name, type, expression)                                                               \
  static void name(const void *in, void *inout, size_t count) {                                    \
    typedef type element __attribute__((aligned(1)));                                              \
    const element *restrict from = in;                                                             \
    element *restrict to = inout;                                                                  \
    for (size_t i = 0; i < count; i++) {                                                           \
      type a = from[i], b = to[i];                                                                 \
      to[i] = (expression);                                                                        \
    }                                                                                              \
  }

/* NOLINTEND(bugprone-macro-parentheses) */

#define ORDERED(suffix, type)                                                                      \
  LOOP(sum_##suffix, type, a + b)                                                                  \
  LOOP(prod_##suffix, type, a *b)                                                                  \
  LOOP(min_##suffix, type, a < b ? a : b)                                                          \
  LOOP(max_##suffix, type, a > b ? a : b)

#define LOGICAL(suffix, type)                                                                      \
  LOOP(land_##suffix, type, a &&b)                                                                 \
  LOOP(lor_##suffix, type, a || b)                                                                 \
  LOOP(lxor_##suffix, type, !a != !b)

#define BITS(suffix, type)                                                                         \
  LOOP(band_##suffix, type, a &b)                                                                  \
  LOOP(bor_##suffix, type, a | b)                                                                  \
  LOOP(bxor_##suffix, type, a ^ b)

/* Sums, products and bits of larger signed integers are those of the unsigned ones: they wrap. */
#define INTEGER(suffix, type) ORDERED(suffix, type) LOGICAL(suffix, type) BITS(suffix, type)

INTEGER(i8, int8_t)
INTEGER(i16, int16_t)
INTEGER(u8, uint8_t)
INTEGER(u16, uint16_t)
INTEGER(u32, uint32_t)
INTEGER(u64, uint64_t)
LOOP(sum_u128, unsigned_wide, a + b)
LOOP(prod_u128, unsigned_wide, a *b)
LOGICAL(u128, unsigned_wide)
BITS(u128, unsigned_wide)
LOOP(min_i32, int32_t, a < b ? a : b)
LOOP(max_i32, int32_t, a > b ? a : b)
LOOP(min_i64, int64_t, a < b ? a : b)
LOOP(max_i64, int64_t, a > b ? a : b)
LOOP(min_i128, wide, a < b ? a : b)
LOOP(max_i128, wide, a > b ? a : b)
ORDERED(f32, float)
ORDERED(f64, double)
ORDERED(f80, long double)
ORDERED(f128, quad)
LOOP(sum_c32, float complex, a + b)
LOOP(prod_c32, float complex, a *b)
LOOP(sum_c64, double complex, a + b)
LOOP(prod_c64, double complex, a *b)
LOOP(sum_c80, long double complex, a + b)
LOOP(prod_c80, long double complex, a *b)
LOOP(sum_c128, struct quad_complex, ((struct quad_complex){a.re + b.re, a.im + b.im}))
LOOP(prod_c128, struct quad_complex,
     ((struct quad_complex){a.re * b.re - a.im * b.im, a.re *b.im + a.im *b.re}))

/* The smaller value wins, and of equal ones that with the smaller index. */
#define PAIR(suffix, value_type, index_type)                                                       \
  struct pair_##suffix {                                                                           \
    value_type value;                                                                              \
    index_type index;                                                                              \
  };                                                                                               \
  LOOP(minloc_##suffix, struct pair_##suffix,                                                      \
       a.value < b.value || (a.value == b.value && a.index < b.index) ? a : b)                     \
  LOOP(maxloc_##suffix, struct pair_##suffix,                                                      \
       a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b)

PAIR(float_int, float, int)
PAIR(double_int, double, int)
PAIR(long_int, long, int)
PAIR(int_int, int, int)
PAIR(short_int, short, int)
PAIR(long_double_int, long double, int)
PAIR(float_float, float, float)
PAIR(double_double, double, double)

enum { BASICS = TM_DOUBLE_DOUBLE + 1 };

tm_combine *tm_combine_of(MPI_Op handle, enum tm_basic basic) {
#define INTEGER_ROW(op, name)                                                                      \
  [TM_INT8] = name##_i8, [TM_INT16] = name##_i16, [TM_INT32] = name##_##op##32,                    \
  [TM_INT64] = name##_##op##64, [TM_INT128] = name##_##op##128, [TM_UINT8] = name##_u8,            \
  [TM_UINT16] = name##_u16, [TM_UINT32] = name##_u32, [TM_UINT64] = name##_u64
#define FLOAT_ROW(name)                                                                            \
  [TM_FLOAT] = name##_f32, [TM_DOUBLE] = name##_f64, [TM_LONG_DOUBLE] = name##_f80,                \
  [TM_QUAD] = name##_f128
#define COMPLEX_ROW(name)                                                                          \
  [TM_COMPLEX] = name##_c32, [TM_DOUBLE_COMPLEX] = name##_c64,                                     \
  [TM_LONG_DOUBLE_COMPLEX] = name##_c80, [TM_QUAD_COMPLEX] = name##_c128
#define PAIR_ROW(name)                                                                             \
  [TM_FLOAT_INT] = name##_float_int, [TM_DOUBLE_INT] = name##_double_int,                          \
  [TM_LONG_INT] = name##_long_int, [TM_INT_INT] = name##_int_int,                                  \
  [TM_SHORT_INT] = name##_short_int, [TM_LONG_DOUBLE_INT] = name##_long_double_int,                \
  [TM_FLOAT_FLOAT] = name##_float_float, [TM_DOUBLE_DOUBLE] = name##_double_double
#define LOGICAL_ROW(name) INTEGER_ROW(u, name), [TM_BOOL] = name##_u8, [TM_LOGICAL] = name##_u32
  static tm_combine *const sum[BASICS] = {INTEGER_ROW(u, sum), FLOAT_ROW(sum), COMPLEX_ROW(sum)};
  static tm_combine *const prod[BASICS] = {INTEGER_ROW(u, prod), FLOAT_ROW(prod),
                                           COMPLEX_ROW(prod)};
  static tm_combine *const min[BASICS] = {INTEGER_ROW(i, min), FLOAT_ROW(min)};
  static tm_combine *const max[BASICS] = {INTEGER_ROW(i, max), FLOAT_ROW(max)};
  static tm_combine *const land[BASICS] = {LOGICAL_ROW(land)};
  static tm_combine *const lor[BASICS] = {LOGICAL_ROW(lor)};
  static tm_combine *const lxor[BASICS] = {LOGICAL_ROW(lxor)};
  static tm_combine *const band[BASICS] = {INTEGER_ROW(u, band), [TM_BYTE] = band_u8};
  static tm_combine *const bor[BASICS] = {INTEGER_ROW(u, bor), [TM_BYTE] = bor_u8};
  static tm_combine *const bxor[BASICS] = {INTEGER_ROW(u, bxor), [TM_BYTE] = bxor_u8};
  static tm_combine *const minloc[BASICS] = {PAIR_ROW(minloc)};
  static tm_combine *const maxloc[BASICS] = {PAIR_ROW(maxloc)};
  if (handle == MPI_SUM) return sum[basic];
  if (handle == MPI_PROD) return prod[basic];
  if (handle == MPI_MIN) return min[basic];
  if (handle == MPI_MAX) return max[basic];
  if (handle == MPI_LAND) return land[basic];
  if (handle == MPI_LOR) return lor[basic];
  if (handle == MPI_LXOR) return lxor[basic];
  if (handle == MPI_BAND) return band[basic];
  if (handle == MPI_BOR) return bor[basic];
  if (handle == MPI_BXOR) return bxor[basic];
  if (handle == MPI_MINLOC) return minloc[basic];
  if (handle == MPI_MAXLOC) return maxloc[basic];
  return NULL;
}
