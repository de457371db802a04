/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of datatypes. */
#include <stdlib.h>

#include "tmpi/attr/attribute.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"

/* Predefined types are every rank's: the rank keeps its attributes of them. @return NULL: no
 * memory. */
static struct tm_attributes **of_predefined(MPI_Datatype handle) {
  enum { TYPES = 0x400 }; /* handles are below */
  struct tm_rank *rank = tm_rank_self();
  if (rank->of_types == NULL) rank->of_types = calloc(TYPES, sizeof(struct tm_attributes *));
  return rank->of_types != NULL ? &rank->of_types[(uintptr_t)handle] : NULL;
}

struct tm_attributes **tm_type_attributes(MPI_Datatype handle, struct tm_type *type) {
  return type->predefined ? of_predefined(handle) : &type->attributes;
}

static int type_holder(const char *call, MPI_Datatype handle, struct tm_attribute_holder *holder) {
  tm_enter(call);
  struct tm_type *type = tm_type_of(handle);
  if (type == NULL) return tm_fail(NULL, call, MPI_ERR_TYPE, "the datatype is not valid");
  struct tm_attributes **list = tm_type_attributes(handle, type);
  if (list == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  *holder = (struct tm_attribute_holder){.list = list, .of = TM_OF_TYPE, .object = handle};
  return MPI_SUCCESS;
}

#pragma weak MPI_Type_create_keyval = PMPI_Type_create_keyval
int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *del,
                            int *keyval, void *extra) {
  struct tm_keyval new = {.used = true,
                          .of = TM_OF_TYPE,
                          .copy = (tm_copy_attribute *)copy,
                          .del = (tm_delete_attribute *)del,
                          .extra = extra};
  return tm_keyval_create("MPI_Type_create_keyval", &new, keyval);
}

#pragma weak MPI_Type_free_keyval = PMPI_Type_free_keyval
int PMPI_Type_free_keyval(int *keyval) { return tm_keyval_free("MPI_Type_free_keyval", keyval); }

#pragma weak MPI_Type_set_attr = PMPI_Type_set_attr
int PMPI_Type_set_attr(MPI_Datatype type, int keyval, void *value) {
  struct tm_attribute_holder holder;
  int error = type_holder("MPI_Type_set_attr", type, &holder);
  return error != MPI_SUCCESS ? error
                              : tm_attribute_set("MPI_Type_set_attr", &holder, keyval, value);
}

#pragma weak MPI_Type_get_attr = PMPI_Type_get_attr
int PMPI_Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag) {
  struct tm_attribute_holder holder;
  int error = type_holder("MPI_Type_get_attr", type, &holder);
  return error != MPI_SUCCESS ? error
                              : tm_attribute_get("MPI_Type_get_attr", &holder, keyval, value, flag);
}

#pragma weak MPI_Type_delete_attr = PMPI_Type_delete_attr
int PMPI_Type_delete_attr(MPI_Datatype type, int keyval) {
  struct tm_attribute_holder holder;
  int error = type_holder("MPI_Type_delete_attr", type, &holder);
  return error != MPI_SUCCESS ? error
                              : tm_attribute_delete("MPI_Type_delete_attr", &holder, keyval);
}
