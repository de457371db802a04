/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at requests without giving them back. What is not complete lets others run. */
#include "tmpi/error/errors.h"
#include "tmpi/request/request_set.h"

/* Of a request that is complete; NULL: an empty one. @return its error. */
static int fill(struct tm_request *request, MPI_Status *status) {
  if (request == NULL || request->kind != TM_GENERALIZED) {
    tm_status_set(status, request);
    return request != NULL ? request->error : MPI_SUCCESS;
  }
  MPI_Status own;
  MPI_Status *filled = status != MPI_STATUS_IGNORE ? status : &own;
  tm_status_set(filled, NULL);
  return request->query(request->extra, filled);
}

/* @return the place of the i-th status. */
static MPI_Status *place(MPI_Status statuses[], int i) {
  return statuses != MPI_STATUSES_IGNORE ? &statuses[i] : MPI_STATUS_IGNORE;
}

/* The same for one of several, whose status has the error. */
static void fill_with_error(struct tm_request *request, MPI_Status *status) {
  int error = fill(request, status);
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
}

#pragma weak MPI_Request_get_status = PMPI_Request_get_status
int PMPI_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status) {
  struct tm_request *request;
  int error = tm_set_get_one("MPI_Request_get_status", handle, &request);
  if (error != MPI_SUCCESS) return error;
  *flag = request == NULL || tm_request_poll(request);
  if (*flag) fill(request, status);
  return MPI_SUCCESS;
}

#pragma weak MPI_Request_get_status_all = PMPI_Request_get_status_all
int PMPI_Request_get_status_all(int count, const MPI_Request handles[], int *flag,
                                MPI_Status statuses[]) {
  struct tm_request_set set;
  int error = tm_set_get("MPI_Request_get_status_all", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  *flag = 1;
  for (int i = 0; i < count && *flag; i++) *flag = set.of[i] == NULL || tm_request_poll(set.of[i]);
  for (int i = 0; i < count && *flag; i++) fill_with_error(set.of[i], place(statuses, i));
  tm_set_drop(&set);
  return MPI_SUCCESS;
}

#pragma weak MPI_Request_get_status_any = PMPI_Request_get_status_any
int PMPI_Request_get_status_any(int count, const MPI_Request handles[], int *index, int *flag,
                                MPI_Status *status) {
  struct tm_request_set set;
  int error = tm_set_get("MPI_Request_get_status_any", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  int first = tm_set_first_done(&set);
  *flag = first != -1;
  *index = first >= 0 ? first : MPI_UNDEFINED;
  if (*flag)
    fill(first >= 0 ? set.of[first] : NULL, status);
  else
    tm_requests_poll(set.of, count);
  tm_set_drop(&set);
  return MPI_SUCCESS;
}

#pragma weak MPI_Request_get_status_some = PMPI_Request_get_status_some
int PMPI_Request_get_status_some(int count, const MPI_Request handles[], int *done, int indices[],
                                 MPI_Status statuses[]) {
  struct tm_request_set set;
  int error = tm_set_get("MPI_Request_get_status_some", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  int first = tm_set_first_done(&set);
  if (first == -1) tm_requests_poll(set.of, count);
  *done = first == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
  for (int i = 0; i < count; i++) {
    if (set.of[i] == NULL || !tm_request_done(set.of[i])) continue;
    fill_with_error(set.of[i], place(statuses, *done));
    indices[(*done)++] = i;
  }
  tm_set_drop(&set);
  return MPI_SUCCESS;
}
