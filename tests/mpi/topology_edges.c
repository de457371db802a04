/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of topologies: neighbours behind the borders of grids, room for fewer neighbours than
 * there are, calls about topologies of another kind, and grids that nodes cannot make. Four ranks.
 */
#include <string.h>

#include "check.h"

enum { RANKS = 4, ROOM = 16, UNTOUCHED = -77 };

static int rank, size, many[ROOM], more[ROOM], third[ROOM];
static const int zeros[ROOM];

static void untouch(void) {
  for (int i = 0; i < ROOM; i++) many[i] = more[i] = third[i] = UNTOUCHED;
}

/* ---- grids */

/* Two rows of two; rows wrap, columns end. */
static void grids(void) {
  MPI_Comm grid, part;
  int place, source, dest, count;
  MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 2}, (int[]){1, 0}, 0, &grid);
  MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
  for (int row = -3; row < 5; row++) {
    EXPECT(MPI_SUCCESS, MPI_Cart_rank(grid, (int[]){row, 1}, &place));
    CHECK(place == (row & 1) * 2 + 1);
  }
  EXPECT(MPI_ERR_ARG, MPI_Cart_rank(grid, (int[]){0, 2}, &place));
  EXPECT(MPI_ERR_ARG, MPI_Cart_rank(grid, (int[]){0, -1}, &place));
  for (int by = -4; by <= 4; by++) {
    int row = rank / 2, column = rank % 2;
    EXPECT(MPI_SUCCESS, MPI_Cart_shift(grid, 0, by, &source, &dest));
    CHECK(dest == ((row + by) & 1) * 2 + column && source == ((row - by) & 1) * 2 + column);
    EXPECT(MPI_SUCCESS, MPI_Cart_shift(grid, 1, by, &source, &dest));
    int to = column + by, from = column - by;
    CHECK(dest == (to < 0 || to > 1 ? MPI_PROC_NULL : row * 2 + to));
    CHECK(source == (from < 0 || from > 1 ? MPI_PROC_NULL : row * 2 + from));
  }
  EXPECT(MPI_ERR_ARG, MPI_Cart_shift(grid, -1, 1, &source, &dest));
  EXPECT(MPI_ERR_ARG, MPI_Cart_shift(grid, 2, 1, &source, &dest));
  EXPECT(MPI_ERR_RANK, MPI_Cart_coords(grid, RANKS, 2, many));
  EXPECT(MPI_SUCCESS, MPI_Cart_coords(grid, RANKS - 1, 2, many));
  CHECK(many[0] == 1 && many[1] == 1);
  EXPECT(MPI_ERR_ARG, MPI_Cart_coords(grid, 0, 1, many));
  EXPECT(MPI_ERR_ARG, MPI_Cart_get(grid, 1, many, more, third));
  untouch();
  EXPECT(MPI_SUCCESS, MPI_Cart_get(grid, 5, many, more, third));
  CHECK(many[1] == 2 && many[2] == UNTOUCHED && more[0] == 1 && more[1] == 0);
  CHECK(third[0] == rank / 2 && third[1] == rank % 2 && third[2] == UNTOUCHED);
  for (int kept = 0; kept < 4; kept++) { /* a bit for each dimension */
    MPI_Cart_sub(grid, (int[]){kept & 1, kept & 2}, &part);
    MPI_Comm_size(part, &count);
    CHECK(count == (kept & 1 ? 2 : 1) * (kept & 2 ? 2 : 1));
    MPI_Comm_rank(part, &place);
    CHECK(place == (kept == 3 ? rank : kept == 1 ? rank / 2 : kept == 2 ? rank % 2 : 0));
    MPI_Cartdim_get(part, &count);
    CHECK(count == (kept == 3 ? 2 : kept > 0));
    MPI_Cart_get(part, 2, many, more, third);
    if (kept == 1) CHECK(many[0] == 2 && more[0] == 1 && third[0] == rank / 2);
    if (kept == 2) CHECK(many[0] == 2 && more[0] == 0 && third[0] == rank % 2);
    MPI_Comm_free(&part);
  }
  MPI_Comm_free(&grid);
}

/* A grid has as many ranks as it has places. */
static void sizes_of_grids(void) {
  MPI_Comm grid;
  int count, place;
  for (int wanted = 1; wanted <= RANKS + 1; wanted++) {
    int code = MPI_Cart_create(MPI_COMM_WORLD, 1, &wanted, zeros, 0, &grid);
    int mapped = MPI_Cart_map(MPI_COMM_WORLD, 1, &wanted, zeros, &place);
    EXPECT(wanted > RANKS ? MPI_ERR_DIMS : MPI_SUCCESS, code);
    EXPECT(wanted > RANKS ? MPI_ERR_DIMS : MPI_SUCCESS, mapped);
    CHECK((grid == MPI_COMM_NULL) == (wanted > RANKS || rank >= wanted));
    if (wanted <= RANKS) CHECK((place == MPI_UNDEFINED) == (rank >= wanted));
    if (grid != MPI_COMM_NULL) MPI_Comm_free(&grid);
  }
  EXPECT(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 3}, zeros, 0, &grid));
  EXPECT(MPI_ERR_DIMS,
         MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){1 << 30, 1 << 30}, zeros, 0, &grid));
  EXPECT(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 0}, zeros, 0, &grid));
  MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &grid); /* of one place */
  CHECK((grid == MPI_COMM_NULL) == (rank > 0));
  if (grid == MPI_COMM_NULL) return;
  MPI_Cartdim_get(grid, &count);
  CHECK(count == 0 && MPI_Cart_get(grid, 0, NULL, NULL, NULL) == MPI_SUCCESS);
  MPI_Comm_free(&grid);
}

static void sides(void) {
  static const struct {
    int nodes, count, before[4], after[4];
  } rows[] = {
      {1, 3, {0, 0, 0}, {1, 1, 1}},    {7, 2, {0, 0}, {7, 1}},
      {12, 2, {0, 0}, {4, 3}},         {12, 3, {0, 0, 0}, {3, 2, 2}},
      {64, 3, {0, 0, 0}, {4, 4, 4}},   {24, 4, {0, 0, 0, 0}, {3, 2, 2, 2}},
      {24, 3, {0, 2, 0}, {4, 2, 3}},   {24, 3, {2, 3, 4}, {2, 3, 4}},
      {24, 3, {0, 24, 0}, {1, 24, 1}}, {1, 0, {0}, {0}},
      {97, 3, {0, 0, 0}, {97, 1, 1}},  {16, 2, {0, 0}, {4, 4}},
      {36, 2, {0, 0}, {6, 6}},         {30, 3, {0, 0, 0}, {5, 3, 2}},
      {1008, 3, {0}, {12, 12, 7}},     {1800, 4, {0}, {9, 8, 5, 5}},
  };
  static const struct {
    int nodes, count, before[4];
  } wrong[] = {{0, 1, {0}},        {-1, 1, {0}},       {6, -1, {0}},
               {6, 1, {4}},        {6, 2, {0, 12}},    {6, 2, {-1, 0}},
               {24, 3, {2, 3, 5}}, {24, 3, {2, 3, 2}}, {24, 3, {0, 5, 0}}};
  int dims[65];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    memcpy(dims, rows[i].before, sizeof rows[i].before);
    EXPECT(MPI_SUCCESS, MPI_Dims_create(rows[i].nodes, rows[i].count, dims));
    for (int d = 0; d < rows[i].count; d++) CHECK(dims[d] == rows[i].after[d]);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    memcpy(dims, wrong[i].before, sizeof wrong[i].before);
    EXPECT(MPI_ERR_DIMS, MPI_Dims_create(wrong[i].nodes, wrong[i].count, dims));
    CHECK(memcmp(dims, wrong[i].before, sizeof wrong[i].before) == 0);
  }
  memset(dims, 0, sizeof dims);
  EXPECT(MPI_SUCCESS, MPI_Dims_create(2, 64, dims));
  CHECK(dims[0] == 2 && dims[1] == 1 && dims[63] == 1);
  memset(dims, 0, sizeof dims);
  EXPECT(MPI_ERR_DIMS, MPI_Dims_create(2, 65, dims));
}

/* ---- graphs */

static int graph_of(int nodes, const int *index, const int *edges) {
  MPI_Comm graph;
  int place, code = MPI_Graph_map(MPI_COMM_WORLD, nodes, index, edges, &place);
  CHECK(MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 0, &graph) == code);
  if (code == MPI_SUCCESS) CHECK((place == MPI_UNDEFINED) == (graph == MPI_COMM_NULL));
  if (code == MPI_SUCCESS) CHECK((graph == MPI_COMM_NULL) == (rank >= nodes));
  if (graph != MPI_COMM_NULL) MPI_Comm_free(&graph);
  return code;
}

/* A chain: each node knows the next one, and the first one all others. */
static void graphs(void) {
  static const int index[] = {3, 4, 5, 5}, edges[] = {1, 2, 3, 2, 3};
  int count, nodes;
  MPI_Comm graph;
  EXPECT(MPI_SUCCESS, graph_of(0, index, edges));
  EXPECT(MPI_SUCCESS, graph_of(2, (int[]){1, 2}, (int[]){1, 0}));
  EXPECT(MPI_ERR_ARG, graph_of(2, (int[]){1, 2}, (int[]){1, 2}));
  EXPECT(MPI_ERR_ARG, graph_of(2, (int[]){1, 2}, (int[]){-1, 0}));
  EXPECT(MPI_ERR_ARG, graph_of(2, (int[]){2, 1}, (int[]){1, 0}));
  EXPECT(MPI_ERR_ARG, graph_of(-1, index, edges));
  EXPECT(MPI_ERR_ARG, graph_of(RANKS + 1, (int[]){0, 0, 0, 0, 0}, edges));
  EXPECT(MPI_SUCCESS, MPI_Graph_create(MPI_COMM_WORLD, RANKS, index, edges, 0, &graph));
  MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
  MPI_Graphdims_get(graph, &nodes, &count);
  CHECK(nodes == RANKS && count == 5);
  static const int known[] = {3, 1, 1, 0};
  for (int node = 0; node < RANKS; node++) {
    EXPECT(MPI_SUCCESS, MPI_Graph_neighbors_count(graph, node, &count));
    CHECK(count == known[node]);
    for (int room = 0; room < 5; room++) {
      untouch();
      EXPECT(MPI_SUCCESS, MPI_Graph_neighbors(graph, node, room, many));
      int filled = room < count ? room : count;
      for (int i = 0; i < filled; i++) CHECK(many[i] == node + 1 + i);
      CHECK(many[filled] == UNTOUCHED);
    }
  }
  EXPECT(MPI_ERR_RANK, MPI_Graph_neighbors_count(graph, RANKS, &count));
  EXPECT(MPI_ERR_RANK, MPI_Graph_neighbors(graph, RANKS, 5, many));
  EXPECT(MPI_ERR_ARG, MPI_Graph_get(graph, RANKS - 1, 5, many, more));
  EXPECT(MPI_ERR_ARG, MPI_Graph_get(graph, RANKS, 4, many, more));
  EXPECT(MPI_SUCCESS, MPI_Graph_get(graph, RANKS, 5, many, more));
  CHECK(memcmp(many, index, sizeof index) == 0 && memcmp(more, edges, sizeof edges) == 0);
  MPI_Comm_free(&graph);
}

/* ---- distributed graphs */

static int adjacent(int in, int source, int out, int dest) {
  MPI_Comm graph;
  return MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, &source, MPI_UNWEIGHTED, out, &dest,
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
}

static int named(int count, int source, int degree, int dest) {
  MPI_Comm graph;
  return MPI_Dist_graph_create(MPI_COMM_WORLD, count, &source, &degree, &dest, MPI_UNWEIGHTED,
                               MPI_INFO_NULL, 0, &graph);
}

static void refused_neighbours(void) {
  for (int bad = -1; bad <= RANKS; bad += RANKS + 1) {
    EXPECT(MPI_ERR_ARG, adjacent(1, bad, 1, 0));
    EXPECT(MPI_ERR_ARG, adjacent(1, 0, 1, bad));
    EXPECT(MPI_ERR_ARG, named(1, bad, 1, 0));
    EXPECT(MPI_ERR_ARG, named(1, 0, 1, bad));
  }
  EXPECT(MPI_ERR_ARG, adjacent(-1, 0, 1, 0));
  EXPECT(MPI_ERR_ARG, adjacent(1, 0, -1, 0));
  EXPECT(MPI_ERR_ARG, named(-1, 0, 1, 0));
}

/* The last rank names all edges: from each rank to all others, with the sum of both as weight. */
static void named_by_one(void) {
  static int sources[RANKS], degrees[RANKS], dests[RANKS * RANKS], weights[RANKS * RANKS];
  int in, out, weighted, count = 0, namer = rank == size - 1;
  MPI_Comm graph;
  for (int from = 0; from < RANKS; from++) {
    sources[from] = from;
    degrees[from] = RANKS - 1;
    for (int to = 0; to < RANKS; to++)
      if (to != from) dests[count] = to, weights[count++] = from + to;
  }
  MPI_Dist_graph_create(MPI_COMM_WORLD, namer ? RANKS : 0, sources, degrees, dests, weights,
                        MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  CHECK(in == RANKS - 1 && out == RANKS - 1 && weighted);
  for (int room = 0; room <= RANKS; room++) {
    int in_weights[ROOM], out_weights[ROOM], filled = room < RANKS - 1 ? room : RANKS - 1;
    untouch();
    memcpy(in_weights, third, sizeof third);
    memcpy(out_weights, third, sizeof third);
    MPI_Dist_graph_neighbors(graph, room, many, in_weights, room, more, out_weights);
    for (int i = 0; i < filled; i++) {
      int other = i < rank ? i : i + 1;
      CHECK(many[i] == other && more[i] == other);
      CHECK(in_weights[i] == rank + other && out_weights[i] == rank + other);
    }
    CHECK(many[filled] == UNTOUCHED && more[filled] == UNTOUCHED);
    CHECK(in_weights[filled] == UNTOUCHED && out_weights[filled] == UNTOUCHED);
  }
  MPI_Dist_graph_neighbors(graph, ROOM, many, MPI_UNWEIGHTED, ROOM, more, MPI_UNWEIGHTED);
  MPI_Comm_free(&graph);
}

static void without_weights(void) {
  int in, out, weighted, next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  CHECK(in == 1 && out == 1 && !weighted);
  untouch();
  MPI_Dist_graph_neighbors(graph, 1, many, third, 1, more, third);
  CHECK(many[0] == before && more[0] == next && third[0] == UNTOUCHED);
  MPI_Comm_free(&graph);
}

/* ---- calls about a topology of another kind */

static void other_kinds(void) {
  MPI_Comm made[3], part;
  int kind;
  static const int kinds[] = {MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH};
  MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){RANKS}, zeros, 0, &made[0]);
  MPI_Graph_create(MPI_COMM_WORLD, RANKS, zeros, zeros, 0, &made[1]);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, zeros, MPI_UNWEIGHTED, 0, zeros, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &made[2]);
  for (int i = 0; i < 3; i++) {
    MPI_Comm comm = made[i];
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Topo_test(comm, &kind);
    CHECK(kind == kinds[i]);
    int grid = i == 0 ? MPI_SUCCESS : MPI_ERR_TOPOLOGY;
    int graph = i == 1 ? MPI_SUCCESS : MPI_ERR_TOPOLOGY;
    int distributed = i == 2 ? MPI_SUCCESS : MPI_ERR_TOPOLOGY;
    EXPECT(grid, MPI_Cartdim_get(comm, many));
    EXPECT(grid, MPI_Cart_get(comm, 1, many, more, third));
    EXPECT(grid, MPI_Cart_rank(comm, zeros, many));
    EXPECT(grid, MPI_Cart_coords(comm, 0, 1, many));
    EXPECT(grid, MPI_Cart_shift(comm, 0, 1, many, more));
    if (grid != MPI_SUCCESS) EXPECT(grid, MPI_Cart_sub(comm, zeros, &part));
    EXPECT(graph, MPI_Graphdims_get(comm, many, more));
    EXPECT(graph, MPI_Graph_get(comm, RANKS, 0, many, more));
    EXPECT(graph, MPI_Graph_neighbors_count(comm, 0, many));
    EXPECT(graph, MPI_Graph_neighbors(comm, 0, 0, many));
    EXPECT(distributed, MPI_Dist_graph_neighbors_count(comm, many, more, third));
    EXPECT(distributed, MPI_Dist_graph_neighbors(comm, 0, many, more, 0, many, more));
  }
  for (int i = 0; i < 3; i++) MPI_Comm_free(&made[i]);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  CHECK(size == RANKS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  grids();
  sizes_of_grids();
  sides();
  graphs();
  refused_neighbours();
  named_by_one();
  without_weights();
  other_kinds();
  MPI_Finalize();
  return 0;
}
