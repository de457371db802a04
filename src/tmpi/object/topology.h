/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file topology.h
 * What a communicator knows of its ranks' neighbours: a grid or a graph.
 */
#ifndef TM_OBJECT_TOPOLOGY_H
#define TM_OBJECT_TOPOLOGY_H

#include <stdbool.h>

/** Of a grid: count dimensions; words: their sizes, whether they are periodic, the rank's own
 * coordinates. Of a graph: count nodes; words: the ends of their lists of neighbours, (two rows not
 * used), the neighbours. Of a distributed graph: count sources and edge_count destinations of the
 * rank; words: the sources, their weights, (a row not used), the destinations, their weights. */
struct tm_topology {
  int kind; /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
  int count;
  int edge_count;
  bool weighted; /* a distributed graph */
  int words[];   /* three rows of count, two of edge_count */
};

static inline int *tm_topology_dims(struct tm_topology *t) { return t->words; }
static inline int *tm_topology_periods(struct tm_topology *t) { return t->words + t->count; }
static inline int *tm_topology_coords(struct tm_topology *t) { return t->words + 2 * t->count; }
static inline int *tm_topology_index(struct tm_topology *t) { return t->words; }
static inline int *tm_topology_edges(struct tm_topology *t) { return t->words + 3 * t->count; }

static inline int *tm_topology_sources(struct tm_topology *t) { return t->words; }
static inline int *tm_topology_source_weights(struct tm_topology *t) { return t->words + t->count; }
static inline int *tm_topology_dests(struct tm_topology *t) { return t->words + 3 * t->count; }
static inline int *tm_topology_dest_weights(struct tm_topology *t) {
  return t->words + 3 * t->count + t->edge_count;
}

/** All words 0. @return NULL: no memory. */
struct tm_topology *tm_topology_new(int kind, int count, int edge_count);
/** Of a grid. @return the rank `displ` further on in a direction from coordinates; MPI_PROC_NULL:
 * outside of a dimension that is not periodic. */
int tm_topology_rank_at(struct tm_topology *t, const int *coords, int direction, int displ);
/** Of a grid. @return the rank `displ` from the caller's place in a direction; MPI_PROC_NULL: none.
 */
int tm_topology_at(struct tm_topology *t, int direction, int displ);
/** @return a copy, NULL: no memory. */
struct tm_topology *tm_topology_copy(const struct tm_topology *topology);
/** NULL: nothing. */
void tm_topology_free(struct tm_topology *topology);

#endif
