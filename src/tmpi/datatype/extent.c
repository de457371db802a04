/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of a type, and its handle's life. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/attr/attribute.h"
#include "tmpi/datatype/calls.h"
#include "tmpi/error/errors.h"

/* ---- sizes */

int tm_call_type_size(const char *call, MPI_Datatype handle, MPI_Count *size) {
  struct tm_type *type;
  int error = tm_derive_get(call, handle, &type);
  if (error == MPI_SUCCESS) *size = (MPI_Count)type->size;
  return error;
}

int tm_call_type_extent(const char *call, MPI_Datatype handle, MPI_Count *lower,
                        MPI_Count *extent) {
  struct tm_type *type;
  int error = tm_derive_get(call, handle, &type);
  if (error != MPI_SUCCESS) return error;
  *lower = type->lb;
  *extent = tm_type_extent(type);
  return MPI_SUCCESS;
}

int tm_call_type_true_extent(const char *call, MPI_Datatype handle, MPI_Count *lower,
                             MPI_Count *extent) {
  struct tm_type *type;
  int error = tm_derive_get(call, handle, &type);
  if (error != MPI_SUCCESS) return error;
  *lower = type->true_lb;
  *extent = type->true_ub - type->true_lb;
  return MPI_SUCCESS;
}

/* ---- handles and names */

#pragma weak MPI_Type_commit = PMPI_Type_commit
int PMPI_Type_commit(MPI_Datatype *handle) {
  struct tm_type *type;
  int error = tm_derive_get("MPI_Type_commit", *handle, &type);
  if (error == MPI_SUCCESS) type->committed = true;
  return error;
}

#pragma weak MPI_Type_free = PMPI_Type_free
int PMPI_Type_free(MPI_Datatype *handle) {
  struct tm_type *type;
  int error = tm_derive_get("MPI_Type_free", *handle, &type);
  if (error != MPI_SUCCESS) return error;
  if (type->predefined)
    return tm_fail(NULL, "MPI_Type_free", MPI_ERR_TYPE, "%s cannot be freed",
                   type->predefined_name);
  if (type->lasting)
    return tm_fail(NULL, "MPI_Type_free", MPI_ERR_TYPE,
                   "a type of MPI_Type_create_f90_...() cannot be freed");
  error = tm_attributes_delete(&type->attributes, *handle);
  if (error != MPI_SUCCESS) return tm_fail_code(NULL, "MPI_Type_free", error);
  tm_type_release(type);
  *handle = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

/* Predefined types are every rank's: the rank keeps the names that it gives them. @return where the
 * name is, NULL: no memory. */
static char **name_of(struct tm_type *type) {
  if (!type->predefined) return &type->name;
  struct tm_rank *rank = tm_rank_self();
  if (rank->type_names == NULL) rank->type_names = calloc(TM_PREDEFINED_COUNT, sizeof(char *));
  return rank->type_names != NULL ? &rank->type_names[type - tm_predefined] : NULL;
}

#pragma weak MPI_Type_set_name = PMPI_Type_set_name
int PMPI_Type_set_name(MPI_Datatype handle, const char *name) {
  struct tm_type *type;
  int error = tm_derive_get("MPI_Type_set_name", handle, &type);
  if (error != MPI_SUCCESS) return error;
  char *copy = strndup(name, MPI_MAX_OBJECT_NAME - 1), **place = name_of(type);
  if (place == NULL) free(copy);
  if (copy == NULL || place == NULL) return tm_fail_code(NULL, "MPI_Type_set_name", MPI_ERR_NO_MEM);
  free(*place);
  *place = copy;
  return MPI_SUCCESS;
}

#pragma weak MPI_Type_get_name = PMPI_Type_get_name
int PMPI_Type_get_name(MPI_Datatype handle, char *name, int *length) {
  struct tm_type *type;
  tm_enter("MPI_Type_get_name");
  const char *from = "MPI_DATATYPE_NULL";
  if (handle != MPI_DATATYPE_NULL) {
    int error = tm_derive_get("MPI_Type_get_name", handle, &type);
    if (error != MPI_SUCCESS) return error;
    const char *given = type->name;
    if (type->predefined && tm_rank_self()->type_names != NULL)
      given = tm_rank_self()->type_names[type - tm_predefined];
    from = given != NULL ? given : type->predefined ? type->predefined_name : "";
  }
  *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", from);
  return MPI_SUCCESS;
}

/* ---- addresses */

#pragma weak MPI_Get_address = PMPI_Get_address
int PMPI_Get_address(const void *location, MPI_Aint *address) {
  *address = (MPI_Aint)location;
  return MPI_SUCCESS;
}

#pragma weak MPI_Aint_add = PMPI_Aint_add
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint displ) { return base + displ; }

#pragma weak MPI_Aint_diff = PMPI_Aint_diff
MPI_Aint PMPI_Aint_diff(MPI_Aint a, MPI_Aint b) { return a - b; }
