/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: their life.
 *
 * Relaxed: sessions are counted; what a rank's thread is, which only reports read elsewhere.
 */
#include <mltp/mltp.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "tmpi/env/init.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"
#include "tmpi/object/session.h"

/* MPI_THREAD_MULTIPLE is what every session has. */
static struct tm_info *describe(const struct tm_info *hints) {
  struct tm_info *info = tm_info_hints(hints);
  if (info == NULL || tm_info_put(info, "thread_level", "MPI_THREAD_MULTIPLE")) return info;
  tm_info_free(info);
  return NULL;
}

/* A program that asks for a level gets it; a word that is no level is a mistake of the program. */
static bool asks_for_a_level(const struct tm_info *info) {
  static const char *const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                       "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
  const struct tm_info_entry *entry = tm_info_find(info, "thread_level");
  if (entry == NULL) return true;
  for (int i = 0; i < 4; i++)
    if (strcmp(entry->value, levels[i]) == 0) return true;
  return false;
}

#pragma weak MPI_Session_init = PMPI_Session_init
int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *result) {
  static const char call[] = "MPI_Session_init";
  struct tm_rank *rank = tm_init_rank(call);
  struct tm_errhandler *handler = tm_errhandler_of(errhandler);
  if (handler == NULL)
    return tm_fail(NULL, call, MPI_ERR_ERRHANDLER, "the error handler is not valid");
  int error = tm_check_info(NULL, call, info);
  if (error != MPI_SUCCESS) return error;
  if (info != MPI_INFO_NULL && !asks_for_a_level(tm_info_of(info)))
    return tm_fail_by(handler, call, MPI_ERR_INFO_VALUE,
                      "the info's thread_level is not the name of a level, as MPI_THREAD_SINGLE");
  struct tm_session *session = calloc(1, sizeof *session);
  struct tm_info *own = describe(info != MPI_INFO_NULL ? tm_info_of(info) : NULL);
  if (session == NULL || own == NULL) {
    free(session);
    tm_info_free(own);
    return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  }
  tm_errhandler_hold(handler);
  *session = (struct tm_session){TM_SESSION_MAGIC, 1, handler, own, NULL};
  const void *none = NULL; /* MPI_Init() stores its own thread, whatever is there */
  mt_cas_relaxed(&rank->thread, &none, mltp_self());
  mt_add_relaxed(&rank->sessions, 1);
  *result = (MPI_Session)session;
  return MPI_SUCCESS;
}

#pragma weak MPI_Session_finalize = PMPI_Session_finalize
int PMPI_Session_finalize(MPI_Session *handle) {
  struct tm_session *session;
  int error = tm_get_session("MPI_Session_finalize", *handle, &session);
  if (error != MPI_SUCCESS) return error;
  struct tm_rank *rank = tm_rank_self();
  bool last = mt_add_relaxed(&rank->sessions, (uint32_t)-1) == 1;
  if (last && mt_load_relaxed(&rank->stage) == TM_BEFORE_INIT)
    mt_store_relaxed(&rank->thread, NULL); /* it may end */
  session->magic = 0;
  tm_session_release(session);
  *handle = MPI_SESSION_NULL;
  return MPI_SUCCESS;
}
