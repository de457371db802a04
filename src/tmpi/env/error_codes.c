/* SPDX-License-Identifier: Apache-2.0 */
/* Error classes, codes and texts: asked, added, removed. */
#include <string.h>

#include "tmpi/error/code.h"
#include "tmpi/error/errors.h"

static int no_code(const char *call, int code) {
  return tm_fail(NULL, call, MPI_ERR_ARG, "%d is no error code", code);
}

#pragma weak MPI_Error_class = PMPI_Error_class
int PMPI_Error_class(int code, int *error_class) {
  int found = tm_code_class(code);
  if (found < 0) return no_code("MPI_Error_class", code);
  *error_class = found;
  return MPI_SUCCESS;
}

#pragma weak MPI_Error_string = PMPI_Error_string
int PMPI_Error_string(int code, char *text, int *length) {
  char found[MPI_MAX_ERROR_STRING];
  if (!tm_code_text(code, found)) return no_code("MPI_Error_string", code);
  *length = (int)strlen(found);
  memcpy(text, found, (size_t)*length + 1);
  return MPI_SUCCESS;
}

/* ---- added */

static int add(const char *call, int error_class, int *result) {
  int code = tm_code_add(error_class);
  if (code < 0) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  *result = code;
  return MPI_SUCCESS;
}

#pragma weak MPI_Add_error_class = PMPI_Add_error_class
int PMPI_Add_error_class(int *error_class) {
  tm_enter("MPI_Add_error_class");
  return add("MPI_Add_error_class", -1, error_class);
}

#pragma weak MPI_Add_error_code = PMPI_Add_error_code
int PMPI_Add_error_code(int error_class, int *code) {
  tm_enter("MPI_Add_error_code");
  if (!tm_code_is_valid(error_class))
    return tm_fail(NULL, "MPI_Add_error_code", MPI_ERR_ARG, "%d is no error class", error_class);
  return add("MPI_Add_error_code", error_class, code);
}

#pragma weak MPI_Add_error_string = PMPI_Add_error_string
int PMPI_Add_error_string(int code, const char *text) {
  tm_enter("MPI_Add_error_string");
  int error = text != NULL ? tm_code_set_text(code, text) : MPI_ERR_ARG;
  if (error == MPI_SUCCESS) return error;
  return tm_fail(NULL, "MPI_Add_error_string", error,
                 error == MPI_ERR_NO_MEM ? "no memory for the text of %d"
                                         : "%d is no code that was added, or there is no text",
                 code);
}

/* ---- removed: only classes no code is of, and codes without a text */

static int remove_code(const char *call, int code, bool is_class) {
  tm_enter(call);
  if (tm_code_remove(code, is_class)) return MPI_SUCCESS;
  return tm_fail(NULL, call, MPI_ERR_ARG, "%d was not added so, or is in use", code);
}

#pragma weak MPI_Remove_error_class = PMPI_Remove_error_class
int PMPI_Remove_error_class(int error_class) {
  return remove_code("MPI_Remove_error_class", error_class, true);
}

#pragma weak MPI_Remove_error_code = PMPI_Remove_error_code
int PMPI_Remove_error_code(int code) { return remove_code("MPI_Remove_error_code", code, false); }

#pragma weak MPI_Remove_error_string = PMPI_Remove_error_string
int PMPI_Remove_error_string(int code) {
  tm_enter("MPI_Remove_error_string");
  if (tm_code_set_text(code, NULL) == MPI_SUCCESS) return MPI_SUCCESS;
  return tm_fail(NULL, "MPI_Remove_error_string", MPI_ERR_ARG, "%d has no added text", code);
}
