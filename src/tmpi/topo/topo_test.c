/* SPDX-License-Identifier: Apache-2.0 */
/* Which topology a communicator has. */
#include "tmpi/error/errors.h"
#include "tmpi/object/topology.h"

#pragma weak MPI_Topo_test = PMPI_Topo_test
int PMPI_Topo_test(MPI_Comm handle, int *status) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Topo_test", handle, &comm);
  if (error == MPI_SUCCESS) *status = comm->topology != NULL ? comm->topology->kind : MPI_UNDEFINED;
  return error;
}
