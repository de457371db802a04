/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank has a part for each. A team's members say where their parts are, and each copies what
 * is for it. Of an intercommunicator, in round i a rank sends to the one i after it, and receives
 * from the one i before. */
#include <stdlib.h>

#include "tmpi/coll/collective.h"
#include "tmpi/coll/nodes.h"
#include "tmpi/coll/phase.h"
#include "tmpi/error/errors.h"
#include "tmpi/request/request.h"

/* ---- a team */

/* What is to be sent lies where what comes has to go: it is packed first. The parts are then in
 * *parts; they and the data are freed together. */
static struct tm_part *pack(const struct tm_parts *parts, int size) {
  size_t bytes = 0;
  for (int i = 0; i < size; i++) {
    struct tm_part part = tm_part_of(parts, i);
    bytes += part.count * part.type->size;
  }
  struct tm_part *packed = malloc((size_t)size * sizeof *packed + bytes);
  if (packed == NULL) tm_panic("no memory to exchange %zu bytes in place", bytes);
  char *at = (char *)(packed + size);
  for (int i = 0; i < size; i++) {
    struct tm_part part = tm_part_of(parts, i);
    packed[i] = (struct tm_part){at, part.count * part.type->size, tm_type_of(MPI_BYTE)};
    tm_type_pack(at, part.at, part.type, 0, packed[i].count);
    at += packed[i].count;
  }
  return packed;
}

/* Published: the parts, or (in place) those packed. */
static void take(struct tm_coll *coll, const struct tm_parts *parts, const struct tm_part *packed,
                 const struct tm_part *to, int sender) {
  struct tm_part from =
      packed != NULL ? packed[coll->comm->rank] : tm_part_of(parts, coll->comm->rank);
  size_t room = to->count * to->type->size, bytes = from.count * from.type->size;
  if (bytes > room) tm_coll_too_long(coll, sender, bytes, room);
  tm_type_copy(to->at, to->type, from.at, from.type, bytes < room ? bytes : room);
}

static void alltoall(struct tm_coll *coll, const struct tm_parts *send,
                     const struct tm_parts *recv) {
  struct tm_comm *comm = coll->comm;
  int exchange = tm_exchange_rooted(TM_EXCHANGE_ALLTOALL, -1);
  struct tm_part *packed = send->base == MPI_IN_PLACE ? pack(recv, comm->size) : NULL;
  if (tm_comm_spans(comm)) {
    tm_nodes_alltoall(coll, send, packed, recv);
    free(packed);
    return;
  }
  if (comm->team != NULL) {
    tm_publish(coll, exchange, send, 0, packed);
    tm_next_phase(coll);
  }
  for (int i = 0; i < comm->size; i++) {
    int rank = (comm->rank + i) % comm->size;
    const struct tm_publication *other =
        comm->team != NULL ? tm_published(coll, exchange, rank) : NULL;
    struct tm_part to = tm_part_of(recv, rank);
    take(coll, other != NULL ? other->at : send, other != NULL ? other->more : packed, &to, rank);
  }
  if (comm->team != NULL) tm_next_phase(coll);
  free(packed);
}

/* ---- an intercommunicator */

static void alltoall_inter(struct tm_coll *coll, const struct tm_parts *send,
                           const struct tm_parts *recv) {
  struct tm_comm *comm = coll->comm;
  int most = comm->size > comm->remote->size ? comm->size : comm->remote->size;
  for (int i = 0; i < most; i++) {
    int to = (comm->rank + i) % most, from = (comm->rank - i + most) % most;
    int dest = to < comm->remote->size ? to : MPI_PROC_NULL;
    int source = from < comm->remote->size ? from : MPI_PROC_NULL;
    struct tm_part out = tm_part_of(send, dest >= 0 ? to : 0);
    struct tm_part in = tm_part_of(recv, source >= 0 ? from : 0);
    tm_coll_exchange(coll, out.at, out.count, out.type, dest, in.at, in.count, in.type, source);
  }
}

static int check_parts(struct tm_comm *comm, const char *call, const struct tm_parts *parts,
                       MPI_Datatype type, struct tm_type **found) {
  int error = tm_check_counts(comm, call, parts, comm->remote->size);
  if (parts->types == NULL && error == MPI_SUCCESS) {
    error = tm_get_type(comm, call, type, found);
    if (error != MPI_SUCCESS) return error;
    return tm_check_bytes_of_all(comm, call, parts, comm->remote->size, *found);
  }
  for (int i = 0; error == MPI_SUCCESS && i < comm->remote->size; i++) {
    error = tm_get_type(comm, call, parts->types[i], found);
    if (error == MPI_SUCCESS) error = tm_check_bytes(comm, call, tm_parts_count(parts, i), *found);
  }
  return error;
}

int tm_call_alltoall(const char *call, struct tm_parts *send, MPI_Datatype sendtype,
                     struct tm_parts *recv, MPI_Datatype recvtype, MPI_Comm handle) {
  struct tm_comm *comm;
  bool in_place = send->base == MPI_IN_PLACE;
  int error = tm_get_comm(call, handle, &comm);
  if (error == MPI_SUCCESS && !in_place)
    error = check_parts(comm, call, send, sendtype, &send->type);
  if (error == MPI_SUCCESS) error = check_parts(comm, call, recv, recvtype, &recv->type);
  if (error == MPI_SUCCESS && !comm->inter && !in_place) {
    struct tm_part sent = tm_part_of(send, comm->rank), place = tm_part_of(recv, comm->rank);
    error = tm_check_alias(comm, call, &sent, &place);
  }
  if (error != MPI_SUCCESS) return error;
  struct tm_coll coll = tm_coll_begin(comm, call);
  if (comm->inter)
    alltoall_inter(&coll, send, recv);
  else
    alltoall(&coll, send, recv);
  return tm_coll_result(&coll);
}

#pragma weak MPI_Alltoall = PMPI_Alltoall
int PMPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  struct tm_parts send = {tm_sendbuf(sendbuf), sendcount, TM_NO_COUNTS, TM_NO_COUNTS, NULL, NULL};
  struct tm_parts recv = {recvbuf, recvcount, TM_NO_COUNTS, TM_NO_COUNTS, NULL, NULL};
  return tm_call_alltoall("MPI_Alltoall", &send, sendtype, &recv, recvtype, comm);
}

#pragma weak MPI_Alltoallv = PMPI_Alltoallv
int PMPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[],
                   MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                   const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  struct tm_parts send = {tm_sendbuf(sendbuf), 0, {sendcounts, NULL}, {sdispls, NULL}, NULL, NULL};
  struct tm_parts recv = {recvbuf, 0, {recvcounts, NULL}, {rdispls, NULL}, NULL, NULL};
  return tm_call_alltoall("MPI_Alltoallv", &send, sendtype, &recv, recvtype, comm);
}

#pragma weak MPI_Alltoallw = PMPI_Alltoallw
int PMPI_Alltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[],
                   const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                   const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  struct tm_parts send = {tm_sendbuf(sendbuf), 0,    {sendcounts, NULL},
                          {sdispls, NULL},     NULL, sendtypes};
  struct tm_parts recv = {recvbuf, 0, {recvcounts, NULL}, {rdispls, NULL}, NULL, recvtypes};
  return tm_call_alltoall("MPI_Alltoallw", &send, MPI_DATATYPE_NULL, &recv, MPI_DATATYPE_NULL,
                          comm);
}
