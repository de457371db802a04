/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To one from all, and from one to all. On an intercommunicator the one is in the other group:
 * MPI_ROOT says that it is the caller, MPI_PROC_NULL that it is another one of the caller's.
 */
#include "tmpi/coll/collective.h"
#include "tmpi/coll/nodes.h"
#include "tmpi/coll/phase.h"
#include "tmpi/error/errors.h"
#include "tmpi/request/request.h"

struct tm_part tm_part_of(const struct tm_parts *parts, int rank) {
  struct tm_type *type = parts->types != NULL ? tm_type_of(parts->types[rank]) : parts->type;
  ptrdiff_t unit = parts->types != NULL ? 1 : tm_type_extent(type);
  MPI_Count count = tm_parts_count(parts, rank);
  ptrdiff_t at = tm_counts_given(parts->displs) ? tm_counts_at(parts->displs, rank) : rank * count;
  return (struct tm_part){(char *)parts->base + at * unit, (size_t)count, type};
}

void tm_part_copy(struct tm_coll *coll, const struct tm_part *to, const struct tm_part *from,
                  int sender) {
  size_t room = to->count * to->type->size, bytes = from->count * from->type->size;
  if (bytes > room) {
    tm_coll_too_long(coll, sender, bytes, room);
    bytes = room;
  }
  tm_type_copy(to->at, to->type, from->at, from->type, bytes);
}

/* ---- of an intercommunicator: one message for each part */

static void gather_inter(struct tm_coll *coll, const struct tm_part *own,
                         const struct tm_parts *all, int root) {
  if (root == MPI_PROC_NULL) return;
  if (root != MPI_ROOT) {
    tm_coll_send(coll, own->at, own->count, own->type, root);
    return;
  }
  for (int i = 0; i < coll->comm->remote->size; i++) {
    struct tm_part part = tm_part_of(all, i);
    tm_coll_recv(coll, part.at, part.count, part.type, i);
  }
}

static void scatter_inter(struct tm_coll *coll, const struct tm_parts *all,
                          const struct tm_part *own, int root) {
  if (root == MPI_PROC_NULL) return;
  if (root != MPI_ROOT) {
    tm_coll_recv(coll, own->at, own->count, own->type, root);
    return;
  }
  for (int i = 0; i < coll->comm->remote->size; i++) {
    struct tm_part part = tm_part_of(all, i);
    tm_coll_send(coll, part.at, part.count, part.type, i);
  }
}

/* ---- of a team: the root says where its parts are, and each copies its own */

/* Whether a rank has more than the root has room for. */
static void check_room(struct tm_coll *coll, int exchange, const struct tm_parts *all) {
  for (int i = 0; i < coll->comm->size; i++) {
    struct tm_part part = tm_part_of(all, i);
    size_t sent = tm_published(coll, exchange, i)->bytes, room = part.count * part.type->size;
    if (sent > room) tm_coll_too_long(coll, i, sent, room);
  }
}

void tm_gather(struct tm_coll *coll, const struct tm_part *own, const struct tm_parts *all,
               int root) {
  struct tm_comm *comm = coll->comm;
  bool is_there = own->at == MPI_IN_PLACE;
  int exchange = tm_exchange_rooted(TM_EXCHANGE_GATHER, root);
  if (comm->inter) {
    gather_inter(coll, own, all, root);
    return;
  }
  if (tm_comm_spans(comm)) {
    tm_nodes_gather(coll, own, all, root);
    return;
  }
  if (comm->team != NULL) {
    tm_publish(coll, exchange, all, is_there ? 0 : own->count * own->type->size, NULL);
    tm_next_phase(coll);
    if (comm->rank == root) check_room(coll, exchange, all);
    all = tm_published(coll, exchange, root)->at;
  }
  struct tm_part part = tm_part_of(all, comm->rank);
  int error = coll->error; /* the root has seen it, and tells */
  if (!is_there) tm_part_copy(coll, &part, own, comm->rank);
  if (comm->rank != root) coll->error = error;
  if (comm->team != NULL) tm_next_phase(coll);
}

void tm_scatter(struct tm_coll *coll, const struct tm_parts *all, const struct tm_part *own,
                int root) {
  struct tm_comm *comm = coll->comm;
  if (comm->inter) {
    scatter_inter(coll, all, own, root);
    return;
  }
  if (tm_comm_spans(comm)) {
    tm_nodes_scatter(coll, all, own, root);
    return;
  }
  if (comm->team != NULL) {
    int exchange = tm_exchange_rooted(TM_EXCHANGE_SCATTER, root);
    if (comm->rank == root) tm_publish(coll, exchange, all, 0, NULL);
    tm_next_phase(coll);
    all = tm_published(coll, exchange, root)->at;
  }
  struct tm_part part = tm_part_of(all, comm->rank);
  if (own->at != MPI_IN_PLACE) tm_part_copy(coll, own, &part, root);
  if (comm->team != NULL) tm_next_phase(coll);
}

/* ---- arguments: what a rank does not use may be anything */

/* @return whether the caller is the one root names. */
static bool is_root(const struct tm_comm *comm, int root) {
  return root == MPI_ROOT || (!comm->inter && root == comm->rank);
}

/* The many parts are the root's only. All ranks have the single part, but for an
 * intercommunicator's root and the ranks beside it (MPI_PROC_NULL). */
static int get(const char *call, MPI_Comm handle, int root, const struct tm_part *single_args,
               MPI_Datatype single_type, const struct tm_parts *many_args, MPI_Datatype many_type,
               struct tm_comm **comm, struct tm_part *single, struct tm_parts *many) {
  int error = tm_get_comm(call, handle, comm);
  if (error == MPI_SUCCESS) error = tm_check_root(*comm, call, root);
  bool has_single = root >= 0;
  if (error == MPI_SUCCESS && has_single)
    error = tm_check_part(*comm, call, single_args, single_type, single);
  if (error == MPI_SUCCESS && is_root(*comm, root))
    error = tm_check_parts(*comm, call, many_args, many_type, many);
  if (error != MPI_SUCCESS || (*comm)->inter || root != (*comm)->rank) return error;
  struct tm_part place = tm_part_of(many, root);
  return tm_check_alias(*comm, call, single, &place);
}

int tm_call_gather(const char *call, const struct tm_part *own_args, MPI_Datatype own_type,
                   const struct tm_parts *all_args, MPI_Datatype all_type, int root,
                   MPI_Comm handle) {
  struct tm_comm *comm;
  struct tm_part own = {NULL, 0, NULL};
  struct tm_parts all = {NULL, 0, TM_NO_COUNTS, TM_NO_COUNTS, NULL, NULL};
  int error = get(call, handle, root, own_args, own_type, all_args, all_type, &comm, &own, &all);
  if (error != MPI_SUCCESS) return error;
  struct tm_coll coll = tm_coll_begin_rooted(comm, call, root);
  tm_gather(&coll, &own, &all, root);
  return tm_coll_result(&coll);
}

int tm_call_scatter(const char *call, const struct tm_parts *all_args, MPI_Datatype all_type,
                    const struct tm_part *own_args, MPI_Datatype own_type, int root,
                    MPI_Comm handle) {
  struct tm_comm *comm;
  struct tm_part own = {NULL, 0, NULL};
  struct tm_parts all = {NULL, 0, TM_NO_COUNTS, TM_NO_COUNTS, NULL, NULL};
  int error = get(call, handle, root, own_args, own_type, all_args, all_type, &comm, &own, &all);
  if (error != MPI_SUCCESS) return error;
  struct tm_coll coll = tm_coll_begin_rooted(comm, call, root);
  tm_scatter(&coll, &all, &own, root);
  return tm_coll_result(&coll);
}

#pragma weak MPI_Gather = PMPI_Gather
int PMPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  struct tm_part own = {tm_sendbuf(sendbuf), (size_t)sendcount, NULL};
  struct tm_parts all = {recvbuf, recvcount, TM_NO_COUNTS, TM_NO_COUNTS, NULL, NULL};
  return tm_call_gather("MPI_Gather", &own, sendtype, &all, recvtype, root, comm);
}

#pragma weak MPI_Gatherv = PMPI_Gatherv
int PMPI_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                 MPI_Comm comm) {
  struct tm_part own = {tm_sendbuf(sendbuf), (size_t)sendcount, NULL};
  struct tm_parts all = {recvbuf, 0, {recvcounts, NULL}, {displs, NULL}, NULL, NULL};
  return tm_call_gather("MPI_Gatherv", &own, sendtype, &all, recvtype, root, comm);
}

#pragma weak MPI_Scatter = PMPI_Scatter
int PMPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  struct tm_part own = {recvbuf, (size_t)recvcount, NULL};
  struct tm_parts all = {tm_sendbuf(sendbuf), sendcount, TM_NO_COUNTS, TM_NO_COUNTS, NULL, NULL};
  return tm_call_scatter("MPI_Scatter", &all, sendtype, &own, recvtype, root, comm);
}

#pragma weak MPI_Scatterv = PMPI_Scatterv
int PMPI_Scatterv(const void *sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm) {
  struct tm_part own = {recvbuf, (size_t)recvcount, NULL};
  struct tm_parts all = {tm_sendbuf(sendbuf), 0, {sendcounts, NULL}, {displs, NULL}, NULL, NULL};
  return tm_call_scatter("MPI_Scatterv", &all, sendtype, &own, recvtype, root, comm);
}
