/* SPDX-License-Identifier: Apache-2.0 */
#include "tmpi/rma/element.h"

#include "tmpi/layout/recipe.h"

struct tm_type *tm_type_element_of_derived(struct tm_type *type) {
  if (type->lasting) return type;
  struct tm_type *element = NULL;
  for (MPI_Count i = 0; i < tm_recipe_parts(type); i++) {
    struct tm_type *part = type->recipe.types[i];
    if (part->size == 0) continue;
    struct tm_type *found = tm_type_element(part);
    if (found == NULL || (element != NULL && !tm_element_same(found, element))) return NULL;
    element = found;
  }
  return element;
}
