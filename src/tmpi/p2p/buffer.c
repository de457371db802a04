/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers of buffered sends: a rank's, a communicator's, a session's. */
#include "tmpi/p2p/buffer.h"

#include <mltp/mltp.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/session.h"
#include "tmpi/request/request.h"

/* Where a buffer is kept. comm NULL: errors are those of no communicator. */
struct holder {
  struct tm_buffer **buffer;
  struct tm_comm *comm;
};

static int get_holder(const char *call, struct tm_buffer_owner owner, struct holder *holder) {
  struct tm_session *session;
  int error = MPI_SUCCESS;
  *holder = (struct holder){NULL, NULL};
  switch (owner.kind) {
    case TM_BUFFER_OF_RANK: holder->buffer = &tm_enter(call)->buffer; break;
    case TM_BUFFER_OF_COMM:
      error = tm_get_comm(call, owner.comm, &holder->comm);
      if (error == MPI_SUCCESS) holder->buffer = &holder->comm->buffer;
      break;
    case TM_BUFFER_OF_SESSION:
      error = tm_get_session(call, owner.session, &session);
      if (error == MPI_SUCCESS) holder->buffer = &session->buffer;
      break;
  }
  return error;
}

/* MPI_BUFFER_AUTOMATIC: there is always room. */
int tm_call_attach(const char *call, struct tm_buffer_owner owner, void *address, MPI_Count size) {
  struct holder holder;
  int error = get_holder(call, owner, &holder);
  if (error != MPI_SUCCESS) return error;
  if (size < 0)
    return tm_fail(holder.comm, call, MPI_ERR_ARG, "size %lld is negative", (long long)size);
  struct tm_buffer *buffer = calloc(1, sizeof *buffer);
  if (buffer == NULL) return tm_fail_code(holder.comm, call, MPI_ERR_NO_MEM);
  buffer->refs = 1;
  buffer->address = address;
  buffer->size = address == MPI_BUFFER_AUTOMATIC ? SIZE_MAX : (size_t)size;
  uint32_t *ilock = &tm_rank_self()->buffers_ilock;
  mti_lock(ilock);
  bool is_free = *holder.buffer == NULL;
  if (is_free) *holder.buffer = buffer;
  mti_unlock(ilock);
  if (is_free) return MPI_SUCCESS;
  free(buffer);
  return tm_fail(holder.comm, call, MPI_ERR_BUFFER, "there is a buffer already (detach it)");
}

/* Stores the buffer with a reference for the caller: a new one, or (detach) that of its owner. */
static int get_buffer(const char *call, struct tm_buffer_owner owner, bool detach,
                      struct tm_buffer **result) {
  struct holder holder;
  int error = get_holder(call, owner, &holder);
  if (error != MPI_SUCCESS) return error;
  uint32_t *ilock = &tm_rank_self()->buffers_ilock;
  mti_lock(ilock);
  struct tm_buffer *buffer = *holder.buffer;
  if (buffer != NULL && detach)
    *holder.buffer = NULL;
  else if (buffer != NULL)
    tm_buffer_hold(buffer);
  mti_unlock(ilock);
  *result = buffer;
  return buffer != NULL ? MPI_SUCCESS
                        : tm_fail(holder.comm, call, MPI_ERR_BUFFER, "there is no buffer");
}

int tm_call_detach(const char *call, struct tm_buffer_owner owner, void *address, MPI_Count *size) {
  struct tm_buffer *buffer;
  int error = get_buffer(call, owner, true, &buffer);
  if (error != MPI_SUCCESS) return error;
  tm_buffer_drain(buffer, call);
  memcpy(address, &buffer->address, sizeof buffer->address);
  *size = buffer->address == MPI_BUFFER_AUTOMATIC ? 0 : (MPI_Count)buffer->size;
  tm_buffer_release(buffer);
  return MPI_SUCCESS;
}

int tm_call_flush(const char *call, struct tm_buffer_owner owner) {
  struct tm_buffer *buffer;
  int error = get_buffer(call, owner, false, &buffer);
  if (error != MPI_SUCCESS) return error;
  tm_buffer_drain(buffer, call);
  tm_buffer_release(buffer);
  return MPI_SUCCESS;
}

/* A flush that a thread waits for. */
struct flushing {
  struct tm_buffer *buffer;
  struct tm_request *request;
  int rank;
};

static void *run_flush(void *argument) {
  struct flushing *flushing = argument;
  struct tm_request *request = flushing->request;
  if (tm_rank_enter(flushing->rank) != 0)
    tm_panic("no memory for a thread of rank %d", flushing->rank);
  tm_buffer_drain(flushing->buffer, "MPI_Buffer_iflush");
  tm_buffer_release(flushing->buffer);
  free(flushing);
  tm_request_complete(request);
  return NULL;
}

int tm_call_iflush(const char *call, struct tm_buffer_owner owner, MPI_Request *handle) {
  struct holder holder;
  struct tm_buffer *buffer;
  int error = get_holder(call, owner, &holder);
  if (error == MPI_SUCCESS) error = get_buffer(call, owner, false, &buffer);
  if (error != MPI_SUCCESS) return error;
  struct flushing *flushing = malloc(sizeof *flushing);
  struct tm_request *request = tm_request_new_of(TM_COLLECTIVE);
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = call;
  attr.detached = 1;
  if (flushing != NULL && request != NULL) {
    request->owner = tm_rank_self();
    request->comm =
        holder.comm != NULL ? holder.comm : tm_comm_self(request->owner); /* for reports */
    if (request->comm != NULL) tm_comm_hold(request->comm);
    request->source = MPI_ANY_SOURCE;
    request->tag = MPI_ANY_TAG;
    *flushing = (struct flushing){buffer, request, tm_rank_number()};
    if (mltp_create(NULL, &attr, run_flush, flushing) == 0) {
      *handle = (MPI_Request)request;
      return MPI_SUCCESS;
    }
  }
  if (request != NULL && request->comm != NULL) tm_comm_release(request->comm);
  tm_buffer_release(buffer);
  free(flushing);
  tm_request_free(request);
  return tm_fail_code(holder.comm, call, MPI_ERR_NO_MEM);
}
