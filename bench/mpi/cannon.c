/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MM of TMPI-2: the product of two matrices by Cannon's algorithm. cannon SIZE, by a square number
 * of ranks whose root divides SIZE, into blocks of four rows and more.
 *
 * The factors have rank 1, and whole numbers small enough that the product is exact:
 * a[i][k] = (i % 7 + 1) u(k), b[k][j] = v(k) (j % 5 + 1).
 */
#include <math.h>
#include <string.h>

#include "line.h"

enum { ROWS = 4, TILE = 64 };

static int n, block, side; /* of the matrices, of a block of them; blocks in a row */
static int row, column;    /* the block this rank has of the product */
static MPI_Comm grid;
static double *a, *b, *c;

static double u(int k) { return k % 11 - 5; }

static double v(int k) { return k % 13 + k % 3; }

static void fill(void) {
  for (int i = 0; i < block; i++)
    for (int j = 0; j < block; j++) {
      int y = row * block + i, x = column * block + j;
      a[i * block + j] = (y % 7 + 1) * u(x);
      b[i * block + j] = v(y) * (x % 5 + 1);
    }
}

static int is_right(void) {
  double sum = 0;
  for (int k = 0; k < n; k++) sum += u(k) * v(k);
  for (int i = 0; i < block; i++)
    for (int j = 0; j < block; j++) {
      int y = row * block + i, x = column * block + j;
      if (c[i * block + j] != (y % 7 + 1) * sum * (x % 5 + 1)) return 0;
    }
  return 1;
}

/* Rows of the product, ROWS of them, from TILE rows of the second factor, which stay in the cache.
 */
static void multiply_rows(int i, int k0, int k1) {
  double *restrict c0 = &c[i * block], *restrict c1 = c0 + block, *restrict c2 = c1 + block,
                   *restrict c3 = c2 + block;
  const double *factors = &a[i * block];
  for (int k = k0; k < k1; k++) {
    double f0 = factors[k], f1 = factors[block + k], f2 = factors[2 * block + k],
           f3 = factors[3 * block + k];
    const double *restrict from = &b[k * block];
    for (int j = 0; j < block; j++) {
      c0[j] += f0 * from[j];
      c1[j] += f1 * from[j];
      c2[j] += f2 * from[j];
      c3[j] += f3 * from[j];
    }
  }
}

static void multiply(void) {
  for (int k = 0; k < block; k += TILE)
    for (int i = 0; i < block; i += ROWS) multiply_rows(i, k, k + TILE < block ? k + TILE : block);
}

/* The block goes so many places to the left (dimension 1) or up (0). */
static void shift(double *matrix, int dimension, int places) {
  int source, dest;
  MPI_Cart_shift(grid, dimension, -places, &source, &dest);
  MPI_Sendrecv_replace(matrix, block * block, MPI_DOUBLE, dest, 1, source, 1, grid,
                       MPI_STATUS_IGNORE);
}

static void product(void) {
  shift(a, 1, row);
  shift(b, 0, column);
  for (int step = 0; step < side; step++) {
    multiply();
    if (step + 1 == side) break;
    shift(a, 1, 1);
    shift(b, 0, 1);
  }
}

int main(int argc, char **argv) {
  int ranks, rank, place[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  n = size_argument(argc, argv, 1 << 14);
  side = (int)lround(sqrt(ranks));
  if (side * side != ranks || n % (side * ROWS) != 0) {
    fprintf(stderr, "cannon: %d ranks: not a square number whose root divides %d / %d\n", ranks, n,
            ROWS);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  block = n / side;
  MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){side, side}, (int[]){1, 1}, 1, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, place);
  row = place[0];
  column = place[1];
  size_t count = (size_t)block * (size_t)block;
  a = numbers(count);
  b = numbers(count);
  c = numbers(count);
  fill();
  MPI_Barrier(grid);
  double start = MPI_Wtime();
  product();
  double taken = MPI_Wtime() - start;
  int status = print_line("cannon", n, taken, is_right());
  free(a);
  free(b);
  free(c);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return status;
}
