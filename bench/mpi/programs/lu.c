/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse LU of TMPI-2: factors an unsymmetric sparse matrix with partial pivoting. lu ROWS for one
 * made here (7320, 14454, 17281 are as large as GOODWIN, TID and E40R0100), lu --matrix FILE for
 * one in Matrix Market format.
 *
 * Blocks of columns go round the ranks. The owner of a block finds its pivots as soon as all blocks
 * before it have updated it, and sends pivots and factors to the ranks whose blocks they update.
 * lu_order.c says which ones those are, and which rows a block may get elements in. Afterwards rank
 * 0 solves for a solution of ones and looks at the residual.
 */
#include <math.h>
#include <string.h>

#include "line.h"
#include "lu.h"
#include "lu_numeric.h"

static int rank, ranks;
static struct lu_matrix matrix; /* rank 0 */
static struct lu_plan plan;
static struct lu_block *blocks; /* all; those of other ranks are empty */
static MPI_Request *sends;      /* of factors */
static int sent;
static double *received; /* a panel */
static struct lu_room room;

static int owner(int k) { return k % ranks; }

/* ---- before: the plan and the elements go to all */

static void share(int **memory, int count) {
  if (rank != 0) *memory = lu_integers(count);
  MPI_Bcast(*memory, count, MPI_INT, 0, MPI_COMM_WORLD);
}

static void share_plan(void) {
  int sizes[2] = {plan.n, plan.blocks};
  MPI_Bcast(sizes, 2, MPI_INT, 0, MPI_COMM_WORLD);
  plan.n = sizes[0];
  plan.blocks = sizes[1];
  share(&plan.column_of, plan.n);
  share(&plan.row_at, plan.n);
  share(&plan.first, plan.blocks + 1);
  share(&plan.row_start, plan.blocks + 1);
  share(&plan.row, plan.row_start[plan.blocks]);
  share(&plan.next_start, plan.blocks + 1);
  share(&plan.next, plan.next_start[plan.blocks]);
}

static void free_matrix(struct lu_matrix *which) {
  free(which->start);
  free(which->column);
  free(which->value);
}

/* Every rank takes what its blocks have of the matrix. */
static void share_matrix(void) {
  struct lu_matrix copy = matrix;
  copy.n = plan.n;
  share(&copy.start, copy.n + 1);
  share(&copy.column, copy.start[copy.n]);
  if (rank != 0) copy.value = numbers((size_t)copy.start[copy.n]);
  MPI_Bcast(copy.value, copy.start[copy.n], MPI_DOUBLE, 0, MPI_COMM_WORLD);
  lu_fill(blocks, &plan, &copy);
  if (rank != 0) free_matrix(&copy);
}

static void prepare(void) {
  int most = 0;
  blocks = calloc((size_t)plan.blocks, sizeof *blocks);
  sends = malloc(((size_t)plan.blocks + (size_t)ranks) * sizeof(MPI_Request));
  if (blocks == NULL || sends == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  lu_place_rows(blocks, &plan, rank, ranks);
  share_matrix();
  for (int k = 0; k < plan.blocks; k++)
    if (lu_panel_size(&plan, k) > most) most = lu_panel_size(&plan, k);
  received = numbers((size_t)most);
  room.place = lu_integers(plan.n);
  room.spare = numbers((size_t)plan.n);
}

/* ---- the factorization */

/* Whether a rank has blocks that block k updates. */
static int needs(int other, int k) {
  for (int i = plan.next_start[k]; i < plan.next_start[k + 1]; i++)
    if (owner(plan.next[i]) == other) return 1;
  return 0;
}

/* To the rank of the next block first: it is waited for most. */
static void factor(int k) {
  struct lu_block *block = &blocks[k];
  if (lu_factor(block, &plan, k) != 0) {
    fprintf(stderr, "lu: the matrix is singular: no pivot in block %d\n", k);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int i = 1; i < ranks; i++) {
    int other = (rank + i) % ranks;
    if (needs(other, k))
      MPI_Isend(block->panel, lu_panel_size(&plan, k), MPI_DOUBLE, other, k, MPI_COMM_WORLD,
                &sends[sent++]);
  }
}

/* Blocks that no other block updates need not wait: some are factored ahead. */
static void factor_ahead(int k) {
  static int ahead;
  for (; ahead < plan.blocks && ahead <= k + 2 * ranks; ahead++)
    if (owner(ahead) == rank && blocks[ahead].updates == 0 && blocks[ahead].panel == NULL)
      factor(ahead);
}

static void update_all(int k, const double *panel) {
  for (int i = plan.next_start[k]; i < plan.next_start[k + 1]; i++) {
    int j = plan.next[i];
    if (owner(j) != rank) continue;
    lu_update(&blocks[j], &plan, j, k, panel, &room);
    if (--blocks[j].updates == 0) factor(j);
  }
}

static void eliminate(void) {
  for (int k = 0; k < plan.blocks; k++) {
    factor_ahead(k);
    if (owner(k) == rank) {
      update_all(k, blocks[k].panel);
    } else if (needs(rank, k)) {
      MPI_Recv(received, lu_panel_size(&plan, k), MPI_DOUBLE, owner(k), k, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      update_all(k, received);
    }
  }
  MPI_Waitall(sent, sends, MPI_STATUSES_IGNORE);
}

/* ---- afterwards: rank 0 solves, with one block after the other */

/* Numbers of block k come to rank 0. @return them; others: NULL. */
static const double *fetch(int k, double *own, int count, double *space) {
  if (owner(k) == rank && rank != 0) MPI_Send(own, count, MPI_DOUBLE, 0, k, MPI_COMM_WORLD);
  if (rank != 0) return NULL;
  if (owner(k) == 0) return own;
  MPI_Recv(space, count, MPI_DOUBLE, owner(k), k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return space;
}

/* @return whether the residual is as small as rounding makes it. */
static int is_right(void) {
  double *y = numbers((size_t)plan.n);
  int right = 1;
  if (rank == 0) lu_right_side(&matrix, &plan, y);
  for (int k = 0; k < plan.blocks; k++) {
    const double *panel = fetch(k, blocks[k].panel, lu_panel_size(&plan, k), received);
    if (panel != NULL) lu_forward(&plan, k, panel, y);
  }
  for (int k = plan.blocks - 1; k >= 0; k--) {
    int count = blocks[k].rows.count * (plan.first[k + 1] - plan.first[k]);
    double *space = numbers((size_t)count);
    const double *values = fetch(k, blocks[k].values, count, space);
    if (values != NULL) lu_backward(&blocks[k], &plan, k, values, y);
    free(space);
  }
  if (rank == 0) right = lu_residual(&matrix, &plan, y) < 1e-13;
  free(y);
  return right;
}

static void free_plan(void) {
  free(plan.column_of);
  free(plan.row_at);
  free(plan.first);
  free(plan.row_start);
  free(plan.row);
  free(plan.next_start);
  free(plan.next);
}

static void clean_up(void) {
  for (int k = 0; k < plan.blocks; k++) {
    lu_drop(&blocks[k].rows);
    free(blocks[k].values);
    free(blocks[k].panel);
  }
  free(blocks);
  free(sends);
  free(received);
  free(room.place);
  free(room.spare);
  free_plan();
  if (rank == 0) free_matrix(&matrix);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int from_file = argc == 3 && strcmp(argv[1], "--matrix") == 0;
  int size = from_file ? 0 : size_argument(argc, argv, 1 << 20);
  if (rank == 0) {
    if (from_file)
      lu_read(&matrix, argv[2]);
    else
      lu_generate(&matrix, size);
    lu_order(&matrix, &plan);
  }
  share_plan();
  prepare();
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  eliminate();
  double taken = MPI_Wtime() - start;
  int status = print_line("lu", plan.n, taken, is_right());
  clean_up();
  MPI_Finalize();
  return status;
}
