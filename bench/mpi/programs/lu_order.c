/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of lu.c. When a column is eliminated, any row that has an element there may become the
 * pivot's, and all of them may get elements where one had: they become a group of rows with one set
 * of columns (George and Ng). So the sets of groups say at once where elements come to stand, and
 * what it costs to take a column next: the one whose group would have fewest columns is taken
 * (minimum degree, by the upper bound of COLAMD). Columns that only the same group has are taken
 * with it, and such as make it little wider.
 */
#include "line.h"
#include "lu.h"
#include "lu_list.h"

enum {
  WIDTH = 24,
  WIDER = 6
}; /* columns of a block; by how many a group may grow to be a larger one */

/* Rows that have the same columns; none: it has become part of another group. */
struct group {
  struct lu_list rows, columns;
};

static int n;
static struct group *groups;      /* [n], each a row at first */
static struct lu_list *groups_of; /* [n]: of a column; may have some that are no more */
static int *cost;          /* [n]: of a column: its group's columns, at most; n + 1: it was taken */
static int *stamp, stamps; /* [n]: of a column: the front it was found in */
static int *outside,
    *seen; /* [n]: of a group: its columns that are not in the front; in this round */
static struct lu_list starts, rows, next_starts, next, firsts, taken, row_order; /* the plan */

static void start(const struct lu_matrix *matrix) {
  n = matrix->n;
  groups = calloc((size_t)n, sizeof *groups);
  groups_of = calloc((size_t)n, sizeof *groups_of);
  if (groups == NULL || groups_of == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  cost = lu_integers(n);
  stamp = lu_integers(n);
  outside = lu_integers(n);
  seen = lu_integers(n);
  for (int row = 0; row < n; row++) {
    lu_add(&groups[row].rows, row);
    for (int e = matrix->start[row]; e < matrix->start[row + 1]; e++) {
      lu_add(&groups[row].columns, matrix->column[e]);
      lu_add(&groups_of[matrix->column[e]], row);
    }
  }
  for (int column = 0; column < n; column++)
    for (int g = 0; g < groups_of[column].count; g++) {
      cost[column] += groups[groups_of[column].at[g]].columns.count - 1;
      if (cost[column] > n) cost[column] = n;
    }
}

/* The groups that have the column become part of the front, which is one, too. */
static void merge(struct group *front, int column) {
  for (int i = 0; i < groups_of[column].count; i++) {
    struct group *group = &groups[groups_of[column].at[i]];
    if (group->rows.count == 0) continue;
    for (int r = 0; r < group->rows.count; r++) lu_add(&front->rows, group->rows.at[r]);
    for (int c = 0; c < group->columns.count; c++) {
      if (stamp[group->columns.at[c]] == stamps) continue;
      stamp[group->columns.at[c]] = stamps;
      lu_add(&front->columns, group->columns.at[c]);
    }
    lu_drop(&group->rows);
    lu_drop(&group->columns);
  }
}

/* The columns of the front forget groups that are no more; then how many columns each of the others
 * has that the front has not. */
static void look_outside(const struct group *front) {
  static int round;
  round++;
  for (int c = 0; c < front->columns.count; c++) {
    struct lu_list *list = &groups_of[front->columns.at[c]];
    int kept = 0;
    for (int i = 0; i < list->count; i++) {
      int g = list->at[i];
      if (groups[g].rows.count == 0) continue;
      if (seen[g] != round) {
        seen[g] = round;
        outside[g] = groups[g].columns.count;
      }
      outside[g]--;
      list->at[kept++] = g;
    }
    list->count = kept;
  }
}

/* What each column of the front costs now. @return the cheapest that is not taken, -1: none is
 * left. */
static int cheapest(const struct group *front, int left) {
  int best = -1;
  for (int c = 0; c < front->columns.count; c++) {
    int column = front->columns.at[c];
    if (cost[column] > n) continue;
    long sum = left - 1;
    for (int i = 0; i < groups_of[column].count && sum < n; i++)
      sum += outside[groups_of[column].at[i]];
    cost[column] = sum < n ? (int)sum : n;
    if (best < 0 || cost[column] < cost[best]) best = column;
  }
  return best;
}

static void take(struct group *front, int column) {
  merge(front, column);
  lu_add(&taken, column);
  cost[column] = n + 1;
}

/* Takes a column, and others with it as long as that makes the front little wider. */
static void take_columns(struct group *front, int column) {
  int from = taken.count;
  take(front, column);
  for (;;) {
    int count = taken.count - from, left = front->columns.count - count;
    look_outside(front);
    int best = cheapest(front, left);
    if (best < 0 || cost[best] > left - 1 + (count < WIDTH ? WIDER : 0)) return;
    if (cost[best] > left - 1) take(front, best);
    for (int c = 0; c < front->columns.count; c++) /* all that make it no wider */
      if (cost[front->columns.at[c]] == left - 1) take(front, front->columns.at[c]);
  }
}

/* The columns that were taken, cut into blocks; pivots stand in the first rows of the front. */
static void add_blocks(const struct group *front, int from) {
  if (taken.count - from > front->rows.count) {
    fprintf(stderr, "lu: the matrix is singular: %d columns have elements in %d rows only\n",
            taken.count - from, front->rows.count);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int first = from; first < taken.count; first += WIDTH) {
    int end = first + WIDTH < taken.count ? first + WIDTH : taken.count;
    lu_add(&firsts, first);
    lu_add(&starts, rows.count);
    for (int r = first - from; r < front->rows.count; r++) lu_add(&rows, front->rows.at[r]);
    lu_add(&next_starts, next.count);
    for (int c = end; c < taken.count; c++) lu_add(&next, taken.at[c]);
    for (int c = 0; c < front->columns.count; c++)
      if (cost[front->columns.at[c]] <= n) lu_add(&next, front->columns.at[c]);
  }
  for (int c = from; c < taken.count; c++) lu_add(&row_order, front->rows.at[c - from]);
}

/* What the front leaves behind is a group like others; it takes the place of one that is no more.
 */
static void leave(const struct group *front, int pivots, int place) {
  struct group *rest = &groups[place];
  for (int r = pivots; r < front->rows.count; r++) lu_add(&rest->rows, front->rows.at[r]);
  for (int c = 0; c < front->columns.count && rest->rows.count > 0; c++) {
    int column = front->columns.at[c];
    if (cost[column] > n) continue;
    lu_add(&rest->columns, column);
    lu_add(&groups_of[column], place);
  }
}

static void eliminate(int column) {
  struct group front = {{0}, {0}};
  int from = taken.count;
  if (groups_of[column].count == 0) {
    fprintf(stderr, "lu: the matrix is singular: no row is left for a pivot of column %d\n",
            column + 1);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  int place = groups_of[column].at[0];
  stamps++;
  take_columns(&front, column);
  add_blocks(&front, from);
  leave(&front, taken.count - from, place);
  lu_drop(&front.rows);
  lu_drop(&front.columns);
}

static int ascending(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

/* Old numbers become new ones, each once, ascending. @return where they begin. */
static int *renumber(struct lu_list *list, const struct lu_list *where, const int *new_number) {
  int kept = 0;
  int *begins = lu_integers(where->count);
  for (int k = 0; k < where->count; k++) {
    int from = where->at[k], end = k + 1 < where->count ? where->at[k + 1] : list->count;
    for (int i = from; i < end; i++) list->at[i] = new_number[list->at[i]];
    if (end > from) qsort(&list->at[from], (size_t)(end - from), sizeof(int), ascending);
    begins[k] = kept;
    for (int i = from; i < end; i++)
      if (i == from || list->at[i] != list->at[i - 1]) list->at[kept++] = list->at[i];
  }
  begins[where->count] = kept;
  return begins;
}

void lu_order(const struct lu_matrix *matrix, struct lu_plan *plan) {
  start(matrix);
  while (taken.count < n) {
    int best = 0;
    for (int column = 1; column < n; column++)
      if (cost[column] < cost[best]) best = column;
    eliminate(best);
  }
  *plan = (struct lu_plan){.n = n,
                           .blocks = firsts.count,
                           .column_of = taken.at,
                           .row_at = row_order.at,
                           .first = firsts.at,
                           .row = rows.at,
                           .next = next.at};
  lu_add(&firsts, n);
  plan->first = firsts.at;
  int *block_of = lu_integers(n), *place_of = lu_integers(n);
  for (int k = 0; k < plan->blocks; k++)
    for (int c = plan->first[k]; c < plan->first[k + 1]; c++) {
      block_of[taken.at[c]] = k;
      place_of[row_order.at[c]] = c;
    }
  plan->row_start = renumber(&rows, &starts, place_of);
  plan->next_start = renumber(&next, &next_starts, block_of);
  for (int i = 0; i < n; i++) {
    lu_drop(&groups[i].rows);
    lu_drop(&groups[i].columns);
    lu_drop(&groups_of[i]);
  }
  free(groups);
  free(groups_of);
  free(cost);
  free(stamp);
  free(outside);
  free(seen);
  free(block_of);
  free(place_of);
  lu_drop(&starts);
  lu_drop(&next_starts);
}
