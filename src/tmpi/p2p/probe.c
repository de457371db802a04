/* SPDX-License-Identifier: Apache-2.0 */
/* Looking for messages before they are received; matched probes. */
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/rank/handle.h"
#include "tmpi/request/request.h"

/* @return MPI_SUCCESS; *flag: there is a message, described by the status; taken if message is not
 * NULL.
 */
static int probe(const char *call, int source, int tag, MPI_Comm handle, bool wait, int *flag,
                 MPI_Message *message, MPI_Status *status) {
  struct tm_arguments arguments = {call, NULL, 0, MPI_BYTE, source, tag, handle};
  struct tm_request request;
  struct tm_envelope found;
  struct tm_message *taken;
  size_t bytes;
  int error = tm_request_fill(&request, &arguments, TM_RECV, TM_STANDARD);
  if (error != MPI_SUCCESS) return error;
  tm_request_empty(&request);
  request.type = NULL; /* of whatever size the message is */
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    tm_status_bytes(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    if (message != NULL) *message = MPI_MESSAGE_NO_PROC;
    return MPI_SUCCESS;
  }
  *flag = tm_mailbox_probe(&request, message != NULL, wait ? MLTP_NEVER : 0, call, &found, &bytes,
                           &taken);
  if (!*flag) { /* its sender may be waiting for this VP */
    uint64_t doze_ns = tm_yield();
    *flag = tm_mailbox_probe(&request, message != NULL, doze_ns, call, &found, &bytes, &taken);
  }
  if (!*flag) return MPI_SUCCESS;
  tm_status_bytes(status, found.source, found.tag, bytes);
  if (message != NULL) {
    taken->magic = TM_MESSAGE_MAGIC;
    taken->comm = request.comm;
    tm_comm_hold(taken->comm);
    *message = (MPI_Message)taken;
  }
  return MPI_SUCCESS;
}

#pragma weak MPI_Probe = PMPI_Probe
int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
  int flag;
  return probe("MPI_Probe", source, tag, comm, true, &flag, NULL, status);
}

#pragma weak MPI_Iprobe = PMPI_Iprobe
int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  return probe("MPI_Iprobe", source, tag, comm, false, flag, NULL, status);
}

#pragma weak MPI_Mprobe = PMPI_Mprobe
int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  int flag;
  return probe("MPI_Mprobe", source, tag, comm, true, &flag, message, status);
}

#pragma weak MPI_Improbe = PMPI_Improbe
int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                 MPI_Status *status) {
  *message = MPI_MESSAGE_NULL;
  return probe("MPI_Improbe", source, tag, comm, false, flag, message, status);
}

/* @return MPI_SUCCESS; *message: the one of the handle, NULL for MPI_MESSAGE_NO_PROC; *comm: where
 * it was sent; its handler gets the errors. */
static int get_message(const char *call, MPI_Message handle, struct tm_message **message,
                       struct tm_comm **comm) {
  const struct tm_rank *rank = tm_enter(call);
  *comm = rank->world;
  *message = NULL;
  if (handle == MPI_MESSAGE_NO_PROC) {
    *comm = tm_comm_self(rank);
    return *comm != NULL ? MPI_SUCCESS : tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  }
  struct tm_message *m = (struct tm_message *)handle;
  if (!tm_handle_is_address(handle) || m->magic != TM_MESSAGE_MAGIC)
    return tm_fail(NULL, call, MPI_ERR_REQUEST, "the message is %s",
                   handle == MPI_MESSAGE_NULL ? "MPI_MESSAGE_NULL"
                                              : "not valid: received already, or never probed");
  *message = m;
  *comm = m->comm;
  return MPI_SUCCESS;
}

int tm_call_imrecv(const char *call, void *buffer, MPI_Count count, MPI_Datatype handle,
                   MPI_Message *message_handle, MPI_Request *result) {
  struct tm_message *message;
  struct tm_comm *comm;
  struct tm_type *type;
  struct tm_request request;
  int error = get_message(call, *message_handle, &message, &comm);
  if (error == MPI_SUCCESS && count < 0)
    error = tm_fail(comm, call, MPI_ERR_COUNT, "count %lld is negative", (long long)count);
  if (error == MPI_SUCCESS) error = tm_get_type(comm, call, handle, &type);
  if (error == MPI_SUCCESS) error = tm_check_bytes(comm, call, count, type);
  if (error != MPI_SUCCESS) return error;
  int peer = message != NULL ? tm_message_envelope(message)->source : MPI_PROC_NULL;
  tm_request_fill_inner(&request, TM_RECV, buffer, (size_t)count, type, peer, MPI_ANY_TAG, comm);
  request.entry.envelope.context = comm->context;
  request.message = message;
  struct tm_request *kept = tm_request_keep(&request);
  if (kept == NULL) {
    tm_request_empty(&request);
    return tm_fail_code(comm, call, MPI_ERR_NO_MEM);
  }
  if (message != NULL) {
    message->magic = 0;
    tm_comm_release(comm); /* the request has its own reference */
  }
  tm_request_start(kept);
  *message_handle = MPI_MESSAGE_NULL;
  *result = (MPI_Request)kept;
  return MPI_SUCCESS;
}

int tm_call_mrecv(const char *call, void *buffer, MPI_Count count, MPI_Datatype type,
                  MPI_Message *message, MPI_Status *status) {
  MPI_Request request;
  int error = tm_call_imrecv(call, buffer, count, type, message, &request);
  return error != MPI_SUCCESS ? error : PMPI_Wait(&request, status);
}
