/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of types, and references to them. */
#include <stdlib.h>

#include "base/atomic.h"
#include "tmpi/layout/recipe.h"
#include "tmpi/layout/type.h"

MPI_Datatype tm_type_handle(const struct tm_type *type) {
  if (!type->predefined) return (MPI_Datatype)(uintptr_t)type;
  return (MPI_Datatype)(uintptr_t)(TM_PREDEFINED_FIRST + (type - tm_predefined));
}

void tm_type_hold(struct tm_type *type) {
  if (!type->predefined) mt_add_relaxed(&type->refs, 1); /* relaxed: the caller has one */
}

void tm_type_release(struct tm_type *type) {
  /* DT-1 acq_rel: all uses are over; pairs DT-1 */
  if (type->predefined || mt_add_acq_rel(&type->refs, (uint32_t)-1) != 1) return;
  tm_recipe_empty(&type->recipe);
  free(type->blocks);
  free(type->runs);
  free(type->name);
  type->magic = 0;
  free(type);
}
