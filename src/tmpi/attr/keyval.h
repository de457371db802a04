/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file keyval.h
 * Key values, and what the calls of communicators' and of types' attributes share.
 */
#ifndef TM_ATTR_KEYVAL_H
#define TM_ATTR_KEYVAL_H

#include <stdbool.h>

#include "tmpi/object/comm.h"

/** Functions of communicators and of types differ in their first argument only. */
struct tm_keyval {
  bool used, freed, of_types;
  int attributes; /* so many have it */
  union {
    MPI_Comm_copy_attr_function *comm_copy;
    MPI_Type_copy_attr_function *type_copy;
  };
  union {
    MPI_Comm_delete_attr_function *comm_delete;
    MPI_Type_delete_attr_function *type_delete;
  };
  void *extra;
};

/** Where attributes hang: on a communicator or on a type, the other one null. */
struct tm_attribute_holder {
  struct tm_attributes **list;
  MPI_Comm comm;
  MPI_Datatype type;
  struct tm_comm *fails_on;
};

/* Each returns MPI_SUCCESS or what tm_fail() returned. */
int tm_keyval_create(const char *call, const struct tm_keyval *functions, int *keyval);
int tm_keyval_free(const char *call, int *keyval);
int tm_attribute_set(const char *call, const struct tm_attribute_holder *place, int keyval,
                     void *value);
int tm_attribute_get(const char *call, const struct tm_attribute_holder *place, int keyval,
                     void *value, int *flag);
int tm_attribute_delete(const char *call, const struct tm_attribute_holder *place, int keyval);

#endif
