/* SPDX-License-Identifier: Apache-2.0 */
/* Heat in a plate, on a grid of ranks. A rank owns a block of the plate and a frame of one cell
 * around it, the halo, which holds copies of the neighbours' cells. Columns are not contiguous in
 * memory, so a derived type describes them. Rank 0 prints the plate as a picture.
 * usage: halo [STEPS] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, COLUMNS = 16, WIDTH = COLUMNS + 2 }; /* of a block */

typedef double block[ROWS + 2][WIDTH];

/* The ranks around this one; MPI_PROC_NULL at the edge of the plate. */
struct neighbours {
  int north, south, west, east;
};

static void exchange(block cells, const struct neighbours *at, MPI_Datatype column, MPI_Comm grid) {
  MPI_Request requests[8];
  MPI_Irecv(&cells[0][1], COLUMNS, MPI_DOUBLE, at->north, 0, grid, &requests[0]);
  MPI_Irecv(&cells[ROWS + 1][1], COLUMNS, MPI_DOUBLE, at->south, 0, grid, &requests[1]);
  MPI_Irecv(&cells[1][0], 1, column, at->west, 0, grid, &requests[2]);
  MPI_Irecv(&cells[1][COLUMNS + 1], 1, column, at->east, 0, grid, &requests[3]);
  MPI_Isend(&cells[1][1], COLUMNS, MPI_DOUBLE, at->north, 0, grid, &requests[4]);
  MPI_Isend(&cells[ROWS][1], COLUMNS, MPI_DOUBLE, at->south, 0, grid, &requests[5]);
  MPI_Isend(&cells[1][1], 1, column, at->west, 0, grid, &requests[6]);
  MPI_Isend(&cells[1][COLUMNS], 1, column, at->east, 0, grid, &requests[7]);
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

static void step(block from, block to) {
  for (int row = 1; row <= ROWS; row++)
    for (int i = 1; i <= COLUMNS; i++)
      to[row][i] = from[row][i] + 0.2 * (from[row - 1][i] + from[row + 1][i] + from[row][i - 1] +
                                         from[row][i + 1] - 4 * from[row][i]);
}

/* Rank 0 prints the ranks' blocks row by row: a letter for each cell, by its heat. */
static void print(block cells, const int sides[2], int rank, MPI_Comm grid) {
  static const char shades[] = " .:-=+*#%@";
  char own[ROWS * COLUMNS], *all = NULL;
  int ranks = sides[0] * sides[1];
  for (int row = 0; row < ROWS; row++)
    for (int i = 0; i < COLUMNS; i++) {
      int shade = (int)(cells[row + 1][i + 1] / 100 * 10);
      own[row * COLUMNS + i] = shades[shade > 9 ? 9 : shade];
    }
  if (rank == 0) all = malloc((size_t)ranks * sizeof own);
  MPI_Gather(own, sizeof own, MPI_CHAR, all, sizeof own, MPI_CHAR, 0, grid);
  if (rank != 0) return;
  for (int row = 0; row < sides[0] * ROWS; row++) {
    for (int west = 0; west < sides[1]; west++) {
      int owner = row / ROWS * sides[1] + west;
      fwrite(all + (size_t)owner * sizeof own + (size_t)(row % ROWS * COLUMNS), 1, COLUMNS, stdout);
    }
    putchar('\n');
  }
  free(all);
}

int main(int argc, char **argv) {
  static block plate[2]; /* zero: cold */
  int size, rank, sides[2] = {0, 0}, periods[2] = {0, 0};
  int steps = argc > 1 ? atoi(argv[1]) : 500;
  struct neighbours at;
  MPI_Comm grid;
  MPI_Datatype column;

  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, sides);
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_shift(grid, 0, 1, &at.north, &at.south);
  MPI_Cart_shift(grid, 1, 1, &at.west, &at.east);
  MPI_Type_vector(ROWS, 1, WIDTH, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);

  for (int half = 0; half < 2; half++) /* the plate's upper edge is hot */
    for (int i = 0; at.north == MPI_PROC_NULL && i < WIDTH; i++) plate[half][0][i] = 100;
  for (int i = 0; i < steps; i++) {
    exchange(plate[i % 2], &at, column, grid);
    step(plate[i % 2], plate[(i + 1) % 2]);
  }
  print(plate[steps % 2], sides, rank, grid);

  double own = 0, all = 0;
  for (int row = 1; row <= ROWS; row++)
    for (int i = 1; i <= COLUMNS; i++) own += plate[steps % 2][row][i];
  MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, grid);
  if (rank == 0)
    printf("halo: %d x %d ranks, %d steps: mean heat %.3f\n", sides[0], sides[1], steps,
           all / (size * ROWS * COLUMNS));
  MPI_Type_free(&column);
  MPI_Comm_free(&grid);
  MPI_Finalize();
}
