/* SPDX-License-Identifier: Apache-2.0 */
/* Error classes and codes. */
#include "tmpi/error/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/error/errors.h"

/* What a rank has added: code MPI_ERR_LASTCODE + 1 + i. */
struct added {
  int error_class;
  char *text;
  bool removed;
};

struct tm_errors {
  int count;
  int last; /* the highest code */
  struct added *of;
};

static const char *const texts[] = {
    [MPI_SUCCESS] = "no error",
    [MPI_ERR_BUFFER] = "the buffer is not valid",
    [MPI_ERR_COUNT] = "the count is not valid",
    [MPI_ERR_TYPE] = "the datatype is not valid",
    [MPI_ERR_TAG] = "the tag is not valid",
    [MPI_ERR_COMM] = "the communicator is not valid",
    [MPI_ERR_RANK] = "the rank is not valid",
    [MPI_ERR_REQUEST] = "the request is not valid",
    [MPI_ERR_ROOT] = "the root is not valid",
    [MPI_ERR_GROUP] = "the group is not valid",
    [MPI_ERR_OP] = "the operation is not valid",
    [MPI_ERR_TOPOLOGY] = "the topology is not valid",
    [MPI_ERR_DIMS] = "the dimensions are not valid",
    [MPI_ERR_ARG] = "an argument is not valid",
    [MPI_ERR_UNKNOWN] = "unknown error",
    [MPI_ERR_TRUNCATE] = "the message was longer than the receive's buffer",
    [MPI_ERR_OTHER] = "other error",
    [MPI_ERR_INTERN] = "internal error of the library",
    [MPI_ERR_PENDING] = "the request is pending",
    [MPI_ERR_IN_STATUS] = "the error is in the status",
    [MPI_ERR_ACCESS] = "permission denied",
    [MPI_ERR_AMODE] = "the access mode is not valid",
    [MPI_ERR_ASSERT] = "the assertion is not valid",
    [MPI_ERR_BAD_FILE] = "the file name is not valid",
    [MPI_ERR_BASE] = "the base is not valid",
    [MPI_ERR_CONVERSION] = "the conversion failed",
    [MPI_ERR_DISP] = "the displacement is not valid",
    [MPI_ERR_DUP_DATAREP] = "the data representation is defined already",
    [MPI_ERR_FILE_EXISTS] = "the file exists",
    [MPI_ERR_FILE_IN_USE] = "the file is in use",
    [MPI_ERR_FILE] = "the file handle is not valid",
    [MPI_ERR_INFO_KEY] = "the key is too long or empty",
    [MPI_ERR_INFO_NOKEY] = "the info has no such key",
    [MPI_ERR_INFO_VALUE] = "the value is too long or empty",
    [MPI_ERR_INFO] = "the info is not valid",
    [MPI_ERR_IO] = "input or output failed",
    [MPI_ERR_KEYVAL] = "the key value is not valid",
    [MPI_ERR_LOCKTYPE] = "the lock type is not valid",
    [MPI_ERR_NAME] = "the service name is not published",
    [MPI_ERR_NO_MEM] = "no memory",
    [MPI_ERR_NOT_SAME] = "the argument is not the same on all ranks",
    [MPI_ERR_NO_SPACE] = "no space",
    [MPI_ERR_NO_SUCH_FILE] = "no such file",
    [MPI_ERR_PORT] = "the port is not valid",
    [MPI_ERR_QUOTA] = "the quota is exceeded",
    [MPI_ERR_READ_ONLY] = "read only",
    [MPI_ERR_RMA_ATTACH] = "the memory cannot be attached",
    [MPI_ERR_RMA_CONFLICT] = "conflicting accesses to a window",
    [MPI_ERR_RMA_RANGE] = "the target memory is not part of the window",
    [MPI_ERR_RMA_SHARED] = "the memory cannot be shared",
    [MPI_ERR_RMA_SYNC] = "wrong synchronization of a window",
    [MPI_ERR_SERVICE] = "the service name is not valid",
    [MPI_ERR_SIZE] = "the size is not valid",
    [MPI_ERR_SPAWN] = "processes cannot be started",
    [MPI_ERR_UNSUPPORTED_DATAREP] = "the data representation is not supported",
    [MPI_ERR_UNSUPPORTED_OPERATION] = "the operation is not supported",
    [MPI_ERR_WIN] = "the window is not valid",
    [MPI_ERR_RMA_FLAVOR] = "the window has the wrong flavour",
    [MPI_ERR_PROC_ABORTED] = "a rank has aborted",
    [MPI_ERR_VALUE_TOO_LARGE] = "the value is too large for its type",
    [MPI_ERR_SESSION] = "the session is not valid",
    [MPI_ERR_ERRHANDLER] = "the error handler is not valid",
    [MPI_ERR_ABI] = "the ABI is not supported",
};

enum { KNOWN = sizeof texts / sizeof texts[0] };

static struct added *added_of(int code) {
  struct tm_rank *rank = tm_rank_self();
  int index = code - MPI_ERR_LASTCODE - 1;
  struct tm_errors *errors = rank != NULL ? rank->errors : NULL;
  bool known = errors != NULL && index >= 0 && index < errors->count;
  return known && !errors->of[index].removed ? &errors->of[index] : NULL;
}

bool tm_code_is_valid(int code) { return (code >= 0 && code < KNOWN) || added_of(code) != NULL; }

const int *tm_code_last(void) {
  static const int none = MPI_ERR_LASTCODE;
  const struct tm_rank *rank = tm_rank_self();
  return rank->errors != NULL ? &rank->errors->last : &none;
}

void tm_code_text(int code, char text[MPI_MAX_ERROR_STRING]) {
  const struct added *added = added_of(code);
  const char *from = added != NULL               ? (added->text != NULL ? added->text : "")
                     : code >= 0 && code < KNOWN ? texts[code]
                                                 : "no error code";
  snprintf(text, MPI_MAX_ERROR_STRING, "%s", from);
}

#pragma weak MPI_Error_class = PMPI_Error_class
int PMPI_Error_class(int code, int *error_class) {
  const struct added *added = added_of(code);
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
  errors->of[errors->count++] = (struct added){error_class >= 0 ? error_class : code, NULL, false};
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
  struct added *added = added_of(code);
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
  struct added *added = added_of(code);
  bool fits = added != NULL && (added->error_class == code) == is_class && added->text == NULL;
  for (int i = 0; fits && is_class && i < rank->errors->count; i++) {
    const struct added *other = &rank->errors->of[i];
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
  struct added *added = added_of(code);
  if (added == NULL || added->text == NULL)
    return tm_fail(NULL, "MPI_Remove_error_string", MPI_ERR_ARG, "%d has no added text", code);
  free(added->text);
  added->text = NULL;
  return MPI_SUCCESS;
}
