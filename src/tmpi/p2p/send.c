/* SPDX-License-Identifier: Apache-2.0 */
/* Sending and receiving, in calls that wait. */
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/match/drop.h"
#include "tmpi/match/intake.h"
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
  tm_request_empty_here(request);
  return error;
}

int tm_call_send(const struct tm_arguments *arguments, enum tm_mode mode) {
  struct tm_request request;
  int error = tm_request_fill_blocking(&request, arguments, TM_SEND, mode);
  if (error != MPI_SUCCESS) return error;
  if (tm_request_perform(&request, arguments->call) != MPI_SUCCESS)
    error = tm_request_no_room(&request, arguments->call);
  tm_request_empty_here(&request);
  return error;
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
 * first, so that two ranks that exchange copy once each. Of many bytes each copies what it
 * receives, at the same time. */
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
  if (send.count * send.type->size <= tm_few_bytes(recv.owner)) {
    struct tm_request *unfinished = &send;
    tm_request_start(&send);
    tm_request_perform(&recv, from->call);
    tm_requests_wait(&unfinished, 1, 1, to->call);
    tm_request_empty(&send);
    return finish(&recv, from->call, status);
  }
  recv.copies = recv.count * recv.type->size >= TM_HANDED_MIN;
  tm_request_start(&recv);
  tm_request_start(&send);
  if (recv.copies) tm_recv_wait(&recv, to->call); /* the other one may wait for that copy */
  struct tm_request *both[] = {&recv, &send};
  tm_requests_wait(both, 2, 2, to->call);
  tm_request_empty(&send);
  return finish(&recv, to->call, status);
}
