/* SPDX-License-Identifier: Apache-2.0 */
/* Partitioned messages: the calls. channel.h says how they work. */
#include <limits.h>

#include "tmpi/error/errors.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/part/channel.h"
#include "tmpi/rank/handle.h"

/* ---- requests */

static bool join(struct tm_request *request, int partitions) {
  if (request->peer == MPI_PROC_NULL) return true;
  bool far = request->mode == TM_PART_SEND && !tm_rank_is_here(request->dest->number);
  return far ? tm_far_channel_join(request, partitions) : tm_channel_join(request, partitions);
}

static int init(const struct tm_arguments *arguments, int partitions, MPI_Info info,
                enum tm_kind side, MPI_Request *handle) {
  struct tm_request request;
  int error = tm_request_fill(&request, arguments, side, TM_STANDARD);
  if (error != MPI_SUCCESS) return error;
  error = tm_check_info(request.comm, arguments->call, info); /* no hints are known */
  if (error != MPI_SUCCESS) {
    tm_request_empty(&request);
    return error;
  }
  int wrong = partitions < 0                                         ? MPI_ERR_ARG
              : side == TM_RECV && arguments->peer == MPI_ANY_SOURCE ? MPI_ERR_RANK
              : side == TM_RECV && arguments->tag == MPI_ANY_TAG     ? MPI_ERR_TAG
                                                                     : MPI_SUCCESS;
  struct tm_request *kept = wrong == MPI_SUCCESS ? tm_request_keep(&request) : NULL;
  if (kept != NULL) {
    kept->kind = TM_PARTITIONED;
    kept->mode = side == TM_SEND ? TM_PART_SEND : TM_PART_RECV;
    kept->persistent = true;
    kept->extra = NULL;
    kept->restart = tm_channel_start;
    kept->drop = tm_channel_leave;
    if (join(kept, partitions)) {
      *handle = (MPI_Request)kept;
      return MPI_SUCCESS;
    }
    tm_request_free(kept);
  }
  struct tm_comm *comm = request.comm;
  error = wrong != MPI_SUCCESS
              ? tm_fail(comm, arguments->call, wrong,
                        wrong == MPI_ERR_ARG ? "%d partitions: the number is negative"
                                             : "a partitioned receive has no wildcards",
                        partitions)
              : tm_fail_code(comm, arguments->call, MPI_ERR_NO_MEM);
  tm_request_empty(&request);
  return error;
}

#pragma weak MPI_Psend_init = PMPI_Psend_init
int PMPI_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                    int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  return init(&(struct tm_arguments){"MPI_Psend_init", buf, count, datatype, dest, tag, comm},
              partitions, info, TM_SEND, request);
}

#pragma weak MPI_Precv_init = PMPI_Precv_init
int PMPI_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                    int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  return init(&(struct tm_arguments){"MPI_Precv_init", buf, count, datatype, source, tag, comm},
              partitions, info, TM_RECV, request);
}

static int get(const char *call, MPI_Request handle, enum tm_mode side,
               struct tm_request **request) {
  tm_enter(call);
  *request = (struct tm_request *)handle;
  if (tm_handle_is_address(handle) && (*request)->magic == TM_REQUEST_MAGIC &&
      (*request)->kind == TM_PARTITIONED && (*request)->mode == side)
    return MPI_SUCCESS;
  return tm_fail(NULL, call, MPI_ERR_REQUEST, "the request is no partitioned %s",
                 side == TM_PART_SEND ? "send" : "receive");
}

static int partitions_of(const struct tm_request *request) {
  const struct tm_channel *channel = tm_channel_of(request);
  if (channel == NULL) return INT_MAX;
  return request->mode == TM_PART_SEND ? channel->send.partitions : channel->recv.partitions;
}

static int check(const char *call, const struct tm_request *request, int partition) {
  if (partition >= 0 && partition < partitions_of(request)) return MPI_SUCCESS;
  return tm_fail(request->comm, call, MPI_ERR_ARG, "partition %d is not one of the %d there are",
                 partition, partitions_of(request));
}

/* ---- the sender */

static int mark(const char *call, struct tm_request *request, int partition) {
  int error = check(call, request, partition);
  if (error != MPI_SUCCESS || tm_channel_of(request) == NULL) return error;
  if (tm_channel_ready(tm_channel_of(request), partition)) return MPI_SUCCESS;
  return tm_fail(request->comm, call, MPI_ERR_ARG, "partition %d is ready already", partition);
}

static int get_active(const char *call, MPI_Request handle, struct tm_request **request) {
  int error = get(call, handle, TM_PART_SEND, request);
  if (error != MPI_SUCCESS || (*request)->active) return error;
  return tm_fail((*request)->comm, call, MPI_ERR_REQUEST,
                 "the request is not active (call MPI_Start() first)");
}

#pragma weak MPI_Pready = PMPI_Pready
int PMPI_Pready(int partition, MPI_Request handle) {
  struct tm_request *request;
  int error = get_active("MPI_Pready", handle, &request);
  return error != MPI_SUCCESS ? error : mark("MPI_Pready", request, partition);
}

#pragma weak MPI_Pready_range = PMPI_Pready_range
int PMPI_Pready_range(int partition_low, int partition_high, MPI_Request handle) {
  struct tm_request *request;
  int error = get_active("MPI_Pready_range", handle, &request);
  if (error == MPI_SUCCESS) error = check("MPI_Pready_range", request, partition_low);
  if (error == MPI_SUCCESS) error = check("MPI_Pready_range", request, partition_high);
  for (int i = partition_low; error == MPI_SUCCESS && i <= partition_high; i++)
    error = mark("MPI_Pready_range", request, i);
  return error;
}

#pragma weak MPI_Pready_list = PMPI_Pready_list
int PMPI_Pready_list(int length, const int array_of_partitions[], MPI_Request handle) {
  struct tm_request *request;
  int error = get_active("MPI_Pready_list", handle, &request);
  for (int i = 0; error == MPI_SUCCESS && i < length; i++)
    error = mark("MPI_Pready_list", request, array_of_partitions[i]);
  return error;
}

/* ---- the receiver */

/* True for a request that is not active, as MPI_Test() is. */
#pragma weak MPI_Parrived = PMPI_Parrived
int PMPI_Parrived(MPI_Request handle, int partition, int *flag) {
  struct tm_request *request;
  *flag = 1;
  if (handle == MPI_REQUEST_NULL) return MPI_SUCCESS;
  int error = get("MPI_Parrived", handle, TM_PART_RECV, &request);
  if (error == MPI_SUCCESS) error = check("MPI_Parrived", request, partition);
  if (error != MPI_SUCCESS || !request->active || tm_channel_of(request) == NULL) return error;
  *flag = tm_channel_arrived(tm_channel_of(request), partition);
  if (!*flag) tm_yield();
  return MPI_SUCCESS;
}
