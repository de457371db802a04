/* SPDX-License-Identifier: Apache-2.0 */
/* Nonblocking collectives: several under way on one communicator, beside messages and blocking
 * ones. */
#include "check.h"

enum { ROUNDS = 20, EACH = 3 };

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  MPI_Comm copy;
  MPI_Request requests[EACH];
  for (int round = 0; round < ROUNDS; round++) {
    int own = rank + round, sum = 0, told = rank == round % size ? round : -1, other = -1;
    int *all = calloc((size_t)size, sizeof *all);
    MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(&told, 1, MPI_INT, round % size, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallgather(&own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[2]);
    MPI_Sendrecv(&own, 1, MPI_INT, (rank + 1) % size, 0, &other, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(EACH, requests, MPI_STATUSES_IGNORE);
    CHECK(sum == size * (size - 1) / 2 + size * round && told == round);
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
  MPI_Finalize();
  return 0;
}
