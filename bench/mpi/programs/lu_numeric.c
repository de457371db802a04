/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of lu.c, block by block. */
#include "lu_numeric.h"

#include <math.h>
#include <string.h>

#include "line.h"

enum { GROUP = 4, CHUNK = 128 }; /* columns and rows updated together */

static int width_of(const struct lu_plan *plan, int k) {
  return plan->first[k + 1] - plan->first[k];
}

static int own_of(const struct lu_plan *plan, int k) {
  return plan->row_start[k + 1] - plan->row_start[k];
}

int lu_panel_size(const struct lu_plan *plan, int k) {
  return (own_of(plan, k) + 1) * width_of(plan, k);
}

/* ---- elements come into blocks */

void lu_place_rows(struct lu_block *blocks, const struct lu_plan *plan, int rank, int ranks) {
  for (int k = 0; k < plan->blocks; k++) {
    for (int r = plan->row_start[k]; r < plan->row_start[k + 1]; r++)
      if (rank == 0 || k % ranks == rank) lu_add(&blocks[k].rows, plan->row[r]);
    for (int i = plan->next_start[k]; i < plan->next_start[k + 1]; i++) {
      int j = plan->next[i];
      blocks[j].updates++;
      for (int c = plan->first[k]; c < plan->first[k + 1]; c++)
        if (rank == 0 || j % ranks == rank) lu_add(&blocks[j].rows, c);
    }
    if (k % ranks == rank)
      blocks[k].values = numbers((size_t)blocks[k].rows.count * (size_t)width_of(plan, k));
  }
}

static int place_of(const struct lu_list *rows, int row) {
  int low = 0, high = rows->count - 1;
  while (low < high) {
    int middle = (low + high) / 2;
    if (rows->at[middle] < row)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void lu_fill(struct lu_block *blocks, const struct lu_plan *plan, const struct lu_matrix *matrix) {
  int *block_of = lu_integers(plan->n), *new_column = lu_integers(plan->n);
  for (int k = 0; k < plan->blocks; k++)
    for (int c = plan->first[k]; c < plan->first[k + 1]; c++) {
      block_of[plan->column_of[c]] = k;
      new_column[plan->column_of[c]] = c;
    }
  for (int r = 0; r < plan->n; r++)
    for (int e = matrix->start[plan->row_at[r]]; e < matrix->start[plan->row_at[r] + 1]; e++) {
      int k = block_of[matrix->column[e]];
      if (blocks[k].values == NULL) continue;
      int column = new_column[matrix->column[e]] - plan->first[k];
      blocks[k].values[place_of(&blocks[k].rows, r) + column * blocks[k].rows.count] +=
          matrix->value[e];
    }
  free(block_of);
  free(new_column);
}

/* ---- the factorization */

static void swap(double *values, int i, int k) {
  double value = values[i];
  values[i] = values[k];
  values[k] = value;
}

/* Eliminates with column c of a panel, whose pivot is in its row, in the columns after it. */
static void eliminate_column(double *panel, int own, int width, int c) {
  double *restrict factors = panel + (size_t)c * (size_t)own;
  for (int i = c + 1; i < own; i++) factors[i] /= factors[c];
  for (int j = c + 1; j < width; j++) {
    double *restrict values = panel + (size_t)j * (size_t)own;
    double top = values[c];
    for (int i = c + 1; i < own; i++) values[i] -= factors[i] * top;
  }
}

int lu_factor(struct lu_block *block, const struct lu_plan *plan, int k) {
  int own = own_of(plan, k), width = width_of(plan, k), above = block->rows.count - own;
  block->panel = numbers((size_t)lu_panel_size(plan, k));
  double *pivots = block->panel, *panel = pivots + width;
  for (int c = 0; c < width; c++)
    memcpy(panel + c * own, block->values + c * block->rows.count + above,
           (size_t)own * sizeof *panel);
  for (int c = 0; c < width; c++) {
    const double *values = panel + c * own;
    int pivot = c;
    for (int i = c + 1; i < own; i++)
      if (fabs(values[i]) > fabs(values[pivot])) pivot = i;
    if (!(fabs(values[pivot]) > 0)) return -1;
    pivots[c] = pivot;
    for (int j = 0; j < width; j++) swap(panel + j * own, c, pivot);
    eliminate_column(panel, own, width, c);
  }
  for (int c = 0; c < width; c++) /* the upper triangle is part of the answer */
    memcpy(block->values + c * block->rows.count + above, panel + c * own,
           (size_t)own * sizeof *panel);
  return 0;
}

/* The rows of panel k itself, of one column: pivots, then the lower triangle. */
static void update_top(double *values, const int *place, const double *pivots, const double *panel,
                       int own, int width) {
  for (int c = 0; c < width; c++)
    if (pivots[c] != c) swap(values, place[c], place[(int)pivots[c]]);
  double *top = values + place[0]; /* they stand one after the other */
  for (int c = 0; c < width; c++)
    for (int i = c + 1; i < width; i++) top[i] -= panel[c * own + i] * top[c];
}

/* Rows below, of GROUP columns together, some at a time. */
static void update_rows(double *const *columns, const int *place, const double *panel, int own,
                        int width, int from, int to) {
  double sums[GROUP][CHUNK];
  memset(sums, 0, sizeof sums);
  for (int c = 0; c < width; c++) {
    const double *restrict factors = panel + c * own + from;
    double t0 = columns[0][place[c]], t1 = columns[1][place[c]], t2 = columns[2][place[c]],
           t3 = columns[3][place[c]];
    for (int i = 0; i < to - from; i++) {
      sums[0][i] += factors[i] * t0;
      sums[1][i] += factors[i] * t1;
      sums[2][i] += factors[i] * t2;
      sums[3][i] += factors[i] * t3;
    }
  }
  for (int g = 0; g < GROUP; g++)
    for (int i = from; i < to; i++) columns[g][place[i]] -= sums[g][i - from];
}

static void update_group(double *const *columns, const int *place, const double *panel, int own,
                         int width) {
  for (int i = width; i < own; i += CHUNK)
    update_rows(columns, place, panel, own, width, i, i + CHUNK < own ? i + CHUNK : own);
}

static int is_zero(const double *values, int count) {
  for (int i = 0; i < count; i++)
    if (values[i] != 0) return 0;
  return 1;
}

/* A group that is not full works on columns nobody needs. */
void lu_update(struct lu_block *block, const struct lu_plan *plan, int j, int k,
               const double *message, struct lu_room *room) {
  int own = own_of(plan, k), width = width_of(plan, k), count = 0;
  const int *row = plan->row + plan->row_start[k];
  const double *panel = message + width;
  double *group[GROUP];
  for (int i = 0, at = 0; i < own; i++) {
    while (block->rows.at[at] != row[i]) at++;
    room->place[i] = at;
  }
  for (int c = 0; c < width_of(plan, j); c++) {
    double *values = block->values + c * block->rows.count;
    update_top(values, room->place, message, panel, own, width);
    if (is_zero(values + room->place[0], width)) continue;
    group[count++] = values;
    if (count == GROUP) update_group(group, room->place, panel, own, width), count = 0;
  }
  if (count == 0) return;
  while (count < GROUP) group[count++] = room->spare;
  update_group(group, room->place, panel, own, width);
}

/* ---- the answer */

void lu_right_side(const struct lu_matrix *matrix, const struct lu_plan *plan, double *y) {
  for (int r = 0; r < plan->n; r++)
    for (int e = matrix->start[plan->row_at[r]]; e < matrix->start[plan->row_at[r] + 1]; e++)
      y[r] += matrix->value[e];
}

void lu_forward(const struct lu_plan *plan, int k, const double *message, double *y) {
  int own = own_of(plan, k), width = width_of(plan, k);
  const int *row = plan->row + plan->row_start[k];
  const double *panel = message + width;
  for (int c = 0; c < width; c++) swap(y, row[c], row[(int)message[c]]);
  for (int c = 0; c < width; c++)
    for (int i = c + 1; i < own; i++) y[row[i]] -= panel[c * own + i] * y[row[c]];
}

void lu_backward(const struct lu_block *block, const struct lu_plan *plan, int k,
                 const double *values, double *y) {
  int count = block->rows.count, above = count - own_of(plan, k);
  for (int c = width_of(plan, k) - 1; c >= 0; c--) {
    const double *column = values + c * count;
    double x = y[plan->first[k] + c] /= column[above + c];
    for (int i = 0; i < above + c; i++) y[block->rows.at[i]] -= column[i] * x;
  }
}

double lu_residual(const struct lu_matrix *matrix, const struct lu_plan *plan, const double *y) {
  double *x = numbers((size_t)plan->n), worst = 0, norm = 0, largest = 0;
  for (int c = 0; c < plan->n; c++) {
    x[plan->column_of[c]] = y[c];
    largest = fmax(largest, fabs(y[c]));
  }
  for (int i = 0; i < plan->n; i++) {
    double rest = 0, sum = 0;
    for (int e = matrix->start[i]; e < matrix->start[i + 1]; e++) {
      rest += matrix->value[e] * (1 - x[matrix->column[e]]);
      sum += fabs(matrix->value[e]);
    }
    worst = fmax(worst, fabs(rest));
    norm = fmax(norm, sum);
  }
  free(x);
  return worst / (norm * largest);
}
