/* SPDX-License-Identifier: Apache-2.0 */
/* MPI with OpenMP: the ranks share the interval, and a team of threads of each rank its part.
 * Only the thread that called MPI_Init_thread() calls MPI (MPI_THREAD_FUNNELED).
 * usage: hybrid */
#include <mpi.h>
#include <stdio.h>

enum { SLICES = 10000000 };

int main(int argc, char **argv) {
  int rank, size, level;
  double sum = 0, pi;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  if (level < MPI_THREAD_FUNNELED) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#pragma omp parallel for reduction(+ : sum)
  for (int i = rank; i < SLICES; i += size) {
    double x = (i + 0.5) / SLICES;
    sum += 4 / (1 + x * x);
  }
  MPI_Reduce(&sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("hybrid: pi is %.10f\n", pi / SLICES);
  MPI_Finalize();
}
