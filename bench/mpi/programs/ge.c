/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GE of TMPI-2: Gaussian elimination with partial pivoting. ge SIZE. Panels of columns go round the
 * ranks; the owner of a panel eliminates within it and broadcasts its pivots and factors, and all
 * update their columns to the right. The right-hand side is a column more. It is that of a solution
 * of ones; the upper triangle is gathered and solved to see whether it is.
 */
#include <math.h>
#include <string.h>

#include "line.h"

/* Columns of a panel; rows and factors that an update takes together. */
enum { PANEL = 16, CHUNK = 128, FACTORS = 4 };

static int n, rank, ranks;
static double **columns; /* all; NULL: another rank's */
static double *panel;    /* PANEL rows of pivots, then columns of factors, from its first row on */

static double element(int i, int j) {
  unsigned mixed = (unsigned)(i * 7919 + j * 104729 + i * j);
  mixed = (mixed ^ mixed >> 13) * 0x5bd1e995u;
  return (double)(mixed >> 8) / (1 << 24) - 0.5;
}

static int owner(int j) { return j / PANEL % ranks; }

static void fill(void) {
  columns = calloc((size_t)n + 1, sizeof *columns);
  for (int j = 0; j <= n; j++) {
    if (owner(j) != rank) continue;
    columns[j] = numbers((size_t)n);
    for (int i = 0; i < n; i++) {
      if (j < n) columns[j][i] = element(i, j);
      for (int k = 0; j == n && k < n; k++) columns[j][i] += element(i, k);
    }
  }
}

static void swap(double *values, int i, int k) {
  double value = values[i];
  values[i] = values[k];
  values[k] = value;
}

/* Column c of the panel that begins at k. */
static double *factors_of(int c, int k) { return panel + PANEL + (size_t)c * (size_t)(n - k); }

/* Eliminates in the columns k to end - 1, which this rank has. */
static void eliminate_panel(int k, int end) {
  for (int c = k; c < end; c++) {
    double *values = columns[c];
    int pivot = c;
    for (int i = c + 1; i < n; i++)
      if (fabs(values[i]) > fabs(values[pivot])) pivot = i;
    panel[c - k] = pivot;
    for (int j = k; j < end; j++) swap(columns[j], c, pivot);
    for (int i = c + 1; i < n; i++) values[i] /= values[c];
    for (int j = c + 1; j < end; j++)
      for (int i = c + 1; i < n; i++) columns[j][i] -= values[i] * columns[j][c];
  }
  for (int c = k; c < end; c++)
    memcpy(factors_of(c - k, k), columns[c] + k, (size_t)(n - k) * sizeof *panel);
}

/* The panel's own rows of a column: each pivot in turn. */
static void update_top(double *values, int k, int end) {
  for (int c = k; c < end; c++) swap(values, c, (int)panel[c - k]);
  for (int c = k; c < end; c++)
    for (int i = c + 1; i < end; i++) values[i] -= factors_of(c - k, k)[i - k] * values[c];
}

/* Rows below, of two columns; all are counted from the panel's first. */
static void update_rows(double *restrict v, double *restrict w, int k, int from, int to) {
  for (int c = 0; c < PANEL; c += FACTORS) {
    const double *f = factors_of(c, k), *g = factors_of(c + 1, k), *h = factors_of(c + 2, k),
                 *l = factors_of(c + 3, k);
    double v0 = v[c], v1 = v[c + 1], v2 = v[c + 2], v3 = v[c + 3];
    double w0 = w[c], w1 = w[c + 1], w2 = w[c + 2], w3 = w[c + 3];
    for (int i = from; i < to; i++) {
      v[i] = v[i] - f[i] * v0 - g[i] * v1 - h[i] * v2 - l[i] * v3;
      w[i] = w[i] - f[i] * w0 - g[i] * w1 - h[i] * w2 - l[i] * w3;
    }
  }
}

static void update_pair(double *v, double *w, int k) {
  for (int i = PANEL; i < n - k; i += CHUNK)
    update_rows(v + k, w + k, k, i, i + CHUNK < n - k ? i + CHUNK : n - k);
}

/* An odd column is one of a pair with one that nobody needs. */
static void update(int k, int end, double *spare) {
  double *other = NULL;
  for (int j = end; j <= n; j++) {
    if (columns[j] == NULL) continue;
    update_top(columns[j], k, end);
    if (other != NULL) update_pair(other, columns[j], k);
    other = other == NULL ? columns[j] : NULL;
  }
  if (other != NULL) update_pair(other, spare, k);
}

static void eliminate(void) {
  double *spare = numbers((size_t)n);
  for (int k = 0; k < n; k += PANEL) {
    int end = k + PANEL < n ? k + PANEL : n;
    if (owner(k) == rank) eliminate_panel(k, end);
    MPI_Bcast(panel, PANEL + (end - k) * (n - k), MPI_DOUBLE, owner(k), MPI_COMM_WORLD);
    update(k, end, spare);
  }
  free(spare);
}

/* Rank 0 takes the columns, the last first. */
static int is_right(void) {
  double *values = numbers((size_t)n), *rest = numbers((size_t)n);
  int right = 1;
  for (int j = n; j >= 0; j--) {
    if (owner(j) == rank && rank != 0) MPI_Send(columns[j], n, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    if (rank != 0) continue;
    if (owner(j) == 0)
      memcpy(values, columns[j], (size_t)n * sizeof *values);
    else
      MPI_Recv(values, n, MPI_DOUBLE, owner(j), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (j == n) {
      memcpy(rest, values, (size_t)n * sizeof *rest);
      continue;
    }
    double x = rest[j] / values[j];
    right &= fabs(x - 1) < 1e-6;
    for (int i = 0; i < j; i++) rest[i] -= values[i] * x;
  }
  free(values);
  free(rest);
  return right;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  n = size_argument(argc, argv, 1 << 14);
  panel = numbers(PANEL + PANEL * (size_t)n);
  fill();
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  eliminate();
  double taken = MPI_Wtime() - start;
  int status = print_line("ge", n, taken, is_right());
  for (int j = 0; j <= n; j++) free(columns[j]);
  free(columns);
  free(panel);
  MPI_Finalize();
  return status;
}
