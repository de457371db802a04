/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Pack() and variants: packed data are the bytes in the order of the type map. */
#include "tmpi/datatype/calls.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/request/request.h"

/* Checks what both directions share. size < 0: there is no buffer. *bytes: to be copied. */
static int check(const char *call, MPI_Count count, MPI_Datatype handle, MPI_Count size,
                 MPI_Count position, MPI_Comm comm_handle, struct tm_type **type,
                 MPI_Count *bytes) {
  struct tm_comm *comm;
  int error = tm_get_comm(call, comm_handle, &comm);
  if (error == MPI_SUCCESS && count < 0)
    error = tm_fail(comm, call, MPI_ERR_COUNT, "count %lld is negative", (long long)count);
  if (error == MPI_SUCCESS) error = tm_get_type(comm, call, handle, type);
  if (error == MPI_SUCCESS) error = tm_check_bytes(comm, call, count, *type);
  if (error != MPI_SUCCESS) return error;
  *bytes = count * (MPI_Count)(*type)->size;
  if (size >= 0 && (position < 0 || position > size || *bytes > size - position))
    return tm_fail(comm, call, position < 0 ? MPI_ERR_ARG : MPI_ERR_TRUNCATE,
                   "%lld bytes from %lld on do not fit into %lld", (long long)*bytes,
                   (long long)position, (long long)size);
  return MPI_SUCCESS;
}

int tm_call_pack(const char *call, const void *in, MPI_Count count, MPI_Datatype handle, void *out,
                 MPI_Count size, MPI_Count *position, MPI_Comm comm) {
  struct tm_type *type;
  MPI_Count bytes;
  int error = check(call, count, handle, size < 0 ? 0 : size, *position, comm, &type, &bytes);
  if (error != MPI_SUCCESS) return error;
  tm_type_pack((char *)out + *position, in, type, 0, (size_t)bytes);
  *position += bytes;
  return MPI_SUCCESS;
}

int tm_call_unpack(const char *call, const void *in, MPI_Count size, MPI_Count *position, void *out,
                   MPI_Count count, MPI_Datatype handle, MPI_Comm comm) {
  struct tm_type *type;
  MPI_Count bytes;
  int error = check(call, count, handle, size < 0 ? 0 : size, *position, comm, &type, &bytes);
  if (error != MPI_SUCCESS) return error;
  tm_type_unpack(out, type, 0, (const char *)in + *position, (size_t)bytes);
  *position += bytes;
  return MPI_SUCCESS;
}

int tm_call_pack_size(const char *call, MPI_Count count, MPI_Datatype handle, MPI_Comm comm,
                      MPI_Count *size) {
  struct tm_type *type;
  return check(call, count, handle, -1, 0, comm, &type, size);
}
