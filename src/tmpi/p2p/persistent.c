/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are started again and again, given up, or cancelled. */
#include "core/internal/locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/match/match.h"
#include "tmpi/rank/handle.h"
#include "tmpi/rank/rank.h"
#include "tmpi/request/request.h"

int tm_call_init(const struct tm_arguments *arguments, enum tm_kind kind, enum tm_mode mode,
                 MPI_Request *handle) {
  struct tm_request request;
  int error = tm_request_fill(&request, arguments, kind, mode);
  if (error != MPI_SUCCESS) return error;
  struct tm_request *kept = tm_request_keep(&request);
  if (kept == NULL) {
    tm_request_empty(&request);
    return tm_fail_code(NULL, arguments->call, MPI_ERR_NO_MEM);
  }
  kept->persistent = true;
  *handle = (MPI_Request)kept;
  return MPI_SUCCESS;
}

static int get(const char *call, const MPI_Request *handle, struct tm_request **request) {
  tm_enter(call);
  *request = handle != NULL ? (struct tm_request *)*handle : NULL;
  if (tm_handle_is_address(*request) && (*request)->magic == TM_REQUEST_MAGIC) return MPI_SUCCESS;
  return tm_fail(NULL, call, MPI_ERR_REQUEST, "the request is not valid%s",
                 handle != NULL && *handle == MPI_REQUEST_NULL ? ": MPI_REQUEST_NULL" : "");
}

/* The same for one that can be started. */
static int get_inactive(const char *call, const MPI_Request *handle, struct tm_request **request) {
  int error = get(call, handle, request);
  if (error != MPI_SUCCESS || ((*request)->persistent && !(*request)->active)) return error;
  return tm_fail((*request)->comm, call, MPI_ERR_REQUEST, "the request is %s",
                 (*request)->persistent ? "active already" : "not a persistent one");
}

static int start(const char *call, const MPI_Request *handle) {
  struct tm_request *request;
  int error = get_inactive(call, handle, &request);
  if (error != MPI_SUCCESS) return error;
  request->done = 0;
  request->cancelled = false;
  request->active = true;
  error = request->kind >= TM_COLLECTIVE ? request->restart(request) : tm_request_start(request);
  if (error == MPI_SUCCESS) return MPI_SUCCESS;
  request->active = false;
  if (request->kind >= TM_COLLECTIVE) return tm_fail_code(request->comm, call, error);
  return tm_fail(request->comm, call, MPI_ERR_BUFFER,
                 "there is no room in the attached buffer (MPI_Buffer_attach())");
}

#pragma weak MPI_Start = PMPI_Start
int PMPI_Start(MPI_Request *request) { return start("MPI_Start", request); }

#pragma weak MPI_Startall = PMPI_Startall
int PMPI_Startall(int count, MPI_Request requests[]) {
  struct tm_request *request;
  int error = MPI_SUCCESS;
  tm_enter("MPI_Startall");
  if (count < 0) return tm_fail(NULL, "MPI_Startall", MPI_ERR_COUNT, "count %d is negative", count);
  for (int i = 0; i < count && error == MPI_SUCCESS; i++) /* all, before one is under way */
    error = get_inactive("MPI_Startall", &requests[i], &request);
  for (int i = 0; i < count && error == MPI_SUCCESS; i++)
    error = start("MPI_Startall", &requests[i]);
  return error;
}

#pragma weak MPI_Request_free = PMPI_Request_free
int PMPI_Request_free(MPI_Request *handle) {
  struct tm_request *request;
  int error = get("MPI_Request_free", handle, &request);
  if (error != MPI_SUCCESS) return error;
  *handle = MPI_REQUEST_NULL;
  uint32_t *ilock = &request->owner->box.ilock;
  mti_lock(ilock);
  bool idle = request->persistent && !request->active;
  bool drop = idle || tm_request_was_done(request);
  request->freed = true; /* otherwise its completer frees it */
  mti_unlock(ilock);
  if (drop) tm_request_drop(request);
  return MPI_SUCCESS;
}

#pragma weak MPI_Cancel = PMPI_Cancel
int PMPI_Cancel(MPI_Request *handle) {
  struct tm_request *request;
  int error = get("MPI_Cancel", handle, &request);
  if (error != MPI_SUCCESS) return error;
  if (request->persistent && !request->active)
    return tm_fail(request->comm, "MPI_Cancel", MPI_ERR_REQUEST, "the request is not active");
  if (request->kind == TM_GENERALIZED)
    return request->cancel(request->extra, tm_request_done(request));
  tm_request_withdraw(request);
  return MPI_SUCCESS;
}
