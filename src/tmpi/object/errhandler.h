/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file errhandler.h
 * Error handlers.
 */
#ifndef TM_OBJECT_ERRHANDLER_H
#define TM_OBJECT_ERRHANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include "tmpi/mpi.h"

struct tm_errhandler {
  uint32_t magic;
  uint32_t refs;                          /* [atomic] of those a program makes */
  MPI_Comm_errhandler_function *function; /* of communicators; NULL: end the job, or return */
  MPI_Session_errhandler_function *session_function; /* of sessions */
};

enum { TM_ERRHANDLER_MAGIC = 0xe44 };

/** @return the error handler of a handle, NULL: no valid one. */
struct tm_errhandler *tm_errhandler_of(MPI_Errhandler handle);
MPI_Errhandler tm_errhandler_handle(struct tm_errhandler *handler);
/** @return whether errors end the job. */
bool tm_errhandler_ends(const struct tm_errhandler *handler);
void tm_errhandler_hold(struct tm_errhandler *handler);
void tm_errhandler_release(struct tm_errhandler *handler);
struct tm_errhandler *tm_errhandler_fatal(void);
struct tm_errhandler *tm_errhandler_returning(void);

#endif
