/* SPDX-License-Identifier: Apache-2.0 */
/* Nonblocking collectives: several under way on one communicator, beside messages and blocking
 * ones. */
#include "check.h"

enum { ROUNDS = 20, EACH = 3 };

/* ---- operations of the program: with one thread, they never run beside it nor beside each other
 */

enum { REDUCTIONS = 4, ELEMENTS = 3 };

static volatile int computes, inside;
static int calls, beside;

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  beside += computes || inside;
  inside = 1;
  int before = calls;
  for (volatile int i = 0; i < 200; i++) continue;
  calls = before + 1;
  for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
  inside = 0;
}

static void compute(void) {
  computes = 1;
  for (volatile int i = 0; i < 20000; i++) continue;
  computes = 0;
}

static void check_sums(int sums[REDUCTIONS][ELEMENTS], int size) {
  for (int r = 0; r < REDUCTIONS; r++)
    for (int e = 0; e < ELEMENTS; e++) CHECK(sums[r][e] == size * (r + e) + size * (size - 1) / 2);
}

/* way: how the rank waits for them. The other ranks get on when it waits for something else. */
static void operations(int rank, int size, MPI_Op op, int way) {
  int own[REDUCTIONS][ELEMENTS], sums[REDUCTIONS][ELEMENTS], token = 0, flag = 0;
  MPI_Request requests[REDUCTIONS];
  for (int r = 0; r < REDUCTIONS; r++) {
    for (int e = 0; e < ELEMENTS; e++) own[r][e] = rank + r + e;
    MPI_Iallreduce(own[r], sums[r], ELEMENTS, MPI_INT, op, MPI_COMM_WORLD, &requests[r]);
  }
  compute();
  if (way == 1 && rank != 0) MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  while (way == 2 && !flag) {
    compute();
    MPI_Testall(REDUCTIONS, requests, &flag, MPI_STATUSES_IGNORE);
  }
  MPI_Waitall(REDUCTIONS, requests, MPI_STATUSES_IGNORE);
  for (int to = 1; way == 1 && rank == 0 && to < size; to++)
    MPI_Send(&token, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  if (way == 3) MPI_Barrier(MPI_COMM_WORLD);
  check_sums(sums, size);
}

static void operations_alone(int rank, int size) {
  MPI_Op op;
  int all = 0, made = 0;
  MPI_Op_create(add, 1, &op);
  for (int round = 0; round < 4 * ROUNDS; round++) operations(rank, size, op, round % 4);
  CHECK(beside == 0);
  MPI_Allreduce(&calls, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  made = 4 * ROUNDS * REDUCTIONS * (size - 1);
  CHECK(all >= made && all % (4 * ROUNDS * REDUCTIONS) == 0); /* no count was lost */
  MPI_Op_free(&op);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  MPI_Comm copy;
  MPI_Request requests[EACH];
  for (int round = 0; round < ROUNDS; round++) {
    int own = rank + round, sum = 0, received = rank == round % size ? round : -1, other = -1;
    int *all = calloc((size_t)size, sizeof *all);
    MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(&received, 1, MPI_INT, round % size, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallgather(&own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[2]);
    MPI_Sendrecv(&own, 1, MPI_INT, (rank + 1) % size, 0, &other, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(EACH, requests, MPI_STATUSES_IGNORE);
    CHECK(sum == size * (size - 1) / 2 + size * round && received == round);
    CHECK(other == (rank + size - 1) % size + round);
    for (int i = 0; i < size; i++) CHECK(all[i] == i + round);
    free(all);
  }
  MPI_Comm_idup(MPI_COMM_WORLD, &copy, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Ibarrier(copy, &requests[0]);
  for (int flag = 0; !flag;) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  CHECK(requests[0] == MPI_REQUEST_NULL);
  MPI_Comm_free(&copy);
  operations_alone(rank, size);
  MPI_Finalize();
  return 0;
}
