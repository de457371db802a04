/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MM of TMPI-2: the product of two matrices by Cannon's algorithm. cannon SIZE, by a square number
 * of ranks whose root divides SIZE into blocks of some TILE rows. While a rank multiplies two
 * blocks, they move to its neighbours.
 *
 * The factors have rank 1, and whole numbers small enough that the product is exact:
 * a[i][k] = (i % 7 + 1) u(k), b[k][j] = v(k) (j % 5 + 1).
 */
#include <math.h>
#include <string.h>

#include "line.h"

/* Of the product, rows and columns that are summed in registers; factors that stay in the cache. */
enum { ROWS = 4, TILE = 8, DEPTH = 96 };

struct factor {
  double *block, *next; /* the next one is received there */
  int dimension;        /* it moves along: 1 to the left, 0 up */
  MPI_Request moves[2];
};

static int n, block, side; /* of the matrices, of a block of them; blocks in a row */
static int row, column;    /* the block this rank has of the product */
static MPI_Comm grid;
static struct factor a = {.dimension = 1}, b = {.dimension = 0};
static double *c;

static double u(int k) { return k % 11 - 5; }

static double v(int k) { return k % 13 + k % 3; }

static void fill(void) {
  for (int i = 0; i < block; i++)
    for (int j = 0; j < block; j++) {
      int y = row * block + i, x = column * block + j;
      a.block[i * block + j] = (y % 7 + 1) * u(x);
      b.block[i * block + j] = v(y) * (x % 5 + 1);
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

/* ROWS times TILE elements of the product: of `depth` columns of the left factor, and rows of the
 * right one. */
static void multiply_tile(double *restrict to, const double *restrict left,
                          const double *restrict right, int depth) {
  double sums[ROWS][TILE] = {0};
  for (int k = 0; k < depth; k++)
    for (int j = 0; j < TILE; j++)
#pragma GCC unroll 4
      for (int i = 0; i < ROWS; i++) sums[i][j] += left[i * block + k] * right[k * block + j];
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < TILE; j++) to[i * block + j] += sums[i][j];
}

static void multiply(void) {
  for (int k = 0; k < block; k += DEPTH) {
    int depth = k + DEPTH < block ? DEPTH : block - k;
    for (int j = 0; j < block; j += TILE)
      for (int i = 0; i < block; i += ROWS)
        multiply_tile(&c[i * block + j], &a.block[i * block + k], &b.block[k * block + j], depth);
  }
}

/* Sends the block to the rank `places` further on, and receives the block of the rank before. */
static void start_shift(struct factor *f, int places) {
  int source, dest, count = block * block;
  MPI_Cart_shift(grid, f->dimension, -places, &source, &dest);
  MPI_Irecv(f->next, count, MPI_DOUBLE, source, f->dimension, grid, &f->moves[0]);
  MPI_Isend(f->block, count, MPI_DOUBLE, dest, f->dimension, grid, &f->moves[1]);
}

static void finish_shift(struct factor *f) {
  MPI_Waitall(2, f->moves, MPI_STATUSES_IGNORE);
  double *gone = f->block;
  f->block = f->next;
  f->next = gone;
}

static void product(void) {
  start_shift(&a, row);
  start_shift(&b, column);
  for (int step = 0; step < side; step++) {
    finish_shift(&a);
    finish_shift(&b);
    if (step + 1 < side) {
      start_shift(&a, 1);
      start_shift(&b, 1);
    }
    multiply();
  }
}

int main(int argc, char **argv) {
  int ranks, rank, place[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  n = size_argument(argc, argv, 1 << 14);
  side = (int)lround(sqrt(ranks));
  if (side * side != ranks || n % (side * TILE) != 0) {
    fprintf(stderr, "cannon: %d ranks: not a square number whose root divides %d / %d\n", ranks, n,
            TILE);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  block = n / side;
  MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){side, side}, (int[]){1, 1}, 1, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, place);
  row = place[0];
  column = place[1];
  size_t count = (size_t)block * (size_t)block;
  double **blocks[] = {&a.block, &a.next, &b.block, &b.next, &c};
  for (int i = 0; i < 5; i++) *blocks[i] = numbers(count);
  fill();
  MPI_Barrier(grid);
  double start = MPI_Wtime();
  product();
  double taken = MPI_Wtime() - start;
  int status = print_line("cannon", n, taken, is_right());
  for (int i = 0; i < 5; i++) free(*blocks[i]);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return status;
}
