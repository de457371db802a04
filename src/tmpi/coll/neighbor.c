/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives with the neighbours in a topology. All messages are under way at once; several to
 * the same rank meet in the order in which both sides list them. Those to and from MPI_PROC_NULL,
 * behind the end of a grid, are complete at once.
 */
#include <stdlib.h>

#include "tmpi/coll/collective.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/topology.h"
#include "tmpi/request/request.h"

/* The caller's neighbours, in the order of the parts. */
struct neighbors {
  const int *sources, *dests;
};

void tm_neighbors_count(const struct tm_comm *comm, int *sources, int *dests) {
  struct tm_topology *t = comm->topology;
  *sources = t->count;
  *dests = t->edge_count;
  if (t->kind == MPI_CART) *sources = *dests = 2 * t->count;
  if (t->kind == MPI_GRAPH) {
    int first = comm->rank > 0 ? tm_topology_index(t)[comm->rank - 1] : 0;
    *sources = *dests = tm_topology_index(t)[comm->rank] - first;
  }
}

/* Of a grid: in each dimension the rank before, then the one behind. room: for as many. */
static const int *grid_neighbors(const struct tm_comm *comm, int *room) {
  for (int d = 0; d < comm->topology->count; d++) {
    room[2 * d] = tm_topology_at(comm->topology, d, -1);
    room[2 * d + 1] = tm_topology_at(comm->topology, d, 1);
  }
  return room;
}

static struct neighbors find_neighbors(const struct tm_comm *comm, int *room) {
  struct tm_topology *t = comm->topology;
  struct neighbors n;
  if (t->kind == MPI_DIST_GRAPH) {
    n.sources = tm_topology_sources(t);
    n.dests = tm_topology_dests(t);
  } else if (t->kind == MPI_GRAPH) {
    int first = comm->rank > 0 ? tm_topology_index(t)[comm->rank - 1] : 0;
    n.sources = n.dests = tm_topology_edges(t) + first;
  } else {
    n.sources = n.dests = grid_neighbors(comm, room);
  }
  return n;
}

/* The i-th message to be sent. In a grid of one or two ranks along a periodic dimension, both
 * neighbours are the same rank: what goes forward has to meet the receive from behind, which is
 * the first of the two. */
static int send_order(const struct tm_comm *comm, int i) {
  return comm->topology->kind == MPI_CART ? i ^ 1 : i;
}

/* same: the same part to all. */
static int exchange(struct tm_coll *coll, const struct tm_parts *send, bool same,
                    const struct tm_parts *recv) {
  struct tm_comm *comm = coll->comm;
  int sources, dests, used = 0;
  tm_neighbors_count(comm, &sources, &dests);
  size_t most = (size_t)sources + (size_t)dests;
  int *room = calloc(most + 1, sizeof *room);
  struct tm_request *requests = malloc((most + 1) * sizeof *requests);
  struct tm_request **all = malloc((most + 1) * sizeof *all);
  if (room == NULL || requests == NULL || all == NULL) {
    free(room), free(requests), free(all);
    return tm_fail_code(comm, coll->call, MPI_ERR_NO_MEM);
  }
  struct neighbors n = find_neighbors(comm, room);
  for (int i = 0; i < sources; i++) {
    struct tm_part part = tm_part_of(recv, i);
    all[used] = &requests[used];
    tm_request_fill_inner(all[used++], TM_RECV, part.at, part.count, part.type, n.sources[i],
                          coll->tag, comm);
  }
  for (int i = 0; i < dests; i++) {
    int which = send_order(comm, i);
    struct tm_part part = tm_part_of(send, same ? 0 : which);
    all[used] = &requests[used];
    tm_request_fill_inner(all[used++], TM_SEND, part.at, part.count, part.type, n.dests[which],
                          coll->tag, comm);
  }
  for (int i = 0; i < used; i++) tm_request_start(all[i]);
  tm_coll_finish(coll, all, used);
  free(room), free(requests), free(all);
  return tm_coll_result(coll);
}

static int perform(const struct tm_collective *c, bool same) {
  struct tm_comm *comm = tm_comm_of(c->comm);
  struct tm_parts send = c->send, recv = c->recv;
  send.type = tm_type_of(c->sendtype);
  recv.type = tm_type_of(c->recvtype);
  struct tm_coll coll = tm_coll_begin(comm, c->call);
  return exchange(&coll, &send, same, &recv);
}

int tm_neighbor_allgather(const struct tm_collective *c) { return perform(c, true); }

int tm_neighbor_alltoall(const struct tm_collective *c) { return perform(c, false); }
