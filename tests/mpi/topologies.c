/* SPDX-License-Identifier: Apache-2.0 */
/* Grids, graphs, distributed graphs: what they tell, and their neighbours. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int rank, size;

static void grids(void) {
  int dims[2] = {0, 2}, periods[2] = {1, 0}, reported[2], wraps[2], coords[2], count, place, source,
      dest, kind;
  MPI_Comm grid, row;
  MPI_Dims_create(size, 2, dims);
  CHECK(dims[0] * dims[1] == size);
  int cube[3] = {0, 0, 0}, free_one[3] = {0, 3, 0};
  MPI_Dims_create(360, 3, cube);
  CHECK(cube[0] == 10 && cube[1] == 6 && cube[2] == 6); /* as near to each other as can be */
  MPI_Dims_create(36, 3, free_one);
  CHECK(free_one[0] == 4 && free_one[1] == 3 && free_one[2] == 3);
  MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &place);
  CHECK(place == rank);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  MPI_Topo_test(grid, &kind);
  MPI_Cartdim_get(grid, &count);
  CHECK(kind == MPI_CART && count == 2);
  MPI_Cart_get(grid, 2, reported, wraps, coords);
  CHECK(reported[0] == dims[0] && wraps[0] && !wraps[1]);
  MPI_Cart_rank(grid, coords, &place);
  CHECK(place == rank);
  MPI_Cart_coords(grid, rank, 2, reported);
  CHECK(reported[0] == coords[0] && reported[1] == coords[1]);
  MPI_Cart_shift(grid, 1, 1, &source, &dest);
  CHECK(source == (coords[1] == 0 ? MPI_PROC_NULL : rank - 1));
  CHECK(dest == (coords[1] == dims[1] - 1 ? MPI_PROC_NULL : rank + 1));
  int out[4] = {rank, rank, rank, rank}, in[4] = {-1, -1, -1, -1}; /* off the edge nothing comes */
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid);
  CHECK(in[2] == (source == MPI_PROC_NULL ? -1 : source) &&
        in[3] == (dest == MPI_PROC_NULL ? -1 : dest));
  MPI_Cart_sub(grid, (int[]){0, 1}, &row);
  MPI_Comm_size(row, &count);
  CHECK(count == dims[1]);
  MPI_Comm_free(&row);
  MPI_Comm_dup(grid, &row);
  MPI_Topo_test(row, &kind);
  CHECK(kind == MPI_CART);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
  MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){1}, periods, 0, &grid); /* smaller than the job */
  CHECK((grid == MPI_COMM_NULL) == (rank != 0));
  if (rank == 0) MPI_Comm_free(&grid);
}

/* The number of VPs that run ranks; 1: each rank has a kernel thread. */
static int parts(void) {
  const char *vps = getenv("MLTP_VPS"), *backend = getenv("MLTP_BACKEND");
  cpu_set_t allowed;
  CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  int cpus = CPU_COUNT(&allowed), asked = vps != NULL ? atoi(vps) : cpus;
  if (backend != NULL && strcmp(backend, "kernel") == 0) return 1;
  return asked < cpus || getenv("MLTP_OVERSUBSCRIBE") != NULL ? asked : cpus;
}

static bool is_on_one_node(void) {
  MPI_Comm node;
  int here;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &here);
  MPI_Comm_free(&node);
  return here == size;
}

/* Reordered: processes of a node in order get slab after slab of the longest dimension. */
static void slabs(void) {
  int dims[2] = {2, size / 2}, periods[2] = {0, 0}, coords[2], place, mapped, slab = -1, all[64];
  MPI_Comm grid;
  if (size / 2 <= 2) return;
  MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  if (grid != MPI_COMM_NULL) {
    MPI_Comm_rank(grid, &place);
    CHECK(place == mapped);
    MPI_Cart_coords(grid, place, 2, coords);
    slab = coords[1] * parts() / dims[1];
    MPI_Comm_free(&grid);
  } else {
    CHECK(mapped == MPI_UNDEFINED);
  }
  MPI_Allgather(&slab, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  if (is_on_one_node() && parts() > 1 && parts() <= dims[1])
    for (int i = 1; i < 2 * dims[1]; i++) CHECK(all[i] >= all[i - 1]);
}

/* A star: rank 0 and all others are neighbours. */
static void graphs(void) {
  int *index = malloc((size_t)size * sizeof *index),
      *edges = malloc(2 * (size_t)size * sizeof *edges);
  int nodes, count, place, kind, reported[64], own = 100 + rank;
  MPI_Comm star;
  CHECK(index != NULL && edges != NULL);
  for (int i = 0; i < size; i++) index[i] = size - 1 + i;
  for (int i = 1; i < size; i++) edges[i - 1] = i;
  for (int i = 1; i < size; i++) edges[size - 2 + i] = 0;
  MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &place);
  CHECK(place == rank);
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &star);
  MPI_Topo_test(star, &kind);
  MPI_Graphdims_get(star, &nodes, &count);
  CHECK(kind == MPI_GRAPH && nodes == size && count == 2 * (size - 1));
  MPI_Graph_get(star, nodes, count, index, edges);
  MPI_Graph_neighbors_count(star, 0, &count);
  CHECK(count == size - 1);
  MPI_Graph_neighbors(star, rank, 64, reported);
  CHECK(reported[0] == (rank == 0 ? 1 : 0));
  memset(reported, 0, sizeof reported);
  MPI_Neighbor_allgather(&own, 1, MPI_INT, reported, 1, MPI_INT, star);
  for (int i = 0; i < (rank == 0 ? size - 1 : 1); i++)
    CHECK(reported[i] == (rank == 0 ? 101 + i : 100));
  MPI_Comm_free(&star);
  free(index);
  free(edges);
}

/* Each sends to the next rank twice. */
static void distributed(void) {
  int next = (rank + 1) % size, before = (rank + size - 1) % size, in, out, weighted;
  int sources[2] = {before, before}, dests[2] = {next, next}, weights[2] = {3, 4}, reported[2],
      own[2] = {rank, -rank};
  MPI_Comm ring;
  MPI_Request request;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, weights, 2, dests, weights,
                                 MPI_INFO_NULL, 0, &ring);
  MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted);
  CHECK(in == 2 && out == 2 && weighted);
  int heard[2], heard_weights[2], reported_weights[2];
  MPI_Dist_graph_neighbors(ring, 2, heard, heard_weights, 2, reported, reported_weights);
  CHECK(heard[1] == before && heard_weights[1] == 4 && reported[0] == next &&
        reported_weights[0] == 3);
  MPI_Ineighbor_alltoall(own, 1, MPI_INT, reported, 1, MPI_INT, ring,
                         &request); /* in the order of the edges */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(reported[0] == before && reported[1] == -before);
  MPI_Comm_free(&ring);
  int degree = 2;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, dests, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                        &ring);
  MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted);
  CHECK(in == 2 && out == 2 && !weighted);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, reported, 1, MPI_INT, ring);
  CHECK(reported[0] == before && reported[1] == before);
  MPI_Comm_free(&ring);
  MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0, &rank, &degree, dests, weights, MPI_INFO_NULL, 0,
                        &ring);
  MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted);
  CHECK(out == (rank == 0 ? 2 : 0) && in == (rank == 1 % size ? 2 : 0) && weighted);
  MPI_Comm_free(&ring);
}

/* ---- grids of all shapes, against the order of C's arrays */

enum { DIMS = 3 };

struct shape {
  int ndims, dims[DIMS], periods[DIMS];
};

static void place_of(const struct shape *s, int place, int coords[DIMS]) {
  for (int d = s->ndims - 1; d >= 0; d--) {
    coords[d] = place % s->dims[d];
    place /= s->dims[d];
  }
}

/* @return the rank at some coordinates, MPI_PROC_NULL off the edge. */
static int rank_at(const struct shape *s, const int coords[DIMS]) {
  int place = 0;
  for (int d = 0; d < s->ndims; d++) {
    int at = coords[d];
    if (s->periods[d]) at = (at % s->dims[d] + s->dims[d]) % s->dims[d];
    if (at < 0 || at >= s->dims[d]) return MPI_PROC_NULL;
    place = place * s->dims[d] + at;
  }
  return place;
}

static void check_shifts(MPI_Comm grid, const struct shape *s, const int own[DIMS]) {
  for (int d = 0; d < s->ndims; d++)
    for (int displ = -4; displ <= 4; displ++) {
      int source, dest, at[DIMS], from[DIMS];
      memcpy(at, own, sizeof at);
      memcpy(from, own, sizeof from);
      at[d] += displ;
      from[d] -= displ;
      MPI_Cart_shift(grid, d, displ, &source, &dest);
      CHECK(source == rank_at(s, from) && dest == rank_at(s, at));
      if (rank_at(s, at) != MPI_PROC_NULL) {
        MPI_Cart_rank(grid, at, &dest);
        CHECK(dest == rank_at(s, at));
      }
    }
}

/* For each choice of dimensions: which ranks are in the part, and where. */
static void check_parts(MPI_Comm grid, const struct shape *s, const int own[DIMS]) {
  for (int mask = 0; mask < 1 << s->ndims; mask++) {
    int remain[DIMS], members = 1, count = 0, found, dims[DIMS], periods[DIMS], coords[DIMS];
    MPI_Comm part;
    for (int d = 0; d < s->ndims; d++) {
      remain[d] = mask >> d & 1;
      if (remain[d]) members *= s->dims[d], count++;
    }
    MPI_Cart_sub(grid, remain, &part);
    MPI_Comm_size(part, &found);
    CHECK(found == members);
    MPI_Cartdim_get(part, &found);
    CHECK(found == count);
    MPI_Cart_get(part, count, dims, periods, coords);
    for (int d = 0, next = 0; d < s->ndims; d++)
      if (remain[d]) {
        CHECK(dims[next] == s->dims[d] && periods[next] == s->periods[d]);
        CHECK(coords[next++] == own[d]);
      }
    int place, all[64], others[DIMS];
    MPI_Comm_rank(grid, &place);
    MPI_Allgather(&place, 1, MPI_INT, all, 1, MPI_INT, part); /* in the order of the grid */
    for (int i = 0; i < members; i++) {
      CHECK(i == 0 || all[i] > all[i - 1]);
      place_of(s, all[i], others);
      for (int d = 0; d < s->ndims; d++) CHECK(remain[d] || others[d] == own[d]);
    }
    MPI_Comm_free(&part);
  }
}

static void shapes(void) {
  static const struct shape table[] = {{0, {0}, {0}},
                                       {1, {1}, {0}},
                                       {1, {4}, {1}},
                                       {2, {2, 3}, {1, 0}},
                                       {2, {3, 2}, {0, 1}},
                                       {2, {1, 5}, {1, 0}},
                                       {3, {1, 2, 3}, {0, 1, 0}},
                                       {3, {3, 1, 2}, {1, 1, 1}}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    const struct shape *s = &table[i];
    int nodes = 1, place, mapped, own[DIMS] = {0}, coords[DIMS], dims[DIMS], periods[DIMS];
    MPI_Comm grid, copy;
    for (int d = 0; d < s->ndims; d++) nodes *= s->dims[d];
    if (nodes > size) continue;
    MPI_Cart_create(MPI_COMM_WORLD, s->ndims, s->dims, s->periods, 0, &grid);
    MPI_Cart_map(MPI_COMM_WORLD, s->ndims, s->dims, s->periods, &mapped);
    CHECK((grid != MPI_COMM_NULL) == (rank < nodes) &&
          (mapped == MPI_UNDEFINED) == (rank >= nodes));
    if (grid == MPI_COMM_NULL) continue;
    MPI_Comm_rank(grid, &place);
    CHECK(place == rank && mapped >= 0 && mapped < nodes);
    for (int r = 0; r < nodes; r++) {
      place_of(s, r, own);
      MPI_Cart_coords(grid, r, s->ndims, coords);
      CHECK(memcmp(coords, own, (size_t)s->ndims * sizeof *own) == 0);
      MPI_Cart_rank(grid, own, &place);
      CHECK(place == r);
    }
    place_of(s, rank, own);
    MPI_Comm_dup(grid, &copy); /* which has the same grid */
    MPI_Cart_get(copy, s->ndims, dims, periods, coords);
    for (int d = 0; d < s->ndims; d++)
      CHECK(dims[d] == s->dims[d] && periods[d] == s->periods[d] && coords[d] == own[d]);
    check_shifts(copy, s, own);
    check_parts(grid, s, own);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&grid);
  }
}

/* ---- the sides of grids, against all that there are */

struct sides {
  int count, best[4], now[4];
};

/* Sides are listed largest first. The difference between the first and the last is least, and of
 * equal differences the smallest sides are as large as they can be. */
static bool is_better(const struct sides *s) {
  int last = s->count - 1, spread = s->now[0] - s->now[last], best = s->best[0] - s->best[last];
  if (s->best[0] == 0 || spread != best) return s->best[0] == 0 || spread < best;
  for (int i = last; i >= 0; i--)
    if (s->now[i] != s->best[i]) return s->now[i] > s->best[i];
  return false;
}

static void try_all(struct sides *s, int at, int left, int most) {
  if (at == s->count) {
    if (left == 1 && is_better(s)) memcpy(s->best, s->now, sizeof s->best);
    return;
  }
  for (int side = 1; side <= left && side <= most; side++) {
    if (left % side != 0) continue;
    s->now[at] = side;
    try_all(s, at + 1, left / side, side);
  }
}

static void sides(void) {
  enum { MOST_DIMS = 64 };
  int many[MOST_DIMS + 1] = {0};
  int none = 7, fixed[3] = {2, 0, 3}, full[2] = {3, 4}, one[4] = {1, 0, 1, 0};
  for (int nodes = 1; nodes <= 130; nodes++)
    for (int count = 1; count <= 4; count++) {
      struct sides s = {.count = count};
      int dims[5] = {0, 0, 0, 0, -7};
      dims[count] = -7;
      try_all(&s, 0, nodes, nodes);
      MPI_Dims_create(nodes, count, dims);
      CHECK(memcmp(dims, s.best, (size_t)count * sizeof *dims) == 0 && dims[count] == -7);
    }
  MPI_Dims_create(30, 3, fixed);
  CHECK(fixed[0] == 2 && fixed[1] == 5 && fixed[2] == 3);
  MPI_Dims_create(12, 2, full);
  CHECK(full[0] == 3 && full[1] == 4);
  MPI_Dims_create(12, 4, one);
  CHECK(one[0] == 1 && one[1] == 4 && one[2] == 1 && one[3] == 3);
  CHECK(MPI_Dims_create(2, 0, &none) == MPI_SUCCESS && none == 7);
  MPI_Dims_create(2, MOST_DIMS, many);
  for (int i = 0; i < MOST_DIMS; i++) CHECK(many[i] == (i == 0 ? 2 : 1));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_DIMS, MPI_Dims_create(2, MOST_DIMS + 1, many));
  EXPECT(MPI_ERR_DIMS, MPI_Dims_create(0, 1, &none));
  EXPECT(MPI_ERR_DIMS, MPI_Dims_create(2, -1, &none));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- graphs with fewer nodes than ranks, and nodes without neighbours */

static void small_graphs(void) {
  static const int index[4] = {2, 2, 5, 6}, edges[6] = {1, 2, 0, 3, 2, 2}; /* node 1 has none */
  int mapped, nodes, count, listed[4], ends[6], kind, neighbors[4];
  MPI_Comm graph, copy;
  if (size < 5) return;
  MPI_Graph_map(MPI_COMM_WORLD, 4, index, edges, &mapped);
  CHECK(mapped == (rank < 4 ? rank : MPI_UNDEFINED));
  MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &graph);
  CHECK((graph == MPI_COMM_NULL) == (rank >= 4));
  if (rank < 4) {
    MPI_Comm_dup(graph, &copy);
    MPI_Topo_test(copy, &kind);
    MPI_Graphdims_get(copy, &nodes, &count);
    CHECK(kind == MPI_GRAPH && nodes == 4 && count == 6);
    MPI_Graph_get(copy, 4, 6, listed, ends);
    CHECK(memcmp(listed, index, sizeof listed) == 0 && memcmp(ends, edges, sizeof ends) == 0);
    for (int node = 0, first = 0; node < 4; first = index[node++]) {
      MPI_Graph_neighbors_count(copy, node, &count);
      CHECK(count == index[node] - first);
      for (int most = 0; most <= 4; most++) { /* no more than there is room for */
        memset(neighbors, -1, sizeof neighbors);
        MPI_Graph_neighbors(copy, node, most, neighbors);
        for (int i = 0; i < 4; i++)
          CHECK(neighbors[i] == (i < count && i < most ? edges[first + i] : -1));
      }
    }
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    EXPECT(MPI_ERR_ARG, MPI_Graph_get(copy, 3, 6, listed, ends));
    EXPECT(MPI_ERR_ARG, MPI_Graph_get(copy, 4, 5, listed, ends));
    EXPECT(MPI_ERR_RANK, MPI_Graph_neighbors_count(copy, 4, &count));
    EXPECT(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(copy, &count));
    EXPECT(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors_count(copy, &nodes, &count, &kind));
    MPI_Comm_free(&copy);
    MPI_Comm_free(&graph);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_ARG, MPI_Graph_map(MPI_COMM_WORLD, -1, index, edges, &mapped));
  EXPECT(MPI_ERR_ARG, MPI_Graph_map(MPI_COMM_WORLD, size + 1, index, edges, &mapped));
  EXPECT(MPI_ERR_ARG, MPI_Graph_map(MPI_COMM_WORLD, 2, (int[]){2, 1}, edges, &mapped));
  EXPECT(MPI_ERR_ARG, MPI_Graph_map(MPI_COMM_WORLD, 1, (int[]){-1}, edges, &mapped));
  EXPECT(MPI_ERR_ARG, MPI_Graph_map(MPI_COMM_WORLD, 1, (int[]){1}, (int[]){1}, &mapped));
  EXPECT(MPI_ERR_ARG, MPI_Graph_map(MPI_COMM_WORLD, 1, (int[]){1}, (int[]){-1}, &mapped));
  CHECK(MPI_Graph_map(MPI_COMM_WORLD, 0, NULL, NULL, &mapped) == MPI_SUCCESS &&
        mapped == MPI_UNDEFINED);
  CHECK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &graph) == MPI_SUCCESS &&
        graph == MPI_COMM_NULL);
  EXPECT(MPI_ERR_TOPOLOGY, MPI_Graph_neighbors(MPI_COMM_WORLD, 0, 4, neighbors));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Topo_test(MPI_COMM_WORLD, &kind);
  CHECK(kind == MPI_UNDEFINED);
}

/* ---- edges that ranks name for others */

/* Rank r names the edges from the next rank and from the one after it, r + 1 of each, to all ranks
 * in turn; the weight says which rank named the edge, and which of its edges it is. */
static int edge_weight(int from, int which) { return 1000 * (from + 1) + which; }

static void named_by_others(void) {
  enum { MOST = 256 };
  int sources[2] = {(rank + 1) % size, (rank + 2) % size}, degrees[2] = {rank + 1, rank + 1};
  int dests[64], weights[64], in, out, weighted, kind;
  int heard[MOST], heard_weights[MOST], listed[MOST], listed_weights[MOST], ins = 0, outs = 0;
  MPI_Comm graph, copy;
  if (size > 16) return;
  for (int i = 0; i < 2 * (rank + 1); i++) {
    dests[i] = i % size;
    weights[i] = edge_weight(rank, i);
  }
  MPI_Dist_graph_create(MPI_COMM_WORLD, 2, sources, degrees, dests, weights, MPI_INFO_NULL, 0,
                        &graph);
  MPI_Comm_dup(graph, &copy);
  MPI_Topo_test(copy, &kind);
  MPI_Dist_graph_neighbors_count(copy, &in, &out, &weighted);
  CHECK(kind == MPI_DIST_GRAPH && weighted == 1);
  MPI_Dist_graph_neighbors(copy, MOST, heard, heard_weights, MOST, listed, listed_weights);
  for (int from = 0; from < size; from++)
    for (int i = 0; i < 2 * (from + 1); i++) {
      int source = (from + (i <= from ? 1 : 2)) % size, dest = i % size;
      if (dest == rank) {
        CHECK(ins < in && heard[ins] == source && heard_weights[ins] == edge_weight(from, i));
        ins++;
      }
      if (source == rank) {
        CHECK(outs < out && listed[outs] == dest && listed_weights[outs] == edge_weight(from, i));
        outs++;
      }
    }
  CHECK(ins == in && outs == out);
  memset(listed, -1, sizeof listed); /* no more than there is room for, and no weights unasked */
  memset(heard, -1, sizeof heard);
  MPI_Dist_graph_neighbors(copy, 1, heard, MPI_UNWEIGHTED, out - 1, listed, MPI_UNWEIGHTED);
  CHECK(heard[0] >= 0 && heard[1] == -1 && (out == 1 || listed[out - 2] >= 0) &&
        listed[out - 1] == -1);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&graph);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_ARG, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, (int[]){-1}, (int[]){1}, dests,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
  EXPECT(MPI_ERR_ARG, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, (int[]){1}, &size,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
  EXPECT(MPI_ERR_ARG,
         MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 1, &size,
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* One side without weights, both without neighbours. */
static void adjacent(void) {
  int in, out, weighted, next = (rank + 1) % size, last = (rank + size - 1) % size, weight = 5;
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  CHECK(in == 1 && out == 1 && weighted == 0);
  MPI_Dist_graph_neighbors(graph, 1, &in, &weight, 1, &out, &weight);
  CHECK(in == last && out == next && weight == 5);
  MPI_Comm_free(&graph);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                 MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  CHECK(in == 0 && out == 0 && weighted == 1);
  MPI_Comm_free(&graph);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  grids();
  slabs();
  graphs();
  distributed();
  shapes();
  sides();
  small_graphs();
  named_by_others();
  adjacent();
  MPI_Finalize();
  return 0;
}
