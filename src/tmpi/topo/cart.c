/* SPDX-License-Identifier: Apache-2.0 */
/* Grids. Ranks are numbered in the order of C arrays. Which process gets which rank may be chosen
 * so that those at home on the same VP are near. */
#include <stdlib.h>
#include <string.h>

#include "tmpi/comm/split.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/topology.h"

static int get(const char *call, MPI_Comm handle, struct tm_comm **comm) {
  int error = tm_get_comm(call, handle, comm);
  if (error != MPI_SUCCESS) return error;
  if ((*comm)->topology != NULL && (*comm)->topology->kind == MPI_CART) return MPI_SUCCESS;
  return tm_fail(*comm, call, MPI_ERR_TOPOLOGY, "the communicator has no grid (MPI_Cart_create())");
}

/* Where a rank lies. */
static void coordinates(struct tm_topology *t, int rank, int *coords) {
  for (int d = t->count - 1; d >= 0; d--) {
    coords[d] = rank % tm_topology_dims(t)[d];
    rank /= tm_topology_dims(t)[d];
  }
}

static int check_dims(struct tm_comm *comm, const char *call, int ndims, const int *dims,
                      int *nodes) {
  long product = 1;
  if (comm->inter) return tm_fail(comm, call, MPI_ERR_COMM, "it is an intercommunicator");
  if (ndims < 0) return tm_fail(comm, call, MPI_ERR_DIMS, "%d dimensions", ndims);
  for (int i = 0; i < ndims; i++) {
    if (dims[i] < 1)
      return tm_fail(comm, call, MPI_ERR_DIMS, "dimension %d has size %d", i, dims[i]);
    product *= dims[i];
    if (product > comm->size)
      return tm_fail(comm, call, MPI_ERR_DIMS, "the grid needs more than the %d ranks there are",
                     comm->size);
  }
  *nodes = (int)product;
  return MPI_SUCCESS;
}

/* Gives a new communicator its grid. */
static int set_grid(struct tm_comm *parent, const char *call, MPI_Comm *result, int ndims,
                    const int *dims, const int *periods) {
  if (*result == MPI_COMM_NULL) return MPI_SUCCESS;
  struct tm_topology *t = tm_topology_new(MPI_CART, ndims, 0);
  for (int i = 0; t != NULL && i < ndims; i++) {
    tm_topology_dims(t)[i] = dims[i];
    tm_topology_periods(t)[i] = periods[i] != 0;
  }
  if (t != NULL) coordinates(t, tm_comm_of(*result)->rank, tm_topology_coords(t));
  return tm_comm_set_topology(parent, call, result, t);
}

/* @return the parts that a grid is cut into. Nodes may differ in VPs, and have neighbours in order.
 */
static int parts_wanted(void) { return tm_job.local == tm_job.first_size ? tm_job.vp_count : 1; }

/* Reorders: a VP gets a slab of the grid, cut across the longest dimension, where the borders are
 * shortest. @return the rank that the process of rank `place`, below nodes, gets. */
static int reordered(int ndims, const int *dims, int nodes, int place) {
  int longest = 0, inner = 1, parts = parts_wanted();
  for (int d = 1; d < ndims; d++)
    if (dims[d] > dims[longest]) longest = d;
  for (int d = longest + 1; d < ndims; d++) inner *= dims[d];
  if (ndims == 0 || parts < 2 || parts > dims[longest]) return place;
  long size = dims[longest], slice = nodes / size; /* places with one coordinate there */
  if (slice == 0) return place;                    /* another dimension is 0: a grid of no ranks */
  /* The slab of part p begins at p * size / parts, rounded up. */
  long part = place / slice * parts / size;
  long first = (part * size + parts - 1) / parts, end = ((part + 1) * size + parts - 1) / parts;
  long left = place - first * slice, row = (end - first) * inner;
  return (int)(left / row * size * inner + first * inner + left % row);
}

#pragma weak MPI_Cart_create = PMPI_Cart_create
int PMPI_Cart_create(MPI_Comm handle, int ndims, const int dims[], const int periods[], int reorder,
                     MPI_Comm *result) {
  static const char call[] = "MPI_Cart_create";
  struct tm_comm *comm;
  int nodes = 0;
  int error = tm_get_comm(call, handle, &comm);
  if (error == MPI_SUCCESS && result == NULL) error = tm_no_place(call, "comm_cart");
  if (error != MPI_SUCCESS) return error;
  *result = MPI_COMM_NULL; /* also when the call fails: programs compare it */
  error = check_dims(comm, call, ndims, dims, &nodes);
  if (error != MPI_SUCCESS) return error;
  int color = comm->rank < nodes ? 0 : MPI_UNDEFINED;
  int key = reorder && comm->rank < nodes ? reordered(ndims, dims, nodes, comm->rank) : comm->rank;
  error = tm_comm_split(comm, call, color, key, result);
  return error == MPI_SUCCESS ? set_grid(comm, call, result, ndims, dims, periods) : error;
}

#pragma weak MPI_Cart_map = PMPI_Cart_map
int PMPI_Cart_map(MPI_Comm handle, int ndims, const int dims[], const int periods[], int *rank) {
  struct tm_comm *comm;
  int nodes = 0;
  (void)periods;
  int error = tm_get_comm("MPI_Cart_map", handle, &comm);
  if (error == MPI_SUCCESS) error = check_dims(comm, "MPI_Cart_map", ndims, dims, &nodes);
  if (error == MPI_SUCCESS)
    *rank = comm->rank < nodes ? reordered(ndims, dims, nodes, comm->rank) : MPI_UNDEFINED;
  return error;
}

#pragma weak MPI_Cartdim_get = PMPI_Cartdim_get
int PMPI_Cartdim_get(MPI_Comm handle, int *ndims) {
  struct tm_comm *comm;
  int error = get("MPI_Cartdim_get", handle, &comm);
  if (error == MPI_SUCCESS) *ndims = comm->topology->count;
  return error;
}

#pragma weak MPI_Cart_get = PMPI_Cart_get
int PMPI_Cart_get(MPI_Comm handle, int maxdims, int dims[], int periods[], int coords[]) {
  struct tm_comm *comm;
  int error = get("MPI_Cart_get", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  struct tm_topology *t = comm->topology;
  if (maxdims < t->count)
    return tm_fail(comm, "MPI_Cart_get", MPI_ERR_ARG, "room for %d of %d dimensions", maxdims,
                   t->count);
  size_t bytes = (size_t)t->count * sizeof(int);
  if (bytes == 0) return MPI_SUCCESS;
  memcpy(dims, tm_topology_dims(t), bytes);
  memcpy(periods, tm_topology_periods(t), bytes);
  memcpy(coords, tm_topology_coords(t), bytes);
  return MPI_SUCCESS;
}

#pragma weak MPI_Cart_rank = PMPI_Cart_rank
int PMPI_Cart_rank(MPI_Comm handle, const int coords[], int *rank) {
  struct tm_comm *comm;
  int error = get("MPI_Cart_rank", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  int found = tm_topology_rank_at(comm->topology, coords, 0, 0);
  if (found == MPI_PROC_NULL)
    return tm_fail(comm, "MPI_Cart_rank", MPI_ERR_ARG, "the coordinates lie outside of the grid");
  *rank = found;
  return MPI_SUCCESS;
}

#pragma weak MPI_Cart_coords = PMPI_Cart_coords
int PMPI_Cart_coords(MPI_Comm handle, int rank, int maxdims, int coords[]) {
  struct tm_comm *comm;
  int error = get("MPI_Cart_coords", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (rank < 0 || rank >= comm->size)
    return tm_fail(comm, "MPI_Cart_coords", MPI_ERR_RANK, "rank %d is not one of the %d", rank,
                   comm->size);
  if (maxdims < comm->topology->count)
    return tm_fail(comm, "MPI_Cart_coords", MPI_ERR_ARG, "room for %d of %d dimensions", maxdims,
                   comm->topology->count);
  coordinates(comm->topology, rank, coords);
  return MPI_SUCCESS;
}

#pragma weak MPI_Cart_shift = PMPI_Cart_shift
int PMPI_Cart_shift(MPI_Comm handle, int direction, int displ, int *source, int *dest) {
  struct tm_comm *comm;
  int error = get("MPI_Cart_shift", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (direction < 0 || direction >= comm->topology->count)
    return tm_fail(comm, "MPI_Cart_shift", MPI_ERR_ARG, "direction %d is not one of the %d",
                   direction, comm->topology->count);
  *source = tm_topology_at(comm->topology, direction, -displ);
  *dest = tm_topology_at(comm->topology, direction, displ);
  return MPI_SUCCESS;
}

/* Ranks that agree in the dimensions left out make a grid of the others. They stay in their order,
 * which is that of both grids. */
#pragma weak MPI_Cart_sub = PMPI_Cart_sub
int PMPI_Cart_sub(MPI_Comm handle, const int remain[], MPI_Comm *result) {
  static const char call[] = "MPI_Cart_sub";
  struct tm_comm *comm;
  int error = get(call, handle, &comm);
  if (error != MPI_SUCCESS) return error;
  *result = MPI_COMM_NULL;
  struct tm_topology *t = comm->topology;
  int *dims = malloc(2 * ((size_t)t->count + 1) * sizeof *dims), *periods = dims + t->count + 1;
  if (dims == NULL) return tm_fail_code(comm, call, MPI_ERR_NO_MEM);
  int count = 0, color = 0;
  for (int d = 0; d < t->count; d++) {
    int size = tm_topology_dims(t)[d];
    if (remain[d]) {
      dims[count] = size;
      periods[count++] = tm_topology_periods(t)[d];
    } else {
      color = color * size + tm_topology_coords(t)[d];
    }
  }
  error = tm_comm_split(comm, call, color, comm->rank, result);
  if (error == MPI_SUCCESS) error = set_grid(comm, call, result, count, dims, periods);
  free(dims);
  return error;
}
