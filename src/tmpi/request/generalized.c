/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that the program completes itself. */
#include "tmpi/error/errors.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/rank/handle.h"
#include "tmpi/request/request.h"

#pragma weak MPI_Grequest_start = PMPI_Grequest_start
int PMPI_Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
                        MPI_Grequest_cancel_function *cancel, void *extra, MPI_Request *handle) {
  struct tm_rank *rank = tm_enter("MPI_Grequest_start");
  struct tm_request *request = tm_request_new_of(TM_GENERALIZED);
  if (request == NULL) return tm_fail_code(NULL, "MPI_Grequest_start", MPI_ERR_NO_MEM);
  request->owner = rank;
  request->query = query;
  request->release = release;
  request->cancel = cancel;
  request->extra = extra;
  *handle = (MPI_Request)request;
  return MPI_SUCCESS;
}

#pragma weak MPI_Grequest_complete = PMPI_Grequest_complete
int PMPI_Grequest_complete(MPI_Request handle) {
  tm_enter("MPI_Grequest_complete");
  struct tm_request *request = (struct tm_request *)handle;
  if (!tm_handle_is_address(handle) || request->magic != TM_REQUEST_MAGIC ||
      request->kind != TM_GENERALIZED)
    return tm_fail(NULL, "MPI_Grequest_complete", MPI_ERR_REQUEST,
                   "the request was not made by MPI_Grequest_start()");
  tm_request_complete(request);
  return MPI_SUCCESS;
}
