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

static int check_comm(const char *call, MPI_Comm handle, MPI_Info info, struct tm_comm **comm) {
  int error = tm_get_comm(call, handle, comm);
  if (error != MPI_SUCCESS) return error;
  if ((*comm)->inter) return tm_fail(*comm, call, MPI_ERR_COMM, "it is an intercommunicator");
  return tm_check_info(*comm, call, info);
}

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
  if (*topology != NULL) (*topology)->weighted = weighted;
  return tm_comm_set_topology(comm, call, result, *topology);
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
  (void)reorder;
  int error = check_comm(call, handle, info, &comm);
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

/* The sizes of all ranks' parts in bytes, and where each begins. @return the sum of all. */
static int sum_up(const int *counts, int *displs, int size) {
  int total = 0;
  for (int i = 0; i < size; i++) {
    displs[i] = total;
    total += counts[i];
  }
  return total;
}

/* At rank 0: memory for `bytes`, at least 1. */
static void *need(size_t bytes) {
  void *memory = malloc(bytes + 1);
  if (memory == NULL) tm_panic("no memory for %zu bytes of a graph (fewer edges)", bytes);
  return memory;
}

/* Rank 0 gets the edges that all ranks have named, in their order. @return their number. */
static int gather_edges(struct tm_comm *comm, const struct edge *own, int count,
                        struct edge **all) {
  MPI_Comm handle = tm_comm_handle(comm);
  int bytes = count * (int)sizeof *own, total = 0, *counts = NULL, *displs = NULL;
  *all = NULL;
  if (comm->rank == 0) counts = need(2 * (size_t)comm->size * sizeof *counts);
  PMPI_Gather(&bytes, 1, MPI_INT, counts, 1, MPI_INT, 0, handle);
  if (comm->rank == 0) {
    displs = counts + comm->size;
    total = sum_up(counts, displs, comm->size);
    *all = need((size_t)total);
  }
  PMPI_Gatherv(own, bytes, MPI_BYTE, *all, counts, displs, MPI_BYTE, 0, handle);
  free(counts);
  return total / (int)sizeof *own;
}

static int end_of(const struct edge *edge, bool incoming) {
  return incoming ? edge->dest : edge->source;
}

/* Rank 0 sends each rank its incoming or outgoing edges. @return their number. */
static int deal_out(struct tm_comm *comm, const struct edge *all, int total, bool incoming,
                    struct edge **own) {
  MPI_Comm handle = tm_comm_handle(comm);
  int bytes = 0, *counts = NULL, *displs = NULL;
  struct edge *sorted = NULL;
  if (comm->rank == 0) {
    counts = need(2 * (size_t)comm->size * sizeof *counts);
    displs = counts + comm->size;
    sorted = need((size_t)total * sizeof *sorted);
    memset(counts, 0, (size_t)comm->size * sizeof *counts);
    for (int i = 0; i < total; i++) counts[end_of(&all[i], incoming)] += (int)sizeof *all;
    sum_up(counts, displs, comm->size);
    for (int i = 0; i < total; i++) { /* displs move to the ends of the parts */
      int *displ = &displs[end_of(&all[i], incoming)];
      sorted[*displ / (int)sizeof *all] = all[i];
      *displ += (int)sizeof *all;
    }
    sum_up(counts, displs, comm->size);
  }
  PMPI_Scatter(counts, 1, MPI_INT, &bytes, 1, MPI_INT, 0, handle);
  *own = need((size_t)bytes);
  PMPI_Scatterv(sorted, counts, displs, MPI_BYTE, *own, bytes, MPI_BYTE, 0, handle);
  free(counts);
  free(sorted);
  return bytes / (int)sizeof **own;
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
  struct edge *all, *in, *out;
  int count;
  (void)reorder;
  int error = check_comm(call, handle, info, &comm);
  if (error != MPI_SUCCESS) return error;
  struct edge *own = list_edges(comm, call, n, sources, degrees, dests, weights, &count, &error);
  if (own == NULL) return error;
  int total = gather_edges(comm, own, count, &all);
  free(own);
  int in_count = deal_out(comm, all, total, true, &in);
  int out_count = deal_out(comm, all, total, false, &out);
  free(all);
  error = begin(call, comm, in_count, out_count, weights != MPI_UNWEIGHTED, result, &t);
  for (int i = 0; error == MPI_SUCCESS && i < in_count; i++) {
    tm_topology_sources(t)[i] = in[i].source;
    tm_topology_source_weights(t)[i] = in[i].weight;
  }
  for (int i = 0; error == MPI_SUCCESS && i < out_count; i++) {
    tm_topology_dests(t)[i] = out[i].dest;
    tm_topology_dest_weights(t)[i] = out[i].weight;
  }
  free(in);
  free(out);
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
