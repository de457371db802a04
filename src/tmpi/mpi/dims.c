/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Dims_create(): a grid of nodes whose sides are as equal as they can be, larger ones first. */
#include "tmpi/mpi/errors.h"

enum { DIMS_MAX = 64 };

struct search {
  int count;
  int now[DIMS_MAX], best[DIMS_MAX];
  bool found;
};

/* Less spread between the largest and the smallest side is better. */
static bool is_better(const struct search *s) {
  int last = s->count - 1;
  return !s->found || s->now[0] - s->now[last] < s->best[0] - s->best[last];
}

/* Tries every divisor as the side at `at`, none larger than the one before it. */
static void try_sides(struct search *s, int at, int left, int most) {
  if (at == s->count - 1) {
    s->now[at] = left;
    if (left > most || !is_better(s)) return;
    for (int i = 0; i < s->count; i++) s->best[i] = s->now[i];
    s->found = true;
    return;
  }
  for (int side = left < most ? left : most; side >= 1; side--) {
    long rest = 1; /* the sides that follow, all as large as this one, have to reach left */
    for (int i = at; i < s->count && rest < left; i++) rest *= side;
    if (rest < left) return;
    if (left % side != 0) continue;
    s->now[at] = side;
    try_sides(s, at + 1, left / side, side);
  }
}

#pragma weak MPI_Dims_create = PMPI_Dims_create
int PMPI_Dims_create(int nodes, int ndims, int dims[]) {
  struct search search = {.count = 0};
  long fixed = 1;
  if (nodes < 1 || ndims < 0 || ndims > DIMS_MAX)
    return tm_fail(NULL, "MPI_Dims_create", MPI_ERR_DIMS, "%d nodes in %d dimensions", nodes, ndims);
  for (int i = 0; i < ndims; i++) {
    if (dims[i] < 0)
      return tm_fail(NULL, "MPI_Dims_create", MPI_ERR_DIMS, "dimension %d has size %d", i, dims[i]);
    if (dims[i] > 0)
      fixed *= dims[i];
    else
      search.count++;
  }
  if (fixed > nodes || nodes % fixed != 0 || (search.count == 0 && ndims > 0 && fixed != nodes))
    return tm_fail(NULL, "MPI_Dims_create", MPI_ERR_DIMS,
                   "%d nodes cannot make a grid with the sizes given", nodes);
  if (search.count == 0) return MPI_SUCCESS;
  try_sides(&search, 0, (int)(nodes / fixed), (int)(nodes / fixed));
  for (int i = 0, next = 0; i < ndims; i++)
    if (dims[i] == 0) dims[i] = search.best[next++];
  return MPI_SUCCESS;
}
