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

/* Of the first ranks. A rank beside them succeeds, too. */
static int make_of_some(int size, MPI_Comm *comm) {
  MPI_Group all, some;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_range_incl(all, 1, &(int[3]){0, size - 1, 1}, &some);
  int error = MPI_Comm_create(MPI_COMM_WORLD, some, comm);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  return error;
}

/* How a communicator is made next. */
static int make_comm(int way, int rank, int number, MPI_Comm *comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (way == 3) return make_of_some(1 + number % 2, comm);
  if (way == 1) return MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, comm);
  if (way == 0) return MPI_Comm_dup(MPI_COMM_WORLD, comm);
  MPI_Comm_idup(MPI_COMM_WORLD, comm, &request);
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Makes communicators until none is left, on all ranks alike; there are as many again when they are
 * freed. */
static int print_communicators(int rank) {
  enum { MOST = 1000 };
  static MPI_Comm made[MOST];
  int least, most;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int way = 0; way < 4; way++) {
    int count = 0, error = MPI_SUCCESS;
    while (count < MOST && (error = make_comm(way, rank, count, &made[count])) == MPI_SUCCESS)
      count++;
    CHECK(error == MPI_ERR_OTHER);
    MPI_Allreduce(&count, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&count, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(least == most);
    if (rank == 0) printf("%d ", count);
    while (count > 0)
      if (made[--count] != MPI_COMM_NULL) MPI_Comm_free(&made[count]);
  }
  MPI_Finalize();
  return 0;
}

int main(int argc, char **argv) {
  int value, size, rank = check_start(&argc, &argv, &size);
  MPI_Status status;
  if (argc > 1 && strcmp(argv[1], "part") == 0) return print_part(rank, size, argv[2]);
  if (argc > 1 && strcmp(argv[1], "communicators") == 0) return print_communicators(rank);
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
