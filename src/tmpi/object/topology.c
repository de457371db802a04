/* SPDX-License-Identifier: Apache-2.0 */
/* What all topologies share. */
#include "tmpi/object/topology.h"

#include <stdlib.h>
#include <string.h>

#include "tmpi/mpi.h"

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

int tm_topology_rank_at(struct tm_topology *t, const int *coords, int direction, int displ) {
  int rank = 0;
  for (int d = 0; d < t->count; d++) {
    int size = tm_topology_dims(t)[d], at = coords[d] + (d == direction ? displ : 0);
    if (tm_topology_periods(t)[d]) at = (at % size + size) % size;
    if (at < 0 || at >= size) return MPI_PROC_NULL;
    rank = rank * size + at;
  }
  return rank;
}

int tm_topology_at(struct tm_topology *t, int direction, int displ) {
  return tm_topology_rank_at(t, tm_topology_coords(t), direction, displ);
}
