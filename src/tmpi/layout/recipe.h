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

#endif
