/* SPDX-License-Identifier: Apache-2.0 */
/* Sending and receiving, blocking and not. */
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/request/request.h"

/* What a blocking call returns for its one request, which is complete. */
static int finish(struct tm_request *request, const char *call, MPI_Status *status) {
  tm_status_set(status, request);
  int error = request->error;
  if (error == MPI_ERR_TRUNCATE)
    error = tm_fail(request->comm, call, error,
                    "a message from rank %d with tag %d was longer than the %zu bytes there is "
                    "room for",
                    request->source, request->tag, request->count * request->type->size);
  if (error == MPI_ERR_TYPE)
    error = tm_fail(request->comm, call, error,
                    "a message from rank %d with tag %d has %zu bytes, and ends within an element "
                    "of the receive's type (send and receive the same types)",
                    request->source, request->tag, request->bytes);
  tm_request_empty(request);
  return error;
}

static int no_room(const struct tm_request *request, const char *call) {
  return tm_fail(request->comm, call, MPI_ERR_BUFFER,
                 "there is no room for %zu bytes in the attached buffer (MPI_Buffer_attach())",
                 request->count * request->type->size);
}

int tm_call_send(const struct tm_arguments *arguments, enum tm_mode mode) {
  struct tm_request request;
  int error = tm_request_fill_blocking(&request, arguments, TM_SEND, mode);
  if (error != MPI_SUCCESS) return error;
  if (tm_request_perform(&request, arguments->call) != MPI_SUCCESS)
    error = no_room(&request, arguments->call);
  tm_request_empty(&request);
  return error;
}

int tm_call_start(const struct tm_arguments *arguments, enum tm_kind kind, enum tm_mode mode,
                  MPI_Request *handle) {
  struct tm_request *request = tm_request_new();
  if (request == NULL) return tm_fail_code(NULL, arguments->call, MPI_ERR_NO_MEM);
  int error = tm_request_fill(request, arguments, kind, mode);
  if (error != MPI_SUCCESS) {
    tm_request_free(request);
    return error;
  }
  if (tm_request_start(request) != MPI_SUCCESS) {
    error = no_room(request, arguments->call);
    tm_request_drop(request);
    return error;
  }
  *handle = (MPI_Request)request;
  return MPI_SUCCESS;
}

int tm_call_recv(const struct tm_arguments *arguments, MPI_Status *status) {
  struct tm_request request;
  int error = tm_request_fill_blocking(&request, arguments, TM_RECV, TM_STANDARD);
  if (error != MPI_SUCCESS) return error;
  tm_request_perform(&request, arguments->call);
  return finish(&request, arguments->call, status);
}

/* Few bytes are sent first: they are almost always complete then, and the receive can take the
 * faster blocking path. Else the receive is posted
 * first, so that two ranks that exchange copy once each. */
int tm_call_exchange(const struct tm_arguments *to, const struct tm_arguments *from,
                     MPI_Status *status) {
  struct tm_request send, recv;
  int error = tm_request_fill_blocking(&recv, from, TM_RECV, TM_STANDARD);
  if (error != MPI_SUCCESS) return error;
  error = tm_request_fill_blocking(&send, to, TM_SEND, TM_STANDARD);
  if (error != MPI_SUCCESS) {
    tm_request_empty(&recv);
    return error;
  }
  if (send.count * send.type->size <= TM_INLINE_SLOT_BYTES) {
    struct tm_request *unfinished = &send;
    tm_request_start(&send);
    tm_request_perform(&recv, from->call);
    tm_requests_wait(&unfinished, 1, 1, to->call);
    tm_request_empty(&send);
    return finish(&recv, from->call, status);
  }
  tm_request_start(&recv);
  tm_request_start(&send);
  struct tm_request *both[] = {&recv, &send};
  tm_requests_wait(both, 2, 2, to->call);
  tm_request_empty(&send);
  return finish(&recv, to->call, status);
}
