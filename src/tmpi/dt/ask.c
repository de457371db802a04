/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of a type, and its handle's life. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/dt/derive.h"
#include "tmpi/mpi/errors.h"

#pragma weak MPI_Type_size = PMPI_Type_size
int PMPI_Type_size(MPI_Datatype handle, int *size) {
  struct tm_type *type;
  int error = tm_derive_get("MPI_Type_size", handle, &type);
  if (error == MPI_SUCCESS) *size = type->size <= INT32_MAX ? (int)type->size : MPI_UNDEFINED;
  return error;
}

#pragma weak MPI_Type_get_extent = PMPI_Type_get_extent
int PMPI_Type_get_extent(MPI_Datatype handle, MPI_Aint *lower, MPI_Aint *extent) {
  struct tm_type *type;
  int error = tm_derive_get("MPI_Type_get_extent", handle, &type);
  if (error != MPI_SUCCESS) return error;
  *lower = type->lb;
  *extent = tm_type_extent(type);
  return MPI_SUCCESS;
}

#pragma weak MPI_Type_get_true_extent = PMPI_Type_get_true_extent
int PMPI_Type_get_true_extent(MPI_Datatype handle, MPI_Aint *lower, MPI_Aint *extent) {
  struct tm_type *type;
  int error = tm_derive_get("MPI_Type_get_true_extent", handle, &type);
  if (error != MPI_SUCCESS) return error;
  *lower = type->true_lb;
  *extent = type->true_ub - type->true_lb;
  return MPI_SUCCESS;
}

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
  error = tm_attributes_delete(&type->attributes, MPI_COMM_NULL, *handle);
  if (error != MPI_SUCCESS) return tm_fail_code(NULL, "MPI_Type_free", error);
  tm_type_release(type);
  *handle = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_Type_set_name = PMPI_Type_set_name
int PMPI_Type_set_name(MPI_Datatype handle, const char *name) {
  struct tm_type *type;
  int error = tm_derive_get("MPI_Type_set_name", handle, &type);
  if (error != MPI_SUCCESS) return error;
  if (type->predefined) return MPI_SUCCESS; /* every rank's: keeps its own */
  char *copy = strndup(name, MPI_MAX_OBJECT_NAME - 1);
  if (copy == NULL) return tm_fail_code(NULL, "MPI_Type_set_name", MPI_ERR_NO_MEM);
  free(type->name);
  type->name = copy;
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
    from = type->name != NULL ? type->name : type->predefined ? type->predefined_name : "";
  }
  *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", from);
  return MPI_SUCCESS;
}

#pragma weak MPI_Type_get_envelope = PMPI_Type_get_envelope
int PMPI_Type_get_envelope(MPI_Datatype handle, int *integers, int *addresses, int *types,
                           int *combiner) {
  struct tm_type *type;
  int error = tm_derive_get("MPI_Type_get_envelope", handle, &type);
  if (error != MPI_SUCCESS) return error;
  *integers = type->integer_count;
  *addresses = type->address_count;
  *types = type->type_count;
  *combiner = type->combiner;
  return MPI_SUCCESS;
}

#pragma weak MPI_Type_get_contents = PMPI_Type_get_contents
int PMPI_Type_get_contents(MPI_Datatype handle, int max_integers, int max_addresses, int max_types,
                           int integers[], MPI_Aint addresses[], MPI_Datatype types[]) {
  static const char call[] = "MPI_Type_get_contents";
  struct tm_type *type;
  int error = tm_derive_get(call, handle, &type);
  if (error != MPI_SUCCESS) return error;
  if (type->predefined)
    return tm_fail(NULL, call, MPI_ERR_TYPE, "%s is predefined", type->predefined_name);
  if (max_integers < type->integer_count || max_addresses < type->address_count ||
      max_types < type->type_count)
    return tm_fail(NULL, call, MPI_ERR_ARG,
                   "there is room for less than MPI_Type_get_envelope() "
                   "tells");
  for (int i = 0; i < type->integer_count; i++) integers[i] = type->integers[i];
  for (int i = 0; i < type->address_count; i++) addresses[i] = type->addresses[i];
  for (int i = 0; i < type->type_count; i++) {
    tm_type_hold(type->types[i]);
    types[i] = tm_type_handle(type->types[i]);
  }
  return MPI_SUCCESS;
}

#pragma weak MPI_Type_match_size = PMPI_Type_match_size
int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype *type) {
  static const struct {
    int typeclass, size;
    MPI_Datatype type;
  } table[] = {
      {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},
      {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
      {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},
      {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
      {MPI_TYPECLASS_REAL, 4, MPI_REAL4},
      {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
      {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},
      {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
      {MPI_TYPECLASS_REAL, 16, MPI_LONG_DOUBLE},
      {MPI_TYPECLASS_COMPLEX, 32, MPI_C_LONG_DOUBLE_COMPLEX},
  };
  tm_enter("MPI_Type_match_size");
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (table[i].typeclass == typeclass && table[i].size == size) {
      *type = table[i].type;
      return MPI_SUCCESS;
    }
  return tm_fail(NULL, "MPI_Type_match_size", MPI_ERR_ARG, "no type of class %d has %d bytes",
                 typeclass, size);
}

#pragma weak MPI_Get_address = PMPI_Get_address
int PMPI_Get_address(const void *location, MPI_Aint *address) {
  *address = (MPI_Aint)location;
  return MPI_SUCCESS;
}

#pragma weak MPI_Aint_add = PMPI_Aint_add
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint displ) { return base + displ; }

#pragma weak MPI_Aint_diff = PMPI_Aint_diff
MPI_Aint PMPI_Aint_diff(MPI_Aint a, MPI_Aint b) { return a - b; }
