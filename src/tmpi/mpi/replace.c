/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Sendrecv_replace(): what is sent is packed first. */
#include <stdlib.h>

#include "tmpi/dt/type.h"
#include "tmpi/mpi/errors.h"
#include "tmpi/mpi/request.h"

#pragma weak MPI_Sendrecv_replace = PMPI_Sendrecv_replace
int PMPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype handle, int dest, int sendtag,
                          int source, int recvtag, MPI_Comm comm_handle, MPI_Status *status) {
  static const char call[] = "MPI_Sendrecv_replace";
  struct tm_comm *comm;
  struct tm_type *type;
  int error = tm_get_comm(call, comm_handle, &comm);
  if (error == MPI_SUCCESS && count < 0)
    error = tm_fail(comm, call, MPI_ERR_COUNT, "count %d is negative", count);
  if (error == MPI_SUCCESS) error = tm_get_type(comm, call, handle, &type);
  if (error != MPI_SUCCESS) return error;
  size_t bytes = (size_t)count * type->size;
  void *packed = malloc(bytes + 1);
  if (packed == NULL || bytes > INT32_MAX) {
    free(packed);
    return tm_fail(comm, call, MPI_ERR_NO_MEM, "no memory for %zu bytes", bytes);
  }
  tm_type_pack(packed, buffer, type, 0, bytes);
  error = PMPI_Sendrecv(packed, (int)bytes, MPI_BYTE, dest, sendtag, buffer, count, handle, source,
                        recvtag, comm_handle, status);
  free(packed);
  return error;
}
