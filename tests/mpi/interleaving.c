/* SPDX-License-Identifier: Apache-2.0 */
/* Says in which order messages of all ranks came: what options.py compares. */
#define _GNU_SOURCE /* gettid() */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 5 };

/* Which part of the command line the rank is in, and its word behind "part". */
static int print_part(int rank, int size, const char *word) {
  int *part, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &part, &flag);
  CHECK(flag);
  printf("%d of %d: part %d, %s\n", rank, size, *part, word != NULL ? word : "none");
  MPI_Finalize();
  return 0;
}

int main(int argc, char **argv) {
  int value, size, rank = check_start(&argc, &argv, &size);
  MPI_Status status;
  if (argc > 1 && strcmp(argv[1], "part") == 0) return print_part(rank, size, argv[2]);
  if (argc > 1) { /* --one-to-one: each rank's kernel thread */
    int own = (int)gettid();
    int *all = calloc((size_t)size, sizeof *all);
    MPI_Gather(&own, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++) printf("%d ", all[i]);
    free(all);
  }
  for (int i = 0; i < ROUNDS; i++) {
    if (rank > 0) MPI_Send(&rank, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    for (int k = 1; rank == 0 && argc == 1 && k < size; k++) {
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      printf("%d:%d ", value, status.MPI_TAG);
    }
    for (int k = 1; rank == 0 && argc > 1 && k < size; k++)
      MPI_Recv(&value, 1, MPI_INT, k, i, MPI_COMM_WORLD, &status);
  }
  if (rank == 0) printf("\n");
  MPI_Finalize();
  return 0;
}
