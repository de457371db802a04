/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Sendrecv_replace(): what is sent is packed first. */
#include <stdlib.h>

#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/request/request.h"

int tm_pack_arguments(const struct tm_arguments *a, void **packed, size_t *bytes) {
  struct tm_comm *comm;
  struct tm_type *type;
  int error = tm_get_comm(a->call, a->comm, &comm);
  if (error == MPI_SUCCESS && a->count < 0)
    error = tm_fail(comm, a->call, MPI_ERR_COUNT, "count %lld is negative", (long long)a->count);
  if (error == MPI_SUCCESS) error = tm_get_type(comm, a->call, a->type, &type);
  if (error == MPI_SUCCESS) error = tm_check_bytes(comm, a->call, a->count, type);
  if (error != MPI_SUCCESS) return error;
  *bytes = (size_t)a->count * type->size;
  *packed = malloc(*bytes + 1);
  if (*packed == NULL)
    return tm_fail(comm, a->call, MPI_ERR_NO_MEM, "no memory for %zu bytes", *bytes);
  tm_type_pack(*packed, a->buffer, type, 0, *bytes);
  return MPI_SUCCESS;
}

int tm_call_replace(const struct tm_arguments *a, int dest, int sendtag, MPI_Status *status) {
  void *packed;
  size_t bytes;
  int error = tm_pack_arguments(a, &packed, &bytes);
  if (error != MPI_SUCCESS) return error;
  struct tm_arguments to = {a->call, packed, (MPI_Count)bytes, MPI_BYTE, dest, sendtag, a->comm};
  error = tm_call_exchange(&to, a, status);
  free(packed);
  return error;
}
