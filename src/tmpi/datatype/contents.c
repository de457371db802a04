/* SPDX-License-Identifier: Apache-2.0 */
/* How a type was made. What calls with 64-bit counts have made, only calls that end with _c tell.
 */
#include "tmpi/datatype/derive.h"
#include "tmpi/error/errors.h"

static int get_small(const char *call, MPI_Datatype handle, struct tm_type **type) {
  int error = tm_derive_get(call, handle, type);
  if (error == MPI_SUCCESS && (*type)->recipe.large_count > 0)
    error = tm_fail(NULL, call, MPI_ERR_TYPE, "the type was made with 64-bit counts (call %s_c())",
                    call);
  return error;
}

#pragma weak MPI_Type_get_envelope = PMPI_Type_get_envelope
int PMPI_Type_get_envelope(MPI_Datatype handle, int *integers, int *addresses, int *types,
                           int *combiner) {
  struct tm_type *type;
  int error = get_small("MPI_Type_get_envelope", handle, &type);
  if (error != MPI_SUCCESS) return error;
  *integers = (int)type->recipe.integer_count;
  *addresses = (int)type->recipe.address_count;
  *types = (int)type->recipe.type_count;
  *combiner = type->combiner;
  return MPI_SUCCESS;
}

#pragma weak MPI_Type_get_envelope_c = PMPI_Type_get_envelope_c
int PMPI_Type_get_envelope_c(MPI_Datatype handle, MPI_Count *integers, MPI_Count *addresses,
                             MPI_Count *large_counts, MPI_Count *types, int *combiner) {
  struct tm_type *type;
  int error = tm_derive_get("MPI_Type_get_envelope_c", handle, &type);
  if (error != MPI_SUCCESS) return error;
  *integers = type->recipe.integer_count;
  *addresses = type->recipe.address_count;
  *large_counts = type->recipe.large_count;
  *types = type->recipe.type_count;
  *combiner = type->combiner;
  return MPI_SUCCESS;
}

/* Where there is room for a recipe, and for how many of each. */
struct room {
  MPI_Count integer_count, address_count, large_count, type_count;
  int *integers;
  MPI_Aint *addresses;
  MPI_Count *large_counts;
  MPI_Datatype *types;
};

static int export_contents(const char *call, struct tm_type *type, const struct room *room) {
  const struct tm_recipe *recipe = &type->recipe;
  if (type->predefined)
    return tm_fail(NULL, call, MPI_ERR_TYPE, "%s is predefined", type->predefined_name);
  if (room->integer_count < recipe->integer_count || room->address_count < recipe->address_count ||
      room->large_count < recipe->large_count || room->type_count < recipe->type_count)
    return tm_fail(NULL, call, MPI_ERR_ARG,
                   "there is room for less than the type's envelope reports");
  for (MPI_Count i = 0; i < recipe->integer_count; i++) room->integers[i] = recipe->integers[i];
  for (MPI_Count i = 0; i < recipe->address_count; i++) room->addresses[i] = recipe->addresses[i];
  for (MPI_Count i = 0; i < recipe->large_count; i++)
    room->large_counts[i] = recipe->large_counts[i];
  for (MPI_Count i = 0; i < recipe->type_count; i++) {
    tm_type_hold(recipe->types[i]);
    room->types[i] = tm_type_handle(recipe->types[i]);
  }
  return MPI_SUCCESS;
}

#pragma weak MPI_Type_get_contents = PMPI_Type_get_contents
int PMPI_Type_get_contents(MPI_Datatype handle, int max_integers, int max_addresses, int max_types,
                           int integers[], MPI_Aint addresses[], MPI_Datatype types[]) {
  struct room room = {max_integers, max_addresses, 0, max_types, integers, addresses, NULL, types};
  struct tm_type *type;
  int error = get_small("MPI_Type_get_contents", handle, &type);
  return error == MPI_SUCCESS ? export_contents("MPI_Type_get_contents", type, &room) : error;
}

#pragma weak MPI_Type_get_contents_c = PMPI_Type_get_contents_c
int PMPI_Type_get_contents_c(MPI_Datatype handle, MPI_Count max_integers, MPI_Count max_addresses,
                             MPI_Count max_large_counts, MPI_Count max_types, int integers[],
                             MPI_Aint addresses[], MPI_Count large_counts[], MPI_Datatype types[]) {
  struct room room = {max_integers, max_addresses, max_large_counts, max_types,
                      integers,     addresses,     large_counts,     types};
  struct tm_type *type;
  int error = tm_derive_get("MPI_Type_get_contents_c", handle, &type);
  return error == MPI_SUCCESS ? export_contents("MPI_Type_get_contents_c", type, &room) : error;
}
