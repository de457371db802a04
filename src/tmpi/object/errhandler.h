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

/** The objects that an error handler may be set on. */
enum tm_errhandler_of {
  TM_HANDLES_ALL, /**< a predefined one */
  TM_HANDLES_COMMS,
  TM_HANDLES_SESSIONS,
  TM_HANDLES_WINS,
  TM_HANDLES_FILES
};

/** The functions differ in the type of the handle that they get. */
typedef void tm_error_function(void *handle, int *code, ...);

struct tm_errhandler {
  uint32_t magic;
  uint32_t refs;               /* [atomic] of those a program makes */
  enum tm_errhandler_of of;    /* [const] */
  tm_error_function *function; /* [const] the program's; NULL: end the job, or return */
};

enum { TM_ERRHANDLER_MAGIC = 0xe44 };

/** @return the error handler of a handle, NULL: no valid one. */
struct tm_errhandler *tm_errhandler_of(MPI_Errhandler handle);
MPI_Errhandler tm_errhandler_handle(struct tm_errhandler *handler);
/** @return whether errors end the job. */
bool tm_errhandler_ends(const struct tm_errhandler *handler);
/** @return whether it may be set on objects of a class. NULL: no valid one. */
bool tm_errhandler_fits(const struct tm_errhandler *handler, enum tm_errhandler_of of);
/** Makes one of the program's. @return NULL: no function, or no memory. */
struct tm_errhandler *tm_errhandler_new(enum tm_errhandler_of of, tm_error_function *function);
void tm_errhandler_hold(struct tm_errhandler *handler);
void tm_errhandler_release(struct tm_errhandler *handler);
struct tm_errhandler *tm_errhandler_fatal(void);
struct tm_errhandler *tm_errhandler_returning(void);

/** Reads and sets an object's handler: threads of a rank may set it while others fail. What is
 * returned is held for the caller. */
struct tm_errhandler *tm_errhandler_get(uint32_t *ilock, struct tm_errhandler *const *at);
void tm_errhandler_set(uint32_t *ilock, struct tm_errhandler **at, struct tm_errhandler *handler);

#endif
