/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file recipe.h
 * How a type was made, put together in the order in which MPI_Type_get_contents() returns it. Each
 * function does nothing once memory has run out; `failed` says so.
 */
#ifndef TM_LAYOUT_RECIPE_H
#define TM_LAYOUT_RECIPE_H

#include "tmpi/layout/counts.h"
#include "tmpi/layout/type.h"

void tm_recipe_integer(struct tm_recipe *recipe, int integer);
void tm_recipe_count(struct tm_recipe *recipe, bool large, MPI_Count count);
void tm_recipe_counts(struct tm_recipe *recipe, bool large, MPI_Count number,
                      struct tm_counts counts);
/** A number of bytes. */
void tm_recipe_address(struct tm_recipe *recipe, bool large, MPI_Aint address);
/** Holds the type. */
void tm_recipe_type(struct tm_recipe *recipe, struct tm_type *type);
void tm_recipe_empty(struct tm_recipe *recipe);

/** @return how many types a derived type is made of: only structures have several; the others'
 * recipes may list more than elements. */
static inline MPI_Count tm_recipe_parts(const struct tm_type *type) {
  MPI_Count count = type->recipe.type_count;
  return type->combiner == MPI_COMBINER_STRUCT || count == 0 ? count : 1;
}

/** @return how many elements of part i an element has. */
static inline size_t tm_recipe_repeats(const struct tm_type *type, MPI_Count i) {
  const struct tm_recipe *recipe = &type->recipe;
  if (type->combiner != MPI_COMBINER_STRUCT)
    return recipe->types[0]->size > 0 ? type->size / recipe->types[0]->size : 0;
  return recipe->large_count > 0 ? (size_t)recipe->large_counts[1 + i]
                                 : (size_t)recipe->integers[1 + i];
}

#endif
