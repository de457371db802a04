/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file derive.h
 * What the calls that make datatypes share.
 */
#ifndef TM_DATATYPE_DERIVE_H
#define TM_DATATYPE_DERIVE_H

#include "tmpi/layout/counts.h"
#include "tmpi/layout/recipe.h"
#include "tmpi/layout/type.h"

/** A call that makes a type. large: its counts and displacements are 64 bits wide (_c), and
 * MPI_Type_get_contents_c() tells them as large counts. */
struct tm_maker {
  const char *call;
  bool large;
};

/** Looks a handle up. @return MPI_SUCCESS or what tm_fail() returned. */
int tm_derive_get(const char *call, MPI_Datatype handle, struct tm_type **type);

/** Neither the count nor a length (or there are none) may be negative. */
int tm_derive_check(const char *call, MPI_Count count, struct tm_counts lengths);

/** Gives a finished type its handle. ok false: there was no memory for it; type may be NULL then.
 */
int tm_derive_end(const char *call, struct tm_type *type, bool ok, MPI_Datatype *result);

#endif
