/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spawning, which is refused: the arena of the program's copies, the ranks and the communicators'
 * groups are made for a number of ranks that is fixed when tmpirun starts. MPI_UNIVERSE_SIZE is
 * that number, so a program that asks first spawns nothing. No rank has a parent.
 */
#include "tmpi/error/errors.h"

static int refuse(const char *call, MPI_Comm handle, int codes, int *array_of_errcodes,
                  MPI_Comm *intercomm) {
  struct tm_comm *comm;
  int error = tm_get_comm(call, handle, &comm);
  if (error != MPI_SUCCESS) return error;
  for (int i = 0; array_of_errcodes != MPI_ERRCODES_IGNORE && i < codes; i++)
    array_of_errcodes[i] = MPI_ERR_SPAWN;
  *intercomm = MPI_COMM_NULL;
  return tm_fail(comm, call, MPI_ERR_SPAWN,
                 "the number of ranks is fixed at the start (start them as parts of the job: "
                 "tmpirun -n 1 ./app : -n 3 ./app worker)");
}

#pragma weak MPI_Comm_spawn = PMPI_Comm_spawn
int PMPI_Comm_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info, int root,
                    MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[]) {
  (void)command, (void)argv, (void)info, (void)root;
  return refuse("MPI_Comm_spawn", comm, maxprocs, array_of_errcodes, intercomm);
}

/* The number of codes is known at the root alone. */
#pragma weak MPI_Comm_spawn_multiple = PMPI_Comm_spawn_multiple
int PMPI_Comm_spawn_multiple(int count, char *array_of_commands[], char **array_of_argv[],
                             const int array_of_maxprocs[], const MPI_Info array_of_info[],
                             int root, MPI_Comm comm, MPI_Comm *intercomm,
                             int array_of_errcodes[]) {
  (void)array_of_commands, (void)array_of_argv, (void)array_of_info;
  int codes = 0, rank = -1;
  bool is_root =
      tm_comm_of(comm) != NULL && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
  for (int i = 0; is_root && i < count; i++) codes += array_of_maxprocs[i];
  return refuse("MPI_Comm_spawn_multiple", comm, codes, array_of_errcodes, intercomm);
}

#pragma weak MPI_Comm_get_parent = PMPI_Comm_get_parent
int PMPI_Comm_get_parent(MPI_Comm *parent) {
  tm_enter("MPI_Comm_get_parent");
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
