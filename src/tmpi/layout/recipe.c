/* SPDX-License-Identifier: Apache-2.0 */
/* How a type was made, for MPI_Type_get_contents(). */
#include "tmpi/layout/recipe.h"

#include <stdlib.h>

/* @return array with room for one more behind `count`; NULL: no memory. Grows by doubling. */
static void *grow(void *array, MPI_Count count, size_t size) {
  bool full = count == 0 || (count & (count - 1)) == 0;
  return full ? realloc(array, (count == 0 ? 1 : 2 * (size_t)count) * size) : array;
}

void tm_recipe_integer(struct tm_recipe *recipe, int integer) {
  int *more = recipe->failed ? NULL : grow(recipe->integers, recipe->integer_count, sizeof *more);
  recipe->failed = more == NULL;
  if (more == NULL) return;
  recipe->integers = more;
  more[recipe->integer_count++] = integer;
}

static void put_large(struct tm_recipe *recipe, MPI_Count count) {
  MPI_Count *more =
      recipe->failed ? NULL : grow(recipe->large_counts, recipe->large_count, sizeof *more);
  recipe->failed = more == NULL;
  if (more == NULL) return;
  recipe->large_counts = more;
  more[recipe->large_count++] = count;
}

void tm_recipe_count(struct tm_recipe *recipe, bool large, MPI_Count count) {
  if (large)
    put_large(recipe, count);
  else
    tm_recipe_integer(recipe, (int)count);
}

void tm_recipe_counts(struct tm_recipe *recipe, bool large, MPI_Count number,
                      struct tm_counts counts) {
  for (MPI_Count i = 0; i < number; i++) tm_recipe_count(recipe, large, tm_counts_at(counts, i));
}

void tm_recipe_address(struct tm_recipe *recipe, bool large, MPI_Aint address) {
  if (large) {
    put_large(recipe, address);
    return;
  }
  MPI_Aint *more =
      recipe->failed ? NULL : grow(recipe->addresses, recipe->address_count, sizeof *more);
  recipe->failed = more == NULL;
  if (more == NULL) return;
  recipe->addresses = more;
  more[recipe->address_count++] = address;
}

void tm_recipe_type(struct tm_recipe *recipe, struct tm_type *type) {
  struct tm_type **more =
      recipe->failed ? NULL : grow(recipe->types, recipe->type_count, sizeof(struct tm_type *));
  recipe->failed = more == NULL;
  if (more == NULL) return;
  recipe->types = more;
  more[recipe->type_count++] = type;
  tm_type_hold(type);
}

void tm_recipe_empty(struct tm_recipe *recipe) {
  for (MPI_Count i = 0; i < recipe->type_count; i++) tm_type_release(recipe->types[i]);
  free(recipe->integers);
  free(recipe->addresses);
  free(recipe->large_counts);
  free(recipe->types);
}
