/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffers of buffered sends: a rank's, a communicator's, a session's. All calls of the three
 * kinds come down to a place where the buffer is noted.
 */
#include <mltp/mltp.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/error/errors.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/session.h"
#include "tmpi/request/request.h"

/* Where a buffer belongs. comm NULL: errors are those of no communicator. */
struct place {
  struct tm_buffer **buffer;
  struct tm_comm *comm;
};

static int of_rank(const char *call, struct place *place) {
  *place = (struct place){&tm_enter(call)->buffer, NULL};
  return MPI_SUCCESS;
}

static int of_comm(const char *call, MPI_Comm handle, struct place *place) {
  int error = tm_get_comm(call, handle, &place->comm);
  if (error == MPI_SUCCESS) place->buffer = &place->comm->buffer;
  return error;
}

static int of_session(const char *call, MPI_Session handle, struct place *place) {
  struct tm_session *session;
  int error = tm_get_session(call, handle, &session);
  if (error == MPI_SUCCESS) *place = (struct place){&session->buffer, NULL};
  return error;
}

/* MPI_BUFFER_AUTOMATIC: there is always room. */
static int attach(const char *call, const struct place *place, void *address, MPI_Count size) {
  if (*place->buffer != NULL)
    return tm_fail(place->comm, call, MPI_ERR_BUFFER, "there is a buffer already (detach it)");
  if (size < 0)
    return tm_fail(place->comm, call, MPI_ERR_ARG, "size %lld is negative", (long long)size);
  struct tm_buffer *buffer = calloc(1, sizeof *buffer);
  if (buffer == NULL) return tm_fail_code(place->comm, call, MPI_ERR_NO_MEM);
  buffer->address = address;
  buffer->size = address == MPI_BUFFER_AUTOMATIC ? SIZE_MAX : (size_t)size;
  *place->buffer = buffer;
  return MPI_SUCCESS;
}

static int no_buffer(const char *call, const struct place *place) {
  return tm_fail(place->comm, call, MPI_ERR_BUFFER, "there is no buffer");
}

/* Waits until its messages have been received. */
static int detach(const char *call, const struct place *place, void *address, MPI_Count *size) {
  struct tm_buffer *buffer = *place->buffer;
  if (buffer == NULL) return no_buffer(call, place);
  tm_buffer_drain(buffer, call);
  memcpy(address, &buffer->address, sizeof buffer->address);
  *size = buffer->address == MPI_BUFFER_AUTOMATIC ? 0 : (MPI_Count)buffer->size;
  *place->buffer = NULL;
  free(buffer);
  return MPI_SUCCESS;
}

/* The size as the calls without _c tell it. */
static int detach_small(const char *call, const struct place *place, void *address, int *size) {
  MPI_Count large = 0;
  int error = detach(call, place, address, &large);
  if (error == MPI_SUCCESS) *size = large <= INT32_MAX ? (int)large : MPI_UNDEFINED;
  return error;
}

static int flush(const char *call, const struct place *place) {
  if (*place->buffer == NULL) return no_buffer(call, place);
  tm_buffer_drain(*place->buffer, call);
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
  free(flushing);
  tm_request_complete(request);
  return NULL;
}

static int iflush(const char *call, const struct place *place, MPI_Request *handle) {
  if (*place->buffer == NULL) return no_buffer(call, place);
  struct flushing *flushing = malloc(sizeof *flushing);
  struct tm_request *request = calloc(1, sizeof *request);
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = call;
  attr.detached = 1;
  if (flushing != NULL && request != NULL) {
    request->magic = TM_REQUEST_MAGIC;
    request->kind = TM_COLLECTIVE;
    request->owner = tm_rank_self();
    request->comm = place->comm != NULL ? place->comm : request->owner->self; /* for reports */
    if (request->comm != NULL) tm_comm_hold(request->comm);
    request->source = MPI_ANY_SOURCE;
    request->tag = MPI_ANY_TAG;
    *flushing = (struct flushing){*place->buffer, request, tm_rank_number()};
    *handle = (MPI_Request)request;
    if (mltp_create(NULL, &attr, run_flush, flushing) == 0) return MPI_SUCCESS;
  }
  if (request != NULL && request->comm != NULL) tm_comm_release(request->comm);
  free(flushing);
  free(request);
  return tm_fail_code(place->comm, call, MPI_ERR_NO_MEM);
}

/* ---- a rank's */

#pragma weak MPI_Buffer_attach = PMPI_Buffer_attach
int PMPI_Buffer_attach(void *buffer, int size) {
  struct place place;
  int error = of_rank("MPI_Buffer_attach", &place);
  return error == MPI_SUCCESS ? attach("MPI_Buffer_attach", &place, buffer, size) : error;
}

#pragma weak MPI_Buffer_attach_c = PMPI_Buffer_attach_c
int PMPI_Buffer_attach_c(void *buffer, MPI_Count size) {
  struct place place;
  int error = of_rank("MPI_Buffer_attach_c", &place);
  return error == MPI_SUCCESS ? attach("MPI_Buffer_attach_c", &place, buffer, size) : error;
}

#pragma weak MPI_Buffer_detach = PMPI_Buffer_detach
int PMPI_Buffer_detach(void *buffer, int *size) {
  struct place place;
  int error = of_rank("MPI_Buffer_detach", &place);
  return error == MPI_SUCCESS ? detach_small("MPI_Buffer_detach", &place, buffer, size) : error;
}

#pragma weak MPI_Buffer_detach_c = PMPI_Buffer_detach_c
int PMPI_Buffer_detach_c(void *buffer, MPI_Count *size) {
  struct place place;
  int error = of_rank("MPI_Buffer_detach_c", &place);
  return error == MPI_SUCCESS ? detach("MPI_Buffer_detach_c", &place, buffer, size) : error;
}

#pragma weak MPI_Buffer_flush = PMPI_Buffer_flush
int PMPI_Buffer_flush(void) {
  struct place place;
  int error = of_rank("MPI_Buffer_flush", &place);
  return error == MPI_SUCCESS ? flush("MPI_Buffer_flush", &place) : error;
}

#pragma weak MPI_Buffer_iflush = PMPI_Buffer_iflush
int PMPI_Buffer_iflush(MPI_Request *request) {
  struct place place;
  int error = of_rank("MPI_Buffer_iflush", &place);
  return error == MPI_SUCCESS ? iflush("MPI_Buffer_iflush", &place, request) : error;
}

/* ---- a communicator's */

#pragma weak MPI_Comm_attach_buffer = PMPI_Comm_attach_buffer
int PMPI_Comm_attach_buffer(MPI_Comm comm, void *buffer, int size) {
  struct place place;
  int error = of_comm("MPI_Comm_attach_buffer", comm, &place);
  return error == MPI_SUCCESS ? attach("MPI_Comm_attach_buffer", &place, buffer, size) : error;
}

#pragma weak MPI_Comm_attach_buffer_c = PMPI_Comm_attach_buffer_c
int PMPI_Comm_attach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count size) {
  struct place place;
  int error = of_comm("MPI_Comm_attach_buffer_c", comm, &place);
  return error == MPI_SUCCESS ? attach("MPI_Comm_attach_buffer_c", &place, buffer, size) : error;
}

#pragma weak MPI_Comm_detach_buffer = PMPI_Comm_detach_buffer
int PMPI_Comm_detach_buffer(MPI_Comm comm, void *buffer, int *size) {
  struct place place;
  int error = of_comm("MPI_Comm_detach_buffer", comm, &place);
  return error == MPI_SUCCESS ? detach_small("MPI_Comm_detach_buffer", &place, buffer, size)
                              : error;
}

#pragma weak MPI_Comm_detach_buffer_c = PMPI_Comm_detach_buffer_c
int PMPI_Comm_detach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count *size) {
  struct place place;
  int error = of_comm("MPI_Comm_detach_buffer_c", comm, &place);
  return error == MPI_SUCCESS ? detach("MPI_Comm_detach_buffer_c", &place, buffer, size) : error;
}

#pragma weak MPI_Comm_flush_buffer = PMPI_Comm_flush_buffer
int PMPI_Comm_flush_buffer(MPI_Comm comm) {
  struct place place;
  int error = of_comm("MPI_Comm_flush_buffer", comm, &place);
  return error == MPI_SUCCESS ? flush("MPI_Comm_flush_buffer", &place) : error;
}

#pragma weak MPI_Comm_iflush_buffer = PMPI_Comm_iflush_buffer
int PMPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request) {
  struct place place;
  int error = of_comm("MPI_Comm_iflush_buffer", comm, &place);
  return error == MPI_SUCCESS ? iflush("MPI_Comm_iflush_buffer", &place, request) : error;
}

/* ---- a session's */

#pragma weak MPI_Session_attach_buffer = PMPI_Session_attach_buffer
int PMPI_Session_attach_buffer(MPI_Session session, void *buffer, int size) {
  struct place place;
  int error = of_session("MPI_Session_attach_buffer", session, &place);
  return error == MPI_SUCCESS ? attach("MPI_Session_attach_buffer", &place, buffer, size) : error;
}

#pragma weak MPI_Session_attach_buffer_c = PMPI_Session_attach_buffer_c
int PMPI_Session_attach_buffer_c(MPI_Session session, void *buffer, MPI_Count size) {
  struct place place;
  int error = of_session("MPI_Session_attach_buffer_c", session, &place);
  return error == MPI_SUCCESS ? attach("MPI_Session_attach_buffer_c", &place, buffer, size) : error;
}

#pragma weak MPI_Session_detach_buffer = PMPI_Session_detach_buffer
int PMPI_Session_detach_buffer(MPI_Session session, void *buffer, int *size) {
  struct place place;
  int error = of_session("MPI_Session_detach_buffer", session, &place);
  return error == MPI_SUCCESS ? detach_small("MPI_Session_detach_buffer", &place, buffer, size)
                              : error;
}

#pragma weak MPI_Session_detach_buffer_c = PMPI_Session_detach_buffer_c
int PMPI_Session_detach_buffer_c(MPI_Session session, void *buffer, MPI_Count *size) {
  struct place place;
  int error = of_session("MPI_Session_detach_buffer_c", session, &place);
  return error == MPI_SUCCESS ? detach("MPI_Session_detach_buffer_c", &place, buffer, size) : error;
}

#pragma weak MPI_Session_flush_buffer = PMPI_Session_flush_buffer
int PMPI_Session_flush_buffer(MPI_Session session) {
  struct place place;
  int error = of_session("MPI_Session_flush_buffer", session, &place);
  return error == MPI_SUCCESS ? flush("MPI_Session_flush_buffer", &place) : error;
}

#pragma weak MPI_Session_iflush_buffer = PMPI_Session_iflush_buffer
int PMPI_Session_iflush_buffer(MPI_Session session, MPI_Request *request) {
  struct place place;
  int error = of_session("MPI_Session_iflush_buffer", session, &place);
  return error == MPI_SUCCESS ? iflush("MPI_Session_iflush_buffer", &place, request) : error;
}
