/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intercommunicators: made of two groups, and made one. The leaders of both sides exchange their
 * groups; each hands the other's to its own side.
 */
#include "tmpi/comm/intercomm.h"

#include <stdlib.h>
#include <string.h>

#include "tmpi/coll/coll.h"
#include "tmpi/comm/split.h"
#include "tmpi/error/errors.h"

/* What one leader tells the other, and then its own side. */
struct side {
  struct tm_group *group;
  uint64_t context; /* of the new communicator: the smaller one counts */
  int high;         /* MPI_Intercomm_merge() */
};

/* What goes in front of a group's ranks. */
struct head_of_side {
  uint64_t context;
  int32_t size, high;
};

static struct head_of_side head_of(const struct side *side) {
  return (struct head_of_side){side->context, side->group->size, side->high};
}

/* @return what a head says, with room for the ranks. */
static struct side side_of(const struct head_of_side *head) {
  struct side side = {tm_group_new(head->size), head->context, head->high};
  if (side.group == NULL) tm_panic("no memory for a group of %d ranks", head->size);
  return side;
}

static size_t bytes_of(const struct tm_group *group) {
  return (size_t)group->size * sizeof group->ranks[0];
}

/* Between the leaders, which may be on two nodes. */
static void exchange(struct tm_coll *peers, int other, const struct side *own,
                     struct side *theirs) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  struct head_of_side out = head_of(own), in;
  tm_coll_exchange(peers, &out, sizeof out, byte, other, &in, sizeof in, byte, other);
  *theirs = side_of(&in);
  tm_coll_exchange(peers, own->group->ranks, bytes_of(own->group), byte, other,
                   theirs->group->ranks, bytes_of(theirs->group), byte, other);
}

/* Members on several nodes have a copy each. */
static void send_ranks(struct tm_comm *local, const char *call, int leader, struct side *theirs) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  struct head_of_side head = {0};
  struct tm_coll first = tm_coll_begin(local, call);
  if (local->rank == leader) head = head_of(theirs);
  tm_bcast(&first, &head, sizeof head, byte, leader);
  if (local->rank != leader) *theirs = side_of(&head);
  struct tm_coll second = tm_coll_begin(local, call);
  tm_bcast(&second, theirs->group->ranks, bytes_of(theirs->group), byte, leader);
}

/* The leader tells its side what it has heard. Members on one node share the group. */
static void send_group(struct tm_comm *local, const char *call, int leader, struct side *theirs) {
  if (tm_comm_spans(local)) {
    send_ranks(local, call, leader, theirs);
    return;
  }
  struct tm_coll coll = tm_coll_begin(local, call);
  if (local->rank == leader)
    for (int i = 1; i < local->size; i++) tm_group_hold(theirs->group);
  tm_bcast(&coll, theirs, sizeof *theirs, tm_type_of(MPI_BYTE), leader);
}

static int check_leaders(struct tm_comm *local, const char *call, int local_leader,
                         MPI_Comm peer_handle, int remote_leader, struct tm_comm **peer) {
  *peer = NULL;
  if (local->inter)
    return tm_fail(local, call, MPI_ERR_COMM, "the local communicator is an intercommunicator");
  if (local_leader < 0 || local_leader >= local->size)
    return tm_fail(local, call, MPI_ERR_RANK, "leader %d is not one of the %d ranks", local_leader,
                   local->size);
  if (local->rank != local_leader) return MPI_SUCCESS;
  int error = tm_get_comm(call, peer_handle, peer);
  if (error == MPI_SUCCESS && (remote_leader < 0 || remote_leader >= (*peer)->remote->size))
    error = tm_fail(*peer, call, MPI_ERR_RANK, "remote leader %d is not one of the %d ranks",
                    remote_leader, (*peer)->remote->size);
  return error;
}

int tm_intercomm_make(struct tm_comm *local, const char *call, int local_leader,
                      struct tm_comm *peer, int remote_leader, int tag, MPI_Comm *result) {
  struct side theirs = {NULL, 0, 0};
  if (peer != NULL) {
    struct tm_coll peers = tm_coll_tagged(peer, call, tag);
    struct side own = {local->group, tm_context_new(), 0};
    exchange(&peers, remote_leader, &own, &theirs);
    if (own.context < theirs.context) theirs.context = own.context;
  }
  send_group(local, call, local_leader, &theirs);
  tm_group_hold(local->group);
  struct tm_comm *comm = tm_comm_add_local(tm_comm_new(theirs.context, local->group, theirs.group));
  if (comm == NULL) return tm_fail_code(local, call, MPI_ERR_NO_MEM);
  tm_comm_inherit(comm, local);
  *result = (MPI_Comm)comm;
  return MPI_SUCCESS;
}

#pragma weak MPI_Intercomm_create = PMPI_Intercomm_create
int PMPI_Intercomm_create(MPI_Comm local_handle, int local_leader, MPI_Comm peer_handle,
                          int remote_leader, int tag, MPI_Comm *result) {
  static const char call[] = "MPI_Intercomm_create";
  struct tm_comm *local, *peer;
  int error = tm_get_comm(call, local_handle, &local);
  if (error == MPI_SUCCESS && result == NULL)
    error = tm_fail(local, call, MPI_ERR_ARG, "no place for the communicator");
  if (error == MPI_SUCCESS)
    error = check_leaders(local, call, local_leader, peer_handle, remote_leader, &peer);
  if (error == MPI_SUCCESS && tag < 0)
    error = tm_fail(local, call, MPI_ERR_TAG, "tag %d is negative", tag);
  if (error != MPI_SUCCESS) return error;
  return tm_intercomm_make(local, call, local_leader, peer, remote_leader, tag, result);
}

/* @return the ranks of two groups in this order; NULL: no memory. */
static struct tm_group *joined(const struct tm_group *first, const struct tm_group *second) {
  struct tm_group *group = tm_group_new(first->size + second->size);
  if (group == NULL) return NULL;
  memcpy(group->ranks, first->ranks, bytes_of(first));
  memcpy(group->ranks + first->size, second->ranks, bytes_of(second));
  return group;
}

/* The group whose ranks said low comes first; if both said the same, that of the smaller rank. */
#pragma weak MPI_Intercomm_merge = PMPI_Intercomm_merge
int PMPI_Intercomm_merge(MPI_Comm handle, int high, MPI_Comm *result) {
  static const char call[] = "MPI_Intercomm_merge";
  struct tm_comm *inter;
  struct side theirs = {NULL, 0, 0};
  int error = tm_get_comm(call, handle, &inter);
  if (error != MPI_SUCCESS) return error;
  if (!inter->inter) return tm_fail(inter, call, MPI_ERR_COMM, "it is not an intercommunicator");
  if (inter->rank == 0) {
    struct tm_coll peers = tm_coll_begin(inter, call);
    struct side own = {inter->group, tm_context_new(), high};
    exchange(&peers, 0, &own, &theirs);
    if (own.context < theirs.context) theirs.context = own.context;
    bool second = (own.high != 0) != (theirs.high != 0)
                      ? own.high != 0
                      : inter->group->ranks[0] > theirs.group->ranks[0];
    theirs.high = second;
  } else {
    tm_coll_begin(inter, call); /* the tag counts for all */
  }
  send_group(inter->local_comm, call, 0, &theirs);
  struct tm_group *group =
      theirs.high ? joined(theirs.group, inter->group) : joined(inter->group, theirs.group);
  tm_group_release(theirs.group);
  struct tm_comm *comm = group != NULL ? tm_comm_new(theirs.context, group, NULL) : NULL;
  if (comm == NULL) return tm_fail_code(inter, call, MPI_ERR_NO_MEM);
  tm_comm_inherit(comm, inter);
  *result = (MPI_Comm)comm;
  return MPI_SUCCESS;
}

/* ---- split: each group splits its own side; the first ranks of sides of the same color meet */

/* Where the new sides are: of each color the new rank 0, as a rank of the old group. */
struct head {
  int color, rank;
};

/* Both groups' heads, one for each of their ranks, in the order of ranks; rank -1: not a head. */
static struct head *exchange_heads(struct tm_comm *comm, struct head own) {
  struct head *heads = malloc((size_t)comm->remote->size * sizeof *heads);
  if (heads == NULL) tm_panic("no memory to split a communicator of %d ranks", comm->size);
  PMPI_Allgather(&own, sizeof own, MPI_BYTE, heads, sizeof own, MPI_BYTE, tm_comm_handle(comm));
  return heads;
}

int tm_intercomm_split(struct tm_comm *comm, const char *call, int color, int key,
                       MPI_Comm *result) {
  MPI_Comm side;
  int remote_leader = -1;
  *result = MPI_COMM_NULL;
  int error = tm_comm_split(comm->local_comm, call, color, key, &side);
  if (error != MPI_SUCCESS) return error;
  struct tm_comm *local = side != MPI_COMM_NULL ? tm_comm_of(side) : NULL;
  bool is_head = local != NULL && local->rank == 0;
  struct head *heads = exchange_heads(comm, (struct head){color, is_head ? comm->rank : -1});
  for (int i = 0; i < comm->remote->size; i++)
    if (heads[i].rank >= 0 && heads[i].color == color) remote_leader = heads[i].rank;
  free(heads);
  if (local == NULL) return MPI_SUCCESS;
  if (remote_leader >= 0) {
    error = PMPI_Intercomm_create(side, 0, tm_comm_handle(comm), remote_leader, 0, result);
    struct tm_errhandler *handler = tm_comm_handler(comm);
    if (error == MPI_SUCCESS) tm_comm_set_handler(tm_comm_of(*result), handler);
    tm_errhandler_release(handler);
  }
  tm_comm_release(local);
  return error;
}

static int get_inter(const char *call, MPI_Comm handle, struct tm_comm **comm) {
  int error = tm_get_comm(call, handle, comm);
  if (error != MPI_SUCCESS || (*comm)->inter) return error;
  return tm_fail(*comm, call, MPI_ERR_COMM, "it is not an intercommunicator");
}

#pragma weak MPI_Comm_remote_size = PMPI_Comm_remote_size
int PMPI_Comm_remote_size(MPI_Comm handle, int *size) {
  struct tm_comm *comm;
  int error = get_inter("MPI_Comm_remote_size", handle, &comm);
  if (error == MPI_SUCCESS) *size = comm->remote->size;
  return error;
}

#pragma weak MPI_Comm_remote_group = PMPI_Comm_remote_group
int PMPI_Comm_remote_group(MPI_Comm handle, MPI_Group *group) {
  struct tm_comm *comm;
  int error = get_inter("MPI_Comm_remote_group", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  tm_group_hold(comm->remote);
  *group = (MPI_Group)comm->remote;
  return MPI_SUCCESS;
}
