/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spawning from Fortran. An argument vector is an array of strings that a blank one ends. That of
 * many commands is a matrix, whose row i is for command i.
 */
#include <stdbool.h>

#include "tmpi/bindings/bindings.h"

static bool is_blank(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (text[i] != ' ') return false;
  return true;
}

/* The strings at `first` and each `step` further ones, up to a blank one. @return a vector that
 * NULL ends. */
static char **vector(const char *first, size_t length, size_t step) {
  size_t distance = step * length;
  int count = 0;
  for (const char *at = first; !is_blank(at, length); at += distance) count++;
  char **all = tmf_array(count + 1, sizeof *all);
  for (int i = 0; i < count; i++) all[i] = tmf_string(first + (size_t)i * distance, length);
  return all;
}

static void vector_free(char **all) {
  if (all == NULL) return;
  for (char **each = all; *each != NULL; each++) free(*each);
  free(all);
}

static int *errcodes_of(MPI_Fint *codes) {
  return codes == tmpi_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : codes;
}

typedef int spawn_function(const char *, char *[], int, MPI_Info, int, MPI_Comm, MPI_Comm *, int[]);

static void spawn(spawn_function *function, char *command, char *argv, const MPI_Fint *ranks,
                  const MPI_Fint *info, const MPI_Fint *root, const MPI_Fint *comm,
                  MPI_Fint *intercomm, MPI_Fint *codes, MPI_Fint *ierror, size_t command_n,
                  size_t argv_n) {
  char *command_ = tmf_string(command, command_n);
  char **argv_ = argv == tmpi_argv_null_ ? MPI_ARGV_NULL : vector(argv, argv_n, 1);
  MPI_Comm made = MPI_COMM_NULL;
  int error = function(command_, argv_, *ranks, tmf_Info(*info), *root, tmf_Comm(*comm), &made,
                       errcodes_of(codes));
  *intercomm = PMPI_Comm_toint(made);
  free(command_);
  vector_free(argv_);
  tmf_end(ierror, error);
}

#pragma weak mpi_comm_spawn_
void mpi_comm_spawn_(char *command, char *argv, MPI_Fint *ranks, MPI_Fint *info, MPI_Fint *root,
                     MPI_Fint *comm, MPI_Fint *intercomm, MPI_Fint *codes, MPI_Fint *ierror,
                     size_t command_n, size_t argv_n) {
  spawn(MPI_Comm_spawn, command, argv, ranks, info, root, comm, intercomm, codes, ierror, command_n,
        argv_n);
}
void pmpi_comm_spawn_(char *command, char *argv, MPI_Fint *ranks, MPI_Fint *info, MPI_Fint *root,
                      MPI_Fint *comm, MPI_Fint *intercomm, MPI_Fint *codes, MPI_Fint *ierror,
                      size_t command_n, size_t argv_n) {
  spawn(PMPI_Comm_spawn, command, argv, ranks, info, root, comm, intercomm, codes, ierror,
        command_n, argv_n);
}

typedef int multiple_function(int, char *[], char **[], const int[], const MPI_Info[], int,
                              MPI_Comm, MPI_Comm *, int[]);

static void spawn_multiple(multiple_function *function, const MPI_Fint *count, char *commands,
                           char *argvs, const MPI_Fint *ranks, const MPI_Fint *infos,
                           const MPI_Fint *root, const MPI_Fint *comm, MPI_Fint *intercomm,
                           MPI_Fint *codes, MPI_Fint *ierror, size_t command_n, size_t argv_n) {
  int n = *count; /* a wrong one is for the function to refuse */
  char **commands_ = tmf_array(n, sizeof *commands_), ***argvs_ = tmf_array(n, sizeof *argvs_);
  MPI_Info *infos_ = tmf_array(n, sizeof *infos_);
  for (int i = 0; i < n; i++) {
    commands_[i] = tmf_string(commands + (size_t)i * command_n, command_n);
    infos_[i] = tmf_Info(infos[i]);
    if (argvs != tmpi_argvs_null_)
      argvs_[i] = vector(argvs + (size_t)i * argv_n, argv_n, (size_t)n);
  }
  MPI_Comm made = MPI_COMM_NULL;
  int error = function(*count, commands_, argvs == tmpi_argvs_null_ ? MPI_ARGVS_NULL : argvs_,
                       ranks, infos_, *root, tmf_Comm(*comm), &made, errcodes_of(codes));
  *intercomm = PMPI_Comm_toint(made);
  for (int i = 0; i < n; i++) {
    free(commands_[i]);
    vector_free(argvs_[i]);
  }
  free(commands_), free(argvs_), free(infos_);
  tmf_end(ierror, error);
}

#pragma weak mpi_comm_spawn_multiple_
void mpi_comm_spawn_multiple_(MPI_Fint *count, char *commands, char *argvs, MPI_Fint *ranks,
                              MPI_Fint *infos, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *intercomm,
                              MPI_Fint *codes, MPI_Fint *ierror, size_t command_n, size_t argv_n) {
  spawn_multiple(MPI_Comm_spawn_multiple, count, commands, argvs, ranks, infos, root, comm,
                 intercomm, codes, ierror, command_n, argv_n);
}
void pmpi_comm_spawn_multiple_(MPI_Fint *count, char *commands, char *argvs, MPI_Fint *ranks,
                               MPI_Fint *infos, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *intercomm,
                               MPI_Fint *codes, MPI_Fint *ierror, size_t command_n, size_t argv_n) {
  spawn_multiple(PMPI_Comm_spawn_multiple, count, commands, argvs, ranks, infos, root, comm,
                 intercomm, codes, ierror, command_n, argv_n);
}
