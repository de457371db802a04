/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for requests and testing them. A null handle, and a persistent request that has not
 * been started, is complete with an empty status.
 */
#include <stdlib.h>

#include "tmpi/mpi/errors.h"
#include "tmpi/mpi/request.h"

enum { FEW = 64 }; /* requests looked up without allocating */

/* @return the request of a handle that can still complete; NULL: empty. *error: not valid. */
static struct tm_request *active(MPI_Request handle, bool *valid) {
  *valid = true;
  if (handle == MPI_REQUEST_NULL) return NULL;
  struct tm_request *request = (struct tm_request *)handle;
  *valid = (uintptr_t)handle >= 0x1000 && request->magic == TM_REQUEST_MAGIC;
  if (!*valid || !request->persistent || request->active) return *valid ? request : NULL;
  tm_rank_self()->unstarted =
      (struct tm_unstarted){true, request->kind, request->peer, request->envelope.tag};
  return NULL;
}

static int get(const char *call, MPI_Request handle, struct tm_request **request) {
  bool valid;
  tm_enter(call);
  *request = active(handle, &valid);
  return valid ? MPI_SUCCESS
               : tm_fail(NULL, call, MPI_ERR_REQUEST,
                         "the request is not valid: complete already, "
                         "or never made");
}

/* A set of requests in a call. */
struct set {
  int count;
  struct tm_request **of;
  struct tm_request *few[FEW];
};

static void drop_set(struct set *set) {
  if (set->of != set->few) free(set->of);
}

static int get_set(const char *call, int count, MPI_Request handles[], struct set *set) {
  tm_enter(call);
  set->count = 0;
  set->of = set->few;
  if (count < 0) return tm_fail(NULL, call, MPI_ERR_COUNT, "count %d is negative", count);
  set->count = count;
  set->of = count <= FEW ? set->few : malloc((size_t)count * sizeof *set->of);
  if (set->of == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  for (int i = 0; i < count; i++) {
    int error = get(call, handles[i], &set->of[i]);
    if (error == MPI_SUCCESS) continue;
    drop_set(set);
    return error;
  }
  return MPI_SUCCESS;
}

/* A request is complete: tells its status and gives it back, or makes it inactive. @return its
 * error. */
static int finish(MPI_Request *handle, struct tm_request *request, MPI_Status *status) {
  int error = request->error;
  if (request->kind == TM_GENERALIZED) {
    MPI_Status own;
    MPI_Status *told = status != MPI_STATUS_IGNORE ? status : &own;
    tm_status_set(told, NULL);
    int queried = request->query(request->extra, told);
    int released = request->release(request->extra);
    error = queried != MPI_SUCCESS ? queried : released;
  } else {
    tm_status_set(status, request);
  }
  if (request->persistent) {
    request->active = false;
  } else {
    tm_request_drop(request);
    *handle = MPI_REQUEST_NULL;
  }
  return error;
}

/* The same for the one request of a call. */
static int finish_one(const char *call, MPI_Request *handle, struct tm_request *request,
                      MPI_Status *status) {
  struct tm_comm *comm = request->comm;
  if (comm != NULL) tm_comm_hold(comm);
  int error = finish(handle, request, status);
  if (error != MPI_SUCCESS) error = tm_fail_code(comm, call, error);
  if (comm != NULL) tm_comm_release(comm);
  return error;
}

#pragma weak MPI_Wait = PMPI_Wait
int PMPI_Wait(MPI_Request *handle, MPI_Status *status) {
  struct tm_request *request;
  int error = get("MPI_Wait", *handle, &request);
  if (error != MPI_SUCCESS) return error;
  if (request == NULL) {
    tm_status_set(status, NULL);
    return MPI_SUCCESS;
  }
  tm_requests_wait(&request, 1, 1, "MPI_Wait");
  return finish_one("MPI_Wait", handle, request, status);
}

#pragma weak MPI_Test = PMPI_Test
int PMPI_Test(MPI_Request *handle, int *flag, MPI_Status *status) {
  struct tm_request *request;
  int error = get("MPI_Test", *handle, &request);
  if (error != MPI_SUCCESS) return error;
  *flag = request == NULL || tm_request_look(request);
  if (!*flag) return MPI_SUCCESS;
  if (request != NULL) return finish_one("MPI_Test", handle, request, status);
  tm_status_set(status, NULL);
  return MPI_SUCCESS;
}

/* All are complete. */
static int finish_all(const char *call, struct set *set, MPI_Request handles[],
                      MPI_Status statuses[]) {
  bool failed = false;
  struct tm_comm *comm = NULL;
  for (int i = 0; i < set->count; i++) {
    struct tm_request *request = set->of[i];
    MPI_Status *status = statuses != MPI_STATUSES_IGNORE ? &statuses[i] : MPI_STATUS_IGNORE;
    int error = MPI_SUCCESS;
    if (request == NULL) {
      tm_status_set(status, NULL);
    } else {
      if (comm == NULL && (comm = request->comm) != NULL) tm_comm_hold(comm);
      error = finish(&handles[i], request, status);
    }
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
    failed |= error != MPI_SUCCESS;
  }
  drop_set(set);
  int result = failed ? tm_fail_code(comm, call, MPI_ERR_IN_STATUS) : MPI_SUCCESS;
  if (comm != NULL) tm_comm_release(comm);
  return result;
}

#pragma weak MPI_Waitall = PMPI_Waitall
int PMPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[]) {
  struct set set;
  int error = get_set("MPI_Waitall", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  tm_requests_wait(set.of, count, count, "MPI_Waitall");
  return finish_all("MPI_Waitall", &set, handles, statuses);
}

#pragma weak MPI_Testall = PMPI_Testall
int PMPI_Testall(int count, MPI_Request handles[], int *flag, MPI_Status statuses[]) {
  struct set set;
  int error = get_set("MPI_Testall", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  *flag = 1;
  for (int i = 0; i < count && *flag; i++) *flag = set.of[i] == NULL || tm_request_look(set.of[i]);
  if (*flag) return finish_all("MPI_Testall", &set, handles, statuses);
  drop_set(&set);
  return MPI_SUCCESS;
}

/* @return the first that is complete; -1: none is yet; MPI_UNDEFINED: there are none. */
static int first_done(const struct set *set) {
  bool any = false;
  for (int i = 0; i < set->count; i++) {
    if (set->of[i] == NULL) continue;
    if (tm_request_done(set->of[i])) return i;
    any = true;
  }
  return any ? -1 : MPI_UNDEFINED;
}

static int finish_any(const char *call, struct set *set, int index, MPI_Request handles[],
                      MPI_Status *status) {
  int error = MPI_SUCCESS;
  if (index >= 0)
    error = finish_one(call, &handles[index], set->of[index], status);
  else
    tm_status_set(status, NULL);
  drop_set(set);
  return error;
}

#pragma weak MPI_Waitany = PMPI_Waitany
int PMPI_Waitany(int count, MPI_Request handles[], int *index, MPI_Status *status) {
  struct set set;
  int error = get_set("MPI_Waitany", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  tm_requests_wait(set.of, count, 1, "MPI_Waitany");
  *index = first_done(&set);
  return finish_any("MPI_Waitany", &set, *index, handles, status);
}

#pragma weak MPI_Testany = PMPI_Testany
int PMPI_Testany(int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status) {
  struct set set;
  int error = get_set("MPI_Testany", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  int first = first_done(&set);
  *flag = first != -1;
  *index = first >= 0 ? first : MPI_UNDEFINED;
  if (*flag) return finish_any("MPI_Testany", &set, *index, handles, status);
  drop_set(&set);
  tm_request_look(NULL);
  return MPI_SUCCESS;
}

/* Finishes all that are complete. */
static int finish_some(const char *call, struct set *set, MPI_Request handles[], int *done,
                       int indices[], MPI_Status statuses[]) {
  bool failed = false;
  struct tm_comm *comm = NULL;
  *done = first_done(set) == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
  for (int i = 0; i < set->count; i++) {
    struct tm_request *request = set->of[i];
    if (request == NULL || !tm_request_done(request)) continue;
    MPI_Status *status = statuses != MPI_STATUSES_IGNORE ? &statuses[*done] : MPI_STATUS_IGNORE;
    if (comm == NULL && (comm = request->comm) != NULL) tm_comm_hold(comm);
    int error = finish(&handles[i], request, status);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
    failed |= error != MPI_SUCCESS;
    indices[(*done)++] = i;
  }
  drop_set(set);
  int result = failed ? tm_fail_code(comm, call, MPI_ERR_IN_STATUS) : MPI_SUCCESS;
  if (comm != NULL) tm_comm_release(comm);
  return result;
}

#pragma weak MPI_Waitsome = PMPI_Waitsome
int PMPI_Waitsome(int count, MPI_Request handles[], int *done, int indices[],
                  MPI_Status statuses[]) {
  struct set set;
  int error = get_set("MPI_Waitsome", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  tm_requests_wait(set.of, count, 1, "MPI_Waitsome");
  return finish_some("MPI_Waitsome", &set, handles, done, indices, statuses);
}

#pragma weak MPI_Testsome = PMPI_Testsome
int PMPI_Testsome(int count, MPI_Request handles[], int *done, int indices[],
                  MPI_Status statuses[]) {
  struct set set;
  int error = get_set("MPI_Testsome", count, handles, &set);
  if (error != MPI_SUCCESS) return error;
  if (first_done(&set) == -1) tm_request_look(NULL);
  return finish_some("MPI_Testsome", &set, handles, done, indices, statuses);
}

#pragma weak MPI_Request_get_status = PMPI_Request_get_status
int PMPI_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status) {
  struct tm_request *request;
  int error = get("MPI_Request_get_status", handle, &request);
  if (error != MPI_SUCCESS) return error;
  *flag = request == NULL || tm_request_look(request);
  if (!*flag) return MPI_SUCCESS;
  if (request == NULL || request->kind != TM_GENERALIZED) {
    tm_status_set(status, request);
  } else {
    MPI_Status own;
    MPI_Status *told = status != MPI_STATUS_IGNORE ? status : &own;
    tm_status_set(told, NULL);
    return request->query(request->extra, told);
  }
  return MPI_SUCCESS;
}
