/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conjugate gradients for Poisson's equation on a square of SIZE by SIZE points: cg SIZE. Ranks
 * have rows; an iteration is an exchange with two neighbours and two sums over all ranks. Checked:
 * the solution is the one the right-hand side was made from.
 */
#include <math.h>
#include <string.h>

#include "line.h"

enum { LANES = 16 }; /* parts of a sum that do not wait for each other */

static int n, rank, ranks, first, rows;
static int width;                     /* of a row, with a zero before it and one behind */
static int above, below;              /* neighbours */
static double *x, *r, *p, *q, *exact; /* rows + 2, with a row of each neighbour's */

static double *row(double *vector, int i) { return vector + (size_t)(i + 1) * (size_t)width + 1; }

/* The edge rows of both neighbours. */
static void exchange(double *v) {
  MPI_Sendrecv(row(v, 0), n, MPI_DOUBLE, above, 1, row(v, rows), n, MPI_DOUBLE, below, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(row(v, rows - 1), n, MPI_DOUBLE, below, 2, row(v, -1), n, MPI_DOUBLE, above, 2,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void apply(double *restrict to, double *restrict v) {
  exchange(v);
  for (int i = 0; i < rows; i++) {
    const double *here = row(v, i), *up = row(v, i - 1), *down = row(v, i + 1);
    double *restrict out = row(to, i);
    for (int j = 0; j < n; j++) out[j] = 4 * here[j] - up[j] - down[j] - here[j - 1] - here[j + 1];
  }
}

static double dot(double *a, double *b) {
  double lanes[LANES] = {0}, own = 0, sum;
  const double *u = row(a, 0), *v = row(b, 0);
  int count = rows * width, whole = count - count % LANES;
  for (int i = 0; i < whole; i += LANES)
    for (int lane = 0; lane < LANES; lane++) lanes[lane] += u[i + lane] * v[i + lane];
  for (int i = whole; i < count; i++) own += u[i] * v[i];
  for (int lane = 0; lane < LANES; lane++) own += lanes[lane];
  MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/* a = a * scale + b * factor */
static void combine(double *a, double scale, double *b, double factor) {
  double *restrict u = row(a, 0);
  const double *restrict v = row(b, 0);
  for (int i = 0; i < rows * width; i++) u[i] = u[i] * scale + v[i] * factor;
}

static void solve(void) {
  double rho = dot(r, r), goal = rho * 1e-20;
  memcpy(row(p, 0), row(r, 0), (size_t)(rows * width) * sizeof *p);
  for (int steps = 0; rho > goal && steps < 10 * n; steps++) {
    apply(q, p);
    double alpha = rho / dot(p, q);
    combine(x, 1, p, alpha);
    combine(r, 1, q, -alpha);
    double next = dot(r, r);
    combine(p, next / rho, r, 1);
    rho = next;
  }
}

static int is_right(void) {
  for (int i = 0; i < rows * width; i++)
    if (fabs(row(x, 0)[i] - row(exact, 0)[i]) > 1e-6) return 0;
  return 1;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  n = size_argument(argc, argv, 1 << 13);
  if (ranks > n) {
    fprintf(stderr, "cg: more ranks than the %d rows\n", n);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  first = n * rank / ranks;
  rows = n * (rank + 1) / ranks - first;
  above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
  width = n + 2;
  size_t count = (size_t)(rows + 2) * (size_t)width;
  double **vectors[] = {&x, &r, &p, &q, &exact};
  for (int i = 0; i < 5; i++) *vectors[i] = numbers(count);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < n; j++) row(exact, i)[j] = ((first + i) * 31 + j * 17) % 97 / 97.0;
  apply(r, exact);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  solve();
  double taken = MPI_Wtime() - start;
  int status = print_line("cg", n, taken, is_right());
  for (int i = 0; i < 5; i++) free(*vectors[i]);
  MPI_Finalize();
  return status;
}
