/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses: what a request brought. */
#include <string.h>

#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/request/request.h"

/* The library's own words of a status. */
enum { BYTES = 0, CANCELLED = 2 };

void tm_status_bytes(MPI_Status *status, int source, int tag, size_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  memcpy(&status->MPI_internal[BYTES], &bytes, sizeof bytes);
  status->MPI_internal[CANCELLED] = 0;
}

size_t tm_status_get_bytes(const MPI_Status *status) {
  size_t bytes;
  memcpy(&bytes, &status->MPI_internal[BYTES], sizeof bytes);
  return bytes;
}

void tm_status_set(MPI_Status *status, const struct tm_request *request) {
  if (status == MPI_STATUS_IGNORE) return;
  if (request == NULL) {
    tm_status_bytes(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    status->MPI_ERROR = MPI_SUCCESS;
  } else {
    tm_status_bytes(status, request->source, request->tag, request->bytes);
    status->MPI_internal[CANCELLED] = request->cancelled;
  }
}

#pragma weak MPI_Test_cancelled = PMPI_Test_cancelled
int PMPI_Test_cancelled(const MPI_Status *status, int *flag) {
  *flag = status->MPI_internal[CANCELLED] != 0;
  return MPI_SUCCESS;
}

#pragma weak MPI_Status_set_cancelled = PMPI_Status_set_cancelled
int PMPI_Status_set_cancelled(MPI_Status *status, int flag) {
  status->MPI_internal[CANCELLED] = flag != 0;
  return MPI_SUCCESS;
}

/* ---- the public fields, for languages that cannot reach them */

#pragma weak MPI_Status_get_source = PMPI_Status_get_source
int PMPI_Status_get_source(const MPI_Status *status, int *source) {
  *source = status->MPI_SOURCE;
  return MPI_SUCCESS;
}

#pragma weak MPI_Status_get_tag = PMPI_Status_get_tag
int PMPI_Status_get_tag(const MPI_Status *status, int *tag) {
  *tag = status->MPI_TAG;
  return MPI_SUCCESS;
}

#pragma weak MPI_Status_get_error = PMPI_Status_get_error
int PMPI_Status_get_error(const MPI_Status *status, int *error) {
  *error = status->MPI_ERROR;
  return MPI_SUCCESS;
}

#pragma weak MPI_Status_set_source = PMPI_Status_set_source
int PMPI_Status_set_source(MPI_Status *status, int source) {
  status->MPI_SOURCE = source;
  return MPI_SUCCESS;
}

#pragma weak MPI_Status_set_tag = PMPI_Status_set_tag
int PMPI_Status_set_tag(MPI_Status *status, int tag) {
  status->MPI_TAG = tag;
  return MPI_SUCCESS;
}

#pragma weak MPI_Status_set_error = PMPI_Status_set_error
int PMPI_Status_set_error(MPI_Status *status, int error) {
  status->MPI_ERROR = error;
  return MPI_SUCCESS;
}

/* ---- counts: of elements of a type, or of the basic elements they are made of */

/* What does not fit an int is undefined to the calls that tell ints. */
int tm_call_get_count(const char *call, const MPI_Status *status, MPI_Datatype handle,
                      MPI_Count *count) {
  struct tm_type *type;
  tm_enter(call);
  int error = tm_get_type(NULL, call, handle, &type);
  if (error != MPI_SUCCESS) return error;
  size_t bytes = tm_status_get_bytes(status);
  if (type->size == 0)
    *count = bytes == 0 ? 0 : MPI_UNDEFINED;
  else
    *count = bytes % type->size == 0 ? (MPI_Count)(bytes / type->size) : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int tm_call_get_elements(const char *call, const MPI_Status *status, MPI_Datatype handle,
                         MPI_Count *count) {
  struct tm_type *type;
  size_t rest;
  tm_enter(call);
  int error = tm_get_type(NULL, call, handle, &type);
  if (error != MPI_SUCCESS) return error;
  size_t elements = tm_type_elements(type, tm_status_get_bytes(status), &rest);
  *count = rest == 0 ? (MPI_Count)elements : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int tm_call_set_elements(const char *call, MPI_Status *status, MPI_Datatype handle,
                         MPI_Count count) {
  struct tm_type *type;
  tm_enter(call);
  int error = tm_get_type(NULL, call, handle, &type);
  if (error != MPI_SUCCESS) return error;
  if (count < 0)
    return tm_fail(NULL, call, MPI_ERR_COUNT, "count %lld is negative", (long long)count);
  size_t per_element = 0, bytes;
  for (size_t i = 0; i < type->run_count; i++) per_element += type->runs[i].count;
  size_t whole = per_element > 0 ? (size_t)count / per_element : 0;
  size_t left = per_element > 0 ? (size_t)count % per_element : 0;
  bytes = whole * tm_type_run_bytes(type);
  for (size_t i = 0; left > 0; i++) {
    size_t some = left < type->runs[i].count ? left : type->runs[i].count;
    bytes += some * type->runs[i].size;
    left -= some;
  }
  memcpy(&status->MPI_internal[BYTES], &bytes, sizeof bytes);
  return MPI_SUCCESS;
}
