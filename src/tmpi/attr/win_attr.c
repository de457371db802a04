/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of windows. */
#include <string.h>

#include "tmpi/attr/attribute.h"
#include "tmpi/error/errors.h"
#include "tmpi/rma/win.h"

static int win_holder(const char *call, MPI_Win handle, struct tm_attribute_holder *holder) {
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  *holder = (struct tm_attribute_holder){
      .list = &win->attributes, .of = TM_OF_WIN, .object = handle, .win = win};
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_create_keyval = PMPI_Win_create_keyval
int PMPI_Win_create_keyval(MPI_Win_copy_attr_function *copy, MPI_Win_delete_attr_function *del,
                           int *keyval, void *extra) {
  struct tm_keyval new = {.used = true,
                          .of = TM_OF_WIN,
                          .copy = (tm_copy_attribute *)copy,
                          .del = (tm_delete_attribute *)del,
                          .extra = extra};
  return tm_keyval_create("MPI_Win_create_keyval", &new, keyval);
}

#pragma weak MPI_Win_free_keyval = PMPI_Win_free_keyval
int PMPI_Win_free_keyval(int *keyval) { return tm_keyval_free("MPI_Win_free_keyval", keyval); }

#pragma weak MPI_Win_set_attr = PMPI_Win_set_attr
int PMPI_Win_set_attr(MPI_Win win, int keyval, void *value) {
  struct tm_attribute_holder holder;
  int error = win_holder("MPI_Win_set_attr", win, &holder);
  return error != MPI_SUCCESS ? error
                              : tm_attribute_set("MPI_Win_set_attr", &holder, keyval, value);
}

/* @return the value of an attribute that the library keeps; *known false: none such. MPI_WIN_BASE
 * is the memory itself, the others are addresses of values. */
static const void *predefined(const struct tm_win *win, int keyval, bool *known) {
  *known = true;
  switch (keyval) {
    case MPI_WIN_BASE: return win->base;
    case MPI_WIN_SIZE: return &win->bytes;
    case MPI_WIN_DISP_UNIT: return &win->disp_unit;
    case MPI_WIN_CREATE_FLAVOR: return &win->flavor;
    case MPI_WIN_MODEL: return &win->model;
    default: *known = false; return NULL;
  }
}

#pragma weak MPI_Win_get_attr = PMPI_Win_get_attr
int PMPI_Win_get_attr(MPI_Win handle, int keyval, void *value, int *flag) {
  struct tm_attribute_holder holder;
  bool known;
  int error = win_holder("MPI_Win_get_attr", handle, &holder);
  if (error != MPI_SUCCESS) return error;
  const void *own = predefined(holder.win, keyval, &known);
  if (!known) return tm_attribute_get("MPI_Win_get_attr", &holder, keyval, value, flag);
  *flag = 1;
  memcpy(value, &own, sizeof own);
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_delete_attr = PMPI_Win_delete_attr
int PMPI_Win_delete_attr(MPI_Win win, int keyval) {
  struct tm_attribute_holder holder;
  int error = win_holder("MPI_Win_delete_attr", win, &holder);
  return error != MPI_SUCCESS ? error : tm_attribute_delete("MPI_Win_delete_attr", &holder, keyval);
}
