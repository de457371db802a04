/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for requests. */
#include "tmpi/error/errors.h"
#include "tmpi/request/request_set.h"

#pragma weak MPI_Wait = PMPI_Wait
int PMPI_Wait(MPI_Request *handle, MPI_Status *status) {
  struct tm_request *request;
  if (handle == NULL) return tm_no_place("MPI_Wait", "request");
  int error = tm_set_get_one("MPI_Wait", *handle, &request);
  if (error != MPI_SUCCESS) return error;
  if (request == NULL) {
    tm_status_set(status, NULL);
    return MPI_SUCCESS;
  }
  tm_requests_wait(&request, 1, 1, "MPI_Wait");
  return tm_set_finish_one("MPI_Wait", handle, request, status);
}

#pragma weak MPI_Waitall = PMPI_Waitall
int PMPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[]) {
  struct tm_request_set set;
  int error = tm_set_get("MPI_Waitall", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  return tm_set_wait_all("MPI_Waitall", &set, handles, statuses);
}

#pragma weak MPI_Waitany = PMPI_Waitany
int PMPI_Waitany(int count, MPI_Request handles[], int *index, MPI_Status *status) {
  struct tm_request_set set;
  struct tm_request *done;
  tm_enter("MPI_Waitany");
  if (tm_set_find_done(count, handles, index, &done))
    return tm_set_finish_one("MPI_Waitany", &handles[*index], done, status);
  int error = tm_set_get("MPI_Waitany", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  tm_requests_wait(set.of, count, 1, "MPI_Waitany");
  *index = tm_set_first_done(&set);
  return tm_set_finish_any("MPI_Waitany", &set, *index, handles, status);
}

#pragma weak MPI_Waitsome = PMPI_Waitsome
int PMPI_Waitsome(int count, MPI_Request handles[], int *done, int indices[],
                  MPI_Status statuses[]) {
  struct tm_request_set set;
  int error = tm_set_get("MPI_Waitsome", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  tm_requests_wait(set.of, count, 1, "MPI_Waitsome");
  return tm_set_finish_some("MPI_Waitsome", &set, handles, done, indices, statuses);
}
