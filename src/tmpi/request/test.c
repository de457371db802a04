/* SPDX-License-Identifier: Apache-2.0 */
/* Testing requests: what is not complete lets others run, since programs test in loops. */
#include "tmpi/error/errors.h"
#include "tmpi/request/request_set.h"

#pragma weak MPI_Test = PMPI_Test
int PMPI_Test(MPI_Request *handle, int *flag, MPI_Status *status) {
  struct tm_request *request;
  if (handle == NULL || flag == NULL)
    return tm_no_place("MPI_Test", handle == NULL ? "request" : "flag");
  int error = tm_set_get_one("MPI_Test", *handle, &request);
  if (error != MPI_SUCCESS) return error;
  *flag = request == NULL || tm_request_poll(request);
  if (!*flag) return MPI_SUCCESS;
  if (request != NULL) return tm_set_finish_one("MPI_Test", handle, request, status);
  tm_status_set(status, NULL);
  return MPI_SUCCESS;
}

#pragma weak MPI_Testall = PMPI_Testall
int PMPI_Testall(int count, MPI_Request handles[], int *flag, MPI_Status statuses[]) {
  struct tm_request_set set;
  int error = tm_set_get("MPI_Testall", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  *flag = 1;
  for (int i = 0; i < count && *flag; i++) *flag = set.of[i] == NULL || tm_request_poll(set.of[i]);
  if (*flag) return tm_set_finish_all("MPI_Testall", &set, handles, statuses);
  tm_set_drop(&set);
  return MPI_SUCCESS;
}

#pragma weak MPI_Testany = PMPI_Testany
int PMPI_Testany(int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status) {
  struct tm_request_set set;
  struct tm_request *done;
  tm_enter("MPI_Testany");
  *flag = tm_set_find_done(count, handles, index, &done);
  if (*flag) return tm_set_finish_one("MPI_Testany", &handles[*index], done, status);
  int error = tm_set_get("MPI_Testany", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  int first = tm_set_first_done(&set);
  *flag = first != -1;
  *index = first >= 0 ? first : MPI_UNDEFINED;
  if (*flag) return tm_set_finish_any("MPI_Testany", &set, *index, handles, status);
  tm_requests_poll(set.of, count);
  tm_set_drop(&set);
  return MPI_SUCCESS;
}

#pragma weak MPI_Testsome = PMPI_Testsome
int PMPI_Testsome(int count, MPI_Request handles[], int *done, int indices[],
                  MPI_Status statuses[]) {
  struct tm_request_set set;
  int error = tm_set_get("MPI_Testsome", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  if (tm_set_first_done(&set) == -1) tm_requests_poll(set.of, count);
  return tm_set_finish_some("MPI_Testsome", &set, handles, done, indices, statuses);
}
