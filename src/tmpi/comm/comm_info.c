/* SPDX-License-Identifier: Apache-2.0 */
/* The hints of a communicator. */
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"

#pragma weak MPI_Comm_set_info = PMPI_Comm_set_info
int PMPI_Comm_set_info(MPI_Comm handle, MPI_Info info_handle) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_set_info", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  struct tm_info *info = tm_info_of(info_handle);
  if (info == NULL)
    return tm_fail(comm, "MPI_Comm_set_info", MPI_ERR_INFO, "the info is not valid");
  tm_info_free(comm->info);
  comm->info = tm_info_hints(info);
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_get_info = PMPI_Comm_get_info
int PMPI_Comm_get_info(MPI_Comm handle, MPI_Info *result) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_get_info", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (result == NULL)
    return tm_fail(comm, "MPI_Comm_get_info", MPI_ERR_ARG, "no place for the info");
  struct tm_info *info = tm_info_copy(comm->info);
  if (info == NULL) return tm_fail_code(comm, "MPI_Comm_get_info", MPI_ERR_NO_MEM);
  *result = (MPI_Info)info;
  return MPI_SUCCESS;
}
