/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of types, and references to them. */
#include <stdlib.h>

#include "base/atomic.h"
#include "tmpi/layout/predefined.h"
#include "tmpi/layout/recipe.h"
#include "tmpi/layout/type.h"
#include "tmpi/rank/handle.h"

enum { HANDLE_LIMIT = 0x1000 }; /* no object lies below; predefined handles do */

struct tm_type *tm_type_of(MPI_Datatype handle) {
  uintptr_t value = (uintptr_t)handle;
  if (value < HANDLE_LIMIT) return tm_type_predefined(value);
  if (!tm_handle_is_address(handle)) return NULL;
  struct tm_type *type = (struct tm_type *)handle;
  return type->magic == TM_TYPE_MAGIC ? type : NULL;
}

MPI_Datatype tm_type_handle(const struct tm_type *type) {
  return type->predefined ? tm_type_predefined_handle(type) : (MPI_Datatype)(uintptr_t)type;
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
