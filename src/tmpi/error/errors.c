/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: handlers of communicators, and what they are told.
 *
 * Relaxed: a rank's own phase, and its sessions.
 */
#include "tmpi/error/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/error/code.h"

static struct tm_errhandler fatal = {TM_ERRHANDLER_MAGIC, 1, NULL, NULL};
static struct tm_errhandler ends = {TM_ERRHANDLER_MAGIC, 1, NULL, NULL};
static struct tm_errhandler returns = {TM_ERRHANDLER_MAGIC, 1, NULL, NULL};

struct tm_errhandler *tm_errhandler_fatal(void) { return &fatal; }

struct tm_errhandler *tm_errhandler_returning(void) { return &returns; }

static bool is_predefined(const struct tm_errhandler *handler) {
  return handler == &fatal || handler == &ends || handler == &returns;
}

void tm_errhandler_hold(struct tm_errhandler *handler) {
  if (!is_predefined(handler)) mt_add_relaxed(&handler->refs, 1); /* relaxed: the caller has one */
}

void tm_errhandler_release(struct tm_errhandler *handler) {
  /* EH-1 acq_rel: whoever used it has done so; pairs EH-1 */
  if (is_predefined(handler) || mt_add_acq_rel(&handler->refs, (uint32_t)-1) != 1) return;
  handler->magic = 0;
  free(handler);
}

struct tm_errhandler *tm_errhandler_of(MPI_Errhandler handle) {
  if (handle == MPI_ERRORS_ARE_FATAL) return &fatal;
  if (handle == MPI_ERRORS_ABORT) return &ends;
  if (handle == MPI_ERRORS_RETURN) return &returns;
  if ((uintptr_t)handle < 0x1000) return NULL;
  struct tm_errhandler *handler = (struct tm_errhandler *)handle;
  return handler->magic == TM_ERRHANDLER_MAGIC ? handler : NULL;
}

MPI_Errhandler tm_errhandler_handle(struct tm_errhandler *handler) {
  if (handler == &fatal) return MPI_ERRORS_ARE_FATAL;
  if (handler == &ends) return MPI_ERRORS_ABORT;
  if (handler == &returns) return MPI_ERRORS_RETURN;
  return (MPI_Errhandler)handler;
}

/* ---- failing */

bool tm_errhandler_ends(const struct tm_errhandler *handler) {
  return handler == &fatal || handler == &ends;
}

void tm_end_job(const char *on, const char *call, int code, const char *why) {
  int number = tm_rank_number();
  if (number >= 0)
    fprintf(stderr, "tmpi: rank %d: %s on %s: %s\n", number, call, on, why);
  else
    fprintf(stderr, "tmpi: %s: %s\n", call, why);
  tm_job_abort(code > 0 && code < 128 ? code : 1);
}

struct tm_errhandler *tm_comm_handler(const struct tm_comm *comm) {
  uint32_t *ilock = &comm->owner->box.ilock;
  mti_lock(ilock);
  struct tm_errhandler *handler = comm->handler;
  tm_errhandler_hold(handler);
  mti_unlock(ilock);
  return handler;
}

void tm_comm_set_handler(struct tm_comm *comm, struct tm_errhandler *handler) {
  uint32_t *ilock = &comm->owner->box.ilock;
  tm_errhandler_hold(handler);
  mti_lock(ilock);
  struct tm_errhandler *old = comm->handler;
  comm->handler = handler;
  mti_unlock(ilock);
  tm_errhandler_release(old);
}

/* @return whether errors of the calling rank end the job while no handler of its own has been set:
 * programs for MPI 3 and before set the world's handler only. */
static bool self_is_default(const struct tm_rank *rank) {
  if (rank->self == NULL) return false;
  uint32_t *ilock = &rank->self->owner->box.ilock;
  mti_lock(ilock);
  bool is_default = rank->self->handler == &fatal;
  mti_unlock(ilock);
  return is_default;
}

static int fail(struct tm_comm *comm, const char *call, int code, const char *why) {
  struct tm_rank *rank = tm_rank_self();
  if (comm == NULL && rank != NULL) comm = self_is_default(rank) ? rank->world : rank->self;
  if (comm == NULL) tm_end_job("a communicator", call, code, why);
  struct tm_errhandler *handler = tm_comm_handler(comm);
  const char *name = comm->name[0] != '\0' ? comm->name : "a communicator";
  if (tm_errhandler_ends(handler)) tm_end_job(name, call, code, why);
  MPI_Comm handle = tm_comm_handle(comm);
  int told = code;
  if (handler->function != NULL) handler->function(&handle, &told);
  tm_errhandler_release(handler);
  return code;
}

int tm_fail(struct tm_comm *comm, const char *call, int code, const char *format, ...) {
  char why[MPI_MAX_ERROR_STRING];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  return fail(comm, call, code, why);
}

int tm_fail_code(struct tm_comm *comm, const char *call, int code) {
  char why[MPI_MAX_ERROR_STRING];
  tm_code_text(code, why);
  return fail(comm, call, code, why);
}

void tm_panic(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "tmpi: rank %d: ", tm_rank_number());
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  tm_job_abort(1);
}

struct tm_rank *tm_enter(const char *call) {
  struct tm_rank *rank = tm_rank_self();
  if (rank == NULL ||
      (mt_load_relaxed(&rank->stage) != TM_INITIALIZED && mt_load_relaxed(&rank->sessions) == 0))
    tm_fail(NULL, call, MPI_ERR_OTHER,
            rank != NULL && mt_load_relaxed(&rank->stage) == TM_FINALIZED
                ? "called after MPI_Finalize() (call it before)"
                : "called before MPI_Init() (call that first)");
  return rank;
}

int tm_get_comm(const char *call, MPI_Comm handle, struct tm_comm **comm) {
  *comm = tm_comm_in(tm_enter(call), handle);
  if (*comm != NULL) return MPI_SUCCESS;
  return tm_fail(NULL, call, MPI_ERR_COMM, "the communicator is %s",
                 handle == MPI_COMM_NULL ? "MPI_COMM_NULL" : "not valid: freed, or never made");
}

/* ---- error handlers */

#pragma weak MPI_Comm_create_errhandler = PMPI_Comm_create_errhandler
int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler) {
  tm_enter("MPI_Comm_create_errhandler");
  struct tm_errhandler *new = calloc(1, sizeof *new);
  if (function == NULL || handler == NULL || new == NULL) {
    free(new);
    return tm_fail(NULL, "MPI_Comm_create_errhandler",
                   function == NULL || handler == NULL ? MPI_ERR_ARG : MPI_ERR_NO_MEM,
                   "no function, no place for the result, or no memory");
  }
  *new = (struct tm_errhandler){TM_ERRHANDLER_MAGIC, 1, function, NULL};
  *handler = (MPI_Errhandler) new;
  return MPI_SUCCESS;
}

static int bad_handler(struct tm_comm *comm, const char *call) {
  return tm_fail(comm, call, MPI_ERR_ERRHANDLER, "the error handler is not valid");
}

#pragma weak MPI_Comm_set_errhandler = PMPI_Comm_set_errhandler
int PMPI_Comm_set_errhandler(MPI_Comm handle, MPI_Errhandler errhandler) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_set_errhandler", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  struct tm_errhandler *handler = tm_errhandler_of(errhandler);
  if (handler == NULL || handler->session_function != NULL)
    return bad_handler(comm, "MPI_Comm_set_errhandler");
  tm_comm_set_handler(comm, handler);
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_get_errhandler = PMPI_Comm_get_errhandler
int PMPI_Comm_get_errhandler(MPI_Comm handle, MPI_Errhandler *errhandler) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_get_errhandler", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  *errhandler = tm_errhandler_handle(tm_comm_handler(comm));
  return MPI_SUCCESS;
}

#pragma weak MPI_Errhandler_free = PMPI_Errhandler_free
int PMPI_Errhandler_free(MPI_Errhandler *errhandler) { /* also without any session */
  struct tm_errhandler *handler = errhandler != NULL ? tm_errhandler_of(*errhandler) : NULL;
  if (handler == NULL) return bad_handler(NULL, "MPI_Errhandler_free");
  tm_errhandler_release(handler);
  *errhandler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_call_errhandler = PMPI_Comm_call_errhandler
int PMPI_Comm_call_errhandler(MPI_Comm handle, int code) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_call_errhandler", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (!tm_code_is_valid(code))
    return tm_fail(comm, "MPI_Comm_call_errhandler", MPI_ERR_ARG, "%d is no error code", code);
  tm_fail_code(comm, "MPI_Comm_call_errhandler", code);
  return MPI_SUCCESS;
}
