/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of communicators. */
#include <stdint.h>
#include <string.h>

#include "tmpi/attr/attribute.h"
#include "tmpi/error/code.h"
#include "tmpi/error/errors.h"

static int comm_holder(const char *call, MPI_Comm handle, struct tm_attribute_holder *holder) {
  int error = tm_get_comm(call, handle, &holder->fails_on);
  if (error != MPI_SUCCESS) return error;
  holder->of = TM_OF_COMM;
  holder->object = handle;
  holder->list = &holder->fails_on->attributes;
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_create_keyval = PMPI_Comm_create_keyval
int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *del,
                            int *keyval, void *extra) {
  struct tm_keyval new = {.used = true,
                          .copy = (tm_copy_attribute *)copy,
                          .del = (tm_delete_attribute *)del,
                          .extra = extra};
  return tm_keyval_create("MPI_Comm_create_keyval", &new, keyval);
}

#pragma weak MPI_Comm_free_keyval = PMPI_Comm_free_keyval
int PMPI_Comm_free_keyval(int *keyval) { return tm_keyval_free("MPI_Comm_free_keyval", keyval); }

#pragma weak MPI_Comm_set_attr = PMPI_Comm_set_attr
int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value) {
  struct tm_attribute_holder holder = {0};
  int error = comm_holder("MPI_Comm_set_attr", comm, &holder);
  return error != MPI_SUCCESS ? error
                              : tm_attribute_set("MPI_Comm_set_attr", &holder, keyval, value);
}

/* @return the address of an attribute that the library keeps; NULL: none such. */
static const int *predefined(int keyval) {
  static const int tag_ub = INT32_MAX, io = MPI_ANY_SOURCE, global = 1, not_global = 0;
  static const int host = MPI_PROC_NULL;
  switch (keyval) {
    case MPI_TAG_UB: return &tag_ub;
    case MPI_IO: return &io;
    case MPI_HOST: return &host;
    case MPI_WTIME_IS_GLOBAL: return tm_job.far == NULL ? &global : &not_global;
    case MPI_APPNUM: return &tm_rank_self()->part;
    case MPI_UNIVERSE_SIZE: return &tm_job.universe;
    case MPI_LASTUSEDCODE: return tm_code_last();
    default: return NULL;
  }
}

#pragma weak MPI_Comm_get_attr = PMPI_Comm_get_attr
int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag) {
  struct tm_attribute_holder holder = {0};
  int error = comm_holder("MPI_Comm_get_attr", comm, &holder);
  if (error != MPI_SUCCESS) return error;
  const int *own = predefined(keyval);
  if (own == NULL) return tm_attribute_get("MPI_Comm_get_attr", &holder, keyval, value, flag);
  /* The others tell of MPI_COMM_WORLD, which a session has not (MPI 4.1, 9.1.2). */
  *flag = holder.fails_on->session == NULL || keyval == MPI_TAG_UB;
  if (*flag) memcpy(value, &own, sizeof(const int *));
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_delete_attr = PMPI_Comm_delete_attr
int PMPI_Comm_delete_attr(MPI_Comm comm, int keyval) {
  struct tm_attribute_holder holder = {0};
  int error = comm_holder("MPI_Comm_delete_attr", comm, &holder);
  return error != MPI_SUCCESS ? error
                              : tm_attribute_delete("MPI_Comm_delete_attr", &holder, keyval);
}

/* ---- the names before MPI 2 */

#pragma weak MPI_Keyval_create = PMPI_Keyval_create
int PMPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *del, int *keyval,
                       void *extra) {
  return PMPI_Comm_create_keyval(copy, del, keyval, extra);
}

#pragma weak MPI_Keyval_free = PMPI_Keyval_free
int PMPI_Keyval_free(int *keyval) { return tm_keyval_free("MPI_Keyval_free", keyval); }

#pragma weak MPI_Attr_put = PMPI_Attr_put
int PMPI_Attr_put(MPI_Comm comm, int keyval, void *value) {
  return PMPI_Comm_set_attr(comm, keyval, value);
}

#pragma weak MPI_Attr_get = PMPI_Attr_get
int PMPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *flag) {
  return PMPI_Comm_get_attr(comm, keyval, value, flag);
}

#pragma weak MPI_Attr_delete = PMPI_Attr_delete
int PMPI_Attr_delete(MPI_Comm comm, int keyval) { return PMPI_Comm_delete_attr(comm, keyval); }
