/* SPDX-License-Identifier: Apache-2.0 */
/** @file lu.h The matrix of lu.c, and the plan by which it is factored. */
#ifndef BENCH_MPI_LU_H
#define BENCH_MPI_LU_H

/** A sparse square matrix, row by row. */
struct lu_matrix {
  int n;
  int *start;  /* [n + 1]: where each row begins */
  int *column; /* of each element */
  double *value;
};

/** What is known before a number is: an order of the columns, cut into blocks, and where elements
 * may come to stand whatever rows the pivoting takes (George and Ng, 1987).
 *
 * Rows and columns have new numbers; row c is where the pivot of column c comes to stand. Block k
 * has the columns first[k] to first[k + 1] - 1. Its pivots are found among the rows listed for it,
 * which begin with its own; it is needed to update the blocks listed in next. Both lists ascend. */
struct lu_plan {
  int n, blocks;
  int *column_of;       /* [n]: the old number of a column */
  int *row_at;          /* [n]: the old number of a row */
  int *first;           /* [blocks + 1] */
  int *row_start, *row; /* [blocks + 1], and their rows */
  int *next_start, *next;
};

/** Makes one as finite elements in two dimensions do, of that many rows: unsymmetric in values and
 * places, some of its diagonal 0. The same on every machine. */
void lu_generate(struct lu_matrix *matrix, int n);

/** Reads a real or integer matrix from a Matrix Market file in coordinate format. Ends the job with
 * a message that names file and line where it cannot. */
void lu_read(struct lu_matrix *matrix, const char *path);

/** Orders and plans. Ends the job when the matrix is singular for any numbers in these places. */
void lu_order(const struct lu_matrix *matrix, struct lu_plan *plan);

/** Memory for `count` integers, all 0; ends the job when there is none. */
int *lu_integers(long count);

#endif
