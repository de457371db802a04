/* SPDX-License-Identifier: Apache-2.0 */
/* Distributed graphs: each rank knows its own neighbours. */
#include <stdlib.h>
#include <string.h>

#include "tmpi/coll/coll.h"
#include "tmpi/comm/split.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/topology.h"

struct edge {
  int source, dest, weight;
};

static int check_ranks(struct tm_comm *comm, const char *call, int count, const int *ranks) {
  if (count < 0) return tm_fail(comm, call, MPI_ERR_ARG, "%d neighbours", count);
  for (int i = 0; i < count; i++)
    if (ranks[i] < 0 || ranks[i] >= comm->size)
      return tm_fail(comm, call, MPI_ERR_ARG, "neighbour %d is not one of the %d ranks", ranks[i],
                     comm->size);
  return MPI_SUCCESS;
}

/* A communicator of the same ranks with room for a topology. */
static int begin(const char *call, struct tm_comm *comm, int sources, int dests, bool weighted,
                 MPI_Comm *result, struct tm_topology **topology) {
  int error = tm_comm_split(comm, call, 0, comm->rank, result);
  if (error != MPI_SUCCESS) return error;
  *topology = tm_topology_new(MPI_DIST_GRAPH, sources, dests);
  if (*topology == NULL) return tm_fail_code(comm, call, MPI_ERR_NO_MEM);
  (*topology)->weighted = weighted;
  tm_comm_of(*result)->topology = *topology;
  return MPI_SUCCESS;
}

static void copy(int *to, const int *from, int count) {
  if (count > 0) memcpy(to, from, (size_t)count * sizeof *to);
}

#pragma weak MPI_Dist_graph_create_adjacent = PMPI_Dist_graph_create_adjacent
int PMPI_Dist_graph_create_adjacent(MPI_Comm handle, int indegree, const int sources[],
                                    const int *sourceweights, int outdegree, const int dests[],
                                    const int *destweights, MPI_Info info, int reorder,
                                    MPI_Comm *result) {
  static const char call[] = "MPI_Dist_graph_create_adjacent";
  struct tm_comm *comm;
  struct tm_topology *t = NULL;
  bool weighted = sourceweights != MPI_UNWEIGHTED && destweights != MPI_UNWEIGHTED;
  (void)info, (void)reorder;
  int error = tm_get_comm(call, handle, &comm);
  if (error == MPI_SUCCESS && comm->inter)
    error = tm_fail(comm, call, MPI_ERR_COMM, "it is an intercommunicator");
  if (error == MPI_SUCCESS) error = check_ranks(comm, call, indegree, sources);
  if (error == MPI_SUCCESS) error = check_ranks(comm, call, outdegree, dests);
  if (error == MPI_SUCCESS) error = begin(call, comm, indegree, outdegree, weighted, result, &t);
  if (error != MPI_SUCCESS) return error;
  copy(tm_topology_sources(t), sources, indegree);
  copy(tm_topology_dests(t), dests, outdegree);
  if (!weighted) return MPI_SUCCESS;
  copy(tm_topology_source_weights(t), sourceweights, indegree);
  copy(tm_topology_dest_weights(t), destweights, outdegree);
  return MPI_SUCCESS;
}

/* All edges that any rank has named, to all. @return their number. */
static int exchange_edges(struct tm_comm *comm, const struct edge *own, int count,
                          struct edge **all) {
  int size = comm->size, total = 0;
  int bytes = count * (int)sizeof *own;
  int *counts = calloc(2 * (size_t)size, sizeof *counts), *displs = counts + size;
  if (counts == NULL) tm_panic("no memory for a graph of %d ranks", size);
  PMPI_Allgather(&bytes, 1, MPI_INT, counts, 1, MPI_INT, tm_comm_handle(comm));
  for (int i = 0; i < size; i++) {
    displs[i] = total;
    total += counts[i];
  }
  *all = malloc((size_t)total + 1);
  if (*all == NULL) tm_panic("no memory for a graph of %zu edges", (size_t)total / sizeof *own);
  PMPI_Allgatherv(own, bytes, MPI_BYTE, *all, counts, displs, MPI_BYTE, tm_comm_handle(comm));
  free(counts);
  return total / (int)sizeof *own;
}

/* The caller's edges, out of its arguments. @return NULL after tm_fail(). */
static struct edge *list_edges(struct tm_comm *comm, const char *call, int n, const int *sources,
                               const int *degrees, const int *dests, const int *weights, int *count,
                               int *error) {
  *count = 0;
  *error = check_ranks(comm, call, n, sources);
  for (int i = 0; *error == MPI_SUCCESS && i < n; i++) *count += degrees[i] > 0 ? degrees[i] : 0;
  if (*error == MPI_SUCCESS) *error = check_ranks(comm, call, *count, dests);
  if (*error != MPI_SUCCESS) return NULL;
  struct edge *edges = calloc((size_t)*count + 1, sizeof *edges);
  if (edges == NULL) *error = tm_fail_code(comm, call, MPI_ERR_NO_MEM);
  bool weighted = weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
  for (int i = 0, e = 0; edges != NULL && i < n; i++)
    for (int k = 0; k < degrees[i]; k++, e++)
      edges[e] = (struct edge){sources[i], dests[e], weighted ? weights[e] : 0};
  return edges;
}

#pragma weak MPI_Dist_graph_create = PMPI_Dist_graph_create
int PMPI_Dist_graph_create(MPI_Comm handle, int n, const int sources[], const int degrees[],
                           const int dests[], const int *weights, MPI_Info info, int reorder,
                           MPI_Comm *result) {
  static const char call[] = "MPI_Dist_graph_create";
  struct tm_comm *comm;
  struct tm_topology *t = NULL;
  struct edge *all;
  int count, in = 0, out = 0;
  (void)info, (void)reorder;
  int error = tm_get_comm(call, handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (comm->inter) return tm_fail(comm, call, MPI_ERR_COMM, "it is an intercommunicator");
  struct edge *own = list_edges(comm, call, n, sources, degrees, dests, weights, &count, &error);
  if (own == NULL) return error;
  int total = exchange_edges(comm, own, count, &all);
  free(own);
  for (int i = 0; i < total; i++) {
    in += all[i].dest == comm->rank;
    out += all[i].source == comm->rank;
  }
  error = begin(call, comm, in, out, weights != MPI_UNWEIGHTED, result, &t);
  for (int i = total - 1; error == MPI_SUCCESS && i >= 0; i--) {
    if (all[i].dest == comm->rank) {
      tm_topology_sources(t)[--in] = all[i].source;
      tm_topology_source_weights(t)[in] = all[i].weight;
    }
    if (all[i].source == comm->rank) {
      tm_topology_dests(t)[--out] = all[i].dest;
      tm_topology_dest_weights(t)[out] = all[i].weight;
    }
  }
  free(all);
  return error;
}

static int get(const char *call, MPI_Comm handle, struct tm_comm **comm) {
  int error = tm_get_comm(call, handle, comm);
  if (error != MPI_SUCCESS) return error;
  if ((*comm)->topology != NULL && (*comm)->topology->kind == MPI_DIST_GRAPH) return MPI_SUCCESS;
  return tm_fail(*comm, call, MPI_ERR_TOPOLOGY,
                 "the communicator has no distributed graph (MPI_Dist_graph_create())");
}

#pragma weak MPI_Dist_graph_neighbors_count = PMPI_Dist_graph_neighbors_count
int PMPI_Dist_graph_neighbors_count(MPI_Comm handle, int *indegree, int *outdegree, int *weighted) {
  struct tm_comm *comm;
  int error = get("MPI_Dist_graph_neighbors_count", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  *indegree = comm->topology->count;
  *outdegree = comm->topology->edge_count;
  *weighted = comm->topology->weighted;
  return MPI_SUCCESS;
}

static int least(int a, int b) { return a < b ? a : b; }

#pragma weak MPI_Dist_graph_neighbors = PMPI_Dist_graph_neighbors
int PMPI_Dist_graph_neighbors(MPI_Comm handle, int maxin, int sources[], int *sourceweights,
                              int maxout, int dests[], int *destweights) {
  struct tm_comm *comm;
  int error = get("MPI_Dist_graph_neighbors", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  struct tm_topology *t = comm->topology;
  int in = least(maxin, t->count), out = least(maxout, t->edge_count);
  copy(sources, tm_topology_sources(t), in);
  copy(dests, tm_topology_dests(t), out);
  if (!t->weighted) return MPI_SUCCESS;
  if (sourceweights != MPI_UNWEIGHTED) copy(sourceweights, tm_topology_source_weights(t), in);
  if (destweights != MPI_UNWEIGHTED) copy(destweights, tm_topology_dest_weights(t), out);
  return MPI_SUCCESS;
}
