/* SPDX-License-Identifier: Apache-2.0 */
/* Error handlers of communicators: made, set, called by the program. */
#include "tmpi/error/code.h"
#include "tmpi/error/errors.h"

#pragma weak MPI_Comm_create_errhandler = PMPI_Comm_create_errhandler
int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler) {
  tm_enter("MPI_Comm_create_errhandler");
  bool complete = function != NULL && handler != NULL;
  struct tm_errhandler *new =
      complete ? tm_errhandler_new(TM_HANDLES_COMMS, (tm_error_function *)function) : NULL;
  if (new == NULL)
    return tm_fail(NULL, "MPI_Comm_create_errhandler", complete ? MPI_ERR_NO_MEM : MPI_ERR_ARG,
                   "no function, no result argument, or no memory");
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
  if (!tm_errhandler_fits(handler, TM_HANDLES_COMMS))
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
