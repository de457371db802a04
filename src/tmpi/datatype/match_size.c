/* SPDX-License-Identifier: Apache-2.0 */
/* Types found by what they are to hold: a size, a value with an index, decimal digits. */
#include <float.h>

#include "core/internal/locks.h"
#include "tmpi/datatype/derive.h"
#include "tmpi/error/errors.h"

#pragma weak MPI_Type_match_size = PMPI_Type_match_size
int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype *type) {
  static const struct {
    int typeclass, size;
    MPI_Datatype type;
  } table[] = {
      {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
      {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
      {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 4, MPI_REAL4},
      {MPI_TYPECLASS_REAL, 8, MPI_REAL8},         {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},
      {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16}, {MPI_TYPECLASS_REAL, 16, MPI_REAL16},
      {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
  };
  tm_enter("MPI_Type_match_size");
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (table[i].typeclass == typeclass && table[i].size == size) {
      *type = table[i].type;
      return MPI_SUCCESS;
    }
  return tm_fail(NULL, "MPI_Type_match_size", MPI_ERR_ARG, "no type of class %d has %d bytes",
                 typeclass, size);
}

#pragma weak MPI_Type_get_value_index = PMPI_Type_get_value_index
int PMPI_Type_get_value_index(MPI_Datatype value, MPI_Datatype index, MPI_Datatype *pair) {
  static const struct {
    MPI_Datatype value, index, pair;
  } table[] = {
      {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
      {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
      {MPI_LONG, MPI_INT, MPI_LONG_INT},
      {MPI_INT, MPI_INT, MPI_2INT},
      {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
      {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
      {MPI_REAL, MPI_REAL, MPI_2REAL},
      {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
      {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
  };
  struct tm_type *type;
  int error = tm_derive_get("MPI_Type_get_value_index", value, &type);
  if (error == MPI_SUCCESS) error = tm_derive_get("MPI_Type_get_value_index", index, &type);
  if (error != MPI_SUCCESS) return error;
  *pair = MPI_DATATYPE_NULL;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (table[i].value == value && table[i].index == index) *pair = table[i].pair;
  return MPI_SUCCESS;
}

/* ---- Fortran's types of a precision (decimal digits) and a range (a decimal exponent). The same
 * arguments give the same type, which is never freed. */

struct wanted {
  int combiner, precision, range;
  MPI_Datatype basic;
};

struct made {
  struct wanted of;
  MPI_Datatype type;
};

enum { MADE_MAX = 512 }; /* each needs a combination of few digits */

static struct {
  uint32_t ilock;
  int count; /* [ilock] */
  struct made of[MADE_MAX];
} f90;

static struct tm_type *make(const struct wanted *w) {
  struct tm_type *type = tm_type_new(w->combiner), *old = tm_type_of(w->basic);
  if (type == NULL || !tm_type_add(type, old, 0, 1)) return NULL;
  tm_type_finish(type, false);
  type->basic = old->basic;
  type->committed = type->lasting = true;
  if (w->combiner != MPI_COMBINER_F90_INTEGER) tm_recipe_integer(&type->recipe, w->precision);
  tm_recipe_integer(&type->recipe, w->range);
  return type->recipe.failed ? NULL : type;
}

static int find_or_make(const char *call, const struct wanted *w, MPI_Datatype *result) {
  struct tm_type *type = make(w); /* not under the internal lock; thrown away if there is one */
  if (type == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  *result = (MPI_Datatype)type;
  mti_lock(&f90.ilock);
  int i = 0;
  while (i < f90.count &&
         !(f90.of[i].of.combiner == w->combiner && f90.of[i].of.precision == w->precision &&
           f90.of[i].of.range == w->range))
    i++;
  bool found = i < f90.count, full = i == MADE_MAX;
  if (found) *result = f90.of[i].type;
  if (!found && !full) f90.of[f90.count++] = (struct made){*w, *result};
  mti_unlock(&f90.ilock);
  if (found || full) tm_type_release(type);
  return full && !found ? tm_fail_code(NULL, call, MPI_ERR_NO_MEM) : MPI_SUCCESS;
}

/* @return the row of a table that is precise enough and has the range, -1: none. */
static int fitting(int precision, int range) {
  static const struct {
    int precision, range;
  } reals[] = {{FLT_DIG, FLT_MAX_10_EXP},
               {DBL_DIG, DBL_MAX_10_EXP},
               {LDBL_DIG, LDBL_MAX_10_EXP},
               {33, 4931}}; /* of IEEE's quadruple precision */
  if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED) return -1;
  for (int i = 0; i < 4; i++)
    if (precision <= reals[i].precision && range <= reals[i].range) return i;
  return -1;
}

/* of: the types of those rows. */
static int create_f90(const char *call, int combiner, int precision, int range,
                      const MPI_Datatype *of, MPI_Datatype *result) {
  tm_enter(call);
  int row = fitting(precision, range);
  if (row < 0)
    return tm_fail(NULL, call, MPI_ERR_ARG, "no type has %d digits and exponents up to %d",
                   precision, range);
  return find_or_make(call, &(struct wanted){combiner, precision, range, of[row]}, result);
}

#pragma weak MPI_Type_create_f90_real = PMPI_Type_create_f90_real
int PMPI_Type_create_f90_real(int precision, int range, MPI_Datatype *result) {
  static const MPI_Datatype of[] = {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_REAL16};
  return create_f90("MPI_Type_create_f90_real", MPI_COMBINER_F90_REAL, precision, range, of,
                    result);
}

#pragma weak MPI_Type_create_f90_complex = PMPI_Type_create_f90_complex
int PMPI_Type_create_f90_complex(int precision, int range, MPI_Datatype *result) {
  static const MPI_Datatype of[] = {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX,
                                    MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX32};
  return create_f90("MPI_Type_create_f90_complex", MPI_COMBINER_F90_COMPLEX, precision, range, of,
                    result);
}

#pragma weak MPI_Type_create_f90_integer = PMPI_Type_create_f90_integer
int PMPI_Type_create_f90_integer(int range, MPI_Datatype *result) {
  static const char call[] = "MPI_Type_create_f90_integer";
  static const struct {
    int range;
    MPI_Datatype type;
  } table[] = {
      {2, MPI_INT8_T}, {4, MPI_INT16_T}, {9, MPI_INT32_T}, {18, MPI_INT64_T}, {38, MPI_INTEGER16}};
  tm_enter(call);
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (range <= table[i].range) {
      struct wanted wanted = {MPI_COMBINER_F90_INTEGER, 0, range, table[i].type};
      return find_or_make(call, &wanted, result);
    }
  return tm_fail(NULL, call, MPI_ERR_ARG, "no integer has %d decimal digits", range);
}
