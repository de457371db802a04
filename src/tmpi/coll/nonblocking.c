/* SPDX-License-Identifier: Apache-2.0 */
/* Nonblocking and persistent collectives: performed by a thread; collective.h says how. */
#include <mltp/mltp.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/coll/collective.h"
#include "tmpi/coll/op.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"
#include "tmpi/object/topology.h"
#include "tmpi/rank/user_code.h"
#include "tmpi/request/request.h"

/* One that is under way, or may be again. Types and operation may be freed by the program
 * meanwhile, so they are held. */
struct task {
  struct tm_collective collective;
  struct tm_request *request;
  struct tm_comm *shadow;
  int rank; /* in the job */
  struct tm_type **types;
  int type_count;
  const struct tm_op *op;
};

/* Contexts given out are below 2^31, and even; a communicator starts fewer than 2^30. */
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
  tm_comm_set_handler(shadow, tm_errhandler_returning()); /* the request tells */
  if (comm->topology != NULL) shadow->topology = tm_topology_copy(comm->topology);
  if (tm_comm_add_local(shadow) && (comm->topology == NULL || shadow->topology != NULL))
    return shadow;
  tm_comm_release(shadow);
  return NULL;
}

static void end_task(struct task *task) {
  for (int i = 0; i < task->type_count; i++) tm_type_release(task->types[i]);
  free(task->types);
  if (task->op != NULL) tm_op_release(task->op);
  if (task->shadow != NULL) tm_comm_release(task->shadow);
  free(task);
}

/* @return whether its thread calls functions of the program: an operation. */
static bool calls_program(const struct task *task) {
  return task->op != NULL && tm_op_is_user(task->op);
}

static void *run(void *argument) {
  struct task *task = argument;
  struct tm_request *request = task->request;
  bool again = request->persistent;
  int error = MPI_ERR_NO_MEM;
  if (tm_rank_enter(task->rank) == 0) error = task->collective.kind->perform(&task->collective);
  if (calls_program(task)) tm_user_code_end(&tm_job.ranks[task->rank]);
  if (!again) end_task(task);
  request->error = error;
  tm_request_complete(request);
  return NULL;
}

static bool launch(struct task *task) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = task->collective.call;
  attr.detached = 1;
  struct tm_rank *rank = &tm_job.ranks[task->rank];
  bool calls = calls_program(task); /* a running task may end at any time */
  if (calls) tm_user_code_begin(rank);
  if (mltp_create(NULL, &attr, run, task) == 0) return true;
  if (calls) tm_user_code_end(rank);
  return false;
}

static int restart(struct tm_request *request) {
  return launch(request->extra) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static void drop(struct tm_request *request) { end_task(request->extra); }

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

static void hold_type(struct task *task, MPI_Datatype handle) {
  struct tm_type *type = tm_type_of(handle);
  if (type == NULL) return; /* of a buffer this rank has not */
  tm_type_hold(type);
  task->types[task->type_count++] = type;
}

/* @return false: no memory. */
static bool hold_types(struct task *task, const struct tm_comm *comm) {
  const struct tm_collective *c = &task->collective;
  int sends = c->send.types != NULL ? tm_parts_number(comm, c->kind->send_parts, true) : 0;
  int receives = c->recv.types != NULL ? tm_parts_number(comm, c->kind->recv_parts, false) : 0;
  task->types = malloc(((size_t)sends + (size_t)receives + 2) * sizeof(struct tm_type *));
  if (task->types == NULL) return false;
  for (int i = 0; c->send.base != MPI_IN_PLACE && i < sends; i++) hold_type(task, c->send.types[i]);
  for (int i = 0; i < receives; i++) hold_type(task, c->recv.types[i]);
  hold_type(task, c->sendtype);
  hold_type(task, c->recvtype);
  return true;
}

/* @return a task ready to run, NULL: no memory. */
static struct task *make_task(struct tm_comm *comm, const struct tm_collective *collective) {
  struct task *task = calloc(1, sizeof *task);
  if (task == NULL) return NULL;
  task->collective = *collective;
  task->rank = tm_rank_number();
  task->shadow = make_shadow(comm);
  if (task->shadow != NULL && hold_types(task, comm)) task->request = make_request(comm);
  if (task->request == NULL) {
    end_task(task);
    return NULL;
  }
  if (collective->result != NULL) tm_comm_inherit(task->shadow, comm); /* the copy has it, too */
  task->collective.comm = (MPI_Comm)task->shadow;
  task->op = tm_op_of(collective->op);
  if (task->op != NULL) tm_op_hold(task->op);
  return task;
}

int tm_collective_start(const struct tm_collective *c, MPI_Request *handle) {
  int error = tm_collective_check(c);
  if (error != MPI_SUCCESS) return error;
  struct tm_comm *comm = tm_comm_of(c->comm);
  struct task *task = make_task(comm, c);
  if (task == NULL) return tm_fail_code(comm, c->call, MPI_ERR_NO_MEM);
  struct tm_request *request = task->request;
  *handle = (MPI_Request)request;
  if (launch(task)) return MPI_SUCCESS;
  end_task(task);
  tm_request_drop(request);
  *handle = MPI_REQUEST_NULL;
  return tm_fail_code(comm, c->call, MPI_ERR_NO_MEM);
}

/* ---- persistent */

int tm_collective_init(const struct tm_collective *c, MPI_Info info, MPI_Request *handle) {
  int error = tm_collective_check(c);
  if (error != MPI_SUCCESS) return error;
  struct tm_comm *comm = tm_comm_of(c->comm);
  if (info != MPI_INFO_NULL && tm_info_of(info) == NULL)
    return tm_fail(comm, c->call, MPI_ERR_INFO, "the info is not valid");
  struct task *task = make_task(comm, c);
  if (task == NULL) return tm_fail_code(comm, c->call, MPI_ERR_NO_MEM);
  task->request->persistent = true;
  task->request->extra = task;
  task->request->restart = restart;
  task->request->drop = drop;
  *handle = (MPI_Request)task->request;
  return MPI_SUCCESS;
}
