/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file derive.h
 * What the calls that make datatypes share.
 */
#ifndef TM_DT_DERIVE_H
#define TM_DT_DERIVE_H

#include "tmpi/dt/type.h"
#include "tmpi/mpi/attribute.h"

/** What MPI_Type_get_contents() will tell. */
struct tm_recipe {
  const int *integers;
  int integer_count;
  const MPI_Aint *addresses;
  int address_count;
  struct tm_type *const *types;
  int type_count;
};

/** Looks a handle up. @return MPI_SUCCESS or what tm_fail() returned. */
int tm_derive_get(const char *call, MPI_Datatype handle, struct tm_type **type);

/** Neither the count nor a length (NULL: none) may be negative. */
int tm_derive_check(const char *call, int count, const int *lengths);

/** Gives a finished type its recipe and its handle; NULL type: there was no memory. */
int tm_derive_end(const char *call, struct tm_type *type, const struct tm_recipe *recipe,
                  MPI_Datatype *result);

#endif
