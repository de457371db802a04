/* SPDX-License-Identifier: Apache-2.0 */
/* Makes communicators of several nodes, and frees them; nodes.py starts the nodes, and counts the
 * messages between them. The arguments are how, and how often. With "options", each rank prints the
 * options of its node instead.
 */
#include <dlfcn.h>
#include <string.h>

#include "check.h"

/* Ranks with an odd number, from the last to the first. */
static int is_odd_place(MPI_Comm comm, int rank, int size) {
  int place, members;
  if (comm == MPI_COMM_NULL) return rank % 2 == 0;
  MPI_Comm_rank(comm, &place);
  MPI_Comm_size(comm, &members);
  return rank % 2 == 1 && members == size / 2 && place == (size - 1 - rank) / 2;
}

static MPI_Comm made(const char *how, int rank, int size) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request;
  MPI_Group all, odd;
  int range[1][3] = {{size - 1, 1, -2}};
  if (strcmp(how, "dup") == 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (strcmp(how, "idup") == 0) {
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (comm != MPI_COMM_NULL) return comm;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_range_incl(all, 1, range, &odd);
  if (strcmp(how, "split") == 0)
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 1 ? 5 : MPI_UNDEFINED, size - rank, &comm);
  if (strcmp(how, "create") == 0)
    MPI_Comm_create(MPI_COMM_WORLD, rank % 2 == 1 ? odd : MPI_GROUP_EMPTY, &comm);
  if (strcmp(how, "create_group") == 0 && rank % 2 == 1)
    MPI_Comm_create_group(MPI_COMM_WORLD, odd, 3, &comm);
  if (strcmp(how, "from_group") == 0 && rank % 2 == 1)
    MPI_Comm_create_from_group(odd, "odd", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  CHECK(is_odd_place(comm, rank, size));
  MPI_Group_free(&odd);
  MPI_Group_free(&all);
  return comm;
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  if (argc == 2) {
    void (*print)(int fd);
    *(void **)&print =
        dlsym(RTLD_DEFAULT, "mltp_options_measured"); /* the program has no libmltp */
    print(1);
  }
  CHECK(argc == 2 || size % 2 == 0);
  for (int i = 0; argc == 3 && i < atoi(argv[2]); i++) {
    MPI_Comm comm = made(argv[1], rank, size);
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  if (rank == 0) puts("right");
  MPI_Finalize();
  return 0;
}
