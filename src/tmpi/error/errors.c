/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: handlers of communicators, and their arguments.
 *
 * Relaxed: a rank's own phase, and its sessions.
 */
#include "tmpi/error/errors.h"

#include <mltp/mltp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/error/code.h"
#include "tmpi/layout/type.h"
#include "tmpi/object/info.h"
#include "tmpi/object/session.h"
#include "tmpi/rank/handle.h"
#include "tmpi/report/location.h"

void tm_end_job(const char *on, const char *call, int code, const char *why) {
  int number = tm_rank_number();
  const void *site = tm_location_call_site(__builtin_frame_address(0));
  char at[300] = "", place[280];
  if (site != NULL) {
    tm_location_name(place, sizeof place, site);
    snprintf(at, sizeof at, ", at %s", place);
  }
  tm_job_end_output(); /* before the message: what the rank printed led to it */
  if (number < 0)
    fprintf(stderr, "tmpi: %s: %s%s\n", call, why, at);
  else if (on == NULL)
    fprintf(stderr, "tmpi: rank %d: %s: %s%s\n", number, call, why, at);
  else
    fprintf(stderr, "tmpi: rank %d: %s on %s: %s%s\n", number, call, on, why, at);
  tm_job_abort(code > 0 && code < 128 ? code : 1);
}

/* @return whether errors of the calling rank end the job while no handler of its own has been set:
 * programs for MPI 3 and before set the world's handler only. */
static bool self_is_default(const struct tm_rank *rank) {
  const struct tm_comm *self = mt_load_acquire(&rank->self); /* SE-4 acquire: fields; pairs SE-2 */
  if (self == NULL) return rank->world != NULL;              /* it was not used so far */
  uint32_t *ilock = &self->owner->box.ilock;
  mti_lock(ilock);
  bool is_default = self->handler == tm_errhandler_fatal();
  mti_unlock(ilock);
  return is_default;
}

int tm_report_by(struct tm_errhandler *handler, void *handle, const char *on, const char *call,
                 int code, const char *why) {
  if (tm_errhandler_ends(handler)) tm_end_job(on, call, code, why);
  if (handler->function != NULL) handler->function(handle, &code);
  return code;
}

static int fail(struct tm_comm *comm, const char *call, int code, const char *why) {
  struct tm_rank *rank = tm_rank_self();
  bool on_none = comm == NULL;
  if (on_none && rank != NULL) comm = self_is_default(rank) ? rank->world : tm_comm_self(rank);
  if (comm == NULL) tm_end_job("a communicator", call, code, why);
  struct tm_errhandler *handler = tm_comm_handler(comm);
  const char *name = comm->name[0] != '\0' ? comm->name : "a communicator";
  MPI_Comm handle = tm_comm_handle(comm);
  tm_report_by(handler, &handle, on_none ? NULL : name, call, code, why);
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

int tm_check_info(struct tm_comm *comm, const char *call, MPI_Info handle) {
  if (!tm_info_is_wrong(handle)) return MPI_SUCCESS;
  return tm_fail(comm, call, MPI_ERR_INFO, "the info is not valid");
}

int tm_no_place(const char *call, const char *what) {
  return tm_fail(NULL, call, MPI_ERR_ARG, "%s is NULL (give the address of a variable)", what);
}

int tm_too_many_comms(struct tm_comm *parent, const char *call) {
  return tm_fail(parent, call, MPI_ERR_OTHER,
                 "a member has %u communicators (free what is not needed, or allow more: "
                 "tmpirun --communicators)",
                 tm_job.comms_max);
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

static bool may_call(const struct tm_rank *rank) { return rank != NULL && tm_rank_may_call(rank); }

/* The worker of nonblocking collectives is another thread, too. */
static const char *why_not(const struct tm_rank *rank) {
  if (rank == NULL || mt_load_relaxed(&rank->stage) != TM_FINALIZED)
    return "called before MPI_Init() (call that first)";
  return rank->thread == mltp_self()
             ? "called after MPI_Finalize() (call it before)"
             : "not complete when its rank called MPI_Finalize() (wait for it before)";
}

/* A rank that another one has aborted ends here. */
__attribute__((cold, noreturn)) static void refuse(const struct tm_rank *rank, const char *call) {
  if (rank != NULL && mt_load_relaxed(&rank->stage) == TM_ABORTED)
    tm_job_rank_ends()->end(rank->number, MPI_ERR_PROC_ABORTED);
  tm_end_job(NULL, call, MPI_ERR_OTHER, why_not(rank));
}

static inline struct tm_rank *enter(const char *call) {
  struct tm_rank *rank = tm_rank_here();
  if (mt_unlikely(!may_call(rank))) refuse(rank, call);
  return rank;
}

struct tm_rank *tm_enter(const char *call) { return enter(call); }

int tm_get_comm(const char *call, MPI_Comm handle, struct tm_comm **comm) {
  const struct tm_rank *rank = enter(call);
  *comm = tm_comm_in(rank, handle);
  if (mt_likely(*comm != NULL)) return MPI_SUCCESS;
  if (handle == MPI_COMM_SELF && rank->world != NULL)
    return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  return tm_fail(NULL, call, MPI_ERR_COMM, "the communicator is %s",
                 handle == MPI_COMM_NULL ? "MPI_COMM_NULL" : "not valid: freed, or never made");
}

static int refuse_type(struct tm_comm *comm, const char *call, MPI_Datatype handle,
                       const struct tm_type *type) {
  if (type != NULL)
    return tm_fail(comm, call, MPI_ERR_TYPE, "the datatype is not committed (MPI_Type_commit())");
  return tm_fail(
      comm, call, MPI_ERR_TYPE, "the datatype is %s",
      handle == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL" : "not valid: freed, or never made");
}

int tm_get_type(struct tm_comm *comm, const char *call, MPI_Datatype handle,
                struct tm_type **type) {
  *type = tm_type_of(handle);
  bool usable = *type != NULL && (*type)->committed;
  return mt_likely(usable) ? MPI_SUCCESS : refuse_type(comm, call, handle, *type);
}

int tm_too_many_bytes(struct tm_comm *comm, const char *call, MPI_Count count,
                      const struct tm_type *type) {
  return tm_fail(comm, call, MPI_ERR_COUNT,
                 "%lld elements of %zu bytes are more than an address space has", (long long)count,
                 type->size);
}

int tm_get_session(const char *call, MPI_Session handle, struct tm_session **session) {
  tm_enter(call);
  *session = (struct tm_session *)handle;
  if (tm_handle_is_address(handle) && (*session)->magic == TM_SESSION_MAGIC) return MPI_SUCCESS;
  return tm_fail(
      NULL, call, MPI_ERR_SESSION, "the session is %s",
      handle == MPI_SESSION_NULL ? "MPI_SESSION_NULL" : "not valid: finalized, or never made");
}

int tm_session_fail(struct tm_session *session, const char *call, int code, const char *why) {
  MPI_Session handle = (MPI_Session)session;
  tm_report_by(session->handler, &handle, "a session", call, code, why);
  return code;
}

int tm_fail_by(struct tm_errhandler *handler, const char *call, int code, const char *why) {
  MPI_Comm none = MPI_COMM_NULL; /* a null session is the same: no address */
  tm_report_by(handler, &none, NULL, call, code, why);
  return code;
}
