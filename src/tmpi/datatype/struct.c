/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that make types of several types, and changed ones. */
#include <stdlib.h>

#include "tmpi/attr/attribute.h"
#include "tmpi/datatype/calls.h"
#include "tmpi/error/errors.h"

int tm_call_struct(struct tm_maker maker, MPI_Count count, struct tm_counts lengths,
                   const MPI_Count *displs, const MPI_Datatype *handles, MPI_Datatype *result) {
  tm_enter(maker.call);
  int error = tm_derive_check(maker.call, count, lengths);
  if (error != MPI_SUCCESS) return error;
  struct tm_type *type = tm_type_new(MPI_COMBINER_STRUCT);
  if (type == NULL) return tm_fail_code(NULL, maker.call, MPI_ERR_NO_MEM);
  tm_recipe_count(&type->recipe, maker.large, count);
  tm_recipe_counts(&type->recipe, maker.large, count, lengths);
  bool ok = true;
  for (MPI_Count i = 0; ok && i < count; i++) {
    struct tm_type *old;
    error = tm_derive_get(maker.call, handles[i], &old);
    if (error != MPI_SUCCESS) {
      tm_type_release(type);
      return error;
    }
    ok = tm_type_add(type, old, displs[i], (size_t)tm_counts_at(lengths, i));
    tm_recipe_address(&type->recipe, maker.large, displs[i]);
    tm_recipe_type(&type->recipe, old);
  }
  tm_type_finish(type, true);
  return tm_derive_end(maker.call, type, ok, result);
}

int tm_call_resized(struct tm_maker maker, MPI_Datatype handle, MPI_Count lower, MPI_Count extent,
                    MPI_Datatype *result) {
  struct tm_type *old;
  int error = tm_derive_get(maker.call, handle, &old);
  if (error != MPI_SUCCESS) return error;
  struct tm_type *type = tm_type_new(MPI_COMBINER_RESIZED);
  bool ok = type != NULL && tm_type_add(type, old, 0, 1);
  if (ok) {
    type->lb = lower;
    type->ub = lower + extent;
    type->lb_marked = type->ub_marked = true;
    tm_type_finish(type, false);
    tm_recipe_address(&type->recipe, maker.large, lower);
    tm_recipe_address(&type->recipe, maker.large, extent);
    tm_recipe_type(&type->recipe, old);
  }
  return tm_derive_end(maker.call, type, ok, result);
}

#pragma weak MPI_Type_dup = PMPI_Type_dup
int PMPI_Type_dup(MPI_Datatype handle, MPI_Datatype *result) {
  struct tm_type *old;
  struct tm_attributes *attributes = NULL;
  int error = tm_derive_get("MPI_Type_dup", handle, &old);
  if (error != MPI_SUCCESS) return error;
  *result = MPI_DATATYPE_NULL;
  struct tm_attributes **list = tm_type_attributes(handle, old);
  error = list == NULL ? MPI_ERR_NO_MEM : tm_attributes_copy(&attributes, list, handle);
  if (error != MPI_SUCCESS) return tm_fail_code(NULL, "MPI_Type_dup", error);
  struct tm_type *type = tm_type_new(MPI_COMBINER_DUP);
  bool ok = type != NULL && tm_type_add(type, old, 0, 1);
  if (ok) {
    tm_type_finish(type, false);
    type->lb = old->lb;
    type->ub = old->ub;
    type->dense = old->dense;
    type->basic = old->basic;
    type->committed = old->committed;
    type->attributes = attributes;
    tm_recipe_type(&type->recipe, old);
  }
  error = tm_derive_end("MPI_Type_dup", type, ok, result);
  if (error != MPI_SUCCESS) tm_attributes_delete(&attributes, handle);
  return error;
}
