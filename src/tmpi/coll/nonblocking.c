/* SPDX-License-Identifier: Apache-2.0 */
/* Nonblocking and persistent collectives: tasks and their requests; gang.h says how
 * they are performed. */
#include <mltp/mltp.h>
#include <stdlib.h>

#include "tmpi/coll/gang.h"
#include "tmpi/coll/op.h"
#include "tmpi/error/errors.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/object/hash.h"
#include "tmpi/object/info.h"
#include "tmpi/object/topology.h"
#include "tmpi/rank/user_code.h"
#include "tmpi/request/request.h"

/* Of a job on several nodes: a hash of 61 bits, so two that are under way at once will not have the
 * same. */
static uint64_t hashed_context(uint64_t context, int number, int starts) {
  uint64_t hash = tm_hash_words(tm_hash_words(context, (uint32_t)number), (uint32_t)starts);
  return TM_CONTEXT_SHADOW | (hash & (TM_CONTEXT_LOCAL - 2));
}

/* Contexts given out on one node are below 2^31, and even; a communicator starts fewer than 2^30.
 */
static uint64_t shadow_context(uint64_t context, int number) {
  if (context >> 31 != 0) return hashed_context(context, number, 0);
  return TM_CONTEXT_SHADOW | context << 31 | (uint64_t)(uint32_t)number << 1;
}

/* Groups and topology are the communicator's. */
static bool fill_shadow(struct tm_comm *shadow, struct tm_comm *comm) {
  tm_comm_set_handler(shadow, tm_errhandler_returning()); /* the request has the error */
  return comm->topology == NULL || (shadow->topology = tm_topology_copy(comm->topology)) != NULL;
}

bool tm_task_prepare(struct tm_task *task) {
  struct tm_comm *comm = task->request->comm;
  tm_group_hold(comm->group);
  if (comm->inter) tm_group_hold(comm->remote);
  struct tm_comm *shadow = tm_comm_add_local(
      tm_comm_new_for(task->rank, task->context, comm->group, comm->inter ? comm->remote : NULL));
  if (shadow == NULL) return false;
  task->shadow = shadow;
  if (!fill_shadow(shadow, comm)) return false;
  if (task->collective.result != NULL) tm_comm_inherit(shadow, comm); /* the copy has it, too */
  task->collective.comm = (MPI_Comm)shadow;
  return true;
}

static void end_task(struct tm_task *task) {
  for (int i = 0; i < task->type_count; i++) tm_type_release(task->types[i]);
  free(task->types);
  free(task->arrays);
  if (task->op != NULL) tm_op_release(task->op);
  free(task);
}

/* @return whether the worker calls functions of the program: an operation. */
static bool calls_program(const struct tm_task *task) {
  return task->op != NULL && tm_op_is_user(task->op);
}

/* The task's part in the gang ends, and its request is complete. */
static void finish(struct tm_task *task, int error) {
  struct tm_request *request = task->request;
  struct tm_rank *rank = task->rank;
  struct tm_gang *gang = task->gang;
  if (task->shadow != NULL) tm_comm_release(task->shadow);
  task->shadow = NULL;
  if (calls_program(task)) tm_user_code_end(rank);
  if (!request->persistent) end_task(task);
  request->error = error;
  if (gang != NULL) tm_worker_done(rank);
  tm_request_complete(request);
  if (gang != NULL) tm_gang_leave(gang);
}

void tm_task_perform(struct tm_task *task) {
  finish(task, task->collective.kind->perform(&task->collective));
}

void tm_task_fail(struct tm_task *task, int error) { finish(task, error); }

static void *run_alone(void *task_) {
  struct tm_task *task = task_;
  int number = task->rank->number;
  if (tm_rank_enter(number) != 0)
    tm_panic("rank %d: a thread for a nonblocking collective has no number", number);
  tm_task_perform(task);
  return NULL;
}

/* Members may start it again while others still perform it, so each start has a context. @return
 * false: no memory. */
static bool launch_alone(struct tm_task *task) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = "a nonblocking collective";
  attr.detached = 1;
  bool calls = calls_program(task);
  task->context = hashed_context(task->request->comm->context, task->number, task->starts++);
  if (tm_task_prepare(task)) {
    task->shadow->collectives = task->number; /* nodes meet now and then: tm_context_agree() */
    if (calls) tm_user_code_begin(task->rank);
    if (mltp_create(NULL, &attr, run_alone, task) == 0) return true;
    if (calls) tm_user_code_end(task->rank);
  }
  if (task->shadow != NULL) tm_comm_release(task->shadow);
  task->shadow = NULL;
  return false;
}

/* @return false: no memory. */
static bool launch(struct tm_task *task) {
  if (tm_comm_is_far(task->request->comm)) return launch_alone(task);
  if (!tm_worker_claim(task->rank)) return false;
  bool calls = calls_program(task); /* a task that has arrived may end at any time */
  struct tm_rank *rank = task->rank;
  if (calls) tm_user_code_begin(rank);
  if (tm_gang_arrive(task)) return true;
  if (calls) tm_user_code_end(rank);
  tm_worker_done(rank);
  return false;
}

static int restart(struct tm_request *request) {
  return launch(request->extra) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static void drop(struct tm_request *request) { end_task(request->extra); }

static struct tm_request *make_request(struct tm_comm *comm) {
  struct tm_request *request = tm_request_new_of(TM_COLLECTIVE);
  if (request == NULL) return NULL;
  request->owner = tm_rank_self();
  request->comm = comm;
  request->source = MPI_ANY_SOURCE;
  request->tag = MPI_ANY_TAG;
  tm_comm_hold(comm);
  return request;
}

/* @return whether the program may free the type of a handle. */
static bool is_derived(MPI_Datatype handle) {
  const struct tm_type *type = tm_type_of(handle);
  return type != NULL && !type->predefined; /* NULL: of a buffer this rank does not use */
}

static void hold_type(struct tm_task *task, MPI_Datatype handle) {
  if (!is_derived(handle)) return;
  struct tm_type *type = tm_type_of(handle);
  tm_type_hold(type);
  task->types[task->type_count++] = type;
}

/* @return false: no memory. */
static bool hold_types(struct tm_task *task, const struct tm_comm *comm) {
  const struct tm_collective *c = &task->collective;
  int sends = c->send.types != NULL ? tm_parts_number(comm, c->kind->send_parts, true) : 0;
  int receives = c->recv.types != NULL ? tm_parts_number(comm, c->kind->recv_parts, false) : 0;
  int all = sends + receives + is_derived(c->sendtype) + is_derived(c->recvtype);
  if (all == 0) return true;
  task->types = malloc((size_t)all * sizeof(struct tm_type *));
  if (task->types == NULL) return false;
  for (int i = 0; i < sends; i++) hold_type(task, c->send.types[i]);
  for (int i = 0; i < receives; i++) hold_type(task, c->recv.types[i]);
  hold_type(task, c->sendtype);
  hold_type(task, c->recvtype);
  return true;
}

/* @return a task ready to arrive, NULL: no memory. */
static struct tm_task *make_task(struct tm_comm *comm, const struct tm_collective *collective) {
  struct tm_task *task = calloc(1, sizeof *task);
  if (task == NULL) return NULL;
  task->collective = *collective;
  task->rank = tm_rank_self();
  task->number = comm->nonblocking++;
  task->context = shadow_context(comm->context, task->number);
  if (tm_collective_keep(&task->collective, comm, &task->arrays) && hold_types(task, comm))
    task->request = make_request(comm);
  if (task->request == NULL) {
    end_task(task);
    return NULL;
  }
  task->op = tm_op_of(task->collective.op);
  if (task->op != NULL) tm_op_hold(task->op);
  return task;
}

int tm_collective_start(const struct tm_collective *c, MPI_Request *handle) {
  int error = tm_collective_check(c);
  if (error != MPI_SUCCESS) return error;
  struct tm_comm *comm = tm_comm_of(c->comm);
  struct tm_task *task = make_task(comm, c);
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
  error = tm_check_info(comm, c->call, info);
  if (error != MPI_SUCCESS) return error;
  struct tm_task *task = make_task(comm, c);
  if (task == NULL) return tm_fail_code(comm, c->call, MPI_ERR_NO_MEM);
  task->request->persistent = true;
  task->request->extra = task;
  task->request->restart = restart;
  task->request->drop = drop;
  *handle = (MPI_Request)task->request;
  return MPI_SUCCESS;
}
