/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: each rank has all of it. */
#include <string.h>

#include "tmpi/coll/coll.h"
#include "tmpi/comm/split.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/topology.h"

static int get(const char *call, MPI_Comm handle, struct tm_comm **comm) {
  int error = tm_get_comm(call, handle, comm);
  if (error != MPI_SUCCESS) return error;
  if ((*comm)->topology != NULL && (*comm)->topology->kind == MPI_GRAPH) return MPI_SUCCESS;
  return tm_fail(*comm, call, MPI_ERR_TOPOLOGY,
                 "the communicator has no graph (MPI_Graph_create())");
}

static int check(struct tm_comm *comm, const char *call, int nodes, const int *index,
                 const int *edges) {
  if (comm->inter) return tm_fail(comm, call, MPI_ERR_COMM, "it is an intercommunicator");
  if (nodes < 0 || nodes > comm->size)
    return tm_fail(comm, call, MPI_ERR_ARG, "%d nodes, and %d ranks", nodes, comm->size);
  for (int i = 0, last = 0; i < nodes; last = index[i++])
    if (index[i] < last)
      return tm_fail(comm, call, MPI_ERR_ARG, "the neighbours of node %d end before they begin", i);
  for (int i = 0; nodes > 0 && i < index[nodes - 1]; i++)
    if (edges[i] < 0 || edges[i] >= nodes)
      return tm_fail(comm, call, MPI_ERR_ARG, "neighbour %d is not one of the %d nodes", edges[i],
                     nodes);
  return MPI_SUCCESS;
}

#pragma weak MPI_Graph_create = PMPI_Graph_create
int PMPI_Graph_create(MPI_Comm handle, int nodes, const int index[], const int edges[], int reorder,
                      MPI_Comm *result) {
  static const char call[] = "MPI_Graph_create";
  struct tm_comm *comm;
  (void)reorder;
  int error = tm_get_comm(call, handle, &comm);
  if (error == MPI_SUCCESS && result == NULL) error = tm_no_place(call, "comm_graph");
  if (error != MPI_SUCCESS) return error;
  *result = MPI_COMM_NULL; /* also when the call fails: programs compare it */
  error = check(comm, call, nodes, index, edges);
  if (error != MPI_SUCCESS) return error;
  int color = comm->rank < nodes ? 0 : MPI_UNDEFINED;
  error = tm_comm_split(comm, call, color, 0, result);
  if (error != MPI_SUCCESS || *result == MPI_COMM_NULL) return error;
  struct tm_topology *t = tm_topology_new(MPI_GRAPH, nodes, index[nodes - 1]);
  if (t != NULL) {
    memcpy(tm_topology_index(t), index, (size_t)nodes * sizeof *index);
    memcpy(tm_topology_edges(t), edges, (size_t)t->edge_count * sizeof *edges);
  }
  return tm_comm_set_topology(comm, call, result, t);
}

#pragma weak MPI_Graph_map = PMPI_Graph_map
int PMPI_Graph_map(MPI_Comm handle, int nodes, const int index[], const int edges[], int *rank) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Graph_map", handle, &comm);
  if (error == MPI_SUCCESS) error = check(comm, "MPI_Graph_map", nodes, index, edges);
  if (error == MPI_SUCCESS) *rank = comm->rank < nodes ? comm->rank : MPI_UNDEFINED;
  return error;
}

#pragma weak MPI_Graphdims_get = PMPI_Graphdims_get
int PMPI_Graphdims_get(MPI_Comm handle, int *nodes, int *edges) {
  struct tm_comm *comm;
  int error = get("MPI_Graphdims_get", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  *nodes = comm->topology->count;
  *edges = comm->topology->edge_count;
  return MPI_SUCCESS;
}

#pragma weak MPI_Graph_get = PMPI_Graph_get
int PMPI_Graph_get(MPI_Comm handle, int maxindex, int maxedges, int index[], int edges[]) {
  struct tm_comm *comm;
  int error = get("MPI_Graph_get", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  struct tm_topology *t = comm->topology;
  if (maxindex < t->count || maxedges < t->edge_count)
    return tm_fail(comm, "MPI_Graph_get", MPI_ERR_ARG,
                   "room for %d nodes and %d edges of %d and %d", maxindex, maxedges, t->count,
                   t->edge_count);
  memcpy(index, tm_topology_index(t), (size_t)t->count * sizeof *index);
  memcpy(edges, tm_topology_edges(t), (size_t)t->edge_count * sizeof *edges);
  return MPI_SUCCESS;
}

/* Where the neighbours of a node begin, and how many there are. */
static int find(struct tm_comm *comm, const char *call, int rank, int *first, int *count) {
  struct tm_topology *t = comm->topology;
  if (rank < 0 || rank >= t->count)
    return tm_fail(comm, call, MPI_ERR_RANK, "rank %d is not one of the %d nodes", rank, t->count);
  *first = rank > 0 ? tm_topology_index(t)[rank - 1] : 0;
  *count = tm_topology_index(t)[rank] - *first;
  return MPI_SUCCESS;
}

#pragma weak MPI_Graph_neighbors_count = PMPI_Graph_neighbors_count
int PMPI_Graph_neighbors_count(MPI_Comm handle, int rank, int *count) {
  struct tm_comm *comm;
  int first;
  int error = get("MPI_Graph_neighbors_count", handle, &comm);
  return error == MPI_SUCCESS ? find(comm, "MPI_Graph_neighbors_count", rank, &first, count)
                              : error;
}

#pragma weak MPI_Graph_neighbors = PMPI_Graph_neighbors
int PMPI_Graph_neighbors(MPI_Comm handle, int rank, int max, int neighbors[]) {
  struct tm_comm *comm;
  int first = 0, count = 0;
  int error = get("MPI_Graph_neighbors", handle, &comm);
  if (error == MPI_SUCCESS) error = find(comm, "MPI_Graph_neighbors", rank, &first, &count);
  if (error != MPI_SUCCESS) return error;
  const int *edges = tm_topology_edges(comm->topology) + first;
  for (int i = 0; i < count && i < max; i++) neighbors[i] = edges[i];
  return MPI_SUCCESS;
}
