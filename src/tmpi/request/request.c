/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: made of a call's arguments, and started. */
#include "tmpi/request/request.h"

#include <stdlib.h>
#include <string.h>

#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/mailbox/request_pool.h"

static inline int check_peer(struct tm_comm *comm, const struct tm_arguments *a,
                             enum tm_kind kind) {
  bool wildcard = kind == TM_RECV && a->peer == MPI_ANY_SOURCE;
  bool is_rank = a->peer >= 0 && a->peer < comm->remote->size;
  if (mt_unlikely(!is_rank) && a->peer != MPI_PROC_NULL && !wildcard)
    return tm_fail(comm, a->call, MPI_ERR_RANK, "rank %d is not one of the %d there are", a->peer,
                   comm->remote->size);
  if (mt_unlikely(a->tag < 0) && !(kind == TM_RECV && a->tag == MPI_ANY_TAG))
    return tm_fail(comm, a->call, MPI_ERR_TAG, "tag %d is negative", a->tag);
  return MPI_SUCCESS;
}

/* All but the mode and the context, in which a program's messages and the library's differ. Inline:
 * with each message its arguments would cost as much as half of it. */
static inline void borrow(struct tm_request *request, enum tm_kind kind, const void *buffer,
                          size_t count, struct tm_type *type, int peer, int tag,
                          struct tm_comm *comm) {
  /* one by one: clearing it as a whole takes as long as all the rest */
  request->magic = TM_REQUEST_MAGIC;
  request->kind = (uint8_t)kind;
  request->persistent = request->active = request->freed = request->posted = false;
  request->cancelled = false;
  request->borrows = true;
  request->done = 0;
  request->parks = request->copies = request->handed = false;
  request->waiter = NULL;
  request->message = NULL;
  request->dest = NULL;
  request->owner = comm->owner;
  request->comm = comm;
  request->entry.envelope.source = kind == TM_SEND ? comm->rank : peer;
  request->entry.envelope.tag = tag;
  request->peer = peer;
  request->buffer = (void *)(uintptr_t)buffer;
  request->count = count;
  request->type = type;
  if (kind == TM_SEND && peer >= 0) request->dest = &tm_job.ranks[comm->remote->ranks[peer]];
}

/* @return whether no element is sent or received. */
static bool is_nothing(const struct tm_arguments *a) {
  return a->peer == MPI_PROC_NULL || a->count == 0;
}

/* Inline, where the kind is known: it decides most of what is asked. */
__attribute__((always_inline)) static inline int fill(struct tm_request *request,
                                                      const struct tm_arguments *a,
                                                      enum tm_kind kind, enum tm_mode mode) {
  struct tm_comm *comm;
  struct tm_type *type;
  int error = tm_get_comm_quickly(a->call, a->comm, &comm);
  if (error == MPI_SUCCESS && a->count < 0)
    error = tm_fail(comm, a->call, MPI_ERR_COUNT, "count %lld is negative", (long long)a->count);
  bool nothing = mt_unlikely(a->type == MPI_DATATYPE_NULL) && is_nothing(a);
  if (error == MPI_SUCCESS)
    error = tm_get_type_quickly(comm, a->call, nothing ? MPI_BYTE : a->type, &type);
  if (error == MPI_SUCCESS) error = tm_check_bytes(comm, a->call, a->count, type);
  if (error == MPI_SUCCESS) error = check_peer(comm, a, kind);
  if (error != MPI_SUCCESS) return error;
  if (mt_unlikely(a->buffer == NULL) && !is_nothing(a) && type->size > 0 && type->predefined)
    return tm_fail(comm, a->call, MPI_ERR_BUFFER, "the buffer is at address 0");
  borrow(request, kind, a->buffer, (size_t)a->count, type, a->peer, a->tag, comm);
  request->entry.envelope.context = comm->context;
  request->mode = (uint8_t)mode;
  return MPI_SUCCESS;
}

/* No calls for what lasts, which most messages name. */
static inline void hold(struct tm_request *request) {
  request->borrows = false;
  if (!request->comm->lasting) tm_comm_hold(request->comm);
  if (!request->type->predefined) tm_type_hold(request->type);
}

int tm_request_fill(struct tm_request *request, const struct tm_arguments *a, enum tm_kind kind,
                    enum tm_mode mode) {
  int error = fill(request, a, kind, mode);
  if (error == MPI_SUCCESS) hold(request);
  return error;
}

int tm_request_fill_blocking(struct tm_request *request, const struct tm_arguments *a,
                             enum tm_kind kind, enum tm_mode mode) {
  int error = fill(request, a, kind, mode);
  if (error == MPI_SUCCESS && request->owner->thread_level == MPI_THREAD_MULTIPLE) hold(request);
  return error;
}

void tm_request_borrow_inner(struct tm_request *request, enum tm_kind kind, const void *buffer,
                             size_t count, struct tm_type *type, int peer, int tag,
                             struct tm_comm *comm) {
  borrow(request, kind, buffer, count, type, peer, tag, comm);
  request->entry.envelope.context = comm->context + 1;
  request->mode = TM_STANDARD;
}

void tm_request_fill_inner(struct tm_request *request, enum tm_kind kind, const void *buffer,
                           size_t count, struct tm_type *type, int peer, int tag,
                           struct tm_comm *comm) {
  tm_request_borrow_inner(request, kind, buffer, count, type, peer, tag, comm);
  hold(request);
}

/* @return false: it is complete, since it is for nobody. */
static inline bool has_peer(struct tm_request *request) {
  bool nobody = request->peer == MPI_PROC_NULL && request->message == NULL;
  request->source = nobody && request->kind == TM_RECV ? MPI_PROC_NULL : MPI_ANY_SOURCE;
  request->tag = MPI_ANY_TAG;
  request->error = MPI_SUCCESS;
  request->bytes = 0;
  return !nobody;
}

/* @return whether there is room for a buffered message, which counts from then on. */
static inline bool has_room(struct tm_request *send) {
  if (send->mode != TM_BUFFERED) return true;
  send->buffered = tm_buffer_claim(send, send->count * send->type->size);
  return send->buffered != NULL;
}

static inline int start(struct tm_request *request) {
  if (!has_peer(request)) {
    tm_request_complete(request);
  } else if (request->kind == TM_RECV) {
    tm_recv_start(request);
  } else {
    if (!has_room(request)) return MPI_ERR_BUFFER;
    tm_send_start(request);
  }
  return MPI_SUCCESS;
}

int tm_request_start(struct tm_request *request) { return start(request); }

int tm_request_perform(struct tm_request *request, const char *call) {
  if (!has_peer(request)) return MPI_SUCCESS;
  if (request->kind == TM_SEND && !has_room(request)) return MPI_ERR_BUFFER;
  if (request->kind == TM_SEND)
    tm_send(request, call);
  else
    tm_recv(request, call);
  return MPI_SUCCESS;
}

struct tm_request *tm_request_keep(const struct tm_request *request) {
  struct tm_request *kept = tm_request_new();
  if (kept == NULL) return NULL;
  uint8_t number = kept->number;
  uint32_t handle = kept->handle;
  *kept = *request;
  kept->number = number;
  kept->handle = handle;
  return kept;
}

int tm_request_no_room(const struct tm_request *request, const char *call) {
  return tm_fail(request->comm, call, MPI_ERR_BUFFER,
                 "there is no room for %zu bytes in the attached buffer (MPI_Buffer_attach())",
                 request->count * request->type->size);
}

__attribute__((always_inline)) static inline int begin(const struct tm_arguments *arguments,
                                                       enum tm_kind kind, enum tm_mode mode,
                                                       MPI_Request *handle) {
  struct tm_request *request = tm_request_new();
  if (mt_unlikely(request == NULL)) return tm_fail_code(NULL, arguments->call, MPI_ERR_NO_MEM);
  int error = fill(request, arguments, kind, mode);
  if (mt_unlikely(error != MPI_SUCCESS)) {
    tm_request_free(request);
    return error;
  }
  hold(request);
  if (mt_unlikely(start(request) != MPI_SUCCESS)) {
    error = tm_request_no_room(request, arguments->call);
    tm_request_drop(request);
    return error;
  }
  *handle = (MPI_Request)request;
  return MPI_SUCCESS;
}

int tm_call_start(const struct tm_arguments *arguments, enum tm_kind kind, enum tm_mode mode,
                  MPI_Request *handle) {
  return kind == TM_RECV ? begin(arguments, TM_RECV, TM_STANDARD, handle)
                         : begin(arguments, TM_SEND, mode, handle);
}
