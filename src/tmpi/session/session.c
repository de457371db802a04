/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: their life, what they tell, their error handlers.
 *
 * Relaxed: references are added by who has one; sessions are counted.
 */
#include "tmpi/object/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/atomic.h"
#include "tmpi/env/init.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"

enum { MAGIC = 0x5e55 };

void tm_session_hold(struct tm_session *session) {
  if (session != NULL) mt_add_relaxed(&session->refs, 1);
}

void tm_session_release(struct tm_session *session) {
  /* SN-1 acq_rel: whoever used it has done so; pairs SN-1 */
  if (session == NULL || mt_add_acq_rel(&session->refs, (uint32_t)-1) != 1) return;
  tm_errhandler_release(session->handler);
  tm_info_free(session->info);
  free(session); /* tm_fail() is no success: NOLINT(clang-analyzer-unix.Malloc) */
}

int tm_get_session(const char *call, MPI_Session handle, struct tm_session **session) {
  tm_enter(call);
  *session = (struct tm_session *)handle;
  if ((uintptr_t)handle >= 0x1000 && (*session)->magic == MAGIC) return MPI_SUCCESS;
  return tm_fail(
      NULL, call, MPI_ERR_SESSION, "the session is %s",
      handle == MPI_SESSION_NULL ? "MPI_SESSION_NULL" : "not valid: finalized, or never made");
}

int tm_session_fail(struct tm_session *session, const char *call, int code, const char *why) {
  if (tm_errhandler_ends(session->handler)) tm_end_job("a session", call, code, why);
  MPI_Session handle = (MPI_Session)session;
  int told = code;
  if (session->handler->session_function != NULL)
    session->handler->session_function(&handle, &told);
  return code;
}

/* ---- life */

/* MPI_THREAD_MULTIPLE is what every session has. */
static struct tm_info *describe(const struct tm_info *hints) {
  struct tm_info *info = tm_info_hints(hints);
  if (info == NULL || tm_info_put(info, "thread_level", "MPI_THREAD_MULTIPLE")) return info;
  tm_info_free(info);
  return NULL;
}

#pragma weak MPI_Session_init = PMPI_Session_init
int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *result) {
  static const char call[] = "MPI_Session_init";
  struct tm_rank *rank = tm_init_rank(call);
  struct tm_errhandler *handler = tm_errhandler_of(errhandler);
  if (handler == NULL)
    return tm_fail(NULL, call, MPI_ERR_ERRHANDLER, "the error handler is not valid");
  if (info != MPI_INFO_NULL && tm_info_of(info) == NULL)
    return tm_fail(NULL, call, MPI_ERR_INFO, "the info is not valid");
  struct tm_session *session = calloc(1, sizeof *session);
  struct tm_info *own = describe(info != MPI_INFO_NULL ? tm_info_of(info) : NULL);
  if (session == NULL || own == NULL) {
    free(session);
    tm_info_free(own);
    return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  }
  tm_errhandler_hold(handler);
  *session = (struct tm_session){MAGIC, 1, handler, own, NULL};
  mt_add_relaxed(&rank->sessions, 1);
  *result = (MPI_Session)session;
  return MPI_SUCCESS;
}

#pragma weak MPI_Session_finalize = PMPI_Session_finalize
int PMPI_Session_finalize(MPI_Session *handle) {
  struct tm_session *session;
  int error = tm_get_session("MPI_Session_finalize", *handle, &session);
  if (error != MPI_SUCCESS) return error;
  mt_add_relaxed(&tm_rank_self()->sessions, (uint32_t)-1);
  session->magic = 0;
  tm_session_release(session);
  *handle = MPI_SESSION_NULL;
  return MPI_SUCCESS;
}

/* ---- what it tells: there are two sets of processes, the job and the rank itself */

static const char *const sets[] = {"mpi://WORLD", "mpi://SELF"};
enum { WORLD, SELF, SETS };

#pragma weak MPI_Session_get_info = PMPI_Session_get_info
int PMPI_Session_get_info(MPI_Session handle, MPI_Info *result) {
  struct tm_session *session;
  int error = tm_get_session("MPI_Session_get_info", handle, &session);
  if (error != MPI_SUCCESS) return error;
  struct tm_info *info = tm_info_copy(session->info);
  if (info == NULL)
    return tm_session_fail(session, "MPI_Session_get_info", MPI_ERR_NO_MEM, "no memory");
  *result = (MPI_Info)info;
  return MPI_SUCCESS;
}

#pragma weak MPI_Session_get_num_psets = PMPI_Session_get_num_psets
int PMPI_Session_get_num_psets(MPI_Session handle, MPI_Info info, int *count) {
  struct tm_session *session;
  (void)info;
  int error = tm_get_session("MPI_Session_get_num_psets", handle, &session);
  if (error == MPI_SUCCESS) *count = SETS;
  return error;
}

#pragma weak MPI_Session_get_nth_pset = PMPI_Session_get_nth_pset
int PMPI_Session_get_nth_pset(MPI_Session handle, MPI_Info info, int n, int *length, char *name) {
  struct tm_session *session;
  (void)info;
  int error = tm_get_session("MPI_Session_get_nth_pset", handle, &session);
  if (error != MPI_SUCCESS) return error;
  if (n < 0 || n >= SETS)
    return tm_session_fail(session, "MPI_Session_get_nth_pset", MPI_ERR_ARG,
                           "there is no process set of that number");
  if (*length > 0) snprintf(name, (size_t)*length, "%s", sets[n]);
  *length = (int)strlen(sets[n]) + 1;
  return MPI_SUCCESS;
}

/* @return WORLD or SELF; SETS: none of this name. */
static int find_set(const char *name) {
  int set = 0;
  while (set < SETS && (name == NULL || strcasecmp(name, sets[set]) != 0)) set++;
  return set;
}

static int no_set(struct tm_session *session, const char *call) {
  return tm_session_fail(session, call, MPI_ERR_ARG,
                         "there is no such process set (mpi://WORLD and mpi://SELF there are)");
}

#pragma weak MPI_Session_get_pset_info = PMPI_Session_get_pset_info
int PMPI_Session_get_pset_info(MPI_Session handle, const char *name, MPI_Info *result) {
  static const char call[] = "MPI_Session_get_pset_info";
  struct tm_session *session;
  int error = tm_get_session(call, handle, &session);
  if (error != MPI_SUCCESS) return error;
  int set = find_set(name);
  if (set == SETS) return no_set(session, call);
  char size[16];
  snprintf(size, sizeof size, "%d", set == WORLD ? tm_job.size : 1);
  struct tm_info *info = tm_info_copy(NULL);
  if (info == NULL || !tm_info_put(info, "mpi_size", size)) {
    tm_info_free(info);
    return tm_session_fail(session, call, MPI_ERR_NO_MEM, "no memory");
  }
  *result = (MPI_Info)info;
  return MPI_SUCCESS;
}

#pragma weak MPI_Group_from_session_pset = PMPI_Group_from_session_pset
int PMPI_Group_from_session_pset(MPI_Session handle, const char *name, MPI_Group *result) {
  static const char call[] = "MPI_Group_from_session_pset";
  struct tm_session *session;
  int error = tm_get_session(call, handle, &session);
  if (error != MPI_SUCCESS) return error;
  int set = find_set(name);
  if (set == SETS) return no_set(session, call);
  struct tm_group *group = tm_group_new(set == WORLD ? tm_job.size : 1);
  if (group == NULL) return tm_session_fail(session, call, MPI_ERR_NO_MEM, "no memory");
  for (int i = 0; i < group->size; i++) group->ranks[i] = set == WORLD ? i : tm_rank_number();
  group->session = session;
  tm_session_hold(session);
  *result = (MPI_Group)group;
  return MPI_SUCCESS;
}

/* ---- error handlers */

#pragma weak MPI_Session_create_errhandler = PMPI_Session_create_errhandler
int PMPI_Session_create_errhandler(MPI_Session_errhandler_function *function,
                                   MPI_Errhandler *result) { /* also without any session */
  static const char call[] = "MPI_Session_create_errhandler";
  struct tm_errhandler *handler = calloc(1, sizeof *handler);
  if (function == NULL || handler == NULL) {
    free(handler);
    return tm_fail(NULL, call, function == NULL ? MPI_ERR_ARG : MPI_ERR_NO_MEM,
                   "no function, or no memory");
  }
  *handler = (struct tm_errhandler){TM_ERRHANDLER_MAGIC, 1, NULL, function};
  *result = (MPI_Errhandler)handler;
  return MPI_SUCCESS;
}

#pragma weak MPI_Session_set_errhandler = PMPI_Session_set_errhandler
int PMPI_Session_set_errhandler(MPI_Session handle, MPI_Errhandler errhandler) {
  struct tm_session *session;
  int error = tm_get_session("MPI_Session_set_errhandler", handle, &session);
  if (error != MPI_SUCCESS) return error;
  struct tm_errhandler *handler = tm_errhandler_of(errhandler);
  if (handler == NULL || handler->function != NULL)
    return tm_session_fail(session, "MPI_Session_set_errhandler", MPI_ERR_ERRHANDLER,
                           "the error handler is not valid, or one for communicators");
  tm_errhandler_hold(handler);
  tm_errhandler_release(session->handler);
  session->handler = handler;
  return MPI_SUCCESS;
}

#pragma weak MPI_Session_get_errhandler = PMPI_Session_get_errhandler
int PMPI_Session_get_errhandler(MPI_Session handle, MPI_Errhandler *errhandler) {
  struct tm_session *session;
  int error = tm_get_session("MPI_Session_get_errhandler", handle, &session);
  if (error != MPI_SUCCESS) return error;
  tm_errhandler_hold(session->handler);
  *errhandler = tm_errhandler_handle(session->handler);
  return MPI_SUCCESS;
}

#pragma weak MPI_Session_call_errhandler = PMPI_Session_call_errhandler
int PMPI_Session_call_errhandler(MPI_Session handle, int code) {
  struct tm_session *session;
  int error = tm_get_session("MPI_Session_call_errhandler", handle, &session);
  if (error != MPI_SUCCESS) return error;
  tm_session_fail(session, "MPI_Session_call_errhandler", code, "called by the program");
  return MPI_SUCCESS;
}
