/* SPDX-License-Identifier: Apache-2.0 */
/* Has globals that differ from rank to rank: what debugger.py looks at. */
#include <unistd.h>

#include "check.h"

int rank_global = -1;
static int rank_static = -1;

__attribute__((noipa)) static void stop_here(int rank) {
  __asm__ volatile("" : : "r"(rank), "m"(rank_static) : "memory"); /* stop */
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  rank_global = 100 + rank;
  rank_static = 200 + rank;
  stop_here(rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && rank == 1) {
    printf("ready\n");
    fflush(stdout);
    while (read(0, &size, 1) > 0) continue;
    if (argc > 2) abort();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
