/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may ask of a window: group, name, hints, error handler. */
#include <stdio.h>
#include <string.h>

#include "tmpi/error/code.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"
#include "tmpi/rma/win.h"

#pragma weak MPI_Win_get_group = PMPI_Win_get_group
int PMPI_Win_get_group(MPI_Win handle, MPI_Group *group) {
  struct tm_win *win;
  int error = tm_get_win("MPI_Win_get_group", handle, &win);
  if (error != MPI_SUCCESS) return error;
  tm_group_hold(win->group);
  *group = (MPI_Group)win->group;
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_set_name = PMPI_Win_set_name
int PMPI_Win_set_name(MPI_Win handle, const char *name) {
  struct tm_win *win;
  int error = tm_get_win("MPI_Win_set_name", handle, &win);
  if (error != MPI_SUCCESS) return error;
  snprintf(win->name, sizeof win->name, "%s", name);
  snprintf(win->comm->name, sizeof win->comm->name, "%s", name); /* reports of fences show it */
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_get_name = PMPI_Win_get_name
int PMPI_Win_get_name(MPI_Win handle, char *name, int *length) {
  struct tm_win *win;
  if (handle == MPI_WIN_NULL) { /* the one call that takes it */
    *length = sprintf(name, "MPI_WIN_NULL");
    return MPI_SUCCESS;
  }
  int error = tm_get_win("MPI_Win_get_name", handle, &win);
  if (error != MPI_SUCCESS) return error;
  strcpy(name, win->name);
  *length = (int)strlen(name);
  return MPI_SUCCESS;
}

/* ---- hints: kept, and none changes what is done */

#pragma weak MPI_Win_set_info = PMPI_Win_set_info
int PMPI_Win_set_info(MPI_Win handle, MPI_Info info_handle) {
  static const char call[] = "MPI_Win_set_info";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  struct tm_info *info = tm_info_of(info_handle);
  if (info == NULL) return tm_win_fail(win, call, MPI_ERR_INFO, "the info is not valid");
  for (int i = 0; i < info->count; i++) {
    if (win->info == NULL && (win->info = tm_info_copy(NULL)) == NULL)
      return tm_win_fail_code(win, call, MPI_ERR_NO_MEM);
    const struct tm_info_entry *entry = tm_info_nth(info, i);
    if (!tm_info_put(win->info, entry->key, entry->value))
      return tm_win_fail_code(win, call, MPI_ERR_NO_MEM);
  }
  return MPI_SUCCESS;
}

/* The standard's hints, with the values in use where the program gave none. */
static const struct tm_info_entry defaults[] = {
    {.key = "no_locks", .value = (char[]){"false"}},
    {.key = "accumulate_ordering", .value = (char[]){"rar,raw,war,waw"}},
    {.key = "accumulate_ops", .value = (char[]){"same_op_no_op"}},
    {.key = "mpi_accumulate_granularity", .value = (char[]){"0"}},
    {.key = "same_size", .value = (char[]){"false"}},
    {.key = "same_disp_unit", .value = (char[]){"false"}},
};

#pragma weak MPI_Win_get_info = PMPI_Win_get_info
int PMPI_Win_get_info(MPI_Win handle, MPI_Info *result) {
  static const char call[] = "MPI_Win_get_info";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  struct tm_info *info = tm_info_copy(win->info);
  bool ok = info != NULL;
  for (size_t i = 0; ok && i < sizeof defaults / sizeof defaults[0]; i++)
    if (tm_info_find(info, defaults[i].key) == NULL)
      ok = tm_info_put(info, defaults[i].key, defaults[i].value);
  bool can_share = win->flavor == MPI_WIN_FLAVOR_SHARED || win->flavor == MPI_WIN_FLAVOR_ALLOCATE;
  if (ok && can_share && tm_info_find(info, "alloc_shared_noncontig") == NULL)
    ok = tm_info_put(info, "alloc_shared_noncontig", "false");
  if (!ok) {
    tm_info_free(info);
    return tm_win_fail_code(win, call, MPI_ERR_NO_MEM);
  }
  *result = (MPI_Info)info;
  return MPI_SUCCESS;
}

/* ---- error handlers */

#pragma weak MPI_Win_create_errhandler = PMPI_Win_create_errhandler
int PMPI_Win_create_errhandler(MPI_Win_errhandler_function *function, MPI_Errhandler *result) {
  static const char call[] = "MPI_Win_create_errhandler";
  struct tm_errhandler *handler = tm_errhandler_new(TM_HANDLES_WINS, (tm_error_function *)function);
  if (handler == NULL)
    return tm_fail(NULL, call, function == NULL ? MPI_ERR_ARG : MPI_ERR_NO_MEM,
                   "no function, or no memory");
  *result = (MPI_Errhandler)handler;
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_set_errhandler = PMPI_Win_set_errhandler
int PMPI_Win_set_errhandler(MPI_Win handle, MPI_Errhandler errhandler) {
  static const char call[] = "MPI_Win_set_errhandler";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  struct tm_errhandler *handler = tm_errhandler_of(errhandler);
  if (!tm_errhandler_fits(handler, TM_HANDLES_WINS))
    return tm_win_fail(win, call, MPI_ERR_ERRHANDLER,
                       "the error handler is not valid, or one for other objects");
  tm_errhandler_set(&win->comm->owner->box.ilock, &win->handler, handler);
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_get_errhandler = PMPI_Win_get_errhandler
int PMPI_Win_get_errhandler(MPI_Win handle, MPI_Errhandler *errhandler) {
  struct tm_win *win;
  int error = tm_get_win("MPI_Win_get_errhandler", handle, &win);
  if (error != MPI_SUCCESS) return error;
  *errhandler =
      tm_errhandler_handle(tm_errhandler_get(&win->comm->owner->box.ilock, &win->handler));
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_call_errhandler = PMPI_Win_call_errhandler
int PMPI_Win_call_errhandler(MPI_Win handle, int code) {
  static const char call[] = "MPI_Win_call_errhandler";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  if (!tm_code_is_valid(code))
    return tm_win_fail(win, call, MPI_ERR_ARG, "%d is no error code", code);
  tm_win_fail_code(win, call, code);
  return MPI_SUCCESS;
}
