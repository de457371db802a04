/* SPDX-License-Identifier: Apache-2.0 */
/* The table of predefined types. */
#include "tmpi/layout/predefined.h"

#include <complex.h>
#include <stdalign.h>
#include <wchar.h>

#include "tmpi/mpi.h"

enum { PARTS_MAX = 2 };

struct row {
  MPI_Datatype handle;
  const char *name;
  enum tm_basic basic;
  size_t size, align;    /* of the first part */
  size_t second, extent; /* of a pair: size of its second part, and sizeof the structure */
};

#define ROW(name, basic, type)                                                                     \
  {MPI_##name, "MPI_" #name, basic, sizeof(type), alignof(type), 0, sizeof(type)}
#define PAIR(name, basic, a, b)                                                                    \
  {MPI_##name, "MPI_" #name, basic, sizeof(a), alignof(a), sizeof(b), sizeof(struct {              \
     a first;                                                                                      \
     b second;                                                                                     \
   })}

struct quad_complex {
  __float128 real, imaginary;
};

/* MPI_CHAR is text to the standard, but other libraries do arithmetic with it too. */
static const struct row rows[] = {
    ROW(AINT, TM_INT64, MPI_Aint),
    ROW(COUNT, TM_INT64, MPI_Count),
    ROW(OFFSET, TM_INT64, MPI_Offset),
    ROW(PACKED, TM_BYTE, char),
    ROW(SHORT, TM_INT16, short),
    ROW(INT, TM_INT32, int),
    ROW(LONG, TM_INT64, long),
    ROW(LONG_LONG, TM_INT64, long long),
    ROW(UNSIGNED_SHORT, TM_UINT16, short),
    ROW(UNSIGNED, TM_UINT32, int),
    ROW(UNSIGNED_LONG, TM_UINT64, long),
    ROW(UNSIGNED_LONG_LONG, TM_UINT64, long long),
    ROW(FLOAT, TM_FLOAT, float),
    ROW(C_COMPLEX, TM_COMPLEX, float complex),
    ROW(CXX_FLOAT_COMPLEX, TM_COMPLEX, float complex),
    ROW(DOUBLE, TM_DOUBLE, double),
    ROW(C_DOUBLE_COMPLEX, TM_DOUBLE_COMPLEX, double complex),
    ROW(CXX_DOUBLE_COMPLEX, TM_DOUBLE_COMPLEX, double complex),
    ROW(LOGICAL, TM_LOGICAL, int),
    ROW(INTEGER, TM_INT32, int),
    ROW(REAL, TM_FLOAT, float),
    ROW(COMPLEX, TM_COMPLEX, float complex),
    ROW(DOUBLE_PRECISION, TM_DOUBLE, double),
    ROW(DOUBLE_COMPLEX, TM_DOUBLE_COMPLEX, double complex),
    ROW(CHARACTER, TM_CHARACTER, char),
    ROW(LONG_DOUBLE, TM_LONG_DOUBLE, long double),
    ROW(C_LONG_DOUBLE_COMPLEX, TM_LONG_DOUBLE_COMPLEX, long double complex),
    ROW(CXX_LONG_DOUBLE_COMPLEX, TM_LONG_DOUBLE_COMPLEX, long double complex),
    PAIR(FLOAT_INT, TM_FLOAT_INT, float, int),
    PAIR(DOUBLE_INT, TM_DOUBLE_INT, double, int),
    PAIR(LONG_INT, TM_LONG_INT, long, int),
    PAIR(2INT, TM_INT_INT, int, int),
    PAIR(SHORT_INT, TM_SHORT_INT, short, int),
    PAIR(LONG_DOUBLE_INT, TM_LONG_DOUBLE_INT, long double, int),
    PAIR(2REAL, TM_FLOAT_FLOAT, float, float),
    PAIR(2DOUBLE_PRECISION, TM_DOUBLE_DOUBLE, double, double),
    PAIR(2INTEGER, TM_INT_INT, int, int),
    ROW(C_BOOL, TM_BOOL, _Bool),
    ROW(CXX_BOOL, TM_BOOL, _Bool),
    ROW(WCHAR, TM_CHARACTER, wchar_t),
    ROW(INT8_T, TM_INT8, int8_t),
    ROW(UINT8_T, TM_UINT8, uint8_t),
    ROW(CHAR, TM_INT8, char),
    ROW(SIGNED_CHAR, TM_INT8, char),
    ROW(UNSIGNED_CHAR, TM_UINT8, char),
    ROW(BYTE, TM_BYTE, char),
    ROW(INT16_T, TM_INT16, int16_t),
    ROW(UINT16_T, TM_UINT16, uint16_t),
    ROW(INT32_T, TM_INT32, int32_t),
    ROW(UINT32_T, TM_UINT32, uint32_t),
    ROW(INT64_T, TM_INT64, int64_t),
    ROW(UINT64_T, TM_UINT64, uint64_t),
    ROW(INTEGER1, TM_INT8, int8_t),
    ROW(INTEGER2, TM_INT16, int16_t),
    ROW(INTEGER4, TM_INT32, int32_t),
    ROW(INTEGER8, TM_INT64, int64_t),
    ROW(INTEGER16, TM_INT128, __int128),
    ROW(LOGICAL4, TM_LOGICAL, int32_t),
    ROW(REAL4, TM_FLOAT, float),
    ROW(REAL8, TM_DOUBLE, double),
    ROW(REAL16, TM_QUAD, __float128),
    ROW(COMPLEX8, TM_COMPLEX, float complex),
    ROW(COMPLEX16, TM_DOUBLE_COMPLEX, double complex),
    ROW(COMPLEX32, TM_QUAD_COMPLEX, struct quad_complex),
};

struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_block blocks[TM_PREDEFINED_COUNT][PARTS_MAX];
static struct tm_run runs[TM_PREDEFINED_COUNT][PARTS_MAX];

static enum tm_external external_of_size(size_t size) {
  return size == 1   ? TM_EXT_1
         : size == 2 ? TM_EXT_2
         : size == 4 ? TM_EXT_4
         : size == 8 ? TM_EXT_8
                     : TM_EXT_16;
}

/* Of the first part. */
static enum tm_external external_of(const struct row *row) {
  if (row->handle == MPI_LONG || row->handle == MPI_LONG_INT) return TM_EXT_LONG;
  if (row->handle == MPI_UNSIGNED_LONG) return TM_EXT_ULONG;
  if (row->handle == MPI_WCHAR) return TM_EXT_WCHAR;
  switch (row->basic) {
    case TM_COMPLEX: return TM_EXT_4;
    case TM_DOUBLE_COMPLEX: return TM_EXT_8;
    case TM_QUAD_COMPLEX: return TM_EXT_16;
    case TM_LONG_DOUBLE:
    case TM_LONG_DOUBLE_COMPLEX:
    case TM_LONG_DOUBLE_INT: return TM_EXT_QUAD;
    default: return external_of_size(row->size);
  }
}

static void make(const struct row *row) {
  size_t index = (uintptr_t)row->handle - TM_PREDEFINED_FIRST;
  struct tm_type *type = &tm_predefined[index];
  size_t second_at = row->second == 0 || row->size % row->second == 0 ? row->size : row->second;
  type->magic = TM_TYPE_MAGIC;
  type->predefined = type->committed = true;
  type->basic = (uint8_t)row->basic;
  type->predefined_name = row->name;
  type->combiner = MPI_COMBINER_NAMED;
  type->size = row->size + row->second;
  type->ub = (ptrdiff_t)row->extent;
  type->true_ub = (ptrdiff_t)(row->second == 0 ? row->size : second_at + row->second);
  type->align = row->second > row->align ? row->second : row->align;
  type->repeats = type->run_repeats = 1;
  type->blocks = blocks[index];
  type->runs = runs[index];
  bool touching = second_at == row->size;
  blocks[index][0] = (struct tm_block){0, touching ? type->size : row->size, 1, 0};
  blocks[index][1] = (struct tm_block){(ptrdiff_t)second_at, row->second, 1, 0};
  type->block_count = touching ? 1 : 2;
  runs[index][0] = (struct tm_run){row->size, 1, external_of(row)};
  runs[index][1] = (struct tm_run){row->second, 1, external_of_size(row->second)};
  type->run_count = row->second == 0 ? 1 : 2;
  type->dense = touching && type->size == row->extent;
}

/* MPI_LB and MPI_UB have no data. */
static void make_marker(MPI_Datatype handle, const char *name) {
  struct tm_type *type = &tm_predefined[(uintptr_t)handle - TM_PREDEFINED_FIRST];
  *type = (struct tm_type){.magic = TM_TYPE_MAGIC,
                           .predefined = true,
                           .committed = true,
                           .lb_marked = handle == MPI_LB,
                           .ub_marked = handle == MPI_UB,
                           .align = 1,
                           .repeats = 1,
                           .run_repeats = 1,
                           .predefined_name = name,
                           .combiner = MPI_COMBINER_NAMED};
}

void tm_types_start(void) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) make(&rows[i]);
  make_marker(MPI_LB, "MPI_LB");
  make_marker(MPI_UB, "MPI_UB");
}
