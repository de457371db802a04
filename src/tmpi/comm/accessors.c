/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may ask of a communicator: size, rank, name, group, comparison. */
#include <stdio.h>
#include <string.h>

#include "tmpi/error/errors.h"

#pragma weak MPI_Comm_size = PMPI_Comm_size
int PMPI_Comm_size(MPI_Comm handle, int *size) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_size", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (size == NULL) return tm_fail(comm, "MPI_Comm_size", MPI_ERR_ARG, "no place for the size");
  *size = comm->size;
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_rank = PMPI_Comm_rank
int PMPI_Comm_rank(MPI_Comm handle, int *rank) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_rank", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (rank == NULL) return tm_fail(comm, "MPI_Comm_rank", MPI_ERR_ARG, "no place for the rank");
  *rank = comm->rank;
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_test_inter = PMPI_Comm_test_inter
int PMPI_Comm_test_inter(MPI_Comm handle, int *flag) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_test_inter", handle, &comm);
  if (error == MPI_SUCCESS) *flag = comm->inter;
  return error;
}

#pragma weak MPI_Comm_set_name = PMPI_Comm_set_name
int PMPI_Comm_set_name(MPI_Comm handle, const char *name) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_set_name", handle, &comm);
  if (error == MPI_SUCCESS) snprintf(comm->name, sizeof comm->name, "%s", name);
  return error;
}

#pragma weak MPI_Comm_get_name = PMPI_Comm_get_name
int PMPI_Comm_get_name(MPI_Comm handle, char *name, int *length) {
  struct tm_comm *comm;
  if (handle == MPI_COMM_NULL) { /* the one call that takes it */
    *length = sprintf(name, "MPI_COMM_NULL");
    return MPI_SUCCESS;
  }
  int error = tm_get_comm("MPI_Comm_get_name", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  strcpy(name, comm->name);
  *length = (int)strlen(name);
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_compare = PMPI_Comm_compare
int PMPI_Comm_compare(MPI_Comm a_handle, MPI_Comm b_handle, int *result) {
  struct tm_comm *a, *b;
  int error = tm_get_comm("MPI_Comm_compare", a_handle, &a);
  if (error == MPI_SUCCESS) error = tm_get_comm("MPI_Comm_compare", b_handle, &b);
  if (error != MPI_SUCCESS) return error;
  *result = tm_group_compare(a->group, b->group);
  if (*result != MPI_UNEQUAL && a->inter) {
    int other = tm_group_compare(a->remote, b->remote);
    if (other == MPI_UNEQUAL || *result == MPI_IDENT) *result = other;
  }
  if (a->inter != b->inter) *result = MPI_UNEQUAL;
  if (*result == MPI_IDENT && a != b) *result = MPI_CONGRUENT;
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_group = PMPI_Comm_group
int PMPI_Comm_group(MPI_Comm handle, MPI_Group *group) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_group", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (group == NULL) return tm_fail(comm, "MPI_Comm_group", MPI_ERR_ARG, "no place for the group");
  tm_group_hold(comm->group);
  *group = (MPI_Group)comm->group;
  return MPI_SUCCESS;
}
