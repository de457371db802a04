/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Pack() and its kin: packed data are the bytes in the order of the type map. */
#include "tmpi/dt/type.h"
#include "tmpi/mpi/errors.h"
#include "tmpi/mpi/request.h"

/* Checks what both directions share. *bytes: to be copied. */
static int check(const char *call, int count, MPI_Datatype handle, int size, const int *position,
                 MPI_Comm comm_handle, struct tm_type **type, size_t *bytes) {
  struct tm_comm *comm;
  int error = tm_get_comm(call, comm_handle, &comm);
  if (error == MPI_SUCCESS && count < 0)
    error = tm_fail(comm, call, MPI_ERR_COUNT, "count %d is negative", count);
  if (error == MPI_SUCCESS) error = tm_get_type(comm, call, handle, type);
  if (error != MPI_SUCCESS) return error;
  *bytes = (size_t)count * (*type)->size;
  if (position != NULL &&
      (*position < 0 || *position > size || *bytes > (size_t)(size - *position)))
    return tm_fail(comm, call, position != NULL && *position < 0 ? MPI_ERR_ARG : MPI_ERR_TRUNCATE,
                   "%zu bytes from %d on do not fit into %d", *bytes, *position, size);
  return MPI_SUCCESS;
}

#pragma weak MPI_Pack = PMPI_Pack
int PMPI_Pack(const void *in, int count, MPI_Datatype handle, void *out, int size, int *position,
              MPI_Comm comm) {
  struct tm_type *type;
  size_t bytes;
  int error = check("MPI_Pack", count, handle, size, position, comm, &type, &bytes);
  if (error != MPI_SUCCESS) return error;
  tm_type_pack((char *)out + *position, in, type, 0, bytes);
  *position += (int)bytes;
  return MPI_SUCCESS;
}

#pragma weak MPI_Unpack = PMPI_Unpack
int PMPI_Unpack(const void *in, int size, int *position, void *out, int count, MPI_Datatype handle,
                MPI_Comm comm) {
  struct tm_type *type;
  size_t bytes;
  int error = check("MPI_Unpack", count, handle, size, position, comm, &type, &bytes);
  if (error != MPI_SUCCESS) return error;
  tm_type_unpack(out, type, 0, (const char *)in + *position, bytes);
  *position += (int)bytes;
  return MPI_SUCCESS;
}

#pragma weak MPI_Pack_size = PMPI_Pack_size
int PMPI_Pack_size(int count, MPI_Datatype handle, MPI_Comm comm, int *size) {
  struct tm_type *type;
  size_t bytes;
  int error = check("MPI_Pack_size", count, handle, 0, NULL, comm, &type, &bytes);
  if (error != MPI_SUCCESS) return error;
  *size = bytes <= INT32_MAX ? (int)bytes : MPI_UNDEFINED;
  return MPI_SUCCESS;
}
