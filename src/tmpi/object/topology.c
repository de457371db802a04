/* SPDX-License-Identifier: Apache-2.0 */
/* What all topologies share. */
#include "tmpi/object/topology.h"

#include <stdlib.h>
#include <string.h>

#include "tmpi/error/errors.h"

struct tm_topology *tm_topology_new(int kind, int count, int edge_count) {
  size_t words = 3 * (size_t)count + 2 * (size_t)edge_count;
  struct tm_topology *topology = calloc(1, sizeof *topology + words * sizeof(int));
  if (topology == NULL) return NULL;
  topology->kind = kind;
  topology->count = count;
  topology->edge_count = edge_count;
  return topology;
}

void tm_topology_free(struct tm_topology *topology) { free(topology); }

struct tm_topology *tm_topology_copy(const struct tm_topology *from) {
  struct tm_topology *topology = tm_topology_new(from->kind, from->count, from->edge_count);
  if (topology == NULL) return NULL;
  size_t words = 3 * (size_t)from->count + 2 * (size_t)from->edge_count;
  topology->weighted = from->weighted;
  memcpy(topology->words, from->words, words * sizeof(int));
  return topology;
}

#pragma weak MPI_Topo_test = PMPI_Topo_test
int PMPI_Topo_test(MPI_Comm handle, int *status) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Topo_test", handle, &comm);
  if (error == MPI_SUCCESS) *status = comm->topology != NULL ? comm->topology->kind : MPI_UNDEFINED;
  return error;
}
