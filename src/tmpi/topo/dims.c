/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Dims_create(): a grid of nodes whose sides are as equal as they can be, larger ones first. */
#include "tmpi/error/errors.h"

enum { DIMS_MAX = 64, DIVISORS_MAX = 2048 }; /* no int has more than 1536 divisors */

struct search {
  int divisors[DIVISORS_MAX]; /* of the number of nodes, smaller ones first */
  int divisor_count;
  int count;
  int now[DIMS_MAX], best[DIMS_MAX];
  bool found;
};

/* s: has none yet. */
static void find_divisors(struct search *s, int nodes) {
  int large[DIVISORS_MAX], larger = 0;
  for (int i = 1; (long)i * i <= nodes; i++) {
    if (nodes % i != 0) continue;
    s->divisors[s->divisor_count++] = i;
    if (nodes / i != i) large[larger++] = nodes / i;
  }
  while (larger > 0) s->divisors[s->divisor_count++] = large[--larger];
}

static int spread(const int *sides, int count) { return sides[0] - sides[count - 1]; }

/* Less spread between the largest and the smallest side is better; then larger small sides. */
static bool is_better(const struct search *s) {
  if (!s->found) return true;
  int now = spread(s->now, s->count), best = spread(s->best, s->count);
  if (now != best) return now < best;
  for (int i = s->count - 1; i >= 0; i--)
    if (s->now[i] != s->best[i]) return s->now[i] > s->best[i];
  return false;
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
  for (int i = s->divisor_count - 1; i >= 0; i--) {
    int side = s->divisors[i];
    if (side > left || side > most) continue;
    if (s->found && at > 0 && s->now[0] - side > spread(s->best, s->count)) return;
    long rest = 1; /* the sides that follow, all as large as this one, have to reach left */
    for (int d = at; d < s->count && rest < left; d++) rest *= side;
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
    return tm_fail(NULL, "MPI_Dims_create", MPI_ERR_DIMS, "%d nodes in %d dimensions", nodes,
                   ndims);
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
  int free_nodes = (int)(nodes / fixed);
  find_divisors(&search, free_nodes);
  try_sides(&search, 0, free_nodes, free_nodes);
  for (int i = 0, next = 0; i < ndims; i++)
    if (dims[i] == 0) dims[i] = search.best[next++];
  return MPI_SUCCESS;
}
