/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error classes and codes.
 *
 * Relaxed: the highest code, which stands for itself.
 */
#include "tmpi/error/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/rank/rank.h"

static const char *const texts[] = {
    [MPI_SUCCESS] = "no error",
    [MPI_ERR_BUFFER] = "the buffer is not valid",
    [MPI_ERR_COUNT] = "the count is not valid",
    [MPI_ERR_TYPE] = "the datatype is not valid, or not that of the message",
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

/* Code MPI_ERR_LASTCODE + 1 + i. */
struct added {
  int error_class;
  char *text;
  bool removed;
};

/* What a rank has added; its errors_ilock protects it. It stays for good, once there is one. */
struct tm_errors {
  int count;
  int last; /* [atomic] the highest code; programs read it by its address */
  struct added *of;
};

static bool is_standard(int code) { return code >= 0 && code < KNOWN; }

/* @return what the calling rank has added, locked; NULL: nothing, or it is no rank. */
static struct tm_errors *lock(void) {
  struct tm_rank *rank = tm_rank_self();
  if (rank == NULL) return NULL;
  mti_lock(&rank->errors_ilock);
  if (rank->errors == NULL) mti_unlock(&rank->errors_ilock);
  return rank->errors;
}

static void unlock(const struct tm_errors *errors) {
  if (errors != NULL) mti_unlock(&tm_rank_self()->errors_ilock);
}

/* @return what was added as a code, NULL: nothing. errors is locked, or NULL. */
static struct added *find(struct tm_errors *errors, int code) {
  int index = code - MPI_ERR_LASTCODE - 1;
  if (errors == NULL || index < 0 || index >= errors->count || errors->of[index].removed)
    return NULL;
  return &errors->of[index];
}

bool tm_code_is_valid(int code) { return tm_code_class(code) >= 0; }

int tm_code_class(int code) {
  if (is_standard(code)) return code;
  struct tm_errors *errors = lock();
  const struct added *added = find(errors, code);
  int error_class = added != NULL ? added->error_class : -1;
  unlock(errors);
  return error_class;
}

bool tm_code_text(int code, char text[MPI_MAX_ERROR_STRING]) {
  struct tm_errors *errors = is_standard(code) ? NULL : lock();
  const struct added *added = find(errors, code);
  const char *from = is_standard(code)     ? texts[code]
                     : added == NULL       ? "no error code"
                     : added->text == NULL ? ""
                                           : added->text;
  snprintf(text, MPI_MAX_ERROR_STRING, "%s", from);
  unlock(errors);
  return is_standard(code) || added != NULL;
}

const int *tm_code_last(void) {
  static const int none = MPI_ERR_LASTCODE;
  struct tm_errors *errors = lock();
  const int *last = errors != NULL ? &errors->last : &none;
  unlock(errors);
  return last;
}

/* @return the rank's table, locked; NULL: no memory. */
static struct tm_errors *lock_or_make(void) {
  struct tm_rank *rank = tm_rank_self();
  mti_lock(&rank->errors_ilock);
  if (rank->errors == NULL && (rank->errors = calloc(1, sizeof *rank->errors)) != NULL)
    rank->errors->last = MPI_ERR_LASTCODE;
  if (rank->errors == NULL) mti_unlock(&rank->errors_ilock);
  return rank->errors;
}

int tm_code_add(int error_class) {
  struct tm_errors *errors = lock_or_make();
  if (errors == NULL) return -1;
  int code = -1;
  struct added *larger = realloc(errors->of, (size_t)(errors->count + 1) * sizeof *larger);
  if (larger != NULL) {
    errors->of = larger;
    code = MPI_ERR_LASTCODE + 1 + errors->count;
    mt_store_relaxed(&errors->last, code);
    larger[errors->count++] = (struct added){error_class >= 0 ? error_class : code, NULL, false};
  }
  unlock(errors);
  return code;
}

int tm_code_set_text(int code, const char *text) {
  char *copy = text != NULL ? strdup(text) : NULL;
  if (text != NULL && copy == NULL) return MPI_ERR_NO_MEM;
  struct tm_errors *errors = lock();
  struct added *added = find(errors, code);
  bool fits = added != NULL && (text != NULL || added->text != NULL);
  char *old = fits ? added->text : copy;
  if (fits) added->text = copy;
  unlock(errors);
  free(old);
  return fits ? MPI_SUCCESS : MPI_ERR_ARG;
}

/* Whether an added class has no codes beside the one that stands for it. */
static bool has_no_codes(const struct tm_errors *errors, const struct added *class) {
  for (int i = 0; i < errors->count; i++) {
    const struct added *other = &errors->of[i];
    if (other != class && !other->removed && other->error_class == class->error_class) return false;
  }
  return true;
}

bool tm_code_remove(int code, bool is_class) {
  struct tm_errors *errors = lock();
  struct added *added = find(errors, code);
  bool fits = added != NULL && (added->error_class == code) == is_class && added->text == NULL &&
              (!is_class || has_no_codes(errors, added));
  if (fits) {
    added->removed = true;
    while (errors->count > 0 && errors->of[errors->count - 1].removed) errors->count--;
    mt_store_relaxed(&errors->last, MPI_ERR_LASTCODE + errors->count);
  }
  unlock(errors);
  return fits;
}
