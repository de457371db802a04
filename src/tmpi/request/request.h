/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file request.h
 * Requests as the calls of MPI see them: made, checked, described by a status.
 */
#ifndef TM_REQUEST_REQUEST_H
#define TM_REQUEST_REQUEST_H

#include "tmpi/match/match.h"
#include "tmpi/object/comm.h"

/** The arguments of a send or a receive, as given. */
struct tm_arguments {
  const char *call;
  const void *buffer;
  MPI_Count count;
  MPI_Datatype type;
  int peer, tag;
  MPI_Comm comm;
};

/** Checks them and fills *request, which then holds references. @return MPI_SUCCESS, or what
 * tm_fail() returned. */
int tm_request_fill(struct tm_request *request, const struct tm_arguments *arguments,
                    enum tm_kind kind, enum tm_mode mode);

/** The same for a call that waits for its request: it borrows, unless other threads of the rank
 * could free what it uses meanwhile. */
int tm_request_fill_blocking(struct tm_request *request, const struct tm_arguments *arguments,
                             enum tm_kind kind, enum tm_mode mode);

/** The same for a collective's message, with arguments known to be good: on the collectives'
 * context, for a rank of the remote group. */
void tm_request_fill_inner(struct tm_request *request, enum tm_kind kind, const void *buffer,
                           size_t count, struct tm_type *type, int peer, int tag,
                           struct tm_comm *comm);
/** The same, and it borrows. */
void tm_request_borrow_inner(struct tm_request *request, enum tm_kind kind, const void *buffer,
                             size_t count, struct tm_type *type, int peer, int tag,
                             struct tm_comm *comm);

/* ---- what calls.table calls, of p2p/ and of status.c. Each returns MPI_SUCCESS or what tm_fail()
 * returned. */
int tm_call_send(const struct tm_arguments *arguments, enum tm_mode mode);
int tm_call_recv(const struct tm_arguments *arguments, MPI_Status *status);
/** Of a call that does not wait. request.c. */
int tm_call_start(const struct tm_arguments *arguments, enum tm_kind kind, enum tm_mode mode,
                  MPI_Request *handle);
int tm_call_init(const struct tm_arguments *arguments, enum tm_kind kind, enum tm_mode mode,
                 MPI_Request *handle);
/** Sends and receives. */
int tm_call_exchange(const struct tm_arguments *to, const struct tm_arguments *from,
                     MPI_Status *status);
int tm_call_iexchange(const struct tm_arguments *to, const struct tm_arguments *from,
                      MPI_Request *request);
/** Sends a copy of the buffer that a names, and receives into it as a says. */
int tm_call_replace(const struct tm_arguments *a, int dest, int sendtag, MPI_Status *status);
int tm_call_ireplace(const struct tm_arguments *a, int dest, int sendtag, MPI_Request *request);
/** Packs what the arguments name, into memory that the caller frees. sendrecv_replace.c. */
int tm_pack_arguments(const struct tm_arguments *arguments, void **packed, size_t *bytes);
/** Receives a message that a probe took. probe.c. */
int tm_call_imrecv(const char *call, void *buffer, MPI_Count count, MPI_Datatype handle,
                   MPI_Message *message, MPI_Request *result);
int tm_call_mrecv(const char *call, void *buffer, MPI_Count count, MPI_Datatype handle,
                  MPI_Message *message, MPI_Status *status);
int tm_call_get_count(const char *call, const MPI_Status *status, MPI_Datatype handle,
                      MPI_Count *count);
int tm_call_get_elements(const char *call, const MPI_Status *status, MPI_Datatype handle,
                         MPI_Count *count);
int tm_call_set_elements(const char *call, MPI_Status *status, MPI_Datatype handle,
                         MPI_Count count);

/** There is no room in the attached buffer. @return what tm_fail() returned. */
int tm_request_no_room(const struct tm_request *request, const char *call) __attribute__((cold));

/** Sends or receives; a message to or from MPI_PROC_NULL is complete at once.
 * @return MPI_SUCCESS; MPI_ERR_BUFFER: no room in the attached buffer. */
int tm_request_start(struct tm_request *request);
/** The same, and returns when it is complete. */
int tm_request_perform(struct tm_request *request, const char *call);

/** Moves a filled request from the stack to one that outlives the call. NULL: no memory. */
struct tm_request *tm_request_keep(const struct tm_request *request);

/** Tells a status (may be NULL, as are all) what a request brought; NULL: an empty one. */
void tm_status_set(MPI_Status *status, const struct tm_request *request);
void tm_status_bytes(MPI_Status *status, int source, int tag, size_t bytes);
size_t tm_status_get_bytes(const MPI_Status *status);

#endif
