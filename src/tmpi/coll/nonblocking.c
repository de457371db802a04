/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends nonblocking collectives. */
#include "tmpi/coll/nonblocking.h"

#include <mltp/mltp.h>
#include <stdlib.h>

#include "tmpi/coll/op.h"
#include "tmpi/dt/type.h"
#include "tmpi/mpi/errors.h"
#include "tmpi/mpi/info.h"
#include "tmpi/mpi/request.h"
#include "tmpi/mpi/topology.h"

/* One under way. */
struct task {
  struct tm_nonblocking call;
  struct tm_request *request;
  struct tm_comm *shadow;
  int rank;                 /* in the job */
  struct tm_type *types[2]; /* held; NULL: none */
  const struct tm_op *op;
};

/* Contexts given out are below 2^32, and even; a communicator starts fewer than 2^30. */
static uint64_t shadow_context(uint64_t context, int number) {
  return (uint64_t)1 << 63 | context << 31 | (uint64_t)(uint32_t)number << 1;
}

/* @return NULL: no memory. */
static struct tm_comm *make_shadow(struct tm_comm *comm) {
  uint64_t context = shadow_context(comm->context, comm->nonblocking++);
  tm_group_hold(comm->group);
  if (comm->inter) tm_group_hold(comm->remote);
  struct tm_comm *shadow = tm_comm_new(context, comm->group, comm->inter ? comm->remote : NULL);
  if (shadow == NULL) return NULL;
  tm_errhandler_release(shadow->handler);
  shadow->handler = tm_errhandler_returning(); /* the request tells */
  if (comm->local_comm != NULL) shadow->local_comm = make_shadow(comm->local_comm);
  return shadow;
}

/* MPI_Comm_idup(): what the copy inherits. @return false: no memory. */
static bool dress(struct tm_comm *shadow, const struct tm_comm *comm) {
  shadow->attributes = comm->attributes; /* not freed with it */
  shadow->handler = comm->handler;
  tm_errhandler_hold(shadow->handler);
  if (comm->topology != NULL && (shadow->topology = tm_topology_copy(comm->topology)) == NULL)
    return false;
  return comm->info == NULL || (shadow->info = tm_info_copy(comm->info)) != NULL;
}

static void end_task(struct task *task) {
  for (int i = 0; i < 2; i++)
    if (task->types[i] != NULL) tm_type_release(task->types[i]);
  if (task->op != NULL) tm_op_release(task->op);
  if (task->shadow != NULL) tm_comm_release(task->shadow);
  free(task);
}

static void *run(void *argument) {
  struct task *task = argument;
  struct tm_request *request = task->request;
  int error = tm_rank_enter(task->rank) == 0 ? task->call.perform(&task->call) : MPI_ERR_NO_MEM;
  end_task(task);
  request->error = error;
  tm_request_complete(request);
  return NULL;
}

static struct tm_type *hold_type(MPI_Datatype handle) {
  struct tm_type *type = tm_type_of(handle);
  if (type != NULL) tm_type_hold(type);
  return type;
}

static struct tm_request *make_request(struct tm_comm *comm) {
  struct tm_request *request = calloc(1, sizeof *request);
  if (request == NULL) return NULL;
  request->magic = TM_REQUEST_MAGIC;
  request->kind = TM_COLLECTIVE;
  request->owner = tm_rank_self();
  request->comm = comm;
  request->source = MPI_ANY_SOURCE;
  request->tag = MPI_ANY_TAG;
  tm_comm_hold(comm);
  return request;
}

/* @return a task ready to run, NULL: no memory. */
static struct task *make_task(struct tm_comm *comm, const struct tm_nonblocking *call) {
  struct task *task = calloc(1, sizeof *task);
  if (task == NULL) return NULL;
  task->call = *call;
  task->rank = tm_rank_number();
  task->shadow = make_shadow(comm);
  if (task->shadow != NULL && (call->result == NULL || dress(task->shadow, comm)))
    task->request = make_request(comm);
  if (task->request == NULL) {
    end_task(task);
    return NULL;
  }
  task->call.comm = (MPI_Comm)task->shadow;
  task->types[0] = hold_type(call->sendtype);
  task->types[1] = hold_type(call->recvtype);
  task->op = tm_op_of(call->op);
  if (task->op != NULL) tm_op_hold(task->op);
  return task;
}

int tm_nonblocking_start(const char *name, const struct tm_nonblocking *call, MPI_Request *handle) {
  struct tm_comm *comm;
  int error = tm_get_comm(name, call->comm, &comm);
  if (error != MPI_SUCCESS) return error;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = name;
  attr.detached = 1;
  struct task *task = make_task(comm, call);
  if (task == NULL) return tm_fail_code(comm, name, MPI_ERR_NO_MEM);
  struct tm_request *request = task->request;
  *handle = (MPI_Request)request;
  if (mltp_create_with(NULL, &attr, run, task) == 0) return MPI_SUCCESS;
  end_task(task);
  tm_request_drop(request);
  *handle = MPI_REQUEST_NULL;
  return tm_fail_code(comm, name, MPI_ERR_NO_MEM);
}
