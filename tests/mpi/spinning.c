/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks poll a flag and never give way; the last one sets it after a sleep. On fewer VPs than ranks
 * it gets its turn because a rank that overruns its slice gets another VP beside it
 * (MLTP_SLICE_MS). During the sleep another rank begins to poll, on each VP. */
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"

static atomic_int flag; /* rank 0's */

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  uintptr_t address = (uintptr_t)&flag;
  MPI_Bcast(&address, sizeof address, MPI_BYTE, 0, MPI_COMM_WORLD);
  atomic_int *shared = (atomic_int *)address;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    usleep(20000);
    atomic_store(shared, 1);
  }
  while (atomic_load(shared) == 0) continue;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
