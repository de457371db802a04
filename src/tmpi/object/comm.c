/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators: handles, references, names, and what can be asked of one.
 *
 * Relaxed: references are added by who has one; contexts need only differ.
 */
#include "tmpi/object/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/attr/attribute.h"
#include "tmpi/coll/collective.h"
#include "tmpi/coll/team.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"
#include "tmpi/object/session.h"
#include "tmpi/object/topology.h"

struct tm_comm *tm_comm_of(MPI_Comm handle) { return tm_comm_in(tm_rank_self(), handle); }

MPI_Comm tm_comm_handle(const struct tm_comm *comm) {
  const struct tm_rank *rank = tm_rank_self();
  if (comm == rank->world) return MPI_COMM_WORLD;
  if (comm == rank->self) return MPI_COMM_SELF;
  return (MPI_Comm)(uintptr_t)comm;
}

uint64_t tm_context_new(void) { return mt_add_relaxed(&tm_job.next_context, 2); }

/* Among those of its rank, whose threads may all make some. */
static void enlist(struct tm_comm *comm) {
  struct tm_rank *rank = comm->owner;
  mti_lock(&rank->comms_ilock);
  comm->next = rank->comms;
  if (comm->next != NULL) comm->next->prev = comm;
  rank->comms = comm;
  mti_unlock(&rank->comms_ilock);
}

static void delist(struct tm_comm *comm) {
  struct tm_rank *rank = comm->owner;
  mti_lock(&rank->comms_ilock);
  *(comm->prev != NULL ? &comm->prev->next : &rank->comms) = comm->next;
  if (comm->next != NULL) comm->next->prev = comm->prev;
  mti_unlock(&rank->comms_ilock);
}

struct tm_comm *tm_comm_new(uint64_t context, struct tm_group *group, struct tm_group *remote) {
  struct tm_comm *comm = aligned_alloc(TM_LINE, sizeof *comm);
  if (comm == NULL) return NULL;
  memset(comm, 0, sizeof *comm);
  if (remote == NULL && group->size > 1 && (comm->team = tm_team_join(context, group)) == NULL) {
    free(comm);
    return NULL;
  }
  comm->magic = TM_COMM_MAGIC;
  comm->refs = 1;
  comm->context = context;
  comm->group = group;
  comm->remote = remote != NULL ? remote : group;
  comm->inter = remote != NULL;
  comm->size = group->size;
  comm->owner = tm_rank_self();
  comm->rank = tm_group_find(group, comm->owner->number);
  if (comm->team != NULL) comm->vp_group = tm_team_vp_group(comm->team, comm->rank);
  comm->handler = tm_errhandler_fatal();
  enlist(comm);
  return comm;
}

void tm_comm_inherit(struct tm_comm *comm, const struct tm_comm *parent) {
  comm->handler = tm_comm_handler(parent);
  comm->session = parent->session;
  tm_session_hold(comm->session);
}

bool tm_comm_add_local(struct tm_comm *comm) {
  if (!comm->inter) return true;
  tm_group_hold(comm->group);
  comm->local_comm = tm_comm_new(comm->context | (uint64_t)1 << 62, comm->group, NULL);
  return comm->local_comm != NULL;
}

void tm_comm_hold(struct tm_comm *comm) { mt_add_relaxed(&comm->refs, 1); }

void tm_comm_release(struct tm_comm *comm) {
  /* CM-1 acq_rel: whoever used it has done so; pairs CM-1 */
  if (mt_add_acq_rel(&comm->refs, (uint32_t)-1) != 1) return;
  delist(comm);
  if (comm->team != NULL) tm_team_leave(comm->team);
  if (comm->inter) tm_group_release(comm->remote);
  tm_group_release(comm->group);
  if (comm->local_comm != NULL) tm_comm_release(comm->local_comm);
  tm_errhandler_release(comm->handler);
  tm_topology_free(comm->topology);
  tm_info_free(comm->info);
  tm_session_release(comm->session);
  comm->magic = 0;
  free(comm);
}

/* The world's context is 0, and all ranks' selves share 2: only the rank itself sends there. */
bool tm_comm_start(struct tm_rank *rank) {
  struct tm_group *own = tm_group_new(1);
  if (own == NULL) return false;
  own->ranks[0] = rank->number;
  tm_group_hold(tm_job.all);
  rank->world = tm_comm_new(0, tm_job.all, NULL);
  rank->self = tm_comm_new(2, own, NULL);
  if (rank->world == NULL || rank->self == NULL) return false;
  strcpy(rank->world->name, "MPI_COMM_WORLD");
  strcpy(rank->self->name, "MPI_COMM_SELF");
  return true;
}

/* ---- what can be asked */

#pragma weak MPI_Comm_size = PMPI_Comm_size
int PMPI_Comm_size(MPI_Comm handle, int *size) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_size", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (size == NULL) return tm_fail(comm, "MPI_Comm_size", MPI_ERR_ARG, "no place for the size");
  *size = comm->size;
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_rank = PMPI_Comm_rank
int PMPI_Comm_rank(MPI_Comm handle, int *rank) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_rank", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (rank == NULL) return tm_fail(comm, "MPI_Comm_rank", MPI_ERR_ARG, "no place for the rank");
  *rank = comm->rank;
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_test_inter = PMPI_Comm_test_inter
int PMPI_Comm_test_inter(MPI_Comm handle, int *flag) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_test_inter", handle, &comm);
  if (error == MPI_SUCCESS) *flag = comm->inter;
  return error;
}

#pragma weak MPI_Comm_set_name = PMPI_Comm_set_name
int PMPI_Comm_set_name(MPI_Comm handle, const char *name) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_set_name", handle, &comm);
  if (error == MPI_SUCCESS) snprintf(comm->name, sizeof comm->name, "%s", name);
  return error;
}

#pragma weak MPI_Comm_get_name = PMPI_Comm_get_name
int PMPI_Comm_get_name(MPI_Comm handle, char *name, int *length) {
  struct tm_comm *comm;
  if (handle == MPI_COMM_NULL) { /* the one call that takes it */
    *length = sprintf(name, "MPI_COMM_NULL");
    return MPI_SUCCESS;
  }
  int error = tm_get_comm("MPI_Comm_get_name", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  strcpy(name, comm->name);
  *length = (int)strlen(name);
  return MPI_SUCCESS;
}

/* MPI_IDENT but for the contexts. */
static int compare(const struct tm_group *a, const struct tm_group *b) {
  int result = MPI_IDENT;
  if (a->size != b->size) return MPI_UNEQUAL;
  for (int i = 0; i < a->size; i++) {
    if (a->ranks[i] == b->ranks[i]) continue;
    if (tm_group_find(b, a->ranks[i]) == MPI_UNDEFINED) return MPI_UNEQUAL;
    result = MPI_SIMILAR;
  }
  return result;
}

int tm_group_compare(const struct tm_group *a, const struct tm_group *b) { return compare(a, b); }

#pragma weak MPI_Comm_compare = PMPI_Comm_compare
int PMPI_Comm_compare(MPI_Comm a_handle, MPI_Comm b_handle, int *result) {
  struct tm_comm *a, *b;
  int error = tm_get_comm("MPI_Comm_compare", a_handle, &a);
  if (error == MPI_SUCCESS) error = tm_get_comm("MPI_Comm_compare", b_handle, &b);
  if (error != MPI_SUCCESS) return error;
  *result = compare(a->group, b->group);
  if (*result != MPI_UNEQUAL && a->inter) {
    int other = compare(a->remote, b->remote);
    if (other == MPI_UNEQUAL || *result == MPI_IDENT) *result = other;
  }
  if (a->inter != b->inter) *result = MPI_UNEQUAL;
  if (*result == MPI_IDENT && a != b) *result = MPI_CONGRUENT;
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_group = PMPI_Comm_group
int PMPI_Comm_group(MPI_Comm handle, MPI_Group *group) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_group", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (group == NULL) return tm_fail(comm, "MPI_Comm_group", MPI_ERR_ARG, "no place for the group");
  tm_group_hold(comm->group);
  *group = (MPI_Group)comm->group;
  return MPI_SUCCESS;
}

static int free_comm(const char *call, MPI_Comm *handle, bool together) {
  struct tm_comm *comm;
  int error = tm_get_comm(call, *handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (*handle == MPI_COMM_WORLD || *handle == MPI_COMM_SELF)
    return tm_fail(comm, call, MPI_ERR_COMM, "%s cannot be freed", comm->name);
  if (together) tm_call_barrier(call, *handle);
  error = tm_attributes_delete(&comm->attributes, *handle, MPI_DATATYPE_NULL);
  if (error != MPI_SUCCESS) return tm_fail_code(comm, call, error);
  tm_comm_release(comm);
  *handle = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_free = PMPI_Comm_free
int PMPI_Comm_free(MPI_Comm *comm) { return free_comm("MPI_Comm_free", comm, false); }

/* What is still under way completes by itself: ranks never come apart. */
#pragma weak MPI_Comm_disconnect = PMPI_Comm_disconnect
int PMPI_Comm_disconnect(MPI_Comm *comm) { return free_comm("MPI_Comm_disconnect", comm, true); }

/* No rank has been spawned by another. */
#pragma weak MPI_Comm_get_parent = PMPI_Comm_get_parent
int PMPI_Comm_get_parent(MPI_Comm *parent) {
  tm_enter("MPI_Comm_get_parent");
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
