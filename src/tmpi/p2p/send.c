/* SPDX-License-Identifier: Apache-2.0 */
/* Sending and receiving, blocking and not. */
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
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
  struct tm_request request;
  int error = tm_request_fill(&request, arguments, kind, mode);
  if (error != MPI_SUCCESS) return error;
  struct tm_request *kept = tm_request_keep(&request);
  if (kept == NULL) {
    tm_request_empty(&request);
    return tm_fail_code(NULL, arguments->call, MPI_ERR_NO_MEM);
  }
  if (tm_request_start(kept) != MPI_SUCCESS) {
    error = no_room(kept, arguments->call);
    tm_request_drop(kept);
    return error;
  }
  *handle = (MPI_Request)kept;
  return MPI_SUCCESS;
}

#pragma weak MPI_Send = PMPI_Send
int PMPI_Send(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return tm_call_send(&(struct tm_arguments){"MPI_Send", buffer, count, type, dest, tag, comm},
                      TM_STANDARD);
}

#pragma weak MPI_Bsend = PMPI_Bsend
int PMPI_Bsend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return tm_call_send(&(struct tm_arguments){"MPI_Bsend", buffer, count, type, dest, tag, comm},
                      TM_BUFFERED);
}

#pragma weak MPI_Ssend = PMPI_Ssend
int PMPI_Ssend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return tm_call_send(&(struct tm_arguments){"MPI_Ssend", buffer, count, type, dest, tag, comm},
                      TM_SYNCHRONOUS);
}

#pragma weak MPI_Rsend = PMPI_Rsend
int PMPI_Rsend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return tm_call_send(&(struct tm_arguments){"MPI_Rsend", buffer, count, type, dest, tag, comm},
                      TM_READY);
}

int tm_call_recv(const struct tm_arguments *arguments, MPI_Status *status) {
  struct tm_request request;
  int error = tm_request_fill_blocking(&request, arguments, TM_RECV, TM_STANDARD);
  if (error != MPI_SUCCESS) return error;
  tm_request_perform(&request, arguments->call);
  return finish(&request, arguments->call, status);
}

#pragma weak MPI_Recv = PMPI_Recv
int PMPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Status *status) {
  return tm_call_recv(&(struct tm_arguments){"MPI_Recv", buffer, count, type, source, tag, comm},
                      status);
}

#pragma weak MPI_Isend = PMPI_Isend
int PMPI_Isend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request *request) {
  return tm_call_start(&(struct tm_arguments){"MPI_Isend", buffer, count, type, dest, tag, comm},
                       TM_SEND, TM_STANDARD, request);
}

#pragma weak MPI_Ibsend = PMPI_Ibsend
int PMPI_Ibsend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                MPI_Request *request) {
  return tm_call_start(&(struct tm_arguments){"MPI_Ibsend", buffer, count, type, dest, tag, comm},
                       TM_SEND, TM_BUFFERED, request);
}

#pragma weak MPI_Issend = PMPI_Issend
int PMPI_Issend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                MPI_Request *request) {
  return tm_call_start(&(struct tm_arguments){"MPI_Issend", buffer, count, type, dest, tag, comm},
                       TM_SEND, TM_SYNCHRONOUS, request);
}

#pragma weak MPI_Irsend = PMPI_Irsend
int PMPI_Irsend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                MPI_Request *request) {
  return tm_call_start(&(struct tm_arguments){"MPI_Irsend", buffer, count, type, dest, tag, comm},
                       TM_SEND, TM_READY, request);
}

#pragma weak MPI_Irecv = PMPI_Irecv
int PMPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
               MPI_Request *request) {
  return tm_call_start(&(struct tm_arguments){"MPI_Irecv", buffer, count, type, source, tag, comm},
                       TM_RECV, TM_STANDARD, request);
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

#pragma weak MPI_Sendrecv = PMPI_Sendrecv
int PMPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                  MPI_Comm comm, MPI_Status *status) {
  return tm_call_exchange(
      &(struct tm_arguments){"MPI_Sendrecv", sendbuf, sendcount, sendtype, dest, sendtag, comm},
      &(struct tm_arguments){"MPI_Sendrecv", recvbuf, recvcount, recvtype, source, recvtag, comm},
      status);
}
