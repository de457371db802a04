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

enum { PANEL = 16, GROUP = 4, CHUNK = 128 }; /* columns; columns and rows updated together */

static int n, rank, ranks;
static double **columns; /* all; NULL: another rank's */
static double *panel;    /* PANEL rows of pivots, then PANEL columns of factors, each of n */

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

static double *factors_of(int c) { return panel + PANEL + (size_t)c * (size_t)n; }

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
  for (int c = k; c < end; c++) memcpy(factors_of(c - k), columns[c], (size_t)n * sizeof *panel);
}

/* The panel's own rows of a column: each pivot in turn. */
static void update_top(double *values, int k, int end) {
  for (int c = k; c < end; c++) swap(values, c, (int)panel[c - k]);
  for (int c = k; c < end; c++)
    for (int i = c + 1; i < end; i++) values[i] -= factors_of(c - k)[i] * values[c];
}

/* Rows below, of some columns together. */
static void update_rows(double *const *of, int k, int end, int from, int to) {
  double *restrict v0 = of[0], *restrict v1 = of[1], *restrict v2 = of[2], *restrict v3 = of[3];
  for (int c = k; c < end; c++) {
    const double *restrict f = factors_of(c - k);
    double p0 = v0[c], p1 = v1[c], p2 = v2[c], p3 = v3[c];
    for (int i = from; i < to; i++) {
      v0[i] -= f[i] * p0;
      v1[i] -= f[i] * p1;
      v2[i] -= f[i] * p2;
      v3[i] -= f[i] * p3;
    }
  }
}

static void update_group(double *const *of, int k, int end) {
  for (int i = end; i < n; i += CHUNK) update_rows(of, k, end, i, i + CHUNK < n ? i + CHUNK : n);
}

/* A group that is not full works on columns nobody needs. */
static void update(int k, int end, double *spare) {
  double *group[GROUP];
  int count = 0;
  for (int j = end; j <= n; j++) {
    if (columns[j] == NULL) continue;
    update_top(columns[j], k, end);
    group[count++] = columns[j];
    if (count == GROUP) update_group(group, k, end), count = 0;
  }
  if (count == 0) return;
  for (int i = count; i < GROUP; i++) group[i] = spare + (size_t)(i - 1) * (size_t)n;
  update_group(group, k, end);
}

static void eliminate(void) {
  double *spare = numbers((size_t)n * (GROUP - 1));
  for (int k = 0; k < n; k += PANEL) {
    int end = k + PANEL < n ? k + PANEL : n;
    if (owner(k) == rank) eliminate_panel(k, end);
    MPI_Bcast(panel, PANEL + (end - k) * n, MPI_DOUBLE, owner(k), MPI_COMM_WORLD);
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
