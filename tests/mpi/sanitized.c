/* SPDX-License-Identifier: Apache-2.0 */
/* Built with a sanitizer: right, or wrong as its argument says. What sanitized.py looks at. */
#include <string.h>

#include "check.h"

enum { COUNT = 1000 };

/* Messages and collectives that hand memory from rank to rank. */
static void use(int rank, int size) {
  int *data = malloc(COUNT * sizeof *data), *other = malloc(COUNT * sizeof *other);
  for (int round = 0; round < 10; round++) {
    int next = (rank + 1) % size, before = (rank - 1 + size) % size;
    for (int i = 0; i < COUNT; i++) data[i] = rank + round;
    MPI_Sendrecv(data, COUNT, MPI_INT, next, 0, other, COUNT, MPI_INT, before, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(other[COUNT - 1] == before + round);
    MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(data[0] == size * (size - 1) / 2 + size * round);
    MPI_Bcast(data, COUNT, MPI_INT, round % size, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(data);
  free(other);
}

/* One byte behind what rank 1 has allocated. */
static void overflow(int rank) {
  char *text = malloc(10);
  memset(text, 'a', 10);
  if (rank == 1) putchar(*(volatile char *)(text + 10));
  free(text);
}

/* Rank 0 lends its variable to all ranks, and they write to it at the same time. */
static void race(int rank) {
  int *shared = rank == 0 ? calloc(1, sizeof *shared) : NULL;
  MPI_Bcast(&shared, sizeof shared, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 1000; i++) (*(volatile int *)shared)++;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) free(shared);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  use(rank, size);
  if (argc > 1 && strcmp(argv[1], "overflow") == 0) overflow(rank);
  if (argc > 1 && strcmp(argv[1], "race") == 0) race(rank);
  MPI_Finalize();
  return 0;
}
