/* SPDX-License-Identifier: Apache-2.0 */
/* A token goes round all ranks once; each adds its number. */
#include <mpi.h>
#include <stdio.h>

static int visits; /* each rank has its own */

int main(int argc, char **argv) {
  int rank, size;
  long sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size, before = (rank - 1 + size) % size;
  if (rank == 0) MPI_Send(&sum, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
  MPI_Recv(&sum, 1, MPI_LONG, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  visits++;
  sum += rank;
  if (rank != 0) MPI_Send(&sum, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("ring: the sum of %d ranks is %ld\n", size, sum);
  MPI_Finalize();
  return visits != 1 || (rank == 0 && sum != size * (size - 1L) / 2);
}
