/* SPDX-License-Identifier: Apache-2.0 */
/* Error classes and codes. */
#include "tmpi/error/code.h"

#include <stdio.h>

#include "tmpi/rank/rank.h"

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

struct tm_added_code *tm_code_added(int code) {
  struct tm_rank *rank = tm_rank_self();
  int index = code - MPI_ERR_LASTCODE - 1;
  struct tm_errors *errors = rank != NULL ? rank->errors : NULL;
  bool known = errors != NULL && index >= 0 && index < errors->count;
  return known && !errors->of[index].removed ? &errors->of[index] : NULL;
}

bool tm_code_is_valid(int code) {
  return (code >= 0 && code < KNOWN) || tm_code_added(code) != NULL;
}

const int *tm_code_last(void) {
  static const int none = MPI_ERR_LASTCODE;
  const struct tm_rank *rank = tm_rank_self();
  return rank->errors != NULL ? &rank->errors->last : &none;
}

void tm_code_text(int code, char text[MPI_MAX_ERROR_STRING]) {
  const struct tm_added_code *added = tm_code_added(code);
  const char *from = added != NULL               ? (added->text != NULL ? added->text : "")
                     : code >= 0 && code < KNOWN ? texts[code]
                                                 : "no error code";
  snprintf(text, MPI_MAX_ERROR_STRING, "%s", from);
}
