/* SPDX-License-Identifier: Apache-2.0 */
/* Error classes, codes and texts: asked, added, removed. */
#include <stdlib.h>
#include <string.h>

#include "tmpi/error/code.h"
#include "tmpi/error/errors.h"

#pragma weak MPI_Error_class = PMPI_Error_class
int PMPI_Error_class(int code, int *error_class) {
  const struct tm_added_code *added = tm_code_added(code);
  if (!tm_code_is_valid(code))
    return tm_fail(NULL, "MPI_Error_class", MPI_ERR_ARG, "%d is no error code", code);
  *error_class = added != NULL ? added->error_class : code;
  return MPI_SUCCESS;
}

#pragma weak MPI_Error_string = PMPI_Error_string
int PMPI_Error_string(int code, char *text, int *length) {
  if (!tm_code_is_valid(code))
    return tm_fail(NULL, "MPI_Error_string", MPI_ERR_ARG, "%d is no error code", code);
  tm_code_text(code, text);
  *length = (int)strlen(text);
  return MPI_SUCCESS;
}

/* @return the new code, or -1: no memory. */
static int add(struct tm_rank *rank, int error_class) {
  if (rank->errors == NULL) rank->errors = calloc(1, sizeof *rank->errors);
  struct tm_errors *errors = rank->errors;
  if (errors == NULL) return -1;
  void *larger = realloc(errors->of, (size_t)(errors->count + 1) * sizeof *errors->of);
  if (larger == NULL) return -1;
  errors->of = larger;
  int code = MPI_ERR_LASTCODE + 1 + errors->count;
  errors->last = code;
  errors->of[errors->count++] =
      (struct tm_added_code){error_class >= 0 ? error_class : code, NULL, false};
  return code;
}

#pragma weak MPI_Add_error_class = PMPI_Add_error_class
int PMPI_Add_error_class(int *error_class) {
  int code = add(tm_enter("MPI_Add_error_class"), -1);
  if (code < 0) return tm_fail_code(NULL, "MPI_Add_error_class", MPI_ERR_NO_MEM);
  *error_class = code;
  return MPI_SUCCESS;
}

#pragma weak MPI_Add_error_code = PMPI_Add_error_code
int PMPI_Add_error_code(int error_class, int *code) {
  struct tm_rank *rank = tm_enter("MPI_Add_error_code");
  if (!tm_code_is_valid(error_class))
    return tm_fail(NULL, "MPI_Add_error_code", MPI_ERR_ARG, "%d is no error class", error_class);
  int new = add(rank, error_class);
  if (new < 0) return tm_fail_code(NULL, "MPI_Add_error_code", MPI_ERR_NO_MEM);
  *code = new;
  return MPI_SUCCESS;
}

#pragma weak MPI_Add_error_string = PMPI_Add_error_string
int PMPI_Add_error_string(int code, const char *text) {
  tm_enter("MPI_Add_error_string");
  struct tm_added_code *added = tm_code_added(code);
  char *copy = added != NULL ? strdup(text) : NULL;
  if (copy == NULL)
    return tm_fail(NULL, "MPI_Add_error_string", MPI_ERR_ARG,
                   "%d is no code that was added, or there is no memory", code);
  free(added->text);
  added->text = copy;
  return MPI_SUCCESS;
}

/* ---- removing what was added: only classes no code is of, and codes without a text */

static int remove_code(const char *call, int code, bool is_class) {
  const struct tm_rank *rank = tm_enter(call);
  struct tm_added_code *added = tm_code_added(code);
  bool fits = added != NULL && (added->error_class == code) == is_class && added->text == NULL;
  for (int i = 0; fits && is_class && i < rank->errors->count; i++) {
    const struct tm_added_code *other = &rank->errors->of[i];
    fits = other == added || other->removed || other->error_class != code;
  }
  if (!fits) return tm_fail(NULL, call, MPI_ERR_ARG, "%d was not added so, or is in use", code);
  added->removed = true;
  struct tm_errors *errors = rank->errors;
  while (errors->count > 0 && errors->of[errors->count - 1].removed) errors->count--;
  errors->last = MPI_ERR_LASTCODE + errors->count;
  return MPI_SUCCESS;
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
  struct tm_added_code *added = tm_code_added(code);
  if (added == NULL || added->text == NULL)
    return tm_fail(NULL, "MPI_Remove_error_string", MPI_ERR_ARG, "%d has no added text", code);
  free(added->text);
  added->text = NULL;
  return MPI_SUCCESS;
}
