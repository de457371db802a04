/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file errors.h
 * What happens when a call cannot be done: the communicator's error handler decides. The message
 * names rank, call and what is wrong. Error codes of the library are the standard's classes.
 */
#ifndef TM_ERROR_ERRORS_H
#define TM_ERROR_ERRORS_H

#include "tmpi/object/comm.h"

struct tm_errhandler {
  uint32_t magic;
  uint32_t refs;                          /* [atomic] of those a program makes */
  MPI_Comm_errhandler_function *function; /* of communicators; NULL: end the job, or return */
  MPI_Session_errhandler_function *session_function; /* of sessions */
};

enum { TM_ERRHANDLER_MAGIC = 0xe44 };

/** Says what went wrong and does what the communicator's handler says (NULL: MPI_COMM_SELF's, or
 * while that is the default MPI_COMM_WORLD's).
 * @return code, for the call to return. */
int tm_fail(struct tm_comm *comm, const char *call, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));

/** The same without a message of its own: that of the code's class. */
int tm_fail_code(struct tm_comm *comm, const char *call, int code) __attribute__((cold));

/** The calling rank, which may use MPI now; ends the job when it may not. */
struct tm_rank *tm_enter(const char *call);

/** Looks the handle up. @return MPI_SUCCESS, or what tm_fail() returned. */
int tm_get_comm(const char *call, MPI_Comm handle, struct tm_comm **comm);

/** Something broke that the library cannot go on without: message and end. */
void tm_panic(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/** Ends the job with a message. on: what the call was on; NULL: nothing. */
void tm_end_job(const char *on, const char *call, int code, const char *why)
    __attribute__((noreturn));

/** @return the error handler of a handle, NULL: no valid one. */
struct tm_errhandler *tm_errhandler_of(MPI_Errhandler handle);
MPI_Errhandler tm_errhandler_handle(struct tm_errhandler *handler);
/** @return whether errors end the job. */
bool tm_errhandler_ends(const struct tm_errhandler *handler);
/** A communicator's handler: threads of the rank may set it while others fail. What is told is held
 * for the caller. */
struct tm_errhandler *tm_comm_handler(const struct tm_comm *comm);
void tm_comm_set_handler(struct tm_comm *comm, struct tm_errhandler *handler);
void tm_errhandler_hold(struct tm_errhandler *handler);
void tm_errhandler_release(struct tm_errhandler *handler);
struct tm_errhandler *tm_errhandler_fatal(void);
struct tm_errhandler *tm_errhandler_returning(void);

#endif
