/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffers of buffered sends: a rank's, a communicator's, a session's. The calls of all
 * three kinds share their bodies, which know the holder of the buffer.
 */
#include <mltp/mltp.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/session.h"
#include "tmpi/request/request.h"

/* Where a buffer belongs. comm NULL: errors are those of no communicator. */
struct holder {
  struct tm_buffer **buffer;
  struct tm_comm *comm;
};

static int of_rank(const char *call, struct holder *holder) {
  *holder = (struct holder){&tm_enter(call)->buffer, NULL};
  return MPI_SUCCESS;
}

static int of_comm(const char *call, MPI_Comm handle, struct holder *holder) {
  int error = tm_get_comm(call, handle, &holder->comm);
  if (error == MPI_SUCCESS) holder->buffer = &holder->comm->buffer;
  return error;
}

static int of_session(const char *call, MPI_Session handle, struct holder *holder) {
  struct tm_session *session;
  int error = tm_get_session(call, handle, &session);
  if (error == MPI_SUCCESS) *holder = (struct holder){&session->buffer, NULL};
  return error;
}

/* MPI_BUFFER_AUTOMATIC: there is always room. */
static int attach(const char *call, const struct holder *holder, void *address, MPI_Count size) {
  if (size < 0)
    return tm_fail(holder->comm, call, MPI_ERR_ARG, "size %lld is negative", (long long)size);
  struct tm_buffer *buffer = calloc(1, sizeof *buffer);
  if (buffer == NULL) return tm_fail_code(holder->comm, call, MPI_ERR_NO_MEM);
  buffer->refs = 1;
  buffer->address = address;
  buffer->size = address == MPI_BUFFER_AUTOMATIC ? SIZE_MAX : (size_t)size;
  uint32_t *ilock = &tm_rank_self()->buffers_ilock;
  mti_lock(ilock);
  bool is_free = *holder->buffer == NULL;
  if (is_free) *holder->buffer = buffer;
  mti_unlock(ilock);
  if (is_free) return MPI_SUCCESS;
  free(buffer);
  return tm_fail(holder->comm, call, MPI_ERR_BUFFER, "there is a buffer already (detach it)");
}

/* @return the buffer with a reference for the caller: a new one, or (detach) that of its holder.
 * NULL: there is none. */
static struct tm_buffer *get_buffer(const struct holder *holder, bool detach) {
  uint32_t *ilock = &tm_rank_self()->buffers_ilock;
  mti_lock(ilock);
  struct tm_buffer *buffer = *holder->buffer;
  if (buffer != NULL && detach)
    *holder->buffer = NULL;
  else if (buffer != NULL)
    tm_buffer_hold(buffer);
  mti_unlock(ilock);
  return buffer;
}

static int no_buffer(const char *call, const struct holder *holder) {
  return tm_fail(holder->comm, call, MPI_ERR_BUFFER, "there is no buffer");
}

/* Waits until its messages have been received. */
static int detach(const char *call, const struct holder *holder, void *address, MPI_Count *size) {
  struct tm_buffer *buffer = get_buffer(holder, true);
  if (buffer == NULL) return no_buffer(call, holder);
  tm_buffer_drain(buffer, call);
  memcpy(address, &buffer->address, sizeof buffer->address);
  *size = buffer->address == MPI_BUFFER_AUTOMATIC ? 0 : (MPI_Count)buffer->size;
  tm_buffer_release(buffer);
  return MPI_SUCCESS;
}

/* The size as the calls without _c tell it. */
static int detach_small(const char *call, const struct holder *holder, void *address, int *size) {
  MPI_Count large = 0;
  int error = detach(call, holder, address, &large);
  if (error == MPI_SUCCESS) *size = large <= INT32_MAX ? (int)large : MPI_UNDEFINED;
  return error;
}

static int flush(const char *call, const struct holder *holder) {
  struct tm_buffer *buffer = get_buffer(holder, false);
  if (buffer == NULL) return no_buffer(call, holder);
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

static int iflush(const char *call, const struct holder *holder, MPI_Request *handle) {
  struct tm_buffer *buffer = get_buffer(holder, false);
  if (buffer == NULL) return no_buffer(call, holder);
  struct flushing *flushing = malloc(sizeof *flushing);
  struct tm_request *request = calloc(1, sizeof *request);
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = call;
  attr.detached = 1;
  if (flushing != NULL && request != NULL) {
    request->magic = TM_REQUEST_MAGIC;
    request->kind = TM_COLLECTIVE;
    request->owner = tm_rank_self();
    request->comm = holder->comm != NULL ? holder->comm : request->owner->self; /* for reports */
    if (request->comm != NULL) tm_comm_hold(request->comm);
    request->source = MPI_ANY_SOURCE;
    request->tag = MPI_ANY_TAG;
    *flushing = (struct flushing){buffer, request, tm_rank_number()};
    *handle = (MPI_Request)request;
    if (mltp_create(NULL, &attr, run_flush, flushing) == 0) return MPI_SUCCESS;
  }
  if (request != NULL && request->comm != NULL) tm_comm_release(request->comm);
  tm_buffer_release(buffer);
  free(flushing);
  free(request);
  return tm_fail_code(holder->comm, call, MPI_ERR_NO_MEM);
}

/* ---- a rank's */

#pragma weak MPI_Buffer_attach = PMPI_Buffer_attach
int PMPI_Buffer_attach(void *buffer, int size) {
  struct holder holder;
  int error = of_rank("MPI_Buffer_attach", &holder);
  return error == MPI_SUCCESS ? attach("MPI_Buffer_attach", &holder, buffer, size) : error;
}

#pragma weak MPI_Buffer_attach_c = PMPI_Buffer_attach_c
int PMPI_Buffer_attach_c(void *buffer, MPI_Count size) {
  struct holder holder;
  int error = of_rank("MPI_Buffer_attach_c", &holder);
  return error == MPI_SUCCESS ? attach("MPI_Buffer_attach_c", &holder, buffer, size) : error;
}

#pragma weak MPI_Buffer_detach = PMPI_Buffer_detach
int PMPI_Buffer_detach(void *buffer, int *size) {
  struct holder holder;
  int error = of_rank("MPI_Buffer_detach", &holder);
  return error == MPI_SUCCESS ? detach_small("MPI_Buffer_detach", &holder, buffer, size) : error;
}

#pragma weak MPI_Buffer_detach_c = PMPI_Buffer_detach_c
int PMPI_Buffer_detach_c(void *buffer, MPI_Count *size) {
  struct holder holder;
  int error = of_rank("MPI_Buffer_detach_c", &holder);
  return error == MPI_SUCCESS ? detach("MPI_Buffer_detach_c", &holder, buffer, size) : error;
}

#pragma weak MPI_Buffer_flush = PMPI_Buffer_flush
int PMPI_Buffer_flush(void) {
  struct holder holder;
  int error = of_rank("MPI_Buffer_flush", &holder);
  return error == MPI_SUCCESS ? flush("MPI_Buffer_flush", &holder) : error;
}

#pragma weak MPI_Buffer_iflush = PMPI_Buffer_iflush
int PMPI_Buffer_iflush(MPI_Request *request) {
  struct holder holder;
  int error = of_rank("MPI_Buffer_iflush", &holder);
  return error == MPI_SUCCESS ? iflush("MPI_Buffer_iflush", &holder, request) : error;
}

/* ---- a communicator's */

#pragma weak MPI_Comm_attach_buffer = PMPI_Comm_attach_buffer
int PMPI_Comm_attach_buffer(MPI_Comm comm, void *buffer, int size) {
  struct holder holder;
  int error = of_comm("MPI_Comm_attach_buffer", comm, &holder);
  return error == MPI_SUCCESS ? attach("MPI_Comm_attach_buffer", &holder, buffer, size) : error;
}

#pragma weak MPI_Comm_attach_buffer_c = PMPI_Comm_attach_buffer_c
int PMPI_Comm_attach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count size) {
  struct holder holder;
  int error = of_comm("MPI_Comm_attach_buffer_c", comm, &holder);
  return error == MPI_SUCCESS ? attach("MPI_Comm_attach_buffer_c", &holder, buffer, size) : error;
}

#pragma weak MPI_Comm_detach_buffer = PMPI_Comm_detach_buffer
int PMPI_Comm_detach_buffer(MPI_Comm comm, void *buffer, int *size) {
  struct holder holder;
  int error = of_comm("MPI_Comm_detach_buffer", comm, &holder);
  return error == MPI_SUCCESS ? detach_small("MPI_Comm_detach_buffer", &holder, buffer, size)
                              : error;
}

#pragma weak MPI_Comm_detach_buffer_c = PMPI_Comm_detach_buffer_c
int PMPI_Comm_detach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count *size) {
  struct holder holder;
  int error = of_comm("MPI_Comm_detach_buffer_c", comm, &holder);
  return error == MPI_SUCCESS ? detach("MPI_Comm_detach_buffer_c", &holder, buffer, size) : error;
}

#pragma weak MPI_Comm_flush_buffer = PMPI_Comm_flush_buffer
int PMPI_Comm_flush_buffer(MPI_Comm comm) {
  struct holder holder;
  int error = of_comm("MPI_Comm_flush_buffer", comm, &holder);
  return error == MPI_SUCCESS ? flush("MPI_Comm_flush_buffer", &holder) : error;
}

#pragma weak MPI_Comm_iflush_buffer = PMPI_Comm_iflush_buffer
int PMPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request) {
  struct holder holder;
  int error = of_comm("MPI_Comm_iflush_buffer", comm, &holder);
  return error == MPI_SUCCESS ? iflush("MPI_Comm_iflush_buffer", &holder, request) : error;
}

/* ---- a session's */

#pragma weak MPI_Session_attach_buffer = PMPI_Session_attach_buffer
int PMPI_Session_attach_buffer(MPI_Session session, void *buffer, int size) {
  struct holder holder;
  int error = of_session("MPI_Session_attach_buffer", session, &holder);
  return error == MPI_SUCCESS ? attach("MPI_Session_attach_buffer", &holder, buffer, size) : error;
}

#pragma weak MPI_Session_attach_buffer_c = PMPI_Session_attach_buffer_c
int PMPI_Session_attach_buffer_c(MPI_Session session, void *buffer, MPI_Count size) {
  struct holder holder;
  int error = of_session("MPI_Session_attach_buffer_c", session, &holder);
  return error == MPI_SUCCESS ? attach("MPI_Session_attach_buffer_c", &holder, buffer, size)
                              : error;
}

#pragma weak MPI_Session_detach_buffer = PMPI_Session_detach_buffer
int PMPI_Session_detach_buffer(MPI_Session session, void *buffer, int *size) {
  struct holder holder;
  int error = of_session("MPI_Session_detach_buffer", session, &holder);
  return error == MPI_SUCCESS ? detach_small("MPI_Session_detach_buffer", &holder, buffer, size)
                              : error;
}

#pragma weak MPI_Session_detach_buffer_c = PMPI_Session_detach_buffer_c
int PMPI_Session_detach_buffer_c(MPI_Session session, void *buffer, MPI_Count *size) {
  struct holder holder;
  int error = of_session("MPI_Session_detach_buffer_c", session, &holder);
  return error == MPI_SUCCESS ? detach("MPI_Session_detach_buffer_c", &holder, buffer, size)
                              : error;
}

#pragma weak MPI_Session_flush_buffer = PMPI_Session_flush_buffer
int PMPI_Session_flush_buffer(MPI_Session session) {
  struct holder holder;
  int error = of_session("MPI_Session_flush_buffer", session, &holder);
  return error == MPI_SUCCESS ? flush("MPI_Session_flush_buffer", &holder) : error;
}

#pragma weak MPI_Session_iflush_buffer = PMPI_Session_iflush_buffer
int PMPI_Session_iflush_buffer(MPI_Session session, MPI_Request *request) {
  struct holder holder;
  int error = of_session("MPI_Session_iflush_buffer", session, &holder);
  return error == MPI_SUCCESS ? iflush("MPI_Session_iflush_buffer", &holder, request) : error;
}
