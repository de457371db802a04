/* SPDX-License-Identifier: Apache-2.0 */
/* Error handlers of sessions. */
#include "tmpi/error/code.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/session.h"

#pragma weak MPI_Session_create_errhandler = PMPI_Session_create_errhandler
int PMPI_Session_create_errhandler(MPI_Session_errhandler_function *function,
                                   MPI_Errhandler *result) { /* also without any session */
  static const char call[] = "MPI_Session_create_errhandler";
  struct tm_errhandler *handler =
      tm_errhandler_new(TM_HANDLES_SESSIONS, (tm_error_function *)function);
  if (handler == NULL)
    return tm_fail(NULL, call, function == NULL ? MPI_ERR_ARG : MPI_ERR_NO_MEM,
                   "no function, or no memory");
  *result = (MPI_Errhandler)handler;
  return MPI_SUCCESS;
}

#pragma weak MPI_Session_set_errhandler = PMPI_Session_set_errhandler
int PMPI_Session_set_errhandler(MPI_Session handle, MPI_Errhandler errhandler) {
  struct tm_session *session;
  int error = tm_get_session("MPI_Session_set_errhandler", handle, &session);
  if (error != MPI_SUCCESS) return error;
  struct tm_errhandler *handler = tm_errhandler_of(errhandler);
  if (!tm_errhandler_fits(handler, TM_HANDLES_SESSIONS))
    return tm_session_fail(session, "MPI_Session_set_errhandler", MPI_ERR_ERRHANDLER,
                           "the error handler is not valid, or one for other objects");
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
  static const char call[] = "MPI_Session_call_errhandler";
  struct tm_session *session;
  char text[MPI_MAX_ERROR_STRING];
  int error = tm_get_session(call, handle, &session);
  if (error != MPI_SUCCESS) return error;
  if (!tm_code_text(code, text))
    return tm_session_fail(session, call, MPI_ERR_ARG, "the code is no error code");
  tm_session_fail(session, call, code, text);
  return MPI_SUCCESS;
}
