/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of files, and their error handlers. By default errors of files are returned. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tmpi/error/code.h"
#include "tmpi/error/errors.h"
#include "tmpi/io/file.h"
#include "tmpi/rank/handle.h"

struct tm_file *tm_file_of(MPI_File handle) {
  if (!tm_handle_is_address(handle)) return NULL;
  struct tm_file *file = (struct tm_file *)handle;
  return file->magic == TM_FILE_MAGIC ? file : NULL;
}

/* ---- handlers: of a file, or of MPI_FILE_NULL, which each rank has of its own */

static struct tm_errhandler **handler_of(struct tm_file *file) {
  struct tm_rank *rank = tm_rank_self();
  if (file != NULL) return &file->handler;
  if (rank->file_handler == NULL) rank->file_handler = tm_errhandler_returning();
  return &rank->file_handler;
}

static struct tm_errhandler *get_handler(struct tm_file *file) {
  return tm_errhandler_get(&tm_rank_self()->box.ilock, handler_of(file));
}

struct tm_errhandler *tm_file_default_handler(void) { return get_handler(NULL); }

static int fail(struct tm_file *file, const char *call, int code, const char *why) {
  struct tm_errhandler *handler = get_handler(file);
  const char *name = file != NULL ? file->common->name : "a file";
  MPI_File handle = file != NULL ? (MPI_File)file : MPI_FILE_NULL;
  int reported = tm_report_by(handler, &handle, name, call, code, why);
  tm_errhandler_release(handler);
  return reported; /* programs written for other libraries let the handler change it */
}

int tm_file_fail(struct tm_file *file, const char *call, int code, const char *format, ...) {
  char why[MPI_MAX_ERROR_STRING];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  return fail(file, call, code, why);
}

int tm_file_class(int error) {
  switch (error) {
    case ENOENT: return MPI_ERR_NO_SUCH_FILE;
    case EACCES:
    case EPERM: return MPI_ERR_ACCESS;
    case EEXIST: return MPI_ERR_FILE_EXISTS;
    case ENOSPC:
    case EFBIG: return MPI_ERR_NO_SPACE;
    case EDQUOT: return MPI_ERR_QUOTA;
    case EROFS: return MPI_ERR_READ_ONLY;
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP: return MPI_ERR_BAD_FILE;
    case ETXTBSY:
    case EBUSY: return MPI_ERR_FILE_IN_USE;
    case ENOMEM: return MPI_ERR_NO_MEM;
    case TM_NOT_CONVERTED: return MPI_ERR_CONVERSION;
    case EOPNOTSUPP: return MPI_ERR_UNSUPPORTED_OPERATION;
    default: return MPI_ERR_IO;
  }
}

int tm_file_fail_errno(struct tm_file *file, const char *call, int error, const char *name) {
  char text[128];
  const char *why = error == TM_NOT_CONVERTED ? "the program's conversion function has failed"
                                              : strerror_r(error, text, sizeof text);
  return tm_file_fail(file, call, tm_file_class(error), "'%.300s': %s", name, why);
}

int tm_get_file(const char *call, MPI_File handle, struct tm_file **file) {
  tm_enter(call);
  *file = tm_file_of(handle);
  if (*file != NULL) return MPI_SUCCESS;
  return tm_file_fail(
      NULL, call, MPI_ERR_FILE, "the file is %s",
      handle == MPI_FILE_NULL ? "MPI_FILE_NULL" : "not valid: closed, or never opened");
}

/* ---- the calls */

/* MPI_FILE_NULL is a file here: *file is NULL then. */
static int get_or_null(const char *call, MPI_File handle, struct tm_file **file) {
  if (handle != MPI_FILE_NULL) return tm_get_file(call, handle, file);
  tm_enter(call);
  *file = NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_File_create_errhandler = PMPI_File_create_errhandler
int PMPI_File_create_errhandler(MPI_File_errhandler_function *function, MPI_Errhandler *result) {
  static const char call[] = "MPI_File_create_errhandler";
  struct tm_errhandler *handler =
      tm_errhandler_new(TM_HANDLES_FILES, (tm_error_function *)function);
  if (handler == NULL)
    return tm_fail(NULL, call, function == NULL ? MPI_ERR_ARG : MPI_ERR_NO_MEM,
                   "no function, or no memory");
  *result = (MPI_Errhandler)handler;
  return MPI_SUCCESS;
}

#pragma weak MPI_File_set_errhandler = PMPI_File_set_errhandler
int PMPI_File_set_errhandler(MPI_File handle, MPI_Errhandler errhandler) {
  static const char call[] = "MPI_File_set_errhandler";
  struct tm_file *file;
  int error = get_or_null(call, handle, &file);
  if (error != MPI_SUCCESS) return error;
  struct tm_errhandler *handler = tm_errhandler_of(errhandler);
  if (!tm_errhandler_fits(handler, TM_HANDLES_FILES))
    return tm_file_fail(file, call, MPI_ERR_ERRHANDLER,
                        "the error handler is not valid, or one for other objects");
  tm_errhandler_set(&tm_rank_self()->box.ilock, handler_of(file), handler);
  return MPI_SUCCESS;
}

#pragma weak MPI_File_get_errhandler = PMPI_File_get_errhandler
int PMPI_File_get_errhandler(MPI_File handle, MPI_Errhandler *errhandler) {
  struct tm_file *file;
  int error = get_or_null("MPI_File_get_errhandler", handle, &file);
  if (error != MPI_SUCCESS) return error;
  *errhandler = tm_errhandler_handle(get_handler(file));
  return MPI_SUCCESS;
}

#pragma weak MPI_File_call_errhandler = PMPI_File_call_errhandler
int PMPI_File_call_errhandler(MPI_File handle, int code) {
  static const char call[] = "MPI_File_call_errhandler";
  struct tm_file *file;
  char text[MPI_MAX_ERROR_STRING];
  int error = get_or_null(call, handle, &file);
  if (error != MPI_SUCCESS) return error;
  if (!tm_code_text(code, text))
    return tm_file_fail(file, call, MPI_ERR_ARG, "%d is no error code", code);
  fail(file, call, code, text);
  return MPI_SUCCESS;
}
