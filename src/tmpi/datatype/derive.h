/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file derive.h
 * What the calls that make datatypes share.
 */
#ifndef TM_DATATYPE_DERIVE_H
#define TM_DATATYPE_DERIVE_H

#include "tmpi/attr/attribute.h"
#include "tmpi/layout/counts.h"
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

/* ---- the recipe, in the order in which MPI_Type_get_contents() tells it. Each does nothing once
 * memory has run out, which tm_derive_end() tells. */
void tm_recipe_integer(struct tm_recipe *recipe, int integer);
void tm_recipe_count(struct tm_recipe *recipe, bool large, MPI_Count count);
void tm_recipe_counts(struct tm_recipe *recipe, bool large, MPI_Count number,
                      struct tm_counts counts);
/** A number of bytes. */
void tm_recipe_address(struct tm_recipe *recipe, bool large, MPI_Aint address);
/** Holds the type. */
void tm_recipe_type(struct tm_recipe *recipe, struct tm_type *type);
void tm_recipe_empty(struct tm_recipe *recipe);

/** Gives a finished type its handle. ok false: there was no memory for it; type may be NULL then.
 */
int tm_derive_end(const char *call, struct tm_type *type, bool ok, MPI_Datatype *result);

#endif
