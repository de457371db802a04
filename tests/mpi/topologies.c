/* SPDX-License-Identifier: Apache-2.0 */
/* Grids, graphs, distributed graphs: what they tell, and their neighbours. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
  int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), asked = vps != NULL ? atoi(vps) : cpus;
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

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  grids();
  slabs();
  graphs();
  distributed();
  MPI_Finalize();
  return 0;
}
