/* SPDX-License-Identifier: Apache-2.0 */
/* To all from all, the same to each. */
#include "tmpi/coll/collective.h"
#include "tmpi/coll/nodes.h"
#include "tmpi/coll/phase.h"
#include "tmpi/error/errors.h"
#include "tmpi/request/request.h"

/* Of two groups, each sends its parts to the other's ranks, one by one. */
static void allgather_inter(struct tm_coll *coll, const struct tm_part *own,
                            const struct tm_parts *all) {
  int most =
      coll->comm->size > coll->comm->remote->size ? coll->comm->size : coll->comm->remote->size;
  for (int i = 0; i < most; i++) { /* in the same order on both sides, smaller ranks first */
    int peer = (i - coll->comm->rank % most + most) % most;
    if (peer >= coll->comm->remote->size) continue;
    struct tm_part part = tm_part_of(all, peer);
    tm_coll_exchange(coll, own->at, own->count, own->type, peer, part.at, part.count, part.type,
                     peer);
  }
}

/* @return the bytes of each rank's part, if they are few, and the caller's is as long as what it
 * has room for from each; or 0. */
static size_t few_of_each(const struct tm_comm *comm, const struct tm_part *own,
                          const struct tm_parts *all) {
  size_t bytes = own->count * own->type->size;
  if (tm_counts_given(all->counts) || (size_t)all->count * all->type->size != bytes) return 0;
  return bytes <= comm->team->room / (size_t)comm->size ? bytes : 0;
}

/* @return whether each rank has put as many bytes, which are not 0. */
static bool all_have(const struct tm_coll *coll, int exchange, size_t bytes) {
  bool same = bytes > 0;
  for (int i = 0; same && i < coll->comm->size; i++)
    same = tm_published(coll, exchange, i)->bytes == bytes;
  return same;
}

/* Of the last arrival, for all. */
static void note_whether_same(const struct tm_coll *coll, int exchange, size_t bytes) {
  struct tm_team_data *data = tm_team_data(coll);
  data->number = coll->tag;
  data->exchange = all_have(coll, exchange, bytes) ? exchange : TM_EXCHANGE_NONE;
}

/* A phase, with that in it. A pair's members look for themselves. */
static bool meet_with_same(const struct tm_coll *coll, int exchange, size_t bytes) {
  if (tm_pair_of(coll) != NULL) {
    tm_pair_meet(coll);
    return all_have(coll, exchange, bytes);
  }
  if (tm_arrive_in_vp_group(coll)) {
    if (tm_arrive_at_root(coll)) {
      note_whether_same(coll, exchange, bytes);
      tm_release_root(coll);
    }
    tm_release_vp_group(coll);
  }
  const struct tm_team_data *data = tm_team_data(coll);
  return data->number == coll->tag && data->exchange == exchange;
}

/* Few bytes are put side by side where the team has room, and each copies the whole. Else each says
 * where its own part is, and copies all others'; so it does if a wrong program has more of some
 * than of others, whose parts overlap in the team's room: nobody reads them there. */
void tm_allgather(struct tm_coll *coll, const struct tm_part *own, const struct tm_parts *all) {
  struct tm_comm *comm = coll->comm;
  struct tm_part place = tm_part_of(all, comm->rank);
  const struct tm_part *source = own->at == MPI_IN_PLACE ? &place : own;
  if (tm_comm_spans(comm)) {
    tm_nodes_allgather(coll, own, all);
    return;
  }
  if (comm->team == NULL) {
    if (source == own) tm_part_copy(coll, &place, own, comm->rank);
    return;
  }
  size_t few = few_of_each(comm, source, all);
  char *room = tm_team_data_next(coll);
  if (few > 0) tm_type_pack(room + few * (size_t)comm->rank, source->at, source->type, 0, few);
  int exchange = tm_exchange_rooted(TM_EXCHANGE_ALLGATHER, -1);
  tm_publish(coll, exchange, source, few, NULL);
  if (meet_with_same(coll, exchange, few)) {
    tm_type_copy(all->base, all->type, room, tm_type_of(MPI_BYTE), few * (size_t)comm->size);
    return;
  }
  if (source == own) tm_part_copy(coll, &place, own, comm->rank);
  for (int i = 1; i < comm->size; i++) {
    int rank = (comm->rank + i) % comm->size;
    struct tm_part to = tm_part_of(all, rank);
    tm_part_copy(coll, &to, tm_published(coll, exchange, rank)->at, rank);
  }
  tm_next_phase(coll);
}

int tm_call_allgather(const char *call, const struct tm_part *own_args, MPI_Datatype own_type,
                      const struct tm_parts *all_args, MPI_Datatype all_type, MPI_Comm handle) {
  struct tm_comm *comm;
  struct tm_part own = {NULL, 0, NULL};
  struct tm_parts all = {NULL, 0, TM_NO_COUNTS, TM_NO_COUNTS, NULL, NULL};
  int error = tm_get_comm_quickly(call, handle, &comm);
  if (error == MPI_SUCCESS) error = tm_check_part(comm, call, own_args, own_type, &own);
  if (error == MPI_SUCCESS) error = tm_check_parts(comm, call, all_args, all_type, &all);
  if (error == MPI_SUCCESS && !comm->inter) {
    struct tm_part place = tm_part_of(&all, comm->rank);
    error = tm_check_alias(comm, call, &own, &place);
  }
  if (error != MPI_SUCCESS) return error;
  struct tm_coll coll = tm_coll_begin(comm, call);
  if (comm->inter) {
    allgather_inter(&coll, &own, &all);
    return tm_coll_result(&coll);
  }
  tm_allgather(&coll, &own, &all);
  return tm_coll_result(&coll);
}

#pragma weak MPI_Allgather = PMPI_Allgather
int PMPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  struct tm_part own = {tm_sendbuf(sendbuf), (size_t)sendcount, NULL};
  struct tm_parts all = {recvbuf, recvcount, TM_NO_COUNTS, TM_NO_COUNTS, NULL, NULL};
  return tm_call_allgather("MPI_Allgather", &own, sendtype, &all, recvtype, comm);
}

#pragma weak MPI_Allgatherv = PMPI_Allgatherv
int PMPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                    const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                    MPI_Comm comm) {
  struct tm_part own = {tm_sendbuf(sendbuf), (size_t)sendcount, NULL};
  struct tm_parts all = {recvbuf, 0, {recvcounts, NULL}, {displs, NULL}, NULL, NULL};
  return tm_call_allgather("MPI_Allgatherv", &own, sendtype, &all, recvtype, comm);
}
