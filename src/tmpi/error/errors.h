/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file errors.h
 * What happens when a call cannot be done: the communicator's error handler decides. The message
 * names rank, call and what is wrong. Error codes of the library are the standard's classes.
 */
#ifndef TM_ERROR_ERRORS_H
#define TM_ERROR_ERRORS_H

#include "tmpi/layout/type.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/errhandler.h"

/** Says what went wrong and does what the communicator's handler says (NULL: MPI_COMM_SELF's, or
 * while that is the default MPI_COMM_WORLD's).
 * @return code, for the call to return. */
int tm_fail(struct tm_comm *comm, const char *call, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));

/** The same without a message of its own: that of the code's class. */
int tm_fail_code(struct tm_comm *comm, const char *call, int code) __attribute__((cold));

/** A communicator cannot be made: tm_context_new_limited(). */
int tm_too_many_comms(struct tm_comm *parent, const char *call) __attribute__((cold));

/** The argument `what`, which points to a result or a handle, is NULL. @return MPI_ERR_ARG, for the
 * call to return. */
int tm_no_place(const char *call, const char *what) __attribute__((cold));

/** @return the calling rank. Before MPI_Init() and after MPI_Finalize() it ends the job, whatever
 * the error handlers say: no return value would let the caller continue. */
struct tm_rank *tm_enter(const char *call);

/** Looks the handle up. @return MPI_SUCCESS, or what tm_fail() returned. */
int tm_get_comm(const char *call, MPI_Comm handle, struct tm_comm **comm);

/** The same without a call for what is right: where a call would take long beside the rest. */
static inline int tm_get_comm_quickly(const char *call, MPI_Comm handle, struct tm_comm **comm) {
  const struct tm_rank *rank = tm_rank_here();
  *comm = rank != NULL && tm_rank_may_call(rank) ? tm_comm_in(rank, handle) : NULL;
  return mt_likely(*comm != NULL) ? MPI_SUCCESS : tm_get_comm(call, handle, comm);
}

/** Checks a handle that may be MPI_INFO_NULL. @return MPI_SUCCESS, or what tm_fail() returned. */
int tm_check_info(struct tm_comm *comm, const char *call, MPI_Info handle);

/** Fills *type with the type of a handle that may be used in a message. */
int tm_get_type(struct tm_comm *comm, const char *call, MPI_Datatype handle, struct tm_type **type);

/** The same without a call for what is right. */
static inline int tm_get_type_quickly(struct tm_comm *comm, const char *call, MPI_Datatype handle,
                                      struct tm_type **type) {
  *type = tm_type_of(handle);
  if (mt_likely(*type != NULL && (*type)->committed)) return MPI_SUCCESS;
  return tm_get_type(comm, call, handle, type);
}

/** Refuses elements that have more bytes than an address space. @return what tm_fail() returned. */
int tm_too_many_bytes(struct tm_comm *comm, const char *call, MPI_Count count,
                      const struct tm_type *type) __attribute__((cold));

/** Checks that the number of bytes of count elements does not wrap: fewer would be transferred
 * without a word. count is not negative. @return MPI_SUCCESS or what tm_fail() returned. */
static inline int tm_check_bytes(struct tm_comm *comm, const char *call, MPI_Count count,
                                 const struct tm_type *type) {
  size_t bytes;
  bool wraps = __builtin_mul_overflow((size_t)count, type->size, &bytes) || bytes > PTRDIFF_MAX;
  return mt_likely(!wraps) ? MPI_SUCCESS : tm_too_many_bytes(comm, call, count, type);
}

/** Looks a handle up. @return MPI_SUCCESS or what tm_fail() returned. */
int tm_get_session(const char *call, MPI_Session handle, struct tm_session **session);

/** As tm_fail(), by the session's error handler. */
int tm_session_fail(struct tm_session *session, const char *call, int code, const char *why);

/** As tm_fail(), by an error handler that the program has given to the call; what that is to be of
 * does not exist yet, so its function gets a null handle. */
int tm_fail_by(struct tm_errhandler *handler, const char *call, int code, const char *why)
    __attribute__((cold));

/** Reports an error by an error handler: ends the job, calls the program's function, or does
 * nothing.
 * @param handle address of the handle that the function gets @param on as for tm_end_job()
 * @return the code as the function left it, which only errors of files return to the program */
int tm_report_by(struct tm_errhandler *handler, void *handle, const char *on, const char *call,
                 int code, const char *why) __attribute__((cold));

/** Reports an impossible state: prints the message and ends the process. */
void tm_panic(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/** Ends the job with a message. on: what the call was on; NULL: nothing. */
void tm_end_job(const char *on, const char *call, int code, const char *why)
    __attribute__((noreturn));

#endif
