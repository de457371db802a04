/* SPDX-License-Identifier: Apache-2.0 */
/** @file lu_numeric.h What lu.c does with the numbers of one block: nothing of MPI. */
#ifndef BENCH_MPI_LU_NUMERIC_H
#define BENCH_MPI_LU_NUMERIC_H

#include "lu.h"
#include "lu_list.h"

/** A block of columns, which have elements in some rows: first those of earlier blocks' pivots,
 * then the rows that the plan lists for the block. */
struct lu_block {
  struct lu_list rows; /* ascending; rank 0 knows those of all blocks */
  int updates;         /* how many are still to come */
  double *values;      /* column by column; NULL: another rank's */
  double *panel;       /* what others need of it; NULL: it has no pivots yet */
};

/* A panel is, for each of its columns, the place among the block's listed rows from which its pivot
 * came; then the columns' elements in those rows. */

/** Room to update in. */
struct lu_room {
  int *place;    /* [rows of the matrix] */
  double *spare; /* likewise */
};

/** Says which rows blocks have, and makes room for values. Block k is rank k % ranks'. */
void lu_place_rows(struct lu_block *blocks, const struct lu_plan *plan, int rank, int ranks);

/** Puts the elements of the matrix into the blocks that have room. */
void lu_fill(struct lu_block *blocks, const struct lu_plan *plan, const struct lu_matrix *matrix);

/** Finds the pivots of block k and makes its panel. @return 0, or -1: there are none. */
int lu_factor(struct lu_block *block, const struct lu_plan *plan, int k);

/** Updates block j by the panel of block k. */
void lu_update(struct lu_block *block, const struct lu_plan *plan, int j, int k,
               const double *panel, struct lu_room *room);

/** @return how many numbers the panel of block k has. */
int lu_panel_size(const struct lu_plan *plan, int k);

/** Makes the right-hand side of a solution of ones, in the plan's order of rows. */
void lu_right_side(const struct lu_matrix *matrix, const struct lu_plan *plan, double *y);

/** Solves with the lower triangle of a block, the first block first. */
void lu_forward(const struct lu_plan *plan, int k, const double *panel, double *y);

/** Solves with the upper triangle, the last block first. */
void lu_backward(const struct lu_block *block, const struct lu_plan *plan, int k,
                 const double *values, double *y);

/** @return the largest residual that a solution leaves where ones would leave none, over the
 * largest sum of absolute values in a row and the largest number of the solution. */
double lu_residual(const struct lu_matrix *matrix, const struct lu_plan *plan, const double *y);

#endif
